"""A line appended on the box -> in our store, against `ssh host tail -F` read by a pipe.

One real sshd, one file, one writer that stamps each line with the machine's monotonic clock. The ways
take turns; each round gives its own p50 and p95, and the table the medians of the rounds. The pipe is
read twice: by blocking reads in a process that does nothing else (the least there can be), and by
asyncio, as any program must that follows more than one.

A line is in the store once it can be drawn from there, which is before anybody has judged it; how late
it was judged is told apart.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

from boxes import Sshd

from gpu_tui.collect.follow import follow
from gpu_tui.collect.tail_memory import TailMemory
from gpu_tui.core.events import Event, LogArrived, LogCame, LogOpened
from gpu_tui.core.fleet import Fleet
from gpu_tui.core.logs import LogSource
from gpu_tui.state.store import Store
from gpu_tui.transport.ssh import CIPHERS, SshTransport
from gpu_tui.wiring import SystemClock, run

ROUNDS = 5
LINES = 300
GAP = 0.012  # seconds between lines: no line may wait behind the one before it

Way = Callable[[Sshd, int], list[float]]

WRITER = """
import os, random, sys, time
path, count, gap = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
with open(path, "ab", buffering=0) as log:
    for _ in range(count):
        time.sleep(random.uniform(0.5, 1.5) * gap)
        log.write(b"stamp %d step 10/500 loss 0.25\\n" % time.monotonic_ns())
"""
# Both readers print how late each line was. The first is the plainest there is.
BLOCKING = """
import os, sys, time
count, held = int(sys.argv[1]), b""
print("ready", flush=True)
while count > 0:
    chunk = os.read(0, 65536)
    now = time.monotonic_ns()
    *lines, held = (held + chunk).split(b"\\n")
    for line in lines:
        if line.startswith(b"stamp "):
            print(now - int(line.split()[1]))
            count -= 1
"""
ASYNCIO = """
import asyncio, sys, time
count = int(sys.argv[1])
class Pipe(asyncio.Protocol):
    held = b""
    def data_received(self, chunk):
        global count
        now = time.monotonic_ns()
        *lines, self.held = (self.held + chunk).split(b"\\n")
        for line in lines:
            if line.startswith(b"stamp "):
                print(now - int(line.split()[1]))
                count -= 1
        if count <= 0:
            done.set_result(None)
async def main():
    global done
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    await loop.connect_read_pipe(Pipe, sys.stdin)
    print("ready", flush=True)
    await done
asyncio.run(main())
"""


def measure(rounds: int = ROUNDS, lines: int = LINES) -> dict[str, object]:
    """p50 and p95 in milliseconds of each way, and our ratios to the other two."""
    late_judged: list[list[float]] = []

    def ours(box: Sshd, number: int) -> list[float]:
        kept, judged = run(_follow(box, lines, number))  # as the cockpit runs
        late_judged.append(quantiles(judged, n=100))
        return kept

    ways: dict[str, Way] = {
        "pipe, blocking": lambda box, number: _plain(box, lines, number, BLOCKING),
        "pipe, asyncio": lambda box, number: _plain(box, lines, number, ASYNCIO),
        "store": ours,
    }
    found: dict[str, list[list[float]]] = {name: [] for name in ways}

    with tempfile.TemporaryDirectory() as directory:
        box = Sshd(Path(directory) / "box").start()
        try:
            for number in range(rounds):
                for name, way in list(ways.items())[:: 1 if number % 2 else -1]:
                    found[name].append(quantiles(way(box, number), n=100))
        finally:
            box.close()
    found["judged in the store"] = late_judged
    row: dict[str, object] = {}
    for label, cut in (("p50", 49), ("p95", 94)):
        late = {name: median(one[cut] for one in rows) for name, rows in found.items()}
        row |= {f"{name} {label} ms": round(value, 3) for name, value in late.items()}
        for name in ("pipe, blocking", "pipe, asyncio"):
            row[f"ratio to {name} {label}"] = round(late["store"] / late[name], 2)
    return row


def _write(path: Path, lines: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(lines), str(GAP)])


def _plain(box: Sshd, lines: int, number: int, program: str) -> list[float]:
    log = box.home / f"plain{number}{len(program)}.log"
    log.write_bytes(b"begin\n")
    words = ["ssh", "-T", "-F", str(box.config), "-o", f"UserKnownHostsFile={box.known_hosts}"]
    words += ["-c", ",".join(CIPHERS), "-i", str(box.identity), "-p", str(box.port), "127.0.0.1"]
    tail = subprocess.Popen([*words, f"tail -F {log}"], stdout=subprocess.PIPE)
    assert tail.stdout
    os.read(tail.stdout.fileno(), 64)  # it has begun
    read = [sys.executable, "-c", program, str(lines)]
    reader = subprocess.Popen(read, stdin=tail.stdout, stdout=subprocess.PIPE, text=True)
    assert reader.stdout
    reader.stdout.readline()
    writer = _write(log, lines)
    said, _ = reader.communicate()
    writer.wait()
    tail.kill()
    tail.wait()
    tail.stdout.close()
    return [int(line) / 1e6 for line in said.split()]


async def _follow(box: Sshd, lines: int, number: int) -> tuple[list[float], list[float]]:
    """How late each line was in the store, where it can be drawn, and how late it was judged there."""
    log = box.home / f"ours{number}.log"
    log.write_bytes(b"begin\n")
    instance = box.instance()
    store = Store(Fleet("bench", (instance,)), {})
    source = LogSource(str(log))
    opened, done = asyncio.Event(), asyncio.Event()
    delays: list[float] = []
    judged: list[float] = []
    kept = 0  # lines of the log in the store, where they can be drawn from

    def sink(event: Event) -> None:
        nonlocal kept
        store.apply(event)
        now = time.monotonic_ns()
        if isinstance(event, LogOpened):
            opened.set()
        if isinstance(event, (LogCame, LogArrived)) and (log := store.log(instance.name, source)):
            for number in range(kept, log.end - log.open):
                if (text := log.text(number)).startswith("stamp "):
                    delays.append((now - int(text.split()[1])) / 1e6)
            kept = log.end - log.open
        if isinstance(event, LogArrived):
            for line in event.lines:
                if line.text.startswith("stamp ") and not line.open:
                    judged.append((now - int(line.text.split()[1])) / 1e6)
            if len(judged) >= lines:
                done.set()

    transport = SshTransport()
    connection = await transport.connect(instance)
    task = asyncio.create_task(
        follow(connection, instance, source, sink, SystemClock(), TailMemory())
    )
    try:
        async with asyncio.timeout(60):
            await opened.wait()
            writer = _write(log, lines)
            await done.wait()
        writer.wait()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await connection.close()
        await transport.close()
    return delays, judged


if __name__ == "__main__":
    for key, value in measure().items():
        print(f"{key:24} {value}")
