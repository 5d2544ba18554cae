"""Where nothing can be drawn the cockpit prints the fleet as text, and not one escape."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from test_check_real_box import write_fleet
from test_cockpit_tmux import Terminal


@pytest.mark.parametrize("words", [("--fleet", "{fleet}"), ("--fleet", "{fleet}", "--read-only")])
async def test_without_a_tty_it_prints_the_fleet_once(  # type: ignore[no-untyped-def]
    words: tuple[str, ...], box, tmp_path: Path
) -> None:
    fleet = write_fleet(tmp_path, box)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gpu_tui", *(word.format(fleet=fleet) for word in words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode in (0, 1), err.decode()
    assert b"lab-1" in out
    assert b"\x1b" not in out + err
    assert err.decode().count("\n") == 1
    assert "needs a terminal" in err.decode()


async def test_a_dumb_terminal_gets_text(  # type: ignore[no-untyped-def]
    box, make_terminal: Callable[[int, int], Terminal], tmp_path: Path
) -> None:
    terminal = make_terminal(100, 30)
    words = [sys.executable, "-m", "gpu_tui", "--fleet", str(write_fleet(tmp_path, box))]
    raw = tmp_path / "raw"
    state = shlex.quote(f"XDG_STATE_HOME={tmp_path}")
    told = f"env TERM=dumb {state} {shlex.join(words)}"
    await terminal.run(f"script -qec {shlex.quote(told)} {raw}; echo left; exec cat")
    await terminal.until("needs a terminal", "lab-1", "left")
    assert b"\x1b" not in await asyncio.to_thread(raw.read_bytes)


@pytest.mark.parametrize(
    ("words", "leads_to"),
    [
        (["demo"], "gpu-tui demo --boxes-only"),
        (["replay", "some.tape"], "watched, and not printed"),
    ],
)
def test_what_only_a_screen_can_show_says_what_there_is_instead(
    words: list[str], leads_to: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gpu_tui", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert leads_to in done.stderr
    assert not (tmp_path / "gpu-tui/toured").exists()  # nobody was shown around
