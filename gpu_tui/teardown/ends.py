"""Keeps telling of teardowns whose end is not proven, until it is: after a restart as before it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from gpu_tui.core.clock import Clock
from gpu_tui.core.ending import OpenEnd, OwnEnd
from gpu_tui.core.events import Noted, TeardownEnd
from gpu_tui.core.fleet import Instance
from gpu_tui.core.ports import Sink
from gpu_tui.providers.base import Provider
from gpu_tui.teardown.journal import Journal, JournalDamaged, open_ends, own_ends
from gpu_tui.teardown.settle import look_again

PERIOD = 60.0  # seconds; no platform's API is asked more often than this
DAMAGED = "the teardown journal is damaged: nothing may be stopped. See gpu-tui journal --check"


class EndWatch:
    """Reads the journal, tells the fleet's store, and asks the providers again. It stops nothing."""

    def __init__(
        self,
        journal: Journal,
        instances: Callable[[], Iterable[Instance]],
        provider_of: Callable[[Instance], Provider],
        sink: Sink,
        clock: Clock,
    ) -> None:
        self._journal = journal
        self._instances = instances
        self._provider_of = provider_of
        self._sink = sink
        self._clock = clock
        self._told: dict[str, OpenEnd] = {}
        self._own: dict[str, OwnEnd] = {}
        self._complaint: str | None = None  # the last one, which is not repeated
        self.looked = asyncio.Event()  # everything was asked once

    async def tell(self) -> dict[str, OpenEnd]:
        """What the journal holds now; whatever changed since the last time is told.

        An instance that left the fleet file without a proven end is told of, too.
        """
        try:
            found = await asyncio.to_thread(self._journal.read)
        except OSError as error:
            self._complain(f"the teardown journal cannot be read: {error.strerror or error}")
            return self._told
        if found.damage:
            self._complain(DAMAGED)
        ends, fleet = open_ends(found.records), {one.name for one in self._instances()}
        own = {name: end for name, end in own_ends(found.records).items() if name in fleet}
        for name in ends.keys() | self._told.keys() | own.keys() | self._own.keys():
            now = ends.get(name), own.get(name)
            if now != (self._told.get(name), self._own.get(name)):
                self._sink(TeardownEnd(name, self._clock.now(), *now))
        self._told, self._own = ends, own
        return ends

    async def look(self) -> None:
        """Ask once whoever can say what became of each of them."""
        ends = await self.tell()
        for instance in [one for one in self._instances() if one.name in ends]:
            try:
                await look_again(self._journal, instance, self._provider_of(instance))
            except (OSError, JournalDamaged):
                continue  # it stays open, and is told as that
        if ends:
            await self.tell()
        self.looked.set()

    async def run(self, period: float = PERIOD) -> None:
        """Look until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(period)

    def _complain(self, text: str) -> None:
        if text != self._complaint:
            self._sink(Noted(None, self._clock.now(), text))
        self._complaint = text
