"""A signal that ends the cockpit while it starts leaves the terminal as it was."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from bench.pty_harness import Program

ALTERNATE, NORMAL = "\x1b[?1049h", "\x1b[?1049l"
HIDDEN, SHOWN = "\x1b[?25l", "\x1b[?25h"  # the cursor

# Sends itself a signal before or after some calls: `before:start_application_mode,after:disable_input`.
END_AT = """
import os, signal, sys
from gpu_tui.cli import main
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.terminal.driver import TerminalDriver
def send_around(when, name):
    owner = CockpitApp if hasattr(CockpitApp, name) and name != "__init__" else TerminalDriver
    real = getattr(owner, name)
    def wrapped(self, *args, **kwargs):
        if when == "before":
            os.kill(os.getpid(), int(sys.argv[1]))
        done = real(self, *args, **kwargs)
        if when == "after":
            os.kill(os.getpid(), int(sys.argv[1]))
        return done
    setattr(owner, name, wrapped)
for moment in sys.argv[2].split(","):
    send_around(*moment.split(":"))
sys.exit(main.main(["--fleet", sys.argv[3]]))
"""


def end_at(tmp_path: Path, number: signal.Signals, moments: str) -> tuple[int, str]:
    """The exit status of the cockpit, and all that it wrote."""
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text("instances:\n  - {name: far, host: 'ssh://root@127.0.0.1:9'}\n")
    env = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"),
        "TERM": "xterm-256color", "LANG": "C.UTF-8",
    }  # fmt: skip
    argv = [sys.executable, "-c", END_AT, str(int(number)), moments, str(fleet)]
    with Program(argv, env, 100, 30) as program:
        status = program.process.wait(60)
        if ALTERNATE in program.text():
            program.until(NORMAL, SHOWN)
        return status, program.text()


ENDINGS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]
TAKEN = "after:start_application_mode"


@pytest.mark.parametrize(
    ("number", "moments"),
    [
        (signal.SIGTERM, "before:__init__"),
        (signal.SIGTERM, "before:start_application_mode"),
        *((number, TAKEN) for number in ENDINGS),
        (signal.SIGINT, f"{TAKEN},before:disable_input"),  # twice
    ],
    ids=str,
)
def test_a_signal_while_the_terminal_is_taken_restores_it(
    tmp_path: Path, number: signal.Signals, moments: str
) -> None:
    status, text = end_at(tmp_path, number, moments)
    assert status == 128 + number
    assert text.rindex(NORMAL) > text.rindex(ALTERNATE)
    assert text.rindex(SHOWN) > text.rindex(HIDDEN)
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("number", "moment", "status"),
    [
        (signal.SIGTERM, "before:run_async", -signal.SIGTERM),
        (signal.SIGINT, "before:run_async", 130),
    ],
    ids=str,
)
def test_a_signal_before_that_finds_the_terminal_untouched(
    tmp_path: Path, number: signal.Signals, moment: str, status: int
) -> None:
    assert end_at(tmp_path, number, moment) == (status, "")
