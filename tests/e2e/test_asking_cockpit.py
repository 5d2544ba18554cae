"""An encrypted key in a real terminal: the cockpit and `check` ask, and a Cancel is kept."""

# ruff: noqa: ASYNC221 - a test may block between two steps of its own

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

from boxes import Sshd
from test_check_real_box import gpu_tui, write_fleet
from test_cockpit_tmux import Terminal


async def test_the_cockpit_asks_and_asks_again_only_by_key(  # type: ignore[no-untyped-def]
    box: Sshd, make_terminal, tmp_path: Path
) -> None:
    words = ["ssh-keygen", "-q", "-p", "-P", "", "-N", "geheim", "-f", str(box.identity)]
    subprocess.run(words, check=True)
    terminal: Terminal = make_terminal(100, 30)
    command = shlex.join(
        [sys.executable, "-m", "gpu_tui", "--fleet", str(write_fleet(tmp_path, box))]
    )
    state = shlex.quote(f"XDG_STATE_HOME={tmp_path}")
    await terminal.run(f"env {state} {command}; echo left with $?; exec cat")
    await terminal.until("Login to lab-1", "Passphrase:")
    while "Login to" in await terminal.screen():
        await terminal.keys("Escape")
    while "3 Vitals" not in await terminal.screen():  # after an Escape a key may be a Meta key
        await terminal.keys("3")
    await terminal.until("auth", "press r")
    await terminal.keys("r")
    await terminal.until("Login to lab-1")
    while "•" not in await terminal.screen():
        await terminal.keys("g")
    await terminal.keys("C-u")  # what was typed to see when the field takes keys
    await terminal.keys(*"geheim", "Enter")
    seen = await terminal.until("1 live")
    assert "geheim" not in seen


async def test_check_asks_on_its_terminal(  # type: ignore[no-untyped-def]
    box: Sshd, make_terminal, tmp_path: Path
) -> None:
    words = ["ssh-keygen", "-q", "-p", "-P", "", "-N", "geheim", "-f", str(box.identity)]
    subprocess.run(words, check=True)
    terminal: Terminal = make_terminal(200, 30)  # wide: no line of the answer is broken
    fleet = str(write_fleet(tmp_path, box))
    command = shlex.join([sys.executable, "-m", "gpu_tui", "check", "--fleet", fleet])
    state = shlex.quote(f"XDG_STATE_HOME={tmp_path}")
    await terminal.run(f"env {state} {command}; echo left with $?; exec cat")
    await terminal.until("asks for the passphrase of the key", "Passphrase:")
    await terminal.keys(*"geheim", "Enter")
    seen = await terminal.until("left with")
    assert "[live" in seen
    assert "geheim" not in seen


async def test_doctor_says_what_reaches_a_box(box: Sshd, tmp_path: Path) -> None:
    box.config.write_text("BindInterface lo\n")
    fleet = str(write_fleet(tmp_path, box))
    code, out, _ = await gpu_tui("doctor", "--json", "--fleet", fleet, state=tmp_path)
    details = {item["check"]: item["detail"] for item in json.loads(out)["items"]}
    assert "via ssh(1): BindInterface" in details["ssh"]
    assert details["host key"].startswith("SHA256:")
    assert code in (0, 1)
