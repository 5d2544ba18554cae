"""One box: what is asked of it and what is followed on it, across its connections."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from posixpath import splitext
from typing import TypeVar

from gpu_tui.collect.cells import Cells
from gpu_tui.collect.follow import CELL_HISTORY, QUEUE_HISTORY, follow
from gpu_tui.collect.kubernetes import ClusterWatch
from gpu_tui.collect.link import Link
from gpu_tui.collect.log_end import read_once, read_rest
from gpu_tui.collect.log_range import read_part, search
from gpu_tui.collect.sampler import Group, plan, sample_group
from gpu_tui.collect.tail_memory import TailMemory
from gpu_tui.core.clock import Clock
from gpu_tui.core.events import Event, LogArrived, LogFailed, LogOpened, Sampled
from gpu_tui.core.fleet import Instance
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.log_range import LogAsk, LogHits, LogPart, LogUnread, Term
from gpu_tui.core.logs import CELL_TAILS, LogSource
from gpu_tui.core.metrics import ROSTER
from gpu_tui.core.ports import Sink
from gpu_tui.core.sample import Failure, FailureKind, Track
from gpu_tui.core.sweep import gives_no_cell
from gpu_tui.transport.argv import Here, OnBox, Programs
from gpu_tui.transport.base import ChannelRefused, Connection, LinkError

A = TypeVar("A")
R = TypeVar("R")
MEMORIES = 300  # logs that are not followed now and could be taken up where they were left
RETRY_SECONDS = 2.0
SLOW_LOGIN = 2.5  # seconds: on such a line a kilobyte of a program may be an eighth of a second
REFUSED_SECONDS = 15.0
# Seconds until an unreadable ended log is asked for again: a dead mount keeps each asker.
LONGEST_PAUSE = 900.0
TOO_FEW = (
    "the box allows too few sessions (MaxSessions) to follow this log beside what matters more"
)

SET_ASIDE = "as many other logs of this box are followed as may be"


class Watched:
    """What is followed on one box, across its connections."""

    link: Link

    def __init__(
        self,
        instance: Instance,
        sink: Sink,
        clock: Clock,
        before: Mapping[str, JobTable] | None = None,
    ) -> None:
        """`before`: who ran when an earlier watch looked last, by metric."""
        self._instance = instance
        self._sink = sink
        self._clock = clock
        self._memories: dict[LogSource, TailMemory] = {}
        self._cells = Cells(instance)
        for metric, table in (before or {}).items():
            self._cells.recall(metric, table)
        self._read: set[LogSource] = set()
        self._changed = asyncio.Event()
        self._roster: Track[object] = Track()
        self._replan = asyncio.Event()  # other probes are to be asked
        self._room = CELL_TAILS
        self._tailed: dict[LogSource, asyncio.Task[None]] = {}
        clustered = instance.scheduler == "kubernetes"
        self._cluster = ClusterWatch(instance, sink, clock) if clustered else None
        self._failed: set[LogSource] = set()
        self._asking = asyncio.Lock()  # one channel at most for what a person asks of a log
        self._waits = False  # every cell that is wanted has its tail, every ended one was read

    @property
    def read_up(self) -> bool | None:
        """Every log was read to where it ended when it was opened, or cannot be; None: its logs are pods'."""
        if self._cluster is not None:
            return None
        log = self._instance.queue.log
        sources = [*([LogSource(log)] if log else []), *self._cells.tails(self._room)]
        return (
            self._waits
            and not self._changed.is_set()
            and all(source in self._failed or self._caught_up(source) for source in sources)
        )

    def _caught_up(self, source: LogSource) -> bool:
        memory = self._memories.get(source)
        return memory is not None and memory.caught_up

    def select(self, cell: str | None) -> None:
        """A person looks at this cell."""
        self._cells.select(cell)
        self._changed.set()
        if self._cluster is not None:
            self._cluster.select(cell)

    async def serve(self, connection: Connection) -> None:
        """Sample and follow until the connection goes. Raises LinkError then."""
        self._room, self._tailed = CELL_TAILS, {}
        self._waits = False
        try:
            async with asyncio.TaskGroup() as tasks:
                if not self._instance.here:
                    self._watch_box(connection, tasks)
                if self._cluster is not None:
                    tasks.create_task(self._cluster.serve(self._kubectl_by(connection)))
        except ExceptionGroup as group:
            losses, bugs = group.split(LinkError)
            if losses is None or bugs is not None:
                raise
            raise _first(losses) from None

    async def read_log(self, source: LogSource, ask: LogAsk) -> LogPart:
        """Read a stretch of one log; of the file that its tail knows, unless another one is asked for."""
        memory = self._memories.get(source)
        if memory is not None and memory.inode and ask.file in (0, memory.inode):
            anchor = ask.anchor or memory.anchor
            ask = replace(ask, file=memory.inode, anchor=anchor)
        async with self._asking:
            return await self._answered(read_part, source, ask)

    async def search_log(self, source: LogSource, terms: Sequence[Term]) -> LogHits:
        """Search the whole of one log, on the box."""
        async with self._asking:
            return await self._answered(search, source, terms)

    async def _answered(
        self, ask: Callable[[Connection, LogSource, A], Awaitable[R]], source: LogSource, of: A
    ) -> R:
        connection = self.link.connection
        if self._cluster is not None:
            raise LogUnread("kubectl reads the log of a pod from its end only")
        if connection is None:
            raise LogUnread("the box is not connected: r tries again")
        try:
            return await ask(connection, source, of)
        except LinkError as error:
            raise LogUnread(str(error)) from None

    def _watch_box(self, connection: Connection, tasks: asyncio.TaskGroup) -> None:
        """What matters most comes first: where a box allows few sessions, the rest must yield."""
        for group in self._plan():
            tasks.create_task(self._sample(connection, group))
        if log := self._instance.queue.log:
            tasks.create_task(self._follow(connection, LogSource(log), QUEUE_HISTORY))
        tasks.create_task(self._follow_cells(connection))

    def _kubectl_by(self, connection: Connection) -> Programs:
        local = self._instance.scheduler_scope.kubectl == "local"
        return Here() if local else OnBox(connection)

    async def _sample(self, connection: Connection, first: Group) -> None:
        """One group's program for ever; each start has a plan, and so a nonce, of its own."""
        group = first
        while True:
            try:
                pause = await self._sample_until_replanned(connection, group)
            except ChannelRefused as error:
                self._unread(group, f"{error}. {error.next}")
                pause = self._yield_place()
            await asyncio.sleep(pause)
            group = next(g for g in self._plan() if g.name == first.name)

    async def _sample_until_replanned(self, connection: Connection, group: Group) -> float:
        """One program until it ends, or until other probes are wanted; the seconds until the next one."""
        self._replan.clear()
        ask = sample_group(connection, self._instance, group, self._peek, self._clock)
        sampling, other = asyncio.ensure_future(ask), asyncio.ensure_future(self._replan.wait())
        try:
            await asyncio.wait((sampling, other), return_when=asyncio.FIRST_COMPLETED)
            if not sampling.done():
                return 0.0
            await sampling
            return RETRY_SECONDS
        finally:
            other.cancel()
            sampling.cancel()
            await asyncio.gather(sampling, other, return_exceptions=True)

    def _judge_queue(self, event: Sampled) -> None:
        """Where the queue file gives no cell, what runs is looked for as if none was named."""
        files = self._instance.queue
        if event.metric == ROSTER.name:
            self._roster = self._roster.follow(event.sample)
        log = LogSource(files.log) if files.log else None
        if log is not None and log not in self._failed and not self._caught_up(log):
            return  # it may name cells
        useless = bool(files.file) and gives_no_cell(self._roster, logged=self._cells.logged)
        if useless is not files.useless:
            queue = replace(files, useless=useless)
            self._instance = replace(self._instance, queue=queue)
            self._cells.find(found=useless)
            self._replan.set()
            self._changed.set()

    def _plan(self) -> tuple[Group, ...]:
        """On a far and narrow line the first reading comes sooner without the text for python."""
        return plan(self._instance, python=self.link.login_seconds < SLOW_LOGIN)

    def _unread(self, group: Group, why: str) -> None:
        now = self._clock.now()
        for probe in group.probes:
            failure = Failure(FailureKind.UNREAD, why, now)
            self._sink(Sampled(self._instance.name, now, probe.metric, failure))

    def _yield_place(self) -> float:
        """A cell's tail makes room for what matters more; the seconds until the next attempt."""
        if not self._tailed:
            return REFUSED_SECONDS
        self._room = len(self._tailed) - 1
        self._changed.set()
        return RETRY_SECONDS

    async def _follow(self, connection: Connection, source: LogSource, history: int) -> None:
        """One log for ever."""
        memory = self._memories.setdefault(source, TailMemory())
        while True:
            pause = REFUSED_SECONDS
            try:
                await follow(
                    connection,
                    self._instance,
                    source,
                    self._peek,
                    self._clock,
                    memory,
                    history=history,
                    others=partial(self._called_alike, source.path),
                )
            except ChannelRefused as error:
                self._untailed(source, f"{error}. {error.next}")
                if source.cell is None:
                    pause = self._yield_place()
            await asyncio.sleep(pause)

    def _called_alike(self, path: str) -> list[str]:
        """The files of other cells whose names a rotated log may have, too: of `a.log`, that of `a-2.log`."""
        stem = splitext(path)[0]
        begins = tuple(f"{stem}{sign}" for sign in "._-")
        return [
            memory.file
            for source, memory in self._memories.items()
            if memory.inode and source.path != path and source.path.startswith(begins)
        ]

    def _untailed(self, source: LogSource, why: str) -> None:
        self._failed.add(source)
        self._sink(LogFailed(self._instance.name, self._clock.now(), source, why))

    async def _follow_cells(self, connection: Connection) -> None:
        """Tail the cells that are wanted; read the ended ones once."""
        tails: dict[LogSource, asyncio.Task[None]] = {}
        self._tailed, pause = tails, REFUSED_SECONDS
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._changed.clear()
                wanted = self._cells.tails(self._room)
                aside = [source for source in tails if source not in wanted]
                dropped = [tails.pop(source) for source in aside]
                for tail in dropped:
                    tail.cancel()
                # Two tails of one log at once would count the same bytes twice.
                await asyncio.gather(*dropped, return_exceptions=True)
                self._set_aside(aside)
                for source in wanted:
                    if source not in tails:
                        follow_cell = self._follow(connection, source, CELL_HISTORY)
                        tails[source] = tasks.create_task(follow_cell)
                self._forget(set(wanted))
                for source in self._cells.tails(CELL_TAILS)[self._room :]:
                    self._untailed(source, TOO_FEW)
                self._waits = await self._read_ended(connection, wanted)
                if not self._changed.is_set():
                    with suppress(TimeoutError):
                        async with asyncio.timeout(None if self._waits else pause):
                            await self._changed.wait()
                    pause = REFUSED_SECONDS if self._waits else min(2 * pause, LONGEST_PAUSE)
                self._waits = False

    def _set_aside(self, sources: list[LogSource]) -> None:
        """Whether a log moves that made room for others, though its cell may run, nobody sees any more."""
        runs = set(self._cells.tails(sys.maxsize)) if sources else set()
        for source in sources:
            if source in runs:
                self._untailed(source, SET_ASIDE)

    def _forget(self, kept: set[LogSource]) -> None:
        """A sweep of jobs names ever new logs: where the oldest of those not followed stood is dropped."""
        self._failed = {source for source in self._failed if source.cell is None or source in kept}
        idle = [source for source in self._memories if source.cell and source not in kept]
        for source in idle[:-MEMORIES]:
            del self._memories[source]

    async def _read_ended(self, connection: Connection, followed: list[LogSource]) -> bool:
        """False where one of them could not be read now; one that was cut short by a loss comes again, too."""
        ended = [source for cell in self._cells.ended for source in self._cells.sources(cell)]
        self._read.intersection_update(ended)
        for source in ended:
            if source in followed or source in self._read:
                continue
            if self._changed.is_set():  # what is to be tailed now is not to wait for all of these
                return False
            memory = self._memories.get(source)
            try:
                # A tail that was taken away at the end may have missed the last words, or all of them.
                if memory is None or not memory.inode:
                    await read_once(connection, self._instance, source, self._sink, self._clock)
                else:
                    await read_rest(
                        connection, self._instance, source, memory, self._sink, self._clock
                    )
            except (TimeoutError, ChannelRefused):
                continue
            self._read.add(source)
        return all(source in followed or source in self._read for source in ended)

    def _peek(self, event: Event) -> None:
        """Pass the event on, and learn from it which cells run."""
        self._sink(event)
        changed = False
        if isinstance(event, LogFailed):
            self._failed.add(event.source)
        elif isinstance(event, LogOpened):
            self._failed.discard(event.source)
        match event:
            case Sampled():
                self._judge_queue(event)
                changed = self._cells.sampled(event)
            case LogArrived(source=LogSource(cell=None)) | LogFailed(source=LogSource(cell=None)):
                changed = self._cells.queue_said(event)
                # Of its history only the end counts: a cell that ran a week ago needs no tail.
                if isinstance(event, LogArrived) and event.backfill:
                    changed = self._memories[event.source].caught_up
            case _:
                pass
        if changed:
            self._changed.set()


def _first(group: BaseExceptionGroup[LinkError]) -> LinkError:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            return _first(error)
        return error
    raise AssertionError("an empty exception group")
