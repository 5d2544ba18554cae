"""One task per box: keep it linked, sample it, follow its logs. One box's trouble stays its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from random import Random

from gpu_tui.collect.link import LONGEST_WAIT, Link
from gpu_tui.collect.watched import Watched
from gpu_tui.collect.way import Ways
from gpu_tui.core.clock import Clock
from gpu_tui.core.fleet import Fleet, Instance
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.log_range import LogAsk, LogHits, LogPart, LogUnread, Term
from gpu_tui.core.logs import LogSource
from gpu_tui.core.ports import Sink
from gpu_tui.transport.base import Connection, Transport

LOOK_SECONDS = 1.0  # between looks at the clocks
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
        before: Callable[[Instance], Mapping[str, JobTable]] = lambda _: {},
    ) -> None:
        """`longest_wait` caps the back-off, in seconds. `before`: who ran on a box when an earlier watch of it
        looked last, by metric.
        """
        self._before = before
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
        """Try this box again now; where it is connected, ask its cluster again."""
        if box := self._boxes.get(instance):
            box.link.wake()
            box.again()

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
        box = Watched(instance, self._sink, self._clock, self._before(instance))
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
