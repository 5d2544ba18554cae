"""Tails against a real sshd: nothing lost, nothing repeated, history told from news."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random

import pytest
from boxes import Sshd
from shell_box import ShellBox, ShellConnection

from gpu_tui.collect import follow_program as program
from gpu_tui.collect.follow import follow, follow_program
from gpu_tui.collect.follow_program import sign
from gpu_tui.collect.log_end import EndReader
from gpu_tui.collect.tail import SAMPLES, Tail
from gpu_tui.collect.tail_memory import TailMemory
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import Event, LogArrived, LogFailed, LogOpened, Noted
from gpu_tui.core.log_block import telling
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
        async with asyncio.timeout(60):
            while not condition():
                self._woken.clear()
                await self._woken.wait()


async def read_end(
    box: Sshd, connection: Connection, source: LogSource, heard: Heard, memory: TailMemory
) -> None:
    """Read one log that nothing writes any more."""
    reader = EndReader(box.instance(), heard, ManualClock(), {source: memory})
    look = await reader.read(connection, {source: True})
    assert look.done == [source]


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
        while True:
            with suppress(LinkError):
                # One that does not know how often we have come: it would make us wait our turn.
                connection = await SshTransport().connect(self._box.instance())
                self.connections += 1
                try:
                    await self._follow(connection)
                finally:
                    await connection.close()

    async def follow(self, connection: Connection) -> None:
        await follow(
            connection,
            self._box.instance(),
            self._source,
            self.heard,
            ManualClock(),
            self.memory,
            history=self._history,
        )

    async def _follow(self, connection: Connection) -> None:
        tasks = [
            asyncio.create_task(self.follow(connection)),
            asyncio.create_task(connection.wait_closed()),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:  # also where we are called off: how a task ended is told to somebody
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
async def follower(box: Sshd) -> AsyncIterator[Follower]:
    made = Follower(box)
    running = asyncio.create_task(made.run())
    yield made
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def append(path: Path, text: str) -> int:
    """Its size then."""
    with path.open("a") as file:
        file.write(text)
        return file.tell()


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


async def test_the_losses_of_before_we_came_are_a_curve(box: Sshd, follower: Follower) -> None:
    rows = [f"step {n}/9000 loss {9 - n / 1000:.3f}" for n in range(4_000)]
    (box.home / "train.log").write_text("".join(f"{row}\n" for row in rows))
    await follower.heard.until(lambda: len(follower.heard.lines()) == len(rows))
    arrived = [one for one in follower.heard.events if isinstance(one, LogArrived)]
    told = [line for event in arrived for _, line in telling(event.lines)]
    steps = [line.progress.step for line in told if line.progress and line.progress.loss]
    assert len(steps) >= 2 * SAMPLES
    assert steps == sorted(steps)


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


async def test_what_was_written_before_a_rotation_that_we_missed_is_not_lost(box: Sshd) -> None:
    log = box.home / "train.log"
    log.write_text("a 1\n")
    made = Follower(box)
    connection = await SshTransport().connect(box.instance())
    async with following(made, connection):
        await made.heard.until(lambda: made.heard.lines() == ["a 1"])
    append(log, "a 2\na 3\n")
    os.rename(log, box.home / "train.log.1")
    log.write_text("b 1\n")
    async with following(made, connection):
        await made.heard.until(lambda: "b 1" in made.heard.lines())
    assert made.heard.lines() == ["a 1", "a 2", "a 3", "b 1"]
    await connection.close()


async def test_kills_and_rotations_at_random_lose_and_repeat_nothing(
    box: Sshd, follower: Follower
) -> None:
    random = Random(20)
    log = box.home / "train.log"
    log.write_text("")
    await follower.heard.until(lambda: follower.heard.of(LogOpened))
    written = rotations = 0
    for _ in range(25):
        for _ in range(random.randrange(1, 60)):
            append(log, f"line {written} {'x' * random.randrange(200)}\n")
            written += 1
        match random.randrange(3):
            case 0:
                box.kill_sessions()
            case 1:
                # One rotation at a time: what two renames push away has no name to be found by.
                wanted = written
                os.rename(log, box.home / f"train.log.{rotations}")
                log.write_text(f"line {written}\n")
                written, rotations = written + 1, rotations + 1
                await follower.heard.until(lambda w=wanted: len(follower.heard.lines()) > w)
            case _:
                wanted = written
                await follower.heard.until(lambda w=wanted: len(follower.heard.lines()) >= w)
    await follower.heard.until(lambda: len(follower.heard.lines()) >= written)
    assert [int(line.split()[1]) for line in follower.heard.lines()] == list(range(written))
    assert rotations > 3
    assert follower.connections > 3


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
    await read_end(box, connection, SOURCE, heard, TailMemory())
    assert heard.lines(backfill=True) == ["Epoch 1/2 loss: 0.5", "done"]
    missing = LogSource("~/nothing.log", "x")
    await read_end(box, connection, missing, heard, TailMemory())
    assert len(heard.of(LogFailed)) == 1
    await connection.close()


async def test_the_rest_of_a_log_is_read_where_its_tail_was_taken_away(box: Sshd) -> None:
    log = box.home / "train.log"
    log.write_text("Epoch 1/2 loss: 0.5\nEpoch 2/2 los")
    made = Follower(box)
    connection = await SshTransport().connect(box.instance())
    tail = asyncio.create_task(
        follow(connection, box.instance(), SOURCE, made.heard, ManualClock(), made.memory)
    )
    await made.heard.until(lambda: made.memory.caught_up)
    tail.cancel()
    await asyncio.gather(tail, return_exceptions=True)
    with log.open("a") as file:
        file.write("s: nan\nsaved\n")
    for _ in range(2):  # twice is as once
        await read_end(box, connection, SOURCE, made.heard, made.memory)
    assert made.heard.lines() == ["Epoch 1/2 loss: 0.5", "Epoch 2/2 loss: nan", "saved"]
    log.unlink()
    log.write_text("another file, longer than the one before it was\n" * 3)
    await read_end(box, connection, SOURCE, made.heard, made.memory)
    assert len(made.heard.lines()) == 6
    (note,) = made.heard.of(Noted)
    assert "was replaced and is gone: what it said last" in note.text  # type: ignore[attr-defined]
    assert made.heard.of(LogOpened)[-1].resumed is False  # type: ignore[attr-defined]
    log.unlink()
    await read_end(box, connection, SOURCE, made.heard, made.memory)
    assert len(made.heard.of(LogFailed)) == 1
    await connection.close()


async def test_of_a_rest_that_no_line_carries_in_time_only_the_end_comes(box: Sshd) -> None:
    log = box.home / "train.log"
    log.write_text("step 1\n")
    made = Follower(box)
    connection = await SshTransport().connect(box.instance())
    tail = asyncio.create_task(made.follow(connection))
    await made.heard.until(lambda: made.memory.caught_up)
    tail.cancel()
    await asyncio.gather(tail, return_exceptions=True)
    os.truncate(log, 1 << 36)  # a hole, which takes no room
    append(log, "\nRuntimeError\n")
    await read_end(box, connection, SOURCE, made.heard, made.memory)
    assert made.heard.lines() == ["step 1", "RuntimeError"]
    await connection.close()


async def test_of_a_long_rest_the_end_is_read_and_what_is_passed_over_is_told(box: Sshd) -> None:
    log = box.home / "train.log"
    log.write_text("Epoch 1/2 los")
    made = Follower(box)
    connection = await SshTransport().connect(box.instance())
    tail = asyncio.create_task(made.follow(connection))
    await made.heard.until(lambda: made.memory.caught_up)
    tail.cancel()
    await asyncio.gather(tail, return_exceptions=True)
    size = append(
        log, "s: 0.5\n" + "".join(f"step {n}\n" for n in range(50_000)) + "RuntimeError\n"
    )
    for _ in range(2):  # twice is as once
        await read_end(box, connection, SOURCE, made.heard, made.memory)
    lines = made.heard.lines()
    assert (lines[0], lines[-1], len(lines)) == ("Epoch 1/2 los", "RuntimeError", len(set(lines)))
    first = log.read_text().index(f"\n{lines[1]}\n") + 1
    assert (made.memory.offset, made.memory.lost) == (size, first - len("Epoch 1/2 los"))
    (note,) = made.heard.of(Noted)
    assert f"{made.memory.lost:,} bytes were passed over" in note.text  # type: ignore[attr-defined]
    await connection.close()


async def test_nothing_is_left_on_the_box_when_the_client_dies(box: Sshd) -> None:
    """A client in a process of its own is killed without a chance to say goodbye."""
    log = box.home / "train.log"
    log.write_text("x\n")
    client = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        CLIENT,
        repr(box.instance()),
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert client.stdout
    assert await client.stdout.readline() == b"x\n"
    assert any(f"-f -- {log}" in words for words in box.processes().values())
    client.kill()
    await client.wait()
    assert await asyncio.to_thread(box.wait_idle) == {}


CLIENT = """
import asyncio, sys
from gpu_tui.collect.follow import follow
from gpu_tui.collect.tail_memory import TailMemory
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import LogArrived
from gpu_tui.core.fleet import *
from gpu_tui.core.logs import LogSource
from gpu_tui.transport.ssh import SshTransport
def sink(event):
    if isinstance(event, LogArrived):
        print(event.lines[0].text, flush=True)
async def main():
    box = eval(sys.argv[1])
    connection = await SshTransport().connect(box)
    source = LogSource("~/train.log", "cell")
    await follow(connection, box, source, sink, ManualClock(), TailMemory())
asyncio.run(main())
"""


async def test_another_text_of_the_same_number_is_another_file(box: Sshd) -> None:
    """Cut short and grown past our offset while we were away: only its text can tell."""
    log = box.home / "train.log"
    log.write_text("first run\n")
    made = Follower(box)
    connection = await SshTransport().connect(box.instance())
    async with following(made, connection):
        await made.heard.until(lambda: made.heard.lines() == ["first run"])
    with log.open("r+") as file:
        file.truncate()
        file.write("second run 1\nsecond run 2\n")
    async with following(made, connection):
        await made.heard.until(lambda: "second run 2" in made.heard.lines())
    assert made.heard.lines() == ["first run", "second run 1", "second run 2"]
    assert [event.resumed for event in made.heard.of(LogOpened)] == [False, False]  # type: ignore[attr-defined]
    assert made.heard.lines(backfill=False) == ["second run 1", "second run 2"]
    await connection.close()


async def test_a_tail_that_is_taken_up_again_goes_on_where_it_was(box: Sshd) -> None:
    log = box.home / "train.log"
    log.write_text("one\n")
    made = Follower(box)
    connection = await SshTransport().connect(box.instance())
    async with following(made, connection):
        await made.heard.until(lambda: made.heard.lines() == ["one"])
        assert made.memory.caught_up
    append(log, "two\n")
    async with following(made, connection):
        await made.heard.until(lambda: made.heard.lines() == ["one", "two"])
    first, second = made.heard.of(LogOpened)
    assert (first.resumed, second.resumed, second.skipped) == (False, True, 0)  # type: ignore[attr-defined]
    assert made.heard.lines(backfill=False) == ["two"]
    await connection.close()


async def test_a_box_without_tail_says_so(box: Sshd) -> None:
    (box.home / "train.log").write_text("x\n")
    box.program("tail", "#!/bin/sh\nexit 127\n")
    made = Follower(box)
    connection = await SshTransport().connect(box.instance())
    async with following(made, connection):
        await made.heard.until(lambda: made.heard.of(LogFailed))
    (failed,) = made.heard.of(LogFailed)[:1]
    assert "the box needs" in failed.why  # type: ignore[attr-defined]
    await connection.close()


# What a .bashrc may set up for its user, and what it would do to a program of ours.
OWN_WAYS = ("set -u", "shopt -s failglob", "IFS=,", "stat() { echo mine; }")


@pytest.mark.parametrize("ways", OWN_WAYS)
async def test_a_log_is_followed_whatever_the_bashrc_sets_up(box: Sshd, ways: str) -> None:
    (box.home / "train.log").write_text("a 1\n")
    (box.home / ".bashrc").write_text(f"echo >>~/ran\n{ways}\n")
    made = Follower(box)
    connection = await SshTransport().connect(box.instance())
    ran = box.home / "ran"
    before = ran.stat().st_size if ran.exists() else 0  # a login shell that is a bash reads it
    async with following(made, connection):
        await made.heard.until(lambda: made.heard.lines() == ["a 1"])
    assert not made.heard.of(LogFailed)
    assert (
        ran.stat().st_size if ran.exists() else 0
    ) == 2 * before  # for each program of ours, once
    await connection.close()


class LoggedIn(ShellBox):
    """One whose bash thinks that sshd has started it, and whose user has rc files."""

    def environment(self, shell: str) -> dict[str, str]:
        rc = str(self.home / ".bashrc")
        own = {"SSH_CLIENT": "10.0.0.9 50000 22", "BASH_ENV": rc, "ENV": rc}
        return {**super().environment(shell), **own}


@pytest.mark.parametrize("ways", OWN_WAYS)
@pytest.mark.parametrize("shell", ["dash", "bash"])  # dash hands over to bash
async def test_no_rc_file_is_read_by_who_follows_a_log(
    tmp_path: Path, shell: str, ways: str
) -> None:
    box = LoggedIn(tmp_path)
    box.file("home/train.log", "a 1\n")
    box.file("home/.bashrc", f'[ -n "$gpu_tui_follow" ] || return\necho >>~/ran\n{ways}\n')
    made = Follower(box)  # type: ignore[arg-type]
    async with following(made, ShellConnection(box, shell)):  # type: ignore[arg-type]
        await made.heard.until(lambda: made.heard.lines() == ["a 1"])
    assert not (box.home / "ran").exists()


@asynccontextmanager
async def following(made: Follower, connection: Connection) -> AsyncIterator[None]:
    task = asyncio.create_task(made.follow(connection))
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def box_with(shell: str, root: Path) -> ShellBox:
    """One whose only better shell is this."""
    box = ShellBox(root)
    if shell != "bash":
        box.program("bash", "#!/bin/sh\nexit 127\n")
    return box


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
async def test_every_shell_and_its_tools_follow_rotation_and_truncation(
    tmp_path: Path, shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "SELDOM", 0.3)
    box = box_with(shell, tmp_path)
    log = box.file("home/train.log", "a 1\n")
    made = Follower(box)  # type: ignore[arg-type]
    async with following(made, ShellConnection(box, shell)):  # type: ignore[arg-type]
        await made.heard.until(lambda: made.heard.lines() == ["a 1"])
        append(log, "a 2\n")
        await made.heard.until(lambda: made.heard.lines() == ["a 1", "a 2"])
        os.rename(log, tmp_path / "old")
        append(tmp_path / "old", "a 3\n")
        box.file("home/train.log", "b 1\n" + "b\n" * 100)
        await made.heard.until(lambda: made.heard.lines().count("b") == 100)
        assert made.heard.lines() == ["a 1", "a 2", "a 3", "b 1", *["b"] * 100]
        with log.open("r+") as file:
            file.truncate()
            file.write("c 1\n")
        await made.heard.until(lambda: made.heard.lines()[-1:] == ["c 1"])
        await made.heard.until(lambda: len(made.heard.of(LogOpened)) == 3)
    assert made.heard.lines(backfill=True) == ["a 1"]


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
@pytest.mark.parametrize("more", ["", "run 1, step 3 of 3\n"], ids=["as it was", "grown since"])
async def test_another_text_of_the_same_size_is_read(
    tmp_path: Path, shell: str, more: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No size tells of it, and tail has nothing to print; only the file's time does."""
    monkeypatch.setattr(program, "SELDOM", 0.3)
    monkeypatch.setattr(program, "LOOK", 0.3)
    box = box_with(shell, tmp_path)
    old, new = ("".join(f"run {run}, step {n} of 3\n" for n in (1, 2)) for run in (1, 2))
    log = box.file("home/train.log", old)
    made = Follower(box)  # type: ignore[arg-type]
    async with following(made, ShellConnection(box, shell)):  # type: ignore[arg-type]
        await made.heard.until(lambda: made.heard.lines() == old.splitlines())
        append(log, more)
        old, new = old + more, new + more.replace("run 1", "run 2")
        await made.heard.until(lambda: made.heard.lines() == old.splitlines())
        for text in (new, old):
            with log.open("r+") as file:  # at once: never is it seen shorter
                file.write(text)
            last = text.splitlines()[-1]
            await made.heard.until(lambda last=last: made.heard.lines()[-1] == last)
        append(log, "last\n")
        await made.heard.until(lambda: made.heard.lines()[-1] == "last")
    assert made.heard.lines() == (old + new + old + "last\n").splitlines()
    assert made.memory.gaps == 2


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
async def test_a_log_that_is_only_touched_is_left_alone(
    tmp_path: Path, shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "SELDOM", 0.1)
    monkeypatch.setattr(program, "LOOK", 0.1)
    monkeypatch.setattr(program, "CHECK", 2)
    box = box_with(shell, tmp_path)
    log = box.file("home/train.log", "a 1\n")
    made = Follower(box)  # type: ignore[arg-type]
    async with following(made, ShellConnection(box, shell)):  # type: ignore[arg-type]
        await made.heard.until(lambda: made.heard.lines() == ["a 1"])
        append(log, "a 2\n")
        await made.heard.until(lambda: made.heard.lines() == ["a 1", "a 2"])
        for _ in range(10):
            os.utime(log)
            await asyncio.sleep(0.2)  # a look
        append(log, "a 3\n")
        await made.heard.until(lambda: made.heard.lines() == ["a 1", "a 2", "a 3"])
    assert made.memory.gaps == 0
    assert len(made.heard.of(LogOpened)) <= 2  # one more, to be sure, where it had grown


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
async def test_a_log_that_is_cut_short_twice_is_read_on(
    tmp_path: Path, shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the size alone tells of it: of what was read before the first cut nothing may count any more."""
    monkeypatch.setattr(program, "SELDOM", 0.3)
    box = box_with(shell, tmp_path)
    log = box.file("home/train.log", "b\n" * 100)
    made = Follower(box)  # type: ignore[arg-type]
    async with following(made, ShellConnection(box, shell)):  # type: ignore[arg-type]
        await made.heard.until(lambda: made.heard.lines().count("b") == 100)
        log.write_text("c 1\n")
        await made.heard.until(lambda: len(made.heard.of(LogOpened)) == 2)
        await made.heard.until(lambda: made.heard.lines()[-1:] == ["c 1"])
        os.truncate(log, 0)
        await made.heard.until(
            lambda: len(made.heard.of(LogOpened)) == 3 or made.heard.of(LogFailed)
        )
        append(log, "d 1\n")
        await made.heard.until(lambda: made.heard.lines()[-1:] == ["d 1"])
    assert made.heard.lines() == [*["b"] * 100, "c 1", "d 1"]


async def test_where_the_kernel_does_not_tell_how_far_tail_is_a_rotation_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under gVisor, whose fdinfo has no position."""
    untold = program.PROGRAM.replace("/proc/$tail/fdinfo/3", "/nowhere")
    monkeypatch.setattr(program, "PROGRAM", untold)
    monkeypatch.setattr(program, "LOOK", 0.1)
    monkeypatch.setattr(program, "SURE", 1)
    box = ShellBox(tmp_path)
    log = box.file("home/train.log", "a 1\n")
    made = Follower(box)  # type: ignore[arg-type]
    async with following(made, ShellConnection(box, "bash")):  # type: ignore[arg-type]
        await made.heard.until(lambda: made.heard.lines() == ["a 1"])
        os.rename(log, log.with_name("train.log.1"))
        append(log.with_name("train.log.1"), "a 2\n")
        box.file("home/train.log", "b 1\n")
        await made.heard.until(lambda: "b 1" in made.heard.lines())
    assert made.heard.lines() == ["a 1", "a 2", "b 1"]
    assert made.memory.gaps == 0


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
async def test_a_file_whose_number_takes_all_64_bits_is_known_again(
    tmp_path: Path, shell: str
) -> None:
    """As on mergerfs. No shell compares such numbers."""
    box = box_with(shell, tmp_path)
    real = {name: shlex.quote(shutil.which(name) or name) for name in ("stat", "find")}
    wide = "s/^([0-9]+)/00000000000000000\\1/; s/^0*([0-9]{17})([: ])/93\\1\\2/"
    box.program("stat", f"#!/bin/sh\n{real['stat']} \"$@\" | sed -E '{wide}'\n")
    narrow = 'n=$(printf %s "$7" | sed -E "s/^930*//")'
    box.program("find", f'#!/bin/sh\n{narrow}\nexec {real["find"]} "$1" -inum "$n"\n')
    log = box.file("home/train.log", "a 1\n")
    made = Follower(box)  # type: ignore[arg-type]
    async with following(made, ShellConnection(box, shell)):  # type: ignore[arg-type]
        await made.heard.until(lambda: made.heard.lines() == ["a 1"])
    assert made.memory.inode > 1 << 63
    append(log, "a 2\n")
    os.rename(log, log.with_name("elsewhere"))
    box.file("home/train.log", "b 1\n")
    async with following(made, ShellConnection(box, shell)):  # type: ignore[arg-type]
        await made.heard.until(lambda: "b 1" in made.heard.lines())
    assert made.heard.lines() == ["a 1", "a 2", "b 1"]


@pytest.mark.parametrize(
    ("missing", "read"),
    [(["find"], ["a 1", "a 2", "b 1"]), (["find", "ls"], ["a 1", "b 1"])],
    ids=["find", "find and ls"],
)
async def test_where_a_renamed_file_is_hard_to_find_nothing_is_read_again(
    tmp_path: Path, missing: list[str], read: list[str]
) -> None:
    """Small images have no `find`; without an `ls` too the end is lost, and that is told."""
    box = ShellBox(tmp_path)
    for name in missing:
        box.program(name, "#!/bin/sh\nexit 127\n")
    log = box.file("home/train.log", "a 1\n")
    made = Follower(box)  # type: ignore[arg-type]
    async with following(made, ShellConnection(box, "bash")):  # type: ignore[arg-type]
        await made.heard.until(lambda: made.heard.lines() == ["a 1"])
    append(log, "a 2\n")
    os.rename(log, log.with_name("train.log.1"))
    box.file("home/train.log", "b 1\n")
    async with following(made, ShellConnection(box, "bash")):  # type: ignore[arg-type]
        await made.heard.until(lambda: "b 1" in made.heard.lines() or len(made.heard.lines()) > 4)
    assert made.heard.lines() == read
    assert made.memory.gaps == 3 - len(read)


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
async def test_a_log_from_before_all_time_is_followed(tmp_path: Path, shell: str) -> None:
    """As a file server that counts from 1601 may say."""
    box = ShellBox(tmp_path)
    os.utime(box.file("home/train.log", "a 1\n"), (-5e8, -5e8))
    made = Follower(box)  # type: ignore[arg-type]
    async with following(made, ShellConnection(box, shell)):  # type: ignore[arg-type]
        await made.heard.until(lambda: made.heard.lines() or made.heard.of(LogFailed))
    assert made.heard.lines() == ["a 1"]


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
async def test_a_file_that_has_another_number_at_each_look_is_known_by_its_text(
    tmp_path: Path, shell: str
) -> None:
    """As on many a mount of an object store, which makes up numbers and knows no birth."""
    box = box_with(shell, tmp_path)
    number = box.file("number", "1")
    made_up = f"s/^([0-9]+)([: ])[^ ]+/$(cat {number})\\1\\20/"
    box.program("stat", f'#!/bin/sh\n{shutil.which("stat")} "$@" | sed -E "{made_up}"\n')
    log = box.file("home/train.log", "a 1\n")
    made = Follower(box)  # type: ignore[arg-type]
    connection = ShellConnection(box, shell)
    async with following(made, connection):  # type: ignore[arg-type]
        await made.heard.until(lambda: made.heard.lines() == ["a 1"])
    number.write_text("2")
    append(log, "a 2\n")
    async with following(made, connection):  # type: ignore[arg-type]
        await made.heard.until(lambda: "a 2" in made.heard.lines())
    assert made.heard.lines() == ["a 1", "a 2"]
    assert made.memory.gaps == 0
    number.write_text("3")
    box.file("home/train.log", "b 1, of another text\n")
    async with following(made, connection):  # type: ignore[arg-type]
        await made.heard.until(lambda: len(made.heard.lines()) == 3)
    assert made.heard.lines() == ["a 1", "a 2", "b 1, of another text"]
    assert made.memory.gaps == 1


def test_a_path_is_never_run() -> None:
    text = follow_program("~/x'; touch /tmp/owned; '@NONCE@.log", "n", TailMemory(), 5)
    (text,) = [word for word in shlex.split(text) if "main()" in word]
    (path,) = re.findall(r" path=(.*)\n", text)
    assert path == "\"$HOME\"/'x'\"'\"'; touch /tmp/owned; '\"'\"'@NONCE@.log'"


async def test_what_a_box_sends_before_it_names_a_file_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However it is cut into chunks."""
    monkeypatch.setattr("gpu_tui.collect.tail.EARLY_CAP", 1_000_000)
    taken: list[int] = []

    async def flood() -> AsyncIterator[bytes]:
        yield sign("00") + b" trial\n"
        for number in range(1000):
            yield b"x" * 65_536
            taken.append(number)

    tail = Tail("a", LogSource("/x"), lambda _: None, ManualClock(), TailMemory(), "00")
    await tail.take(flood())
    assert not tail.opened
    assert len(taken) < 20
