"""Two times of the demo: the story's own, which `speed` scales, and the wall's, which boxes print.

A story that begins before zero catches up with the present without waiting: so a box has a past that
the same script wrote.
"""

from __future__ import annotations

import asyncio
import time


class WallClock:
    """This machine's clocks; the demo's server process is its own composition root."""

    def now(self) -> float:
        """Seconds since the Unix epoch, UTC."""
        return time.time()  # noqa: TID251 - the one place of this process that reads the wall clock

    def boot(self) -> float:
        """Seconds that never jump."""
        return time.monotonic()


class StoryClock:
    """Story seconds since the curtain rose; `speed` of them pass in one real second."""

    def __init__(self, speed: float = 1.0, wall: WallClock | None = None) -> None:
        self.speed = speed
        self._clock = wall or WallClock()
        self._risen = asyncio.Event()
        self._boot = self._clock.boot()
        self._wall = self._clock.now()

    def raise_curtain(self) -> None:
        """Story time is zero now. Until then it stands still, and scripts write their past."""
        self._boot = self._clock.boot()
        self._wall = self._clock.now()
        self._risen.set()

    def story(self) -> float:
        """Story seconds now."""
        return (self._clock.boot() - self._boot) * self.speed if self._risen.is_set() else 0.0

    def wall_at(self, story: float) -> float:
        """Epoch seconds at a story time. The past runs at `speed` too: no cell is faster than another."""
        return self._wall + story / self.speed

    async def wait(self, story: float) -> None:
        """Return at a story time after the curtain rose."""
        await self._risen.wait()
        await asyncio.sleep(max(0.0, story - self.story()) / self.speed)


class Pace:
    """One script's place in story time. Begins at `begin` seconds (negative: in the past)."""

    def __init__(self, clock: StoryClock, begin: float, present: asyncio.Event) -> None:
        self._clock = clock
        self._present = present
        self.at = begin

    def now(self) -> float:
        """Epoch seconds at the script's place."""
        return self._clock.wall_at(self.at)

    async def sleep(self, seconds: float) -> None:
        """Move on by story seconds; waits only once the script has reached the present."""
        self.at += seconds
        if self.at < 0:
            await asyncio.sleep(0)
            return
        self._present.set()
        await self._clock.wait(self.at)
