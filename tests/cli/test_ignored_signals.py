"""Tests that were started with `&` or nohup judge the same programs as those from a terminal."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from heeded import heed_signals

SAY = "import signal, sys; print(signal.getsignal(int(sys.argv[1])) is signal.SIG_IGN)"


@pytest.fixture(params=[signal.SIGINT, signal.SIGQUIT, signal.SIGHUP], ids=lambda one: one.name)
def ignored(request: pytest.FixtureRequest) -> Iterator[signal.Signals]:
    number: signal.Signals = request.param
    before = signal.signal(number, signal.SIG_IGN)
    yield number
    signal.signal(number, before)


def test_a_program_does_not_ignore_what_our_shell_ignores(ignored: signal.Signals) -> None:
    def said() -> str:
        words = [sys.executable, "-I", "-S", "-c", SAY, str(int(ignored))]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()

    assert said() == "True"
    heed_signals()
    assert said() == "False"
    signal.raise_signal(ignored)  # nor do we end of it
