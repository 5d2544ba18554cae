"""One task per box: keep it linked, sample it, follow its logs. One box's trouble stays its own."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from random import Random

from gpu_tui.collect.follow import CELL_HISTORY, QUEUE_HISTORY, TailMemory, follow, read_once
from gpu_tui.collect.link import Link
from gpu_tui.collect.sampler import Group, plan, sample_group
from gpu_tui.core.clock import Clock
from gpu_tui.core.events import Event, LogArrived, Noted
from gpu_tui.core.fleet import Fleet, Instance
from gpu_tui.core.logs import LogSource
from gpu_tui.core.ports import Sink
from gpu_tui.core.sweep import CellFinished, CellStarted, QueueOpened
from gpu_tui.transport.base import ChannelRefused, Connection, LinkError, Transport

HANDSHAKES = 4  # at once per server or jump host: MaxStartups loses none of these
CELL_TAILS = 2  # with four samplers and the queue log that leaves a channel for a command
RETRY_SECONDS = 2.0
REFUSED_SECONDS = 15.0
CELL_NAME = re.compile(r"[A-Za-z0-9._ +=@,-]{1,200}\Z")


class Supervisor:
    """Runs the whole fleet; also what the screen may ask of it (FleetControl)."""

    def __init__(
        self,
        fleet: Fleet,
        transport: Transport,
        sink: Sink,
        clock: Clock,
        random: Random | None = None,
    ) -> None:
        self._fleet = fleet
        self._transport = transport
        self._sink = sink
        self._clock = clock
        self._random = random or Random()
        self._boxes: dict[str, Watched] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._handshakes: dict[str, asyncio.Semaphore] = {}
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Watch every instance until cancelled. A bug in any of them ends everything, loudly."""
        async with asyncio.TaskGroup() as self._group:
            for instance in self._fleet.instances:
                self._watch(instance)
            # The group must live on while no instance is left.
            await asyncio.Event().wait()

    def connection(self, name: str) -> Connection | None:
        """The live connection to one instance, or None."""
        box = self._boxes.get(name)
        return box.link.connection if box else None

    def reconnect(self, instance: str) -> None:
        """Try this box again now."""
        if box := self._boxes.get(instance):
            box.link.wake()

    def follow_cell(self, instance: str, cell: str | None) -> None:
        """Tail this cell's log besides what is tailed anyway."""
        if box := self._boxes.get(instance):
            box.select(cell)

    async def replace_fleet(self, fleet: Fleet) -> None:
        """Take an edited fleet: unchanged instances keep their connection."""
        old, self._fleet = self._fleet, fleet
        for name, task in list(self._tasks.items()):
            if name not in fleet.names or fleet[name] != old[name]:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                del self._tasks[name], self._boxes[name]
        for instance in fleet.instances:
            if instance.name not in self._tasks:
                self._watch(instance)

    def _watch(self, instance: Instance) -> None:
        if self._group is None:
            return
        server = instance.ssh.jump or instance.ssh.host
        gate = self._handshakes.setdefault(server, asyncio.Semaphore(HANDSHAKES))
        box = Watched(instance, self._sink, self._clock)
        box.link = Link(
            instance, self._transport, self._sink, self._clock, box.serve, gate, self._random
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
        self._groups = plan(instance)
        self._memories: dict[LogSource, TailMemory] = {}
        self._started: list[str] = []
        self._finished: list[str] = []
        self._read: set[str] = set()
        self._selected: str | None = None
        self._changed = asyncio.Event()

    def select(self, cell: str | None) -> None:
        """A person looks at this cell."""
        self._selected = cell
        self._changed.set()

    async def serve(self, connection: Connection) -> None:
        """Sample and follow until the connection goes. Raises LinkError then."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for group in self._groups:
                    tasks.create_task(self._sample(connection, group))
                if log := self._instance.queue.log:
                    source = LogSource(log)
                    tasks.create_task(self._follow(connection, source, QUEUE_HISTORY))
                if self._instance.logs:
                    tasks.create_task(self._follow_cells(connection))
        except* LinkError as lost:
            raise _first(lost) from None

    async def _sample(self, connection: Connection, group: Group) -> None:
        async def once() -> None:
            await sample_group(connection, self._instance, group, self._sink, self._clock)
            await asyncio.sleep(RETRY_SECONDS)

        await self._again(once, f"{group.name} readings")

    async def _follow(self, connection: Connection, source: LogSource, history: int) -> None:
        memory = self._memories.setdefault(source, TailMemory())

        async def once() -> None:
            await follow(
                connection, self._instance, source, self._peek, self._clock, memory, history=history
            )

        await self._again(once, source.path)

    async def _again(self, once: Callable[[], Awaitable[None]], what: str) -> None:
        """Repeat for ever; a refused channel is said once and tried again later."""
        said = False
        while True:
            try:
                await once()
            except ChannelRefused as error:
                if not said:
                    text = f"{self._instance.name}: {what}: {error}. {error.next}"
                    self._sink(Noted(self._instance.name, self._clock.now(), text))
                    said = True
                await asyncio.sleep(REFUSED_SECONDS)

    async def _follow_cells(self, connection: Connection) -> None:
        """Tail the newest cells and the selected one; read the ended ones once."""
        tails: dict[str, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._changed.clear()
                wanted = self._wanted()
                for cell in [cell for cell in tails if cell not in wanted]:
                    tails.pop(cell).cancel()
                for cell in wanted:
                    if cell not in tails:
                        source = self._source(cell)
                        tails[cell] = tasks.create_task(
                            self._follow(connection, source, CELL_HISTORY)
                        )
                await self._read_ended(connection, wanted)
                await self._changed.wait()

    async def _read_ended(self, connection: Connection, followed: list[str]) -> None:
        for cell in list(self._finished):
            if cell not in followed and cell not in self._read:
                self._read.add(cell)
                source = self._source(cell)
                if source in self._memories:
                    continue
                try:
                    await read_once(connection, self._instance, source, self._sink, self._clock)
                except (TimeoutError, ChannelRefused):
                    self._read.discard(cell)

    def _wanted(self) -> list[str]:
        """At most CELL_TAILS cells, the selected one first, then the newest."""
        newest = [cell for cell in reversed(self._started) if cell != self._selected]
        first = [self._selected] if self._selected else []
        live = [cell for cell in newest if cell not in self._finished or cell == newest[0]]
        return [cell for cell in first + live if CELL_NAME.match(cell)][:CELL_TAILS]

    def _source(self, cell: str) -> LogSource:
        pattern = self._instance.logs or ""
        return LogSource(pattern.replace("{cell}", cell), cell)

    def _peek(self, event: Event) -> None:
        """Learn from the queue's log which cells run, and pass the event on."""
        self._sink(event)
        if not isinstance(event, LogArrived) or event.source.cell is not None:
            return
        for line in event.lines:
            match line.queue:
                case QueueOpened():
                    self._started, self._finished = [], []
                case CellStarted(name=name) if _is_name(name):
                    self._started = [*(c for c in self._started if c != name), name]
                    self._finished = [c for c in self._finished if c != name]
                case CellFinished(name=name) if _is_name(name):
                    self._finished = [*(c for c in self._finished if c != name), name]
                case _:
                    continue
            self._changed.set()


def _is_name(name: str) -> bool:
    """True for a cell name that may become part of a path."""
    return CELL_NAME.match(name) is not None and name not in (".", "..")


def _first(group: BaseExceptionGroup[LinkError]) -> LinkError:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            return _first(error)
        return error
    raise AssertionError("an empty exception group")
