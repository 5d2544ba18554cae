"""Jump hosts that were lost or not reached: one box tries for all behind it, the others wait for it.

However many boxes lie behind a jump host, it gets one attempt per back-off; once it is through, the
others follow, spread over a moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

LEASE = 60.0  # seconds after which another may try: the scout may have been taken off the fleet
SPREAD = 1.0


class Way:
    """One jump host that is shut. `due` is the loop time of the next attempt."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.attempt = 0
        self.due = 0.0
        self.scout: object | None = None


class Ways:
    """All jump hosts that are shut, by name. `wait` tells the seconds after a number of attempts."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._shut: dict[str, Way] = {}

    def failed(self, hop: str, who: object, wait: Callable[[int], float]) -> float:
        """`who` did not get past `hop`, or lost it; the seconds until the next attempt.

        All who lost it together, or waited for the same attempt, count once.
        """
        now = asyncio.get_running_loop().time()
        way = self._shut.setdefault(hop, Way())
        if way.scout is who or now >= way.due:
            way.due = now + wait(way.attempt)
            way.attempt += 1
            way.scout = None
        return max(0.0, way.due - now)

    def passed(self, hop: str) -> None:
        """Somebody got past it: to a box, or as far as to see that another thing is wrong."""
        if way := self._shut.pop(hop, None):
            way.opened.set()

    def scout(self, hop: str, who: object) -> None:
        """`who` sets out for all."""
        if way := self._shut.get(hop):
            way.scout, way.due = who, asyncio.get_running_loop().time() + LEASE

    async def turn(self, hop: str, who: object) -> None:
        """Wait until it is open, or until it is on `who` to try."""
        way = self._shut.get(hop)
        while way is not None:
            due = way.due
            try:
                async with asyncio.timeout_at(due):
                    await way.opened.wait()
            except TimeoutError:
                if way.due <= due:
                    self.scout(hop, who)
                    return
            else:
                await asyncio.sleep(self._random.random() * SPREAD)
                return
