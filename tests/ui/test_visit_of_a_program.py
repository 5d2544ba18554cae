"""Another program draws on our terminal: the keys that send signals are its own, and we draw again after it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from bench.pty_harness import Program

VISIT = """
import sys
from gpu_tui.ui.visit import visit
from small_app import Small
class Visiting(Small):
    def on_mount(self):
        self.run_worker(self.leave())
    async def leave(self):
        self.exit(message=await visit(self, "far", sys.argv[1:]), return_code=3)
app = Visiting()
app.run()
sys.exit(app.return_code)
"""


def visiting(*words: str) -> Program:
    """An app on a terminal that runs `words` there, and ends with 3 and a sentence about it."""
    env = {
        "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8",
        "PYTHONPATH": str(Path(__file__).parent),
    }  # fmt: skip
    return Program([sys.executable, "-c", VISIT, *words], env)


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGINT, 3),
        (signal.SIGQUIT, 3),
        (signal.SIGTERM, 128 + signal.SIGTERM),
        (signal.SIGHUP, 128 + signal.SIGHUP),
    ],
    ids=str,
)
def test_a_visit_keeps_the_signals_of_keys_from_us(number: signal.Signals, status: int) -> None:
    # It sends us the signal, as the terminal does with a key.
    with visiting("sh", "-c", f"kill -{int(number)} $PPID; exit 7") as program:
        assert program.process.wait(60) == status
        if status == 3:
            program.until("exit 7")


def test_a_program_that_cannot_be_started_leaves_the_terminal_to_us() -> None:
    with visiting("/there-is-no-such-program") as program:
        assert program.process.wait(60) == 3
        program.until("cannot be started")
        assert program.text().count("\x1b[?1049h") == 2
