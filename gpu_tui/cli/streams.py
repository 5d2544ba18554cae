"""The three streams that every program has, whatever ours was started with."""

from __future__ import annotations

import io
import os
import sys


class Mixed(Exception):
    """Two texts are asked for on one stdout, where nobody could part them again."""

    next = "Keep one of them, or write the other into a file."

    def __init__(self) -> None:
        super().__init__("two texts at once cannot go to stdout")


def only_one(*asked: bool) -> None:
    """Raise Mixed where more than one text is asked for on stdout."""
    if sum(asked) > 1:
        raise Mixed


def mend() -> None:
    """Nowhere in the place of a stream that is closed (`>&-`), and `?` for a sign that stdout cannot take."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def settle() -> None:
    """Write what stdout still holds; nowhere, where its reader is gone or its disk is full.

    Python would try it again while it exits, complain, and end with a code of its own.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
