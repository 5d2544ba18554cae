"""`watch HOST` by the user's own ~/.ssh/config, and what bad input says."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from boxes import Sshd
from test_check_real_box import gpu_tui, write_fleet
from test_cockpit_tmux import Terminal

from gpu_tui.wiring.clock import SystemClock


async def test_watch_needs_no_file(  # type: ignore[no-untyped-def]
    box: Sshd, make_terminal, tmp_path: Path
) -> None:
    """An alias of ~/.ssh/config is enough: port, user, key and known_hosts come from there."""
    access = box.ssh_access
    home = tmp_path / "laptop"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "config").write_text(
        f"Host lab\n  HostName 127.0.0.1\n  Port {access.port}\n  User {access.user}\n"
        f"  IdentityFile {access.identity}\n  UserKnownHostsFile {access.known_hosts}\n"
    )
    terminal: Terminal = make_terminal(80, 24)
    command = shlex.join([sys.executable, "-m", "gpu_tui", "watch", "lab"])
    await terminal.run(f"env HOME={shlex.quote(str(home))} {command}; exec cat")
    await terminal.until("lab", "1 live")
    await terminal.keys("3")
    await terminal.until("memory", "cgroup")


async def test_a_changed_host_key_is_an_error_on_its_row_only(box: Sshd, tmp_path: Path) -> None:
    box.restart_with_new_host_key()
    code, out, _ = await gpu_tui(
        "check", "--json", "--fleet", str(write_fleet(tmp_path, box)), state=tmp_path
    )
    (lab,) = json.loads(out)["instances"]
    assert (lab["link"], lab["verdict"], code) == ("host-key", "unreachable", 1)
    assert "CHANGED" in lab["link_error"]
    assert "SHA256:" in lab["link_error"]
    assert "ssh-keygen" in lab["link_next"]
    assert [finding["kind"] for finding in lab["findings"]] == ["host_key"]


async def test_garbage_from_nvidia_smi_is_an_unknown_error_and_nothing_else_suffers(
    box: Sshd, tmp_path: Path
) -> None:
    box.program("nvidia-smi", "#!/bin/sh\nprintf 'Segfault \\033[2J \\377\\n'; exit 139\n")
    _, out, _ = await gpu_tui(
        "check", "--json", "--fleet", str(write_fleet(tmp_path, box)), state=tmp_path
    )
    (lab,) = json.loads(out)["instances"]
    assert lab["gpus"] == []
    assert lab["gpu_error"]["kind"] == "unknown-error"
    assert "\x1b" not in lab["gpu_error"]["text"]
    assert lab["memory"]["used"] > 0
    assert lab["mounts"][0]["bytes_total"] > 0


@pytest.mark.parametrize(
    ("words", "says", "code"),
    [
        (["--fleet", "nowhere.yaml"], "nowhere.yaml", 2),
        (["check", "--fleet", "nowhere.yaml"], "no such file", 2),
        (["chek"], "Did you mean `gpu-tui check`?", 64),
        (["check", "--nonsense"], "--nonsense", 64),
        (["watch", "somewhere"], "needs a terminal", 1),  # the fleet is printed once: unreachable
        (["watch", "somewhere", "--platform", "autodll"], "autodl", 2),
        (["pull", "nobody", "--fleet", "good.yaml"], "nobody", 2),
        (["clocks", "mark", "box", "stopped", "noon", "--fleet", "good.yaml"], "noon", 2),
    ],
)
async def test_errors_are_a_sentence_and_a_next_step(
    words: list[str], says: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "good.yaml").write_text("instances:\n  - {name: box, host: box}\n")
    monkeypatch.chdir(tmp_path)
    returned, _, err = await gpu_tui(*words, state=tmp_path)
    text = err.decode()
    assert (returned, says in text) == (code, True), text
    assert "Traceback" not in text


async def test_a_manual_mark_starts_a_clock(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        "instances:\n  - {name: old, host: 'ssh://root@127.0.0.1:9', platform: autodl}\n"
    )
    stopped = datetime.fromtimestamp(int(SystemClock().now()) - 3 * 86400, UTC)
    shanghai = stopped.astimezone(timezone(timedelta(hours=8)))
    words = ["clocks", "mark", "old", "stopped", shanghai.isoformat()]
    code, _, err = await gpu_tui(*words, "--fleet", str(fleet), state=tmp_path)
    assert code == 0, err.decode()
    ics = tmp_path / "deadlines.ics"
    words = ["clocks", "--json", "--ics", str(ics), "--fleet", str(fleet)]
    _, out, err = await gpu_tui(*words, state=tmp_path)
    fires = stopped + timedelta(days=15)
    assert f"DTSTART:{fires:%Y%m%dT%H%M%SZ}\r\n" in ics.read_bytes().decode()
    clocks = {clock["id"]: clock for clock in json.loads(out)["clocks"]}
    release = clocks["autodl-release-15d"]
    assert release["started_basis"] == "manual"
    assert release["fires_at"] == f"{fires:%Y-%m-%dT%H:%M:%SZ}"
    assert release["loses"]


async def test_two_processes_share_one_state_directory(box: Sshd, tmp_path: Path) -> None:
    fleet = str(write_fleet(tmp_path, box))
    looks = (gpu_tui("check", "--fleet", fleet, state=tmp_path) for _ in range(3))
    codes = [code for code, _, _ in await asyncio.gather(*looks)]
    assert len(set(codes)) == 1
    assert codes[0] in (0, 1, 2)
    assert os.stat(tmp_path / "gpu-tui").st_mode & 0o777 == 0o700
