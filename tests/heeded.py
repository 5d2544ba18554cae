"""Signals that what started the tests ignores: the programs that the tests start must not."""

from __future__ import annotations

import signal

PYTHONS_OWN = {signal.SIGPIPE, signal.SIGXFSZ}  # subprocess hands them on as they were


def heed_signals() -> None:
    """What ignores a signal hands that on to all that it starts; what handles one does not.

    A shell without job control has what stands before `&` ignore SIGINT and SIGQUIT, nohup SIGHUP.
    """
    for number in signal.valid_signals() - PYTHONS_OWN:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
