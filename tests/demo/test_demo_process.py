"""The server process from outside: it comes up, and leaves nothing behind however it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gpu_tui.demo import fleet
from gpu_tui.demo.fleet import DemoFailed, running_fleet, simulated_fleet


def ports(fleet: Path) -> list[int]:
    hosts = [line for line in fleet.read_text().splitlines() if "127.0.0.1:" in line]
    return [int(h.rsplit(":", 1)[1].strip('"')) for h in hosts if h.strip().startswith("host")]


def refused(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


async def test_a_fleet_is_up_for_a_block_and_gone_after_it(tmp_path: Path) -> None:
    place = tmp_path / "fleet"
    async with simulated_fleet(boxes=2, speed=10, directory=place) as demo:
        open_ports = ports(demo.fleet_path)
        assert demo.directory == place.resolve()
        assert demo.boxes == ("vega", "rigel")
        assert len(open_ports) == 2
        assert not any(refused(port) for port in open_ports)
        assert (place / "id_demo").stat().st_mode & 0o77 == 0
    assert demo.process.returncode == 0
    assert not place.exists()
    assert all(refused(port) for port in open_ports)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_it_cleanly(number: signal.Signals) -> None:
    with running_fleet(boxes=1) as demo:
        demo.process.send_signal(number)
        assert demo.process.wait(60) == 0
        assert not demo.directory.exists()


# Tells us when the boxes begin to start, and lets them never be there.
STARTING = """
import asyncio, sys
from gpu_tui.demo import server, theatre
async def restore(self):
    print("starting", flush=True)
    await asyncio.Event().wait()
theatre.Line.restore = restore
sys.argv = ["server", "--boxes", "1", "--dir", sys.argv[1]]
sys.exit(server.main())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, None], ids=str)
def test_it_ends_while_its_boxes_start(tmp_path: Path, number: signal.Signals | None) -> None:
    place = tmp_path / "fleet"
    with subprocess.Popen(
        [sys.executable, "-c", STARTING, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdin
        assert server.stdout
        assert server.stdout.readline() == b"starting\n"
        assert place.is_dir()
        if number is None:
            server.stdin.close()
        else:
            server.send_signal(number)
        try:
            assert server.wait(60) == 0
        finally:
            server.kill()
    assert not place.exists()


def test_an_interrupt_ends_a_server_that_still_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads neither stdin nor signals yet."""
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n: >'{begun}'\nexec sleep 600\n")
    python.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(python))

    def interrupted(*_: object) -> bytes:
        begun.read_bytes()  # until it was begun
        raise KeyboardInterrupt

    def ended(process: subprocess.Popen[bytes]) -> None:
        try:
            assert process.wait(60) == -signal.SIGTERM
        finally:
            process.kill()

    monkeypatch.setattr(fleet, "_first_line", interrupted)
    monkeypatch.setattr(fleet, "_end", ended)
    with pytest.raises(KeyboardInterrupt), running_fleet(boxes=1):
        pass


def test_it_ends_with_whoever_started_it() -> None:
    """The parent dies without a word; the server's stdin closes with it."""
    program = (
        "import os, sys\n"
        "from gpu_tui.demo.fleet import running_fleet\n"
        "with running_fleet(boxes=1) as demo:\n"
        "    print(demo.process.pid, demo.directory, flush=True)\n"
        "    sys.stdin.read()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with parent:
        assert parent.stdout
        pid, directory = parent.stdout.readline().decode().split()
        server = os.pidfd_open(int(pid))
        parent.kill()
        parent.wait()
        try:
            import select

            ended, _, _ = select.select([server], [], [], 60)
            assert ended
        finally:
            os.close(server)
    assert not Path(directory).exists()


def test_a_directory_in_use_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("keep")
    with (
        pytest.raises(DemoFailed, match="not empty"),
        running_fleet(boxes=1, directory=tmp_path),
    ):
        pass
    assert (tmp_path / "mine").read_text() == "keep"


@pytest.mark.parametrize("flags", [["--boxes", "0"], ["--boxes", "99"], ["--speed", "0"]])
def test_wrong_flags_are_refused_before_anything_is_made(flags: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gpu_tui.demo.server", *flags],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert b"error: " in done.stderr
    assert done.stdout == b""


def test_the_announcement_is_one_line_of_json() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "gpu_tui.demo.server", "--boxes", "1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdout
        assert server.stdin
        said = json.loads(server.stdout.readline())
        assert Path(said["fleet"]).is_file()
        assert said["boxes"] == ["vega"]
        server.stdin.close()
        assert server.wait(60) == 0


def test_it_starts_in_a_project_that_has_a_module_of_python_s_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "signal.py").write_text("raise SystemExit('mine')\n")
    monkeypatch.chdir(tmp_path)
    with running_fleet(boxes=1) as demo:
        assert len(demo.boxes) == 1
