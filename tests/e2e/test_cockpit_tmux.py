"""The cockpit in a real terminal against a real sshd where a real queue runs; the screen is read."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from pathlib import Path

import pytest
from sweep import Sweep
from test_check_real_box import CELLS, write_fleet


class Terminal:
    """One tmux server of its own with one window of a fixed size."""

    def __init__(self, socket: Path, width: int, height: int) -> None:
        self._base = ("tmux", "-S", str(socket), "-f", "/dev/null")
        self._size = ("-x", str(width), "-y", str(height))

    async def _tmux(self, *words: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *self._base,
            *words,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"},
        )
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        return out.decode()

    async def run(self, command: str) -> None:
        await self._tmux("new-session", "-d", *self._size, command)

    async def keys(self, *keys: str) -> None:
        await self._tmux("send-keys", *keys)

    async def screen(self) -> str:
        return await self._tmux("capture-pane", "-p")

    async def styled(self) -> str:
        """The screen with its attributes, as escapes."""
        return await self._tmux("capture-pane", "-p", "-e")

    async def until(self, *words: str, limit: float = 60.0) -> str:
        """The first screen that shows all words. A terminal has no event to await: it is read."""
        seen = ""
        try:
            async with asyncio.timeout(limit):
                while True:
                    seen = await self.screen()
                    if all(word in seen for word in words):
                        return seen
        except TimeoutError:
            missing = [word for word in words if word not in seen]
            pytest.fail(f"never on screen: {missing}\n{seen}")

    async def close(self) -> None:
        await self._tmux("kill-server")


async def test_a_sweep_goes_nan_before_your_eyes(  # type: ignore[no-untyped-def]
    box, make_terminal, tmp_path: Path
) -> None:
    terminal: Terminal = make_terminal(160, 45)
    sweep = Sweep(box.home, CELLS)
    fleet = write_fleet(tmp_path, box)
    command = shlex.join([sys.executable, "-m", "gpu_tui", "--fleet", str(fleet)])
    state = shlex.quote(f"XDG_STATE_HOME={tmp_path}")
    # The shell stays so that the window outlives the cockpit and its exit code can be read.
    await terminal.run(f"env {state} {command}; echo left with $?; exec cat")
    try:
        await terminal.until("lab-1", "live")
        sweep.start()
        await asyncio.to_thread(sweep.wait_ready)
        await terminal.until("baseline", "nan_lr", "later", "running", "nan")
        await asyncio.to_thread(sweep.release)
        await asyncio.to_thread(sweep.wait_done)
        await terminal.until("finished", "suspicious")
        await terminal.keys("?")
        await terminal.until("next pane", "Verify, then stop")
        await terminal.keys("q")  # closes the card; Escape and the next key would make a Meta key
        await terminal.until("1 Instances")
        await terminal.keys("q")
        await terminal.until("left with 0")
    finally:
        sweep.kill()


async def test_the_cockpit_is_there_where_stderr_goes_into_a_file(  # type: ignore[no-untyped-def]
    box, make_terminal, tmp_path: Path
) -> None:
    terminal: Terminal = make_terminal(80, 24)
    words = [sys.executable, "-m", "gpu_tui", "--fleet", str(write_fleet(tmp_path, box))]
    state = shlex.quote(f"XDG_STATE_HOME={tmp_path}")
    errors = tmp_path / "errors"
    await terminal.run(f"env {state} {shlex.join(words)} 2>{errors}; echo left with $?; exec cat")
    await terminal.until("1 Instances", "lab-1")
    await terminal.keys("q")
    await terminal.until("left with 0")
    assert await asyncio.to_thread(errors.read_text) == ""


@pytest.mark.parametrize(
    ("env", "rule", "running"),
    [
        ("TERM=linux LANG=C.UTF-8", "─1 Instances", "*"),
        ("TERM=screen-256color LANG=C", "-1 Instances", "*"),
        ("TERM=screen-256color LANG=C.UTF-8 NO_COLOR=1", "─1 Instances", "●"),
    ],
)
async def test_a_small_terminal_of_any_kind_shows_every_pane(  # type: ignore[no-untyped-def]
    env: str, rule: str, running: str, box, make_terminal, tmp_path: Path
) -> None:
    terminal: Terminal = make_terminal(80, 24)
    words = [sys.executable, "-m", "gpu_tui", "--fleet", str(write_fleet(tmp_path, box))]
    state = shlex.quote(f"XDG_STATE_HOME={tmp_path}")
    bare = "env -u COLORTERM -u LC_ALL -u LC_CTYPE"
    await terminal.run(f"{bare} {state} {env} {shlex.join(words)}; echo left with $?; exec cat")
    seen = await terminal.until(rule, "lab-1", f"{running} 1 live")
    for key, title in (
        ("2", "2 Danger clocks"),
        ("3", "3 Vitals"),
        ("4", "4 Queue"),
        ("5", "5 Log"),
    ):
        await terminal.keys(key)
        seen += await terminal.until(rule, f"{rule[0]}{title}", "lab-1")
    assert "\x1b" not in seen
    assert not [word for word in ("[38;", "[48;", "\ufffd", "�") if word in seen]
    assert all(len(line) <= 80 for line in seen.split("\n"))
    if "LANG=C " in f"{env} ":
        assert seen.isascii()
    if "NO_COLOR" in env:
        styled = await terminal.styled()
        assert "\x1b[7m" in styled  # the cursor and the name are inverted
        assert "38;" not in styled
        assert "48;" not in styled
    await terminal.keys("q")
    await terminal.until("left with 0")
