"""What a person does first and last, in a real terminal: the first start, and a shell of their own and back."""

from __future__ import annotations

import asyncio
import shlex
import sys
from pathlib import Path

import pytest
from test_check_real_box import write_fleet
from test_cockpit_tmux import Terminal

MODULE = [sys.executable, "-m", "gpu_tui"]


def ssh_home(path: Path, box) -> Path:  # type: ignore[no-untyped-def]
    """A home whose ssh knows one box that answers, one that refuses, and a code host."""
    access = box.ssh_access
    (path / ".ssh").mkdir()
    (path / ".ssh/config").write_text(
        f"Host lab-1\n  HostName {access.host}\n  Port {access.port}\n  User {access.user}\n"
        f"  IdentityFile {access.identity}\n  UserKnownHostsFile {access.known_hosts}\n"
        "Host closed\n  HostName 127.0.0.1\n  Port 2\n"
        "Host code\n  HostName github.com\n"
    )
    return path


async def test_the_first_start_looks_at_two_boxes_and_writes_only_when_asked(  # type: ignore[no-untyped-def]
    box, make_terminal, tmp_path: Path
) -> None:
    home, work = ssh_home(tmp_path, box), tmp_path / "work"
    work.mkdir()
    env = f"cd {shlex.quote(str(work))}; env HOME={shlex.quote(str(home))}"
    command = f"{env} {shlex.join(MODULE)}; echo left with $?; exec cat"
    terminal: Terminal = make_terminal(80, 24)
    await terminal.run(command)
    screen = await terminal.until("lab-1", "answers", "refused")
    assert screen.index("closed") < screen.index("code")  # what is hardly a GPU box comes last
    assert list(work.iterdir()) == []
    await terminal.keys("w")
    await terminal.until("1 Instances", "lab-1", "live")
    assert 'host: "lab-1"' in (work / "fleet.yaml").read_text()


async def test_a_shell_of_ones_own_comes_back_to_the_cockpit_as_it_was(  # type: ignore[no-untyped-def]
    box, make_terminal, tmp_path: Path
) -> None:
    fleet = write_fleet(tmp_path, box)
    env = f"env XDG_STATE_HOME={shlex.quote(str(tmp_path))}"
    command = shlex.join([*MODULE, "--fleet", str(fleet)])
    terminal: Terminal = make_terminal(80, 24)
    await terminal.run(f"{env} {command}; echo left with $?; exec cat")
    await terminal.until("lab-1", "live")
    await terminal.keys("!")
    await terminal.until("exit brings you back")
    await terminal.keys("echo on-$((40 + 2)); exit 7", "Enter")
    screen = await terminal.until("the shell on lab-1 ended", "exit 7", "1 Instances", "live")
    assert "on-42" not in screen
    await terminal.keys("?")  # the keyboard is ours again
    await terminal.until("Help", "everywhere")
    await terminal.keys("q")
    await terminal.until("1 Instances")
    await terminal.keys("q")
    await terminal.until("left with 0", "on-42")  # what the shell showed stands above us


@pytest.mark.parametrize("inside", [True, False])
async def test_what_is_copied_is_in_the_tmux_around_us_and_else_in_a_file_too(  # type: ignore[no-untyped-def]
    inside: bool, box, make_terminal, tmp_path: Path
) -> None:
    (box.home / "logs").mkdir()
    (box.home / "logs/master.log").write_text("a line worth keeping\n")
    env = f"env {'' if inside else '-u TMUX'} XDG_STATE_HOME={shlex.quote(str(tmp_path))}"
    command = shlex.join([*MODULE, "--fleet", str(write_fleet(tmp_path, box))])
    terminal: Terminal = make_terminal(100, 30)
    await terminal.run(f"{env} {command}; echo left with $?; exec cat")
    await terminal.until("a line worth keeping")
    await terminal.keys("5", "y")
    kept = tmp_path / "gpu-tui/copied.txt"
    if inside:  # with the options that tmux has by itself
        await terminal.until("1 line copied")
        assert await terminal._tmux("show-buffer") == "a line worth keeping"
        assert not kept.exists()
    else:
        await terminal.until("1 line copied · if it does not arrive:", "copied.txt")
        assert kept.read_text() == "a line worth keeping"
    await terminal.keys("q")
    await terminal.until("left with 0")


REPLIES = (
    "\x1b[?1;2c", "\x1b[0n", "\x1b[24;80R", "\x1b[8;24;80t", "\x1b[>0;276;0c", "\x1b[?62;4c",
    "\x1bP>|tmux 3.3a\x1b\\", "\x1b]11;rgb:0000/0000/0000\x1b\\", "\x1b[?2026;2$y", "\x1bP1$r0m\x1b\\",
    "\x1bP0$rautodl-1-3f9c\x1b\\", "\x1b]lautodl-1-3f9c\x1b\\",
)  # fmt: skip


async def test_what_a_terminal_answers_types_nothing_into_a_ladder(  # type: ignore[no-untyped-def]
    make_terminal, tmp_path: Path
) -> None:
    said = tmp_path / "asked"
    terminal: Terminal = make_terminal(80, 24)
    here = Path(__file__)
    words = ["env", f"PYTHONPATH={here.parents[2] / 'tools'}", sys.executable]
    words += [str(here.with_name("ladder_alone.py")), str(said)]
    await terminal.run(f"{shlex.join(words)}; echo left with $?; exec cat")
    await terminal.until("1 Instances", "autodl-1")
    await terminal.keys("t")
    await terminal.until("Keep everything as it is")
    await terminal.keys("Down", "Down", "Enter")
    await terminal.until("To go on, type autodl-1-3f9c")
    await terminal.keys("Tab")
    async with asyncio.timeout(60):  # keys count only a moment after the focus came
        while "› a" not in await terminal.screen():
            await terminal.keys("a")
    for reply in (*REPLIES, "autodl-1-3f9c\r"):
        await terminal.keys("-l", reply)
    await terminal.until("faster than a hand types")
    await terminal.keys("-l", "\x1b[200~autodl-1-3f9c\x1b[201~")
    screen = await terminal.until("pasting is refused here")
    (field,) = [row for row in screen.splitlines() if row.lstrip().startswith("› ")]
    assert "autodl" not in field
    await terminal.keys("q")  # a letter of the phrase, if anything: only escape leads away
    await terminal.keys("Escape")
    await terminal.until("1 Instances")
    await terminal.keys("q")
    await terminal.until("left with 0")
    assert said.read_text() == "[('close', '')]"
