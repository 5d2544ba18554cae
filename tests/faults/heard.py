"""What a supervisor says, to be awaited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from gpu_tui.collect.link import LONGEST_WAIT
from gpu_tui.collect.supervisor import Supervisor
from gpu_tui.core.clock import Clock, ManualClock
from gpu_tui.core.events import Event, LinkChanged, Sampled
from gpu_tui.core.fleet import Fleet, Instance, LinkState
from gpu_tui.core.sample import Reading
from gpu_tui.transport.ssh import SshTransport


class Heard:
    """A sink. `at` are the loop's times of the events."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.at: list[float] = []
        self._woken = asyncio.Event()

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self.at.append(asyncio.get_running_loop().time())
        self._woken.set()

    async def after(
        self, start: int, condition: Callable[[Event], bool], limit: float = 60.0
    ) -> int:
        """The number of the first event from `start` on that meets the condition."""
        async with asyncio.timeout(limit):
            while True:
                for number in range(start, len(self.events)):
                    if condition(self.events[number]):
                        return number
                start = len(self.events)
                self._woken.clear()
                await self._woken.wait()

    def links(self, name: str = "box") -> list[LinkState]:
        """Every state of one link, in order."""
        found = (e for e in self.events if isinstance(e, LinkChanged))
        return [event.link for event in found if event.instance == name]


def lost(event: Event) -> bool:
    """A link that is neither live nor coming."""
    return isinstance(event, LinkChanged) and event.link.state not in ("live", "connecting")


def live(event: Event) -> bool:
    """A link that came up."""
    return isinstance(event, LinkChanged) and event.link.live and event.link.latency is None


def read(event: Event) -> bool:
    """A first reading."""
    return isinstance(event, Sampled) and isinstance(event.sample, Reading)


@asynccontextmanager
async def watched(
    *instances: Instance, clock: Clock | None = None, longest_wait: float = LONGEST_WAIT
) -> AsyncIterator[tuple[Supervisor, Heard]]:
    """A supervisor over these instances for as long as the block lasts."""
    heard, transport = Heard(), SshTransport()
    fleet = Fleet("faults", instances)
    supervisor = Supervisor(
        fleet, transport, heard, clock or ManualClock(), longest_wait=longest_wait
    )
    running = asyncio.create_task(supervisor.run())
    try:
        yield supervisor, heard
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await transport.close()
