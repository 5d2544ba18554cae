"""A terminal that goes away, and a SIGCONT that nobody was stopped before: the cockpit ends all the same."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PAINTED = b"Danger"  # of a title: the live cockpit draws it last
ENTER = b"\x1b[?1049h"  # the second screen: a program begins to draw
LIMIT = 60


@contextmanager
def cockpit(place: Path, *, leader: bool) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A painted demo and the other end of its terminal; as `leader` of a session that owns the terminal."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 45, 160, 0, 0))
    words = [sys.executable, "-m", "gpu_tui", "demo", "--boxes", "1"]
    env = {
        **os.environ,
        "XDG_STATE_HOME": str(place),
        "TERM": "xterm-256color",
        "LC_ALL": "C.UTF-8",
    }
    process = subprocess.Popen(
        [*((sys.executable, "-c", OWNER) if leader else ()), *words],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=env,
        start_new_session=True,
    )
    os.close(slave)
    try:
        seen = b""
        while PAINTED not in seen:
            ready, _, _ = select.select([master], [], [], LIMIT)
            assert ready, seen[-500:]
            seen = seen[-100:] + os.read(master, 65_536)
        yield process, master
    finally:
        process.kill()
        process.wait()


# Makes the terminal its own, as a login does, and becomes the program.
OWNER = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"


@pytest.mark.parametrize("leader", [True, False], ids=["with a SIGHUP", "without a signal"])
def test_a_terminal_that_has_gone_ends_the_cockpit(tmp_path: Path, leader: bool) -> None:
    with cockpit(tmp_path, leader=leader) as (process, master):
        os.close(master)
        assert process.wait(LIMIT) == 128 + signal.SIGHUP


def test_a_sigcont_while_it_runs_changes_nothing(tmp_path: Path) -> None:
    with cockpit(tmp_path, leader=True) as (process, master):
        process.send_signal(signal.SIGCONT)
        os.write(master, b"q")
        seen = b""
        while select.select([master], [], [], LIMIT)[0]:
            try:
                seen += os.read(master, 65_536)
            except OSError:  # nobody is at the other end any more
                break
        assert process.wait(LIMIT) == 0
    assert ENTER not in seen
