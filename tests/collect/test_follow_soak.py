"""A soak: numbered lines by a real writer, through cuts, rotations and truncations, against a real sshd.

Short by default; GPU_TUI_NIGHTLY=1 makes it a million lines through 200 cuts, 50 rotations and 20
truncations.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random

import pytest
from boxes import Sshd

from gpu_tui.collect import follow_program
from gpu_tui.collect.follow import follow
from gpu_tui.collect.tail_memory import TailMemory
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import Event, LogArrived, Noted
from gpu_tui.core.logs import LogSource
from gpu_tui.transport.base import Connection, LinkError
from gpu_tui.transport.ssh import SshTransport

NIGHTLY = bool(os.environ.get("GPU_TUI_NIGHTLY"))
LINES, CUTS, ROTATIONS, TRUNCATIONS = (1_000_000, 200, 50, 20) if NIGHTLY else (60_000, 20, 6, 4)
SOURCE = LogSource("~/train.log", "cell")
KEPT = 8  # rotated files that the writer keeps: older numbers, and so inodes, come again


def numbered(n: int) -> str:
    """Line `n`, of a length of its own."""
    return f"line {n} {'x' * (n * 7 % 120)}"


# Reads commands, answers each with how many lines it has written. `write N` writes in pieces that end
# anywhere; `rotate` as logging handlers do it, `copy` as logrotate's copytruncate, `cut` in place.
WRITER = f"""
import os, random, shutil, sys, time
path, random = sys.argv[1], random.Random(int(sys.argv[2]))
out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
n = 0
def shift():
    for k in range({KEPT}, 0, -1):
        if os.path.exists(f"{{path}}.{{k}}"):
            os.rename(f"{{path}}.{{k}}", f"{{path}}.{{k + 1}}")
for command in sys.stdin:
    match command.split():
        case ["write", count]:
            text = "".join(f"line {{k}} {{'x' * (k * 7 % 120)}}\\n" for k in range(n, n + int(count)))
            data, at = text.encode(), 0
            n += int(count)
            while at < len(data):
                at += os.write(out, data[at:at + random.choice((1, 60, 700, 5000, 40000))])
                if random.random() < 0.2:
                    time.sleep(0.001)
        case ["rotate"]:
            shift()
            os.rename(path, path + ".1")
            os.close(out)
            out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        case ["copy"]:
            shift()
            shutil.copyfile(path, path + ".1")
            os.ftruncate(out, 0)
        case ["cut"]:
            os.ftruncate(out, 0)
    print(n, flush=True)
"""


class Writer:
    """The process that writes the log."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.written = 0

    def start(self, command: str) -> asyncio.Task[int]:
        """Have it begin; the task ends when it is done."""
        return asyncio.create_task(self(command))

    async def __call__(self, command: str) -> int:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{command}\n".encode())
        self.written = int(await self._process.stdout.readline())
        return self.written


@asynccontextmanager
async def writing(path: Path, seed: int) -> AsyncIterator[Writer]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", WRITER, str(path), str(seed)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield Writer(process)
    finally:
        assert process.stdin
        process.stdin.close()
        await process.wait()


class Ledger:
    """A sink that counts what came: lost, doubled, torn, and whether losses were told."""

    def __init__(self) -> None:
        self.next = 0
        self.counts: Counter[str] = Counter()
        self.notes: list[str] = []
        self._told = False
        self._woken = asyncio.Event()

    def __call__(self, event: Event) -> None:
        if isinstance(event, Noted):
            self.notes.append(event.text)
            self._told = True
        elif isinstance(event, LogArrived):
            for line in event.lines:
                if not line.open:
                    self._line(line.text)
        self._woken.set()

    def _line(self, text: str) -> None:
        words = text.split(" ")
        number = int(words[1]) if len(words) > 1 and words[1].isdigit() else -1
        if text != numbered(number):
            self.counts["torn"] += 1
        elif number < self.next:
            self.counts["doubled or out of order"] += 1
        else:
            if number > self.next:
                self.counts["lost"] += number - self.next
                self.counts["lost in silence"] += 0 if self._told else number - self.next
            self.next = number + 1
            self._told = False

    async def until(self, lines: int) -> None:
        """Until that many lines have come, or been lost."""
        async with asyncio.timeout(60):
            while self.next < lines:
                await self.more()

    async def more(self) -> None:
        """Until the next event."""
        self._woken.clear()
        await self._woken.wait()


class Client:
    """Follows with one memory over as many connections as it takes, and can be told to stay away."""

    def __init__(self, box: Sshd) -> None:
        self.ledger = Ledger()
        self.memory = TailMemory()
        self.connections = 0
        self.connection: Connection | None = None
        self.may_come = asyncio.Event()
        self.may_come.set()
        self._box = box

    async def run(self) -> None:
        while True:
            await self.may_come.wait()
            with suppress(LinkError):
                # A transport of its own: one that counts how often we come would make us wait.
                connection = await SshTransport().connect(self._box.instance())
                self.connections += 1
                self.connection = connection
                try:
                    await self._follow(connection)
                finally:
                    self.connection = None
                    await connection.close()

    async def _follow(self, connection: Connection) -> None:
        tail = asyncio.create_task(
            follow(
                connection,
                self._box.instance(),
                SOURCE,
                self.ledger,
                ManualClock(),
                self.memory,
            )
        )
        lost = asyncio.create_task(connection.wait_closed())
        await asyncio.wait({tail, lost}, return_when=asyncio.FIRST_COMPLETED)
        for task in (tail, lost):
            task.cancel()
        for result in await asyncio.gather(tail, lost, return_exceptions=True):
            if isinstance(result, Exception) and not isinstance(result, LinkError):
                raise result

    async def leave(self) -> None:
        """Abort the connection and stay away."""
        self.may_come.clear()
        await self.abort()

    async def abort(self) -> None:
        if self.connection is not None:
            await self.connection.close()


@asynccontextmanager
async def watching(box: Sshd) -> AsyncIterator[Client]:
    client = Client(box)
    running = asyncio.create_task(client.run())
    try:
        yield client
    finally:
        running.cancel()
        (end,) = await asyncio.gather(running, return_exceptions=True)
        assert isinstance(end, asyncio.CancelledError), end


def tails(box: Sshd) -> list[int]:
    return [pid for pid, words in box.processes().items() if " -f -- " in words]


def send(pids: list[int], what: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, what)


async def cut(box: Sshd, client: Client, kind: int, busy: asyncio.Task[int]) -> None:
    """One cut of a stream that runs, while the writer is busy."""
    match kind % 4:
        case 0:
            box.kill_sessions()
        case 1:
            await client.abort()
        case 2:
            send(tails(box), signal.SIGKILL)
        case _:
            stopped = tails(box) + box.session_pids()
            send(stopped, signal.SIGSTOP)
            await busy
            send(stopped, signal.SIGCONT)
    await busy


@pytest.mark.nightly
@pytest.mark.timeout(3600 if NIGHTLY else 120)
async def test_no_line_is_lost_or_doubled(box: Sshd) -> None:
    began = time.monotonic()
    random = Random(7)
    log = box.home / "train.log"
    steps = [*range(CUTS), *["rotate"] * ROTATIONS, *["cut", "copy"] * (TRUNCATIONS // 2)]
    random.shuffle(steps)
    per_step = LINES // len(steps) + 1
    done: Counter[str] = Counter()
    async with writing(log, 7) as write, watching(box) as client:
        ledger = client.ledger
        await ledger.until(await write("write 1"))
        for step in steps:
            if isinstance(step, int):
                await ledger.until(write.written - per_step // 2)
                await cut(box, client, step, write.start(f"write {per_step}"))
                done["cuts"] += 1
            elif step == "rotate":
                await write(f"write {per_step // 2}")
                await write("rotate")
                await write(f"write {per_step - per_step // 2}")
                done["rotations"] += 1
            else:
                # What is cut away before anyone could read it is lost to everybody.
                await ledger.until(await write(f"write {per_step}"))
                await write(step)
                done["truncations"] += 1
        # Several rotations, and a copy made before a cut, in one absence.
        for turn in ("rotate", "rotate", "copy", "rotate", "copy"):
            await client.leave()
            await write("write 100")
            await write(turn)
            await write("write 100")
            if turn != "copy":
                await write("rotate")
                await write("write 100")
            client.may_come.set()
            await ledger.until(await write("write 1"))
        await ledger.until(write.written)
        assert write.written >= LINES
    counts = {name: ledger.counts[name] for name in ("lost", "doubled or out of order", "torn")}
    print(f"\n{ledger.next} lines, {dict(done)}, {client.connections} connections, {counts},")
    print(f"{time.monotonic() - began:.1f} s; {Counter(ledger.notes)}")
    assert (done["cuts"], done["rotations"]) == (CUTS, ROTATIONS)
    assert counts == {"lost": 0, "doubled or out of order": 0, "torn": 0}
    assert ledger.next == write.written


async def test_what_a_cut_took_away_unread_is_told(box: Sshd) -> None:
    """Cut without waiting for us: lines may be gone, but never in silence, twice or in disorder."""
    random = Random(11)
    log = box.home / "train.log"
    async with writing(log, 11) as write, watching(box) as client:
        ledger = client.ledger
        for turn in range(12):
            begun = write.written
            writing_more = write.start(f"write {random.randrange(200, 3000)}")
            await ledger.until(begun + 40)
            if turn % 4 == 3:
                await client.leave()
            await writing_more
            await write("cut")
            await write(f"write {random.randrange(1, 15)}")  # fewer bytes than we have read
            client.may_come.set()
            await ledger.until(write.written)
        print(
            f"\n{ledger.next} of {write.written} lines, {dict(ledger.counts)}, {client.memory.gaps}"
        )
        assert ledger.counts["lost in silence"] == 0
        assert ledger.counts["doubled or out of order"] == 0


async def test_a_text_written_anew_while_tail_slept_is_told(
    box: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is longer than the old one was, so tail reads on in the middle of it."""
    monkeypatch.setattr(follow_program, "CHECK", 1)
    async with writing(box.home / "train.log", 3) as write, watching(box) as client:
        ledger = client.ledger
        await ledger.until(await write("write 10"))
        stopped = tails(box)
        send(stopped, signal.SIGSTOP)
        await write("write 10")
        await write("cut")
        await write("write 300")
        send(stopped, signal.SIGCONT)
        await ledger.until(write.written)
        async with asyncio.timeout(30):
            while not ledger.notes:
                await ledger.more()
        assert "written anew" in ledger.notes[0]
        assert client.memory.lost > 0
        assert ledger.counts["doubled or out of order"] == 0
