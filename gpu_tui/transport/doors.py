"""Who may knock at a server, and how often: logins wait their turn, so there is never a storm.

sshd drops logins that are not done yet from the 11th on (MaxStartups 10:30:100); four at once lose
none. Each box and each jump host has at most six logins in any minute, further connections included.
"""

from __future__ import annotations

import asyncio
from bisect import insort
from collections import deque
from collections.abc import AsyncIterator, Hashable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress

from gpu_tui.transport import patience

HANDSHAKES = 4  # at once per server
BEHIND = 8  # at once behind one jump host: its MaxStartups does not count them, its CPU does
LOGINS = 6  # in any minute for one box, and for one jump host
SPARE = 3  # of them may be for more than the one connection that a box needs
BEGINS = 3.0  # seconds that a ProxyCommand has for its own login, until the next one may begin
MINUTE = 61.0  # the server counts from when it sees us, which may be later for the first than for the last


class Doors:
    """Counts logins; one for the whole transport."""

    def __init__(self) -> None:
        self._rooms: dict[str, asyncio.Semaphore] = {}
        self._logins: dict[Hashable, deque[float]] = {}
        self._beginning: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def through(
        self, who: Hashable, where: str, behind: str | None = None
    ) -> AsyncIterator[None]:
        """Hold a place at the server `where` for one login of `who`. Waiting costs no time limit."""
        async with AsyncExitStack() as held:
            with patience.person_types(patience.mine()), self._turn(who) as wait:
                if wait > 0:
                    await asyncio.sleep(wait)
                if behind is not None:
                    await held.enter_async_context(self._room(f"behind {behind}", BEHIND))
                await held.enter_async_context(self._room(where, HANDSHAKES))
            yield

    async def begin(self, program: str, answered: asyncio.Event) -> None:
        """Wait until few others of the same ProxyCommand are on their way: it may log in at a jump host, of which we
        know nothing. `answered` is set with the first byte that it brings, or at its end. Waiting costs no time limit.
        """
        room = self._room(f"by {program}", HANDSHAKES)
        with patience.person_types(patience.mine()):
            await room.acquire()
        beginning = asyncio.create_task(_leave(room, answered))
        self._beginning.add(beginning)
        beginning.add_done_callback(self._beginning.discard)

    def spare(self, who: Hashable) -> bool:
        """Whether `who` may log in once more without need."""
        return len(self._recent(who)) < SPARE

    @contextmanager
    def _turn(self, who: Hashable) -> Iterator[float]:
        """Take a place in the minute: the seconds until it comes. Who is called off before knocking gives it back."""
        now, recent = asyncio.get_running_loop().time(), self._recent(who)
        # Those who wait stand in a row: each counts as a login of the time when its turn comes.
        turn = now if len(recent) < LOGINS else max(now, recent[-LOGINS] + MINUTE)
        insort(recent, turn)
        try:
            yield turn - now
        except asyncio.CancelledError:
            with suppress(ValueError):
                recent.remove(turn)
            raise

    def _recent(self, who: Hashable) -> deque[float]:
        logins = self._logins.setdefault(who, deque())
        over = asyncio.get_running_loop().time() - MINUTE
        while logins and logins[0] <= over:
            logins.popleft()
        return logins

    def _room(self, name: str, places: int) -> asyncio.Semaphore:
        return self._rooms.setdefault(name, asyncio.Semaphore(places))


async def _leave(room: asyncio.Semaphore, answered: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(BEGINS):
            await answered.wait()
    room.release()
