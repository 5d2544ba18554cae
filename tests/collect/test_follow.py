"""Tails against a real sshd: nothing lost, nothing repeated, history told from news."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from boxes import Sshd

from gpu_tui.collect.follow import TailMemory, follow, follow_program, read_once
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import Event, LogArrived, LogFailed, LogOpened
from gpu_tui.core.logs import LogSource
from gpu_tui.transport.base import Connection, LinkError
from gpu_tui.transport.ssh import SshTransport

SOURCE = LogSource("~/train.log", "cell")


class Heard:
    """Collects events and lets a test await a condition on them."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._woken = asyncio.Event()

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self._woken.set()

    def lines(self, *, backfill: bool | None = None) -> list[str]:
        """Finished lines in order; an open line stands only where it was the last."""
        kept: list[tuple[str, bool]] = []
        for event in self.events:
            if isinstance(event, LogArrived) and backfill in (None, event.backfill):
                for line in event.lines:
                    if kept and kept[-1][1]:
                        kept.pop()
                    kept.append((line.text, line.open))
        return [text for text, _ in kept]

    def of(self, kind: type) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]

    async def until(self, condition) -> None:  # type: ignore[no-untyped-def]
        async with asyncio.timeout(30):
            while not condition():
                self._woken.clear()
                await self._woken.wait()


class Follower:
    """Follows with one memory over as many connections as it takes."""

    def __init__(self, box: Sshd, source: LogSource = SOURCE, history: int = 262_144) -> None:
        self.heard = Heard()
        self.memory = TailMemory()
        self.connections = 0
        self._box = box
        self._source = source
        self._history = history

    async def run(self) -> None:
        transport = SshTransport()
        while True:
            with suppress(LinkError):
                connection = await transport.connect(self._box.instance())
                self.connections += 1
                try:
                    await self._follow(connection)
                finally:
                    await connection.close()

    async def _follow(self, connection: Connection) -> None:
        following = asyncio.create_task(
            follow(
                connection,
                self._box.instance(),
                self._source,
                self.heard,
                ManualClock(),
                self.memory,
                history=self._history,
            )
        )
        lost = asyncio.create_task(connection.wait_closed())
        await asyncio.wait({following, lost}, return_when=asyncio.FIRST_COMPLETED)
        for task in (following, lost):
            task.cancel()
        await asyncio.gather(following, lost, return_exceptions=True)


@pytest.fixture
async def follower(box: Sshd) -> AsyncIterator[Follower]:
    made = Follower(box)
    running = asyncio.create_task(made.run())
    yield made
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


async def test_history_then_news_then_a_growing_bar(box: Sshd, follower: Follower) -> None:
    log = box.home / "train.log"
    log.write_text("old 1\nold 2\n")
    await follower.heard.until(lambda: follower.heard.lines() == ["old 1", "old 2"])
    append(log, "new 1\n 10%|")
    await follower.heard.until(lambda: " 10%|" in follower.heard.lines())
    append(log, "#\r 20%|##\n")
    await follower.heard.until(lambda: follower.heard.lines()[-1].startswith(" 20%"))
    assert follower.heard.lines(backfill=True) == ["old 1", "old 2"]
    assert follower.heard.lines(backfill=False) == ["new 1", " 20%|##"]


async def test_killed_sessions_lose_and_repeat_nothing(box: Sshd, follower: Follower) -> None:
    log = box.home / "train.log"
    log.write_text("")
    written = 0
    for _ in range(12):
        for _ in range(200):
            append(log, f"line {written} " + "x" * (written % 97) + "\n")
            written += 1
        append(log, f"line {written} torn in ")
        await follower.heard.until(lambda: follower.memory.offset > 0)
        box.kill_sessions()
        append(log, "two\n")
        written += 1
        wanted = written
        await follower.heard.until(lambda wanted=wanted: len(follower.heard.lines()) >= wanted)
    numbers = [int(line.split()[1]) for line in follower.heard.lines()]
    assert numbers == list(range(written))
    assert follower.connections > 6
    assert all(event.resumed for event in follower.heard.of(LogOpened)[1:])  # type: ignore[attr-defined]


async def test_a_rotated_file_is_read_to_its_end_and_then_the_new_one(
    box: Sshd, follower: Follower
) -> None:
    log = box.home / "train.log"
    log.write_text("a 1\n")
    await follower.heard.until(lambda: follower.heard.lines() == ["a 1"])
    append(log, "a 2\n")
    os.rename(log, box.home / "train.log.1")
    append(box.home / "train.log.1", "a 3\n")
    log.write_text("b 1\n")
    await follower.heard.until(lambda: "b 1" in follower.heard.lines())
    assert follower.heard.lines() == ["a 1", "a 2", "a 3", "b 1"]
    first, second = follower.heard.of(LogOpened)
    assert (first.resumed, second.resumed) == (False, False)  # type: ignore[attr-defined]


async def test_a_file_that_is_not_there_yet_is_waited_for_on_the_box(
    box: Sshd, follower: Follower
) -> None:
    await follower.heard.until(lambda: follower.heard.of(LogFailed))
    (failed,) = follower.heard.of(LogFailed)
    assert "not there yet" in failed.why  # type: ignore[attr-defined]
    (box.home / "train.log").write_text("first\n")
    await follower.heard.until(lambda: follower.heard.lines() == ["first"])


async def test_a_huge_log_opens_at_its_end_on_a_whole_line(box: Sshd) -> None:
    log = box.home / "train.log"
    log.write_text("".join(f"line {n}\n" for n in range(100_000)))
    made = Follower(box, history=1000)
    running = asyncio.create_task(made.run())
    await made.heard.until(lambda: made.heard.lines()[-1:] == ["line 99999"])
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert len(made.heard.lines()) < 100
    assert all(line.startswith("line ") for line in made.heard.lines())
    (opened,) = made.heard.of(LogOpened)
    assert opened.skipped > 1_000_000  # type: ignore[attr-defined]


async def test_a_log_is_read_once_without_leaving_a_process(box: Sshd) -> None:
    (box.home / "train.log").write_text("Epoch 1/2 loss: 0.5\ndone\n")
    connection = await SshTransport().connect(box.instance())
    heard = Heard()
    await read_once(connection, box.instance(), SOURCE, heard, ManualClock())
    assert heard.lines(backfill=True) == ["Epoch 1/2 loss: 0.5", "done"]
    missing = LogSource("~/nothing.log", "x")
    await read_once(connection, box.instance(), missing, heard, ManualClock())
    assert len(heard.of(LogFailed)) == 1
    await connection.close()


async def test_nothing_is_left_on_the_box_when_the_client_dies(
    box: Sshd, follower: Follower
) -> None:
    log = box.home / "train.log"
    log.write_text("x\n")
    await follower.heard.until(lambda: follower.heard.lines() == ["x"])
    watcher = await SshTransport().connect(box.instance())
    tails = "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f 2>/dev/null; echo; done"
    count = f"{tails} | grep -c '^tail -c .*{log}'\n"
    assert int((await watcher.run(count, limit=10)).stdout) == 1
    box.stop()
    box.start()
    watcher = await SshTransport().connect(box.instance())
    gone = f"while [ $({tails} | grep -c '^tail -c .*{log}') -gt 1 ]; do :; done; echo ok\n"
    assert (await watcher.run(gone, limit=20)).stdout == b"ok\n"
    await watcher.close()


def test_a_path_is_never_run() -> None:
    program = follow_program("~/x'; touch /tmp/owned; '.log", "n", TailMemory(), 5)
    assert program.splitlines()[-1].startswith("gt_follow \"$HOME\"/'x'")
