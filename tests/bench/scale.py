"""Many boxes at 1 Hz with two tails of one line a second each: what one cockpit pays, without its screen.

The boxes are SSH servers in processes of their own (see `farm`), which play what the real sampler and
the real follower print, and a few real sshd that run them. The client is a process of its own too, so
that its CPU, memory and loop lag are nobody else's: `python -m bench.scale client ...` measures itself.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import quantiles

from bench.farm import CELL, QUEUE_HEAD, QUEUE_LOG
from boxes import Sshd, make_key
from collect.shell_box import GPU_ROW, ShellBox, finish, start

from gpu_tui.collect.follow import follow_program
from gpu_tui.collect.sampler import plan
from gpu_tui.collect.supervisor import Supervisor
from gpu_tui.collect.tail_memory import TailMemory
from gpu_tui.core.events import Event, LinkChanged, LogArrived, Sampled
from gpu_tui.core.fleet import Fleet, Instance, QueueFiles, SshAccess
from gpu_tui.state.history import SqliteHistory
from gpu_tui.state.store import Store
from gpu_tui.transport.ssh import SshTransport
from gpu_tui.wiring import SystemClock, run

FARMS = 4  # processes that play boxes
REAL = 4  # real sshd among them
RECORDED_SECONDS = 12
SETTLE_SECONDS = 10  # after the last box is live: first contact is not the steady state
WATCHED_SECONDS = 30
TICK = 0.02


def measure(counts: tuple[int, ...] = (64, 256)) -> dict[str, object]:
    """CPU share of one core, memory in MB and loop lag in ms for each count of boxes, and the slope."""
    row: dict[str, object] = {}
    shares = {}
    for count in counts:
        seen = _one(count)
        shares[count] = seen["cpu"]
        row[f"{count} boxes: live"] = seen["live"]
        row[f"{count} boxes: readings/s"] = round(seen["readings"], 1)
        row[f"{count} boxes: lines/s"] = round(seen["lines"], 1)
        row[f"{count} boxes: all live after s"] = round(seen["connected"], 1)
        row[f"{count} boxes: CPU of a core"] = f"{seen['cpu']:.1%}"
        row[f"{count} boxes: RSS MB"] = round(seen["rss"])
        row[f"{count} boxes: RSS of a process without boxes MB"] = round(seen["rss before"])
        row[f"{count} boxes: loop lag p99 ms"] = round(seen["lag"], 1)
        row[f"{count} boxes: unfinished logins at one server, at most"] = seen["logins"]
    first, last = min(counts), max(counts)
    if first != last:
        slope = (shares[last] - shares[first]) / (last - first)
        row["CPU of a core for each further box"] = f"{slope:.3%}"
    return row


def _one(count: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as kept:
        directory = Path(kept)
        real = [Sshd(directory / f"real{number}").start() for number in range(min(REAL, count))]
        farms: list[subprocess.Popen[str]] = []
        try:
            key, identity = make_key(directory / "host_key", "host"), make_key(directory / "id", "")
            (directory / "authorized_keys").write_text(Path(f"{identity}.pub").read_text())
            asyncio.run(record(directory))
            boxes = []
            left = count - len(real)
            for number in range(FARMS):
                share = left // FARMS + (number < left % FARMS)
                words = [sys.executable, "-m", "bench.farm", str(directory), str(share)]
                pipe = subprocess.PIPE
                farms.append(subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True))
            kind, public = Path(f"{key}.pub").read_text().split()[:2]
            known = directory / "known_hosts"
            with known.open("w") as lines:
                for farm in farms:
                    assert farm.stdout
                    for port in json.loads(farm.stdout.readline()):
                        lines.write(f"[127.0.0.1]:{port} {kind} {public}\n")
                        boxes.append([port, str(identity), str(known)])
            boxes += [[box.port, str(box.identity), str(box.known_hosts)] for box in real]
            (directory / "boxes.json").write_text(json.dumps(boxes))
            for box in real:
                box.program("nvidia-smi", f"#!/bin/sh\necho '{GPU_ROW}'\n")
                (box.home / "runs").mkdir()
                (box.home / "runs" / QUEUE_LOG).write_text(QUEUE_HEAD)
            writers = [_writer(box) for box in real]
            words = [sys.executable, "-m", "bench.scale", "client", str(directory)]
            try:
                done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
            finally:
                for writer in writers:
                    writer.kill()
                    writer.wait()
            seen: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
            seen["logins"] = max(int(farm.communicate()[0]) for farm in farms)
            return seen
        finally:
            for farm in farms:
                farm.kill()
                farm.wait()
            for box in real:
                box.close()


def _writer(box: Sshd) -> subprocess.Popen[bytes]:
    line = "Epoch 3/20 step $n/5000 loss 0.3 lr 3.0e-4 12.1 it/s"
    loop = f'n=0; while n=$((n + 1)); do for log in "$@"; do echo "{line}" >>"$log"; done; sleep 1; done'
    words = ["sh", "-c", loop, "sh", QUEUE_LOG, f"{CELL}.log"]
    return subprocess.Popen(words, cwd=box.home / "runs")


async def record(directory: Path) -> None:
    """Run the real programs under a real shell and keep what they print."""
    box = ShellBox(_made(directory / "shellbox"))
    box.cgroup2()
    told = "0123456789abcdef"
    seconds = [b""] * RECORDED_SECONDS
    for group in plan(_instance("recorded", box)):
        program = group.program.replace(group.nonce, told)
        process = await start(box, "bash", program)
        assert process.stdout
        began = time.monotonic()
        try:
            async with asyncio.timeout(RECORDED_SECONDS):
                while chunk := await process.stdout.read(65_536):
                    second = min(int(time.monotonic() - began), RECORDED_SECONDS - 1)
                    seconds[second] += chunk
        except TimeoutError:
            await finish(process)
    (directory / "sampler.json").write_text(json.dumps([s.decode("latin-1") for s in seconds]))
    log = box.file("home/a.log", "")
    process = await start(box, "bash", follow_program(str(log), told, TailMemory(), 65_536))
    assert process.stdout
    header = b""
    while b" open new " not in header or not header.endswith(b"\n"):
        header += await process.stdout.read(4096)
    (directory / "follower.bin").write_bytes(header)
    await finish(process)


def _instance(name: str, box: ShellBox) -> Instance:
    changes = {"logs": None, "queue": QueueFiles(None, "~/runs/q.log"), "mounts": ("/", "/tmp")}
    return box.instance(name=name, **changes)


def _made(path: Path) -> Path:
    path.mkdir()
    return path


# --- the client, in a process of its own ----------------------------------------------------------


async def client(directory: Path) -> dict[str, float]:
    """Watch every box of `boxes.json` and measure this process."""
    rss_before = _rss()
    boxes = json.loads((directory / "boxes.json").read_text())
    config = directory / "ssh_config"
    config.write_text("")
    fleet = Fleet("scale", tuple(_row(n, box, config) for n, box in enumerate(boxes)))
    live: set[str] = set()
    all_live = asyncio.Event()
    seen = {"readings": 0, "lines": 0}
    with SqliteHistory(directory / "history.sqlite") as history:
        store = Store(fleet, {}, history)

        def sink(event: Event) -> None:
            store.apply(event)
            match event:
                case Sampled():
                    seen["readings"] += 1
                case LogArrived():
                    seen["lines"] += len(event.lines)
                case LinkChanged():
                    (live.add if event.link.live else live.discard)(event.instance)
                    if len(live) == len(boxes):
                        all_live.set()

        transport = SshTransport()
        supervisor = Supervisor(fleet, transport, sink, SystemClock())
        began = time.monotonic()
        running = asyncio.create_task(supervisor.run())
        async with asyncio.timeout(120):
            await all_live.wait()
        connected = time.monotonic() - began
        await asyncio.sleep(SETTLE_SECONDS)
        gc.collect()
        gc.freeze()  # as the cockpit does once everything is loaded
        before, count, began = _cpu(), dict(seen), time.monotonic()
        lags = await _lags(WATCHED_SECONDS)
        wall = time.monotonic() - began
        result = {
            "live": len(live),
            "connected": connected,
            "cpu": (_cpu() - before) / wall,
            "rss": _rss(),
            "rss before": rss_before,
            "lag": quantiles(lags, n=100)[98] * 1000,
            "readings": (seen["readings"] - count["readings"]) / wall,
            "lines": (seen["lines"] - count["lines"]) / wall,
        }
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await transport.close()
    return result


def _row(number: int, box: list[object], config: Path) -> Instance:
    port, identity, known_hosts = box
    ssh = SshAccess(
        host="127.0.0.1",
        user=os.environ.get("USER") or "root",
        port=int(str(port)),
        known_hosts=str(known_hosts),
        identity=str(identity),
        config=str(config),
    )
    return Instance(
        f"box-{number}",
        ssh,
        queue=QueueFiles(None, f"~/runs/{QUEUE_LOG}"),
        logs="~/runs/{cell}.log",
    )


async def _lags(seconds: float) -> list[float]:
    """How late the loop was, every 20 ms."""
    loop = asyncio.get_running_loop()
    lags = []
    end = loop.time() + seconds
    while (due := loop.time() + TICK) < end:
        await asyncio.sleep(TICK)
        lags.append(loop.time() - due)
    return lags


def _cpu() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime


def _rss() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    if sys.argv[1:2] == ["client"]:
        print(json.dumps(run(client(Path(sys.argv[2])))))
    else:
        for key, value in measure().items():
            print(f"{key:60} {value}")
