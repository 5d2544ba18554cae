"""`gpu-tui pull NAME` as a person and as a script run it: lines, progress, exit codes, and after kill -9."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from pathlib import Path
from random import Random

import pytest
import yaml
from boxes import Sshd
from faults.wire import Wire
from rented import RentedBox
from terminal_of import on_a_terminal

from gpu_tui.teardown.local import local_tree

SHARDS, SHARD = 12, 3_000_000
RATE = 20e6  # bytes per second: slow enough to be under way when it is killed


@pytest.fixture
def rented(box: Sshd) -> RentedBox:
    made = RentedBox(box)
    random = Random(1)
    for number in range(SHARDS):
        made.write(f"base/shard-{number}.dat", random.randbytes(SHARD))
    return made


def write_fleet(path: Path, rented: RentedBox, port: int) -> Path:
    access = rented.sshd.ssh_access
    known = path / "known_hosts"
    text = Path(str(access.known_hosts)).read_text()
    known.write_text(text + text.replace(f":{access.port} ", f":{port} "))
    row = {
        "name": "pod",
        "host": f"ssh://{access.user}@{access.host}:{port}",
        "platform": "generic-ssh",
        "queue": {"file": str(rented.queue), "log": str(rented.log)},
        "results": {"remote": str(rented.results), "local": str(path / "here")},
        "ssh": {
            "known_hosts": str(known),
            "identity": access.identity,
            "config": access.config,
        },
        "roots": {"proc": str(rented.proc), "dev": str(rented.sshd.home / "dev")},
    }
    fleet = path / "fleet.yaml"
    fleet.write_text(yaml.safe_dump({"sweep": "lab", "instances": [row]}))
    return fleet


def words(fleet: Path) -> list[str]:
    return [sys.executable, "-m", "gpu_tui", "pull", "pod", "--fleet", str(fleet)]


def environment(path: Path) -> dict[str, str]:
    own = {"XDG_STATE_HOME": str(path / "state"), "TERM": "xterm-256color"}
    return {**os.environ, **own}


async def start(fleet: Path, path: Path) -> asyncio.subprocess.Process:
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    return await asyncio.create_subprocess_exec(
        *words(fleet), env=environment(path), stdin=nothing, stdout=pipe, stderr=pipe
    )


async def pulling(process: asyncio.subprocess.Process) -> bytes:
    """Read what it says until files come: that line."""
    assert process.stdout
    async for line in process.stdout:
        if line.startswith(b"working  Pull: "):
            return line
    pytest.fail("it ended before it pulled")


async def test_killed_in_the_middle_and_run_again(rented: RentedBox, tmp_path: Path) -> None:
    wanted, here = local_tree(rented.results).manifest, tmp_path / "here"
    async with Wire(rented.sshd.port, rate=RATE) as wire:
        fleet = write_fleet(tmp_path, rented, wire.port)
        first = await start(fleet, tmp_path)
        line = await pulling(first)
        first.kill()
        await first.wait()
        assert re.search(rb"Pull: [0-9.]+( [KM]?i?B)? / 34\.3 MiB", line)
        assert set(local_tree(here).manifest.files) <= set(wanted.files)
        assert local_tree(here).manifest != wanted
        wire.rate = None
        again = await start(fleet, tmp_path)
        out, err = await again.communicate()
    assert (again.returncode, err) == (0, b""), out.decode()
    assert local_tree(here).manifest == wanted
    shown = out.decode()
    assert "\x1b" not in shown
    assert "\r" not in shown
    for rung in ("Manifest", "Pull", "Match", "Load"):
        assert f"passed   {rung}: " in shown


async def test_a_link_that_is_lost_is_said_with_what_to_do(
    rented: RentedBox, tmp_path: Path
) -> None:
    async with Wire(rented.sshd.port, rate=RATE) as wire:
        first = await start(write_fleet(tmp_path, rented, wire.port), tmp_path)
        await pulling(first)
        wire.reset()
        assert first.stdout
        rest = await first.stdout.read()
        assert await first.wait() == 1
    assert "the connection was lost" in rest.decode()
    assert "pull again: what is here is kept" in rest.decode()


async def test_ctrl_c_says_that_what_came_is_kept(rented: RentedBox, tmp_path: Path) -> None:
    async with Wire(rented.sshd.port, rate=RATE) as wire:
        first = await start(write_fleet(tmp_path, rented, wire.port), tmp_path)
        await pulling(first)
        first.send_signal(signal.SIGINT)
        _, said = await first.communicate()
    assert first.returncode == 130
    assert said.decode() == "\nrun it again: what is here is kept\n"


async def test_on_a_terminal_progress_is_one_line(rented: RentedBox, tmp_path: Path) -> None:
    async with Wire(rented.sshd.port, rate=RATE) as wire:
        fleet = write_fleet(tmp_path, rented, wire.port)
        said = await asyncio.to_thread(
            on_a_terminal, words(fleet), environment(tmp_path), b"passed   Pull"
        )
    before = said.split(b"passed   Pull")[0]
    assert re.search(
        rb"\r\x1b\[Kworking  Pull: [0-9.]+( [KM]?i?B)? / 34\.3 MiB \xc2\xb7 [0-9.]+ [KM]iB/s",
        before,
    )
    assert b"ETA" in before
    assert before.endswith(b"\r\x1b[K")
    rows = before.split(b"\r\x1b[K")
    assert all(len(row.decode()) < 80 for row in rows if row.startswith(b"working"))
