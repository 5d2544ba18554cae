"""The supervisor over real boxes: each box on its own, cells followed as the queue log names them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import pytest
from boxes import Sshd

from gpu_tui.collect.follow_program import sign
from gpu_tui.collect.supervisor import Supervisor
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import Event, LinkChanged, LogArrived, LogFailed, LogOpened, Sampled
from gpu_tui.core.fleet import Fleet, Instance, Money, QueueFiles, SshAccess
from gpu_tui.core.sample import Failure
from gpu_tui.transport.base import Connection
from gpu_tui.transport.replay import Box, Played, ReplayConnection
from gpu_tui.transport.ssh import SshTransport

STAMP = "[2026-11-21 10:00:00]"


class Heard:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self._woken = asyncio.Event()

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self._woken.set()

    async def until(self, condition: Callable[[Event], bool]) -> Event:
        async with asyncio.timeout(60):
            while True:
                for event in self.events:
                    if condition(event):
                        return event
                self._woken.clear()
                await self._woken.wait()


def queue_box(box: Sshd, name: str = "a") -> Instance:
    (box.home / "logs").mkdir()
    return box.instance(
        name, queue=QueueFiles("~/queue.txt", "~/q.log"), logs="~/logs/{cell}.log", poll=0.2
    )


def opened(cell: str | None, instance: str = "a") -> Callable[[Event], bool]:
    return lambda e: isinstance(e, LogOpened) and (e.source.cell, e.instance) == (cell, instance)


async def stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_dead_box_does_not_hold_up_a_live_one(box: Sshd) -> None:
    dead = Instance("dead", SshAccess("127.0.0.1", port=9, config=str(box.config)))
    heard = Heard()
    supervisor = Supervisor(
        Fleet("s", (dead, box.instance("a", poll=0.2))), SshTransport(), heard, ManualClock()
    )
    running = asyncio.create_task(supervisor.run())
    await heard.until(lambda e: isinstance(e, Sampled) and e.metric == "memory")
    await heard.until(lambda e: isinstance(e, LinkChanged) and e.link.state == "refused")
    assert supervisor.connection("a") is not None
    assert supervisor.connection("dead") is None
    await stop(running)


async def test_started_cells_are_tailed_and_ended_ones_read_once(box: Sshd) -> None:
    instance = queue_box(box)
    (box.home / "queue.txt").write_text("one.yaml t\ntwo.yaml t\n")
    (box.home / "logs/one.log").write_text("loss: 1.0\n")
    (box.home / "logs/two.log").write_text("loss: 2.0\n")
    (box.home / "q.log").write_text(
        f"=== Queue q: 2 ablations, starting from 1 on h ===\n{STAMP} [1/2] STARTING one (t, 20ep)\n"
        f"{STAMP} [1/2] FINISHED one (exit=0)\n{STAMP} [2/2] STARTING two (t, 20ep)\n"
    )
    heard = Heard()
    supervisor = Supervisor(Fleet("s", (instance,)), SshTransport(), heard, ManualClock())
    running = asyncio.create_task(supervisor.run())
    await heard.until(opened("one"))
    await heard.until(opened("two"))
    await heard.until(lambda e: isinstance(e, Sampled) and e.metric == "roster")
    with (box.home / "logs/two.log").open("a") as log:
        log.write("loss: 1.5\n")
    await heard.until(
        lambda e: isinstance(e, LogArrived) and not e.backfill and e.source.cell == "two"
    )
    await stop(running)


async def test_a_cell_that_ended_before_its_tail_had_opened_is_read_all_the_same(box: Sshd) -> None:
    instance = queue_box(box)
    (box.home / "queue.txt").write_text("one.yaml t\ntwo.yaml t\n")
    log = box.home / "q.log"
    log.write_text(
        f"=== Queue q: 2 ablations, starting from 1 on h ===\n{STAMP} [1/2] STARTING one (t, 20ep)\n"
    )
    heard = Heard()
    supervisor = Supervisor(Fleet("s", (instance,)), SshTransport(), heard, ManualClock())
    running = asyncio.create_task(supervisor.run())
    # The tail of a log that is not there waits for it.
    await heard.until(lambda e: isinstance(e, LogFailed) and e.source.cell == "one")
    (box.home / "logs/one.log").write_text("loss: nan\n")
    with log.open("a") as file:
        file.write(f"{STAMP} [1/2] FINISHED one (exit=0)\n{STAMP} [2/2] STARTING two (t, 20ep)\n")
    await heard.until(opened("one"))
    await stop(running)


class Cut(ReplayConnection):
    """A connection that is lost when the ends of logs are read."""

    def stream(self, program: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        if "end_of 0 " in program:
            self.lose()
        return super().stream(program)


class Ended:
    """The first connection is cut while the end of a log is read."""

    def __init__(self, box: Box) -> None:
        self.connections = [Cut(box), ReplayConnection(box)]

    async def connect(self, instance: Instance) -> Connection:
        return self.connections.pop(0)


async def test_the_end_of_a_log_that_was_lost_with_the_connection_is_read_by_the_next_one() -> None:
    queue = f"{STAMP} [1/2] STARTING one (t, 20ep)\n{STAMP} [1/2] FINISHED one (exit=0)\n"
    queue += f"{STAMP} [2/2] STARTING two (t, 20ep)\n"

    def answer(program: str) -> Played:
        word = re.search("[0-9a-f]{16}", program)
        assert word
        if "end_of 0 /logs/one.log" in program:
            said = "@log 0\n@open 7 0 0 0 4\nend\n@end\n".replace("@", sign(word[0]).decode())
            return Played((said.encode(),))
        if "/q.log" in program:
            opened = sign(word[0]) + f"open new 9 0 1 0 {len(queue)}\n".encode()
            return Played((opened, queue.encode()), exit=None)
        return Played(exit=None)

    instance = Instance(
        "a", SshAccess("a"), queue=QueueFiles(None, "/q.log"), logs="/logs/{cell}.log"
    )
    heard = Heard()
    supervisor = Supervisor(
        Fleet("s", (instance,)), Ended(Box(answer)), heard, ManualClock(), longest_wait=0.0
    )
    running = asyncio.create_task(supervisor.run())
    await heard.until(lambda e: isinstance(e, LogArrived) and e.source.cell == "one")
    await stop(running)


async def test_all_is_read_up_only_once_every_log_of_every_cell_was_read(box: Sshd) -> None:
    instance = queue_box(box)
    (box.home / "queue.txt").write_text("one.yaml t\ntwo.yaml t\nthree.yaml t\n")
    for cell in ("one", "two"):
        (box.home / f"logs/{cell}.log").write_text("step\n" * 4_000 + f"last of {cell}\n")
    (box.home / "q.log").write_text(
        f"=== Queue q: 3 ablations, starting from 1 on h ===\n{STAMP} [1/3] STARTING one (t, 20ep)\n"
        f"{STAMP} [1/3] FINISHED one (exit=0)\n{'noise' * 99}\n"
        * 40
        + f"{STAMP} [2/3] STARTING two (t, 20ep)\n{STAMP} [2/3] FINISHED two (exit=0)\n"
        + f"{STAMP} [3/3] STARTING three (t, 20ep)\n"  # its log is not there: it keeps nobody waiting
    )
    heard = Heard()
    supervisor = Supervisor(Fleet("s", (instance,)), SshTransport(), heard, ManualClock())
    running = asyncio.create_task(supervisor.run())
    await heard.until(lambda e: isinstance(e, LinkChanged) and e.link.state == "live")
    assert supervisor.read_up("a") is False
    await heard.until(
        lambda _: supervisor.read_up("a") is True
    )  # asked at every beat of the sampler
    texts = [line.text for e in heard.events if isinstance(e, LogArrived) for line in e.lines]
    assert {"last of one", "last of two"} <= set(texts)
    assert supervisor.read_up("nobody") is None
    await stop(running)


async def test_a_cell_name_never_leaves_the_log_directory(box: Sshd) -> None:
    instance = queue_box(box)
    (box.home / "q.log").write_text(
        f"=== Queue q: 2 ablations, starting from 1 on h ===\n"
        f"{STAMP} [1/2] STARTING ../../etc/passwd (t, 20ep)\n{STAMP} [2/2] STARTING fine (t, 20ep)\n"
    )
    (box.home / "logs/fine.log").write_text("x\n")
    heard = Heard()
    supervisor = Supervisor(Fleet("s", (instance,)), SshTransport(), heard, ManualClock())
    running = asyncio.create_task(supervisor.run())
    await heard.until(opened("fine"))
    followed = {e.source.path for e in heard.events if isinstance(e, LogOpened)}
    assert followed == {"~/q.log", "~/logs/fine.log"}
    await stop(running)


async def test_a_killed_session_comes_back_and_repeats_nothing(box: Sshd) -> None:
    instance = queue_box(box)
    log = box.home / "q.log"
    log.write_text("one\n")
    heard = Heard()
    supervisor = Supervisor(Fleet("s", (instance,)), SshTransport(), heard, ManualClock())
    running = asyncio.create_task(supervisor.run())
    await heard.until(arrived("one"))
    assert box.kill_sessions() == 1
    with log.open("a") as file:
        file.write("two\n")
    await heard.until(lambda e: isinstance(e, LinkChanged) and e.link.state == "unreachable")
    await heard.until(arrived("two"))
    lines = [line.text for e in heard.events if isinstance(e, LogArrived) for line in e.lines]
    assert lines == ["one", "two"]
    await stop(running)
    assert await asyncio.to_thread(box.wait_idle) == {}


def arrived(text: str) -> Callable[[Event], bool]:
    return lambda e: isinstance(e, LogArrived) and any(line.text == text for line in e.lines)


async def test_a_box_with_few_sessions_is_watched_over_several_connections(
    make_box: Callable[..., Sshd],
) -> None:
    box = make_box(max_sessions=3)
    instance = queue_box(box)
    (box.home / "q.log").write_text("one\n")
    heard = Heard()
    supervisor = Supervisor(Fleet("s", (instance,)), SshTransport(), heard, ManualClock())
    running = asyncio.create_task(supervisor.run())
    await heard.until(arrived("one"))
    await heard.until(lambda e: isinstance(e, Sampled) and e.metric == "memory")
    await heard.until(lambda e: isinstance(e, Sampled) and e.metric == "mounts")
    connection = supervisor.connection("a")
    assert connection is not None
    assert (await connection.run("echo room\n", limit=20)).stdout == b"room\n"
    assert not [e for e in heard.events if isinstance(e, Sampled) and refused(e)]
    await stop(running)


def refused(event: Sampled) -> bool:
    return isinstance(event.sample, Failure) and "MaxSessions" in event.sample.why


async def test_without_a_queue_log_the_log_that_moved_last_is_tailed(box: Sshd) -> None:
    (box.home / "logs").mkdir()
    (box.home / "logs/only.log").write_text("hello\n")
    instance = box.instance("a", logs="~/logs/{cell}.log", poll=0.2)
    heard = Heard()
    supervisor = Supervisor(Fleet("s", (instance,)), SshTransport(), heard, ManualClock())
    running = asyncio.create_task(supervisor.run())
    await heard.until(opened("only"))
    await stop(running)


async def test_a_cell_that_a_person_chose_is_followed(box: Sshd) -> None:
    instance = queue_box(box)
    (box.home / "q.log").write_text("one\n")
    (box.home / "logs/chosen.log").write_text("hello\n")
    heard = Heard()
    supervisor = Supervisor(Fleet("s", (instance,)), SshTransport(), heard, ManualClock())
    running = asyncio.create_task(supervisor.run())
    await heard.until(opened(None))
    supervisor.follow_cell("a", "../q")
    supervisor.follow_cell("a", "chosen")
    await heard.until(opened("chosen"))
    await stop(running)


async def test_a_bug_in_a_collector_ends_the_run_loudly(box: Sshd) -> None:
    def sink(event: Event) -> None:
        if isinstance(event, Sampled):
            raise ZeroDivisionError

    supervisor = Supervisor(
        Fleet("s", (box.instance("a", poll=0.2),)), SshTransport(), sink, ManualClock()
    )
    with pytest.raises(ExceptionGroup) as caught:
        async with asyncio.timeout(60):
            await supervisor.run()
    assert caught.group_contains(ZeroDivisionError)


async def test_an_edited_fleet_keeps_unchanged_boxes_connected(
    make_box: Callable[..., Sshd],
) -> None:
    first, second = make_box("one"), make_box("two")
    kept = first.instance("kept", poll=0.2)
    heard = Heard()
    supervisor = Supervisor(Fleet("s", (kept,)), SshTransport(), heard, ManualClock())
    running = asyncio.create_task(supervisor.run())
    await heard.until(lambda e: isinstance(e, LinkChanged) and e.link.live)
    before = supervisor.connection("kept")
    await supervisor.replace_fleet(Fleet("s", (kept, second.instance("new", poll=0.2))))
    await heard.until(lambda e: isinstance(e, LinkChanged) and e.link.live and e.instance == "new")
    assert supervisor.connection("kept") is before
    kept = replace(kept, price=Money(2.5, "USD"))
    await supervisor.replace_fleet(Fleet("s", (kept,)))
    assert supervisor.connection("kept") is before
    assert supervisor.connection("new") is None
    await stop(running)
