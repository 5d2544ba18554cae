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

# Sends itself a signal before or after one call of its start.
END_AT = """
import os, signal, sys
from gpu_tui.cli import main
number, before, moment = int(sys.argv[1]), sys.argv[2] == "before", sys.argv[3]
if moment == "run_async":
    from gpu_tui.ui.app import CockpitApp as owner
else:
    from textual.drivers.linux_driver import LinuxDriver as owner
real = getattr(owner, moment)
def wrapped(self, *args, **kwargs):
    if before:
        os.kill(os.getpid(), number)
    done = real(self, *args, **kwargs)
    if not before:
        os.kill(os.getpid(), number)
    return done
setattr(owner, moment, wrapped)
sys.exit(main.main(["--fleet", sys.argv[4]]))
"""


def end_at(tmp_path: Path, number: signal.Signals, moment: tuple[str, str]) -> tuple[int, str]:
    """The exit status of the cockpit, and all that it wrote."""
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text("instances:\n  - {name: far, host: 'ssh://root@127.0.0.1:9'}\n")
    env = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"),
        "TERM": "xterm-256color", "LANG": "C.UTF-8",
    }  # fmt: skip
    argv = [sys.executable, "-c", END_AT, str(int(number)), *moment, str(fleet)]
    with Program(argv, env, 100, 30) as program:
        status = program.process.wait(60)
        if ALTERNATE in program.text():
            program.until(NORMAL, SHOWN)
        return status, program.text()


ENDINGS = [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]


@pytest.mark.parametrize(
    ("number", "moment"),
    [
        (signal.SIGTERM, ("before", "__init__")),
        (signal.SIGTERM, ("before", "start_application_mode")),
        *((number, ("after", "start_application_mode")) for number in ENDINGS),
    ],
    ids=str,
)
def test_a_signal_while_the_terminal_is_taken_restores_it(
    tmp_path: Path, number: signal.Signals, moment: tuple[str, str]
) -> None:
    status, text = end_at(tmp_path, number, moment)
    assert status == 128 + number
    assert text.rindex(NORMAL) > text.rindex(ALTERNATE)
    assert text.rindex(SHOWN) > text.rindex(HIDDEN)
    assert "Traceback" not in text


def test_a_signal_before_that_finds_the_terminal_untouched(tmp_path: Path) -> None:
    status, text = end_at(tmp_path, signal.SIGTERM, ("before", "run_async"))
    assert status == -signal.SIGTERM
    assert "\x1b" not in text
