"""One box: what is asked of it and what is followed on it, across its connections."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from posixpath import splitext
from typing import TYPE_CHECKING, TypeVar

from gpu_tui.collect.cells import Cells, Unfollowed
from gpu_tui.collect.follow import CELL_HISTORY, QUEUE_HISTORY, follow
from gpu_tui.collect.link import Link
from gpu_tui.collect.log_end import HUNG, EndReader
from gpu_tui.collect.sampler import Group, plan, sample_group
from gpu_tui.collect.tail_memory import TailMemory
from gpu_tui.core.clock import Clock
from gpu_tui.core.events import Event, LogArrived, LogFailed, LogOpened, Sampled
from gpu_tui.core.fleet import Instance
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.log_range import LogAsk, LogHits, LogPart, LogUnread, Term
from gpu_tui.core.logs import CELL_TAILS, READ_MOST, LogSource
from gpu_tui.core.metrics import ROSTER
from gpu_tui.core.ports import Sink
from gpu_tui.core.sample import Failure, FailureKind, Track
from gpu_tui.core.sweep import gives_no_cell
from gpu_tui.transport.argv import Here, OnBox, Programs
from gpu_tui.transport.base import ChannelRefused, Connection, LinkError

if TYPE_CHECKING:
    from gpu_tui.collect.kubernetes import ClusterWatch

A = TypeVar("A")
R = TypeVar("R")
MEMORIES = 300  # logs that are not followed now and could be taken up where they were left
RETRY_SECONDS = 2.0
REFUSED_SECONDS = 15.0
# Seconds until an unreadable ended log is asked for again: a dead mount keeps each asker.
LONGEST_PAUSE = 900.0
# Seconds between two looks at the logs of runs that have no channel of their own.
NOW_AND_THEN = 15.0
# Logs polled in one round at most; each costs the box 2 ms of CPU time, so more of them are polled less often.
POLLED = 100
OPENS = 3.0  # seconds for tails to open before the other logs are read
TWIN = "is another name of a log that is read"
BROKEN = "cannot be read: the box needs sh, dd and stat"
# Logs in one round that may hang; a process that hangs stays on the box until the mount is back.
HANGS_MOST = 2


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
        self._ends = EndReader(instance, self._peek, clock, self._memories)
        self._read: dict[LogSource, Unfollowed] = {}  # as of the last reading
        self._hung: set[LogSource] = set()
        self._twins: dict[LogSource, int | None] = {}  # other names of logs -> their inode
        self._opened: set[LogSource] = set()
        self._told = asyncio.Event()  # a log has opened, failed or sent lines
        self._changed = asyncio.Event()
        self._roster: Track[object] = Track()
        self._replan = asyncio.Event()  # the set of probes has changed
        self._room = CELL_TAILS
        self._tailed: dict[LogSource, asyncio.Task[None]] = {}
        self._cluster: ClusterWatch | None = None
        if instance.scheduler == "kubernetes":
            from gpu_tui.collect.kubernetes import ClusterWatch

            self._cluster = ClusterWatch(instance, sink, clock)
        self._failed: set[LogSource] = set()
        self._asking = asyncio.Lock()  # one channel at most for what a person asks of a log
        self._waits = False  # each log has its tail, was read, or cannot be read now

    @property
    def read_up(self) -> bool | None:
        """Every log was read to where it ended when it was opened, or cannot be; None: nothing is known of its pods."""
        if self._cluster is not None:
            return self._cluster.read_up
        log = self._instance.queue.log
        sources = [*([LogSource(log)] if log else []), *self._tails()]
        return (
            self._waits
            and not self._changed.is_set()
            and all(source in self._failed or self._caught_up(source) for source in sources)
        )

    def _tails(self) -> list[LogSource]:
        return [one for one in self._cells.tails(self._room) if one not in self._twins]

    def _caught_up(self, source: LogSource) -> bool:
        memory = self._memories.get(source)
        return memory is not None and memory.caught_up

    def select(self, cell: str | None) -> None:
        """A person looks at this cell."""
        self._cells.select(cell)
        self._changed.set()
        if self._cluster is not None:
            self._cluster.select(cell)

    def again(self) -> None:
        """Read everything again; the user asked for it."""
        if self._cluster is not None:
            self._cluster.again()

    async def serve(self, connection: Connection) -> None:
        """Sample and follow until the connection goes. Raises LinkError then."""
        self._room, self._tailed = CELL_TAILS, {}
        self._waits = False
        self._opened.clear()
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
        from gpu_tui.collect.log_range import read_part

        memory = self._memories.get(source)
        if memory is not None and memory.inode and ask.file in (0, memory.inode):
            anchor = ask.anchor or memory.anchor
            ask = replace(ask, file=memory.inode, anchor=anchor)
        async with self._asking:
            return await self._answered(read_part, source, ask)

    async def search_log(self, source: LogSource, terms: Sequence[Term]) -> LogHits:
        """Search the whole of one log, on the box."""
        from gpu_tui.collect.log_range import search

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
        for group in plan(self._instance):
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
            group = next(g for g in plan(self._instance) if g.name == first.name)

    async def _sample_until_replanned(self, connection: Connection, group: Group) -> float:
        """Run one sampler until it ends or the set of probes changes; returns the seconds until the next one."""
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
        """Switch to discovery if the queue file gives no cell, as if none was named."""
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
                else:  # it is polled
                    self._room -= 1
                    self._changed.set()
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
        """Tail the chosen cells' logs; poll the other logs."""
        tails: dict[LogSource, asyncio.Task[None]] = {}
        self._tailed, pause = tails, REFUSED_SECONDS
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._changed.clear()
                wanted = self._tails()
                # A log that only the pattern names may be a link to one of the others; reading it shows that.
                unseen = {
                    one for one in wanted if self._cells.is_named_only(one) and not self._seen(one)
                }
                wanted = [one for one in wanted if one not in unseen]
                aside = [source for source in tails if source not in wanted]
                dropped = [tails.pop(source) for source in aside]
                for tail in dropped:
                    tail.cancel()
                # Two tails of one log at once would count the same bytes twice.
                await asyncio.gather(*dropped, return_exceptions=True)
                self._opened.difference_update(aside)
                for source in wanted:
                    if source not in tails:
                        follow_cell = self._follow(connection, source, CELL_HISTORY)
                        tails[source] = tasks.create_task(follow_cell)
                others = self._cells.others(wanted)
                self._forget({*wanted, *(other.source for other in others)})
                read = await self._read_others(connection, wanted, others)
                if self._changed.is_set() or any(map(self._seen, unseen)):
                    continue
                self._waits = True
                with suppress(TimeoutError):
                    async with asyncio.timeout(_pause(others, None if read else pause)):
                        await self._changed.wait()
                pause = REFUSED_SECONDS if read else min(2 * pause, LONGEST_PAUSE)
                self._waits = False

    def _seen(self, source: LogSource) -> bool:
        memory = self._memories.get(source)
        return memory is not None and memory.inode > 0

    def _forget(self, kept: set[LogSource]) -> None:
        """A sweep of jobs names ever new logs: where the oldest of those not followed stood is dropped."""
        self._failed = {source for source in self._failed if source.cell is None or source in kept}
        self._read = {source: seen for source, seen in self._read.items() if source in kept}
        self._hung &= kept
        self._twins = {source: file for source, file in self._twins.items() if source in kept}
        idle = [source for source in self._memories if source.cell and source not in kept]
        for source in idle[:-MEMORIES]:
            del self._memories[source]

    async def _read_others(
        self, connection: Connection, followed: list[LogSource], others: list[Unfollowed]
    ) -> bool:
        """False where one of them could not be read now; one that was cut short by a loss comes again, too."""
        due = [one for one in others if self._is_due(one)]
        if not due:
            return not self._hung
        await self._opened_all(followed)
        left = {one.source: one for one in sorted(due, key=self._place)}
        known, why = {*followed, *(one.source for one in others)}, BROKEN
        hangs = 0
        while left and hangs < HANGS_MOST and not self._changed.is_set():
            # Each look has its budget of bytes: many ended logs take several looks, which leaves enough for each.
            most = max(READ_MOST, sum(not one.over for one in left.values()))
            try:
                look = await self._ends.read(
                    connection,
                    {source: one.over for source, one in islice(left.items(), most)},
                    known.difference(self._twins),
                    self._failed,
                    self._changed.is_set,
                )
            except ChannelRefused as error:
                why = f"{error}. {error.next}"
                pause = self._yield_place()
                if self._changed.is_set():  # a tail closes for this one and frees its session
                    await asyncio.sleep(pause)
                break
            for source in look.done:
                self._read[source] = one = left.pop(source)
                self._hung.discard(source)
                self._twins.pop(source, None)
                if source in look.twins:
                    if self._instance.scheduler is not None:  # its row says why it shows nothing
                        self._untailed(source, f"{source.path} {TWIN}")
                    self._failed.discard(source)
                    self._twins[source] = one.stamp.inode if one.stamp else None
            if look.hung is None:
                if look.done:
                    continue
                break
            hangs += 1
            self._hung.add(look.hung)
            left.pop(look.hung)
            why = HUNG
        if not self._changed.is_set():
            for source in left:
                self._untailed(source, f"{source.path} {why}")
        return not left and not self._hung

    def _place(self, one: Unfollowed) -> tuple[bool, bool, int]:
        """Sorts logs for reading: those of runs first, those that may hang last. Of runs the logs that grew most come last;
        they get the bytes that the others leave.
        """
        memory = self._memories.get(one.source)
        read = 0 if memory is None or one.over else memory.offset - memory.skipped
        return one.source in self._hung, one.over, read

    def _is_due(self, one: Unfollowed) -> bool:
        """Whether the log is to be read again: it has changed, may have, or could not be read."""
        if one.source in self._twins:
            return one.stamp is not None and one.stamp.inode != self._twins[one.source]
        return self._read.get(one.source) != one or _is_polled(one)

    async def _opened_all(self, followed: list[LogSource]) -> None:
        """Wait until each tail has opened its file, so that another name of the same file is not read a second time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(OPENS):
                while not self._changed.is_set():
                    if self._opened.union(self._failed).issuperset(followed):
                        return
                    self._told.clear()
                    await self._told.wait()

    def _peek(self, event: Event) -> None:
        """Pass the event on, and learn from it which cells run."""
        if not (
            isinstance(event, LogFailed)
            and self._cells.is_guess(event.source)
            and not self._seen(event.source)
        ):
            self._sink(event)
        changed = False
        if isinstance(event, LogFailed):
            self._failed.add(event.source)
        elif isinstance(event, LogOpened):
            self._failed.discard(event.source)
            self._opened.add(event.source)
        if isinstance(event, LogFailed | LogOpened):
            self._told.set()
        match event:
            case Sampled():
                self._judge_queue(event)
                changed = self._cells.sampled(event)
            case LogArrived(source=LogSource(cell=None)) | LogFailed(source=LogSource(cell=None)):
                changed = self._cells.queue_said(event)
                # Of its history only the end counts: a cell that ran a week ago needs no tail.
                if isinstance(event, LogArrived) and event.backfill:
                    changed = self._memories[event.source].caught_up
                    changed = (changed and self._cells.queue_read()) or changed
            case _:
                pass
        if changed:
            self._changed.set()
            self._told.set()


def _is_polled(one: Unfollowed) -> bool:
    """Whether the log may grow without any table of files showing it."""
    return not one.over and one.stamp is None


def _pause(others: list[Unfollowed], seconds: float | None) -> float | None:
    """Seconds until the other logs are polled again; None if only a change calls for it."""
    polled = sum(map(_is_polled, others))
    if not polled:
        return seconds
    now_and_then = NOW_AND_THEN * max(1.0, polled / POLLED)
    return now_and_then if seconds is None else min(seconds, now_and_then)


def _first(group: BaseExceptionGroup[LinkError]) -> LinkError:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            return _first(error)
        return error
    raise AssertionError("an empty exception group")
