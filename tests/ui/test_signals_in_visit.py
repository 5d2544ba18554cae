"""The interrupt and quit keys that a person presses in another program on our terminal are not for us."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from bench.pty_harness import Program

# The other program sends the signal to us, as the terminal does with these keys.
VISIT = """
import sys
from gpu_tui.ui.visit import visit
from small_app import Small
class Visiting(Small):
    def on_mount(self):
        self.run_worker(self.leave())
    async def leave(self):
        self.exit(message=await visit(self, "far", ["sh", "-c", f"kill -{sys.argv[1]} $PPID; exit 7"]), return_code=3)
app = Visiting()
app.run()
sys.exit(app.return_code)
"""


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
    env = {
        "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8",
        "PYTHONPATH": str(Path(__file__).parent),
    }  # fmt: skip
    with Program([sys.executable, "-c", VISIT, str(int(number))], env) as program:
        assert program.process.wait(60) == status
        if status == 3:
            program.until("exit 7")
