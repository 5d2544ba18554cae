"""One task per box: keep it linked, sample it, follow its logs. One box's trouble stays its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import TypeVar

from gpu_tui.collect.cells import Cells
from gpu_tui.collect.follow import CELL_HISTORY, QUEUE_HISTORY, follow
from gpu_tui.collect.kubernetes import ClusterWatch
from gpu_tui.collect.link import LONGEST_WAIT, Link
from gpu_tui.collect.log_end import read_once, read_rest
from gpu_tui.collect.log_range import read_part, search
from gpu_tui.collect.sampler import Group, plan, sample_group
from gpu_tui.collect.tail_memory import TailMemory
from gpu_tui.collect.way import Ways
from gpu_tui.core.clock import Clock
from gpu_tui.core.events import Event, LogArrived, LogFailed, LogOpened, Sampled
from gpu_tui.core.fleet import Fleet, Instance
from gpu_tui.core.log_range import LogAsk, LogHits, LogPart, LogUnread, Term
from gpu_tui.core.logs import LogSource
from gpu_tui.core.ports import Sink
from gpu_tui.core.sample import Failure, FailureKind
from gpu_tui.transport.argv import Here, OnBox, Programs
from gpu_tui.transport.base import ChannelRefused, Connection, LinkError, Transport

A = TypeVar("A")
R = TypeVar("R")
CELL_TAILS = 6  # with the sampler and the queue's log: the places that streams may take
MEMORIES = 300  # logs that are not followed now and could be taken up where they were left
RETRY_SECONDS = 2.0
SLOW_LOGIN = 2.5  # seconds: on such a line a kilobyte of a program may be an eighth of a second
REFUSED_SECONDS = 15.0
LOOK_SECONDS = 1.0  # between looks at the clocks
TOO_FEW = (
    "the box allows too few sessions (MaxSessions) to follow this log beside what matters more"
)
ASLEEP_SECONDS = 3.0  # that the loop's clock missed: this machine was suspended


class Supervisor:
    """Runs the whole fleet; also what the screen may ask of it (FleetControl)."""

    def __init__(
        self,
        fleet: Fleet,
        transport: Transport,
        sink: Sink,
        clock: Clock,
        random: Random | None = None,
        *,
        longest_wait: float = LONGEST_WAIT,
    ) -> None:
        """`longest_wait` caps the back-off, in seconds."""
        self._fleet = fleet
        self._transport = transport
        self._sink = sink
        self._clock = clock
        self._random = random or Random()
        self._boxes: dict[str, Watched] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ways = Ways(self._random)
        self._longest_wait = longest_wait
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Watch every instance until cancelled. A bug in any of them ends everything, loudly."""
        async with asyncio.TaskGroup() as self._group:
            for instance in self._fleet.instances:
                self._watch(instance)
            # The group lives on while no instance is left.
            await self._notice_sleep()

    async def _notice_sleep(self) -> None:
        """After a suspend of this machine every link is looked at, at once.

        The loop's clock stands still then; the boot clock does not, nor does the wall clock where
        this is a guest that was frozen.
        """
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time(), self._clock.boot(), self._clock.now()
            await asyncio.sleep(LOOK_SECONDS)
            after = loop.time(), self._clock.boot(), self._clock.now()
            passed, *counted = (new - old for new, old in zip(after, before, strict=True))
            if max(counted) - passed > ASLEEP_SECONDS:
                for box in self._boxes.values():
                    box.link.resumed()

    def connection(self, name: str) -> Connection | None:
        """The live connection to one instance, or None."""
        box = self._boxes.get(name)
        return box.link.connection if box else None

    def read_up(self, name: str) -> bool | None:
        """Whether the history of every log of one instance has been read; None where nothing can tell."""
        box = self._boxes.get(name)
        return box.read_up if box else None

    def reconnect(self, instance: str) -> None:
        """Try this box again now."""
        if box := self._boxes.get(instance):
            box.link.wake()

    def follow_cell(self, instance: str, cell: str | None) -> None:
        """Tail this cell's log besides what is tailed anyway."""
        if box := self._boxes.get(instance):
            box.select(cell)

    async def read_log(self, instance: str, source: LogSource, ask: LogAsk) -> LogPart:
        """Read a stretch of one log. Raises LogUnread."""
        return await self._box(instance).read_log(source, ask)

    async def search_log(self, instance: str, source: LogSource, terms: Sequence[Term]) -> LogHits:
        """Search the whole of one log, on the box. Raises LogUnread."""
        return await self._box(instance).search_log(source, terms)

    def _box(self, instance: str) -> Watched:
        box = self._boxes.get(instance)
        if box is None:
            raise LogUnread(f"{instance} is no longer watched")
        return box

    async def replace_fleet(self, fleet: Fleet) -> None:
        """Take an edited fleet: instances that are watched as before keep their connection."""
        old, self._fleet = self._fleet, fleet
        over = [
            name
            for name in self._tasks
            if name not in fleet.names or not fleet[name].watched_like(old[name])
        ]
        ended = [self._tasks.pop(name) for name in over]
        for name, task in zip(over, ended, strict=True):
            del self._boxes[name]
            task.cancel()  # all before the first await: nothing of them is told any more
        await asyncio.gather(*ended, return_exceptions=True)
        for instance in fleet.instances:
            if instance.name not in self._tasks:
                self._watch(instance)

    def _watch(self, instance: Instance) -> None:
        if self._group is None:
            return
        box = Watched(instance, self._sink, self._clock)
        box.link = Link(
            instance,
            self._transport,
            self._sink,
            self._clock,
            box.serve,
            self._ways,
            self._random,
            self._longest_wait,
        )
        self._boxes[instance.name] = box
        task = self._group.create_task(box.link.keep(), name=f"box:{instance.name}")
        self._tasks[instance.name] = task


class Watched:
    """What is followed on one box, across its connections."""

    link: Link

    def __init__(self, instance: Instance, sink: Sink, clock: Clock) -> None:
        self._instance = instance
        self._sink = sink
        self._clock = clock
        self._memories: dict[LogSource, TailMemory] = {}
        self._cells = Cells(instance)
        self._read: set[LogSource] = set()
        self._changed = asyncio.Event()
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
                await sample_group(connection, self._instance, group, self._peek, self._clock)
                pause = RETRY_SECONDS
            except ChannelRefused as error:
                self._unread(group, f"{error}. {error.next}")
                pause = self._yield_place()
            await asyncio.sleep(pause)
            group = next(g for g in self._plan() if g.name == first.name)

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
                )
            except ChannelRefused as error:
                self._untailed(source, f"{error}. {error.next}")
                if source.cell is None:
                    pause = self._yield_place()
            await asyncio.sleep(pause)

    def _untailed(self, source: LogSource, why: str) -> None:
        self._failed.add(source)
        self._sink(LogFailed(self._instance.name, self._clock.now(), source, why))

    async def _follow_cells(self, connection: Connection) -> None:
        """Tail the cells that are wanted; read the ended ones once."""
        tails: dict[LogSource, asyncio.Task[None]] = {}
        self._tailed = tails
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._changed.clear()
                wanted = self._cells.tails(self._room)
                dropped = [tails.pop(source) for source in list(tails) if source not in wanted]
                for tail in dropped:
                    tail.cancel()
                # Two tails of one log at once would count the same bytes twice.
                await asyncio.gather(*dropped, return_exceptions=True)
                for source in wanted:
                    if source not in tails:
                        follow_cell = self._follow(connection, source, CELL_HISTORY)
                        tails[source] = tasks.create_task(follow_cell)
                self._forget(set(wanted))
                for source in self._cells.tails(CELL_TAILS)[self._room :]:
                    self._untailed(source, TOO_FEW)
                self._waits = await self._read_ended(connection, wanted)
                with suppress(TimeoutError):
                    async with asyncio.timeout(None if self._waits else REFUSED_SECONDS):
                        await self._changed.wait()
                self._waits = False

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
