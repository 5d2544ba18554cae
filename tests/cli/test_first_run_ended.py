"""Who ends the first question from outside is answered with the code of the signal, and gets the terminal back."""

from __future__ import annotations

import os
import pty
import signal
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_at_the_first_question_is_the_exit_code(
    number: signal.Signals, tmp_path: Path
) -> None:
    env = {
        "HOME": str(tmp_path), "PATH": os.environ["PATH"], "TERM": "xterm", "LANG": "C.UTF-8",
        "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    pid, screen = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execve(sys.executable, [sys.executable, "-m", "gpu_tui"], env)
    shown = b""
    while b"demo" not in shown:  # the keys below the question
        shown += os.read(screen, 65536)
    os.kill(pid, number)
    after = b""
    try:
        while part := os.read(screen, 65536):
            after += part
    except OSError:  # the other end is closed
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 128 + number
    os.close(screen)
    assert b"\x1b[?1049l" in after
    assert b"Traceback" not in after
