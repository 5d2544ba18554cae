"""Time limits of a login that stand still while a person types.

A question stops the limits of the login that asks; one of a shared jump host stops those of all, for
any box may wait behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar


class Limit:
    """One limit that runs. It stands still as long as any question holds it."""

    def __init__(self, timeout: asyncio.Timeout, seconds: float) -> None:
        self._timeout = timeout
        self._left = seconds
        self._held = 0

    def hold(self) -> None:
        """Stand still."""
        self._held += 1
        if self._held > 1:
            return
        if not self._timeout.expired():
            now = asyncio.get_running_loop().time()
            ends = self._timeout.when()
            self._left = self._left if ends is None else max(0.0, ends - now)
            self._timeout.reschedule(None)

    def go_on(self) -> None:
        """Go on with what was left."""
        self._held -= 1
        if self._held:
            return
        if not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._left)


_running: dict[Limit, None] = {}  # of all logins of this process
_shared_questions = [0]
_MINE: ContextVar[tuple[Limit, ...]] = ContextVar("limits", default=())


@asynccontextmanager
async def limit(seconds: float) -> AsyncIterator[Limit]:
    """TimeoutError once the block took `seconds` in which no person was asked for it."""
    async with asyncio.timeout(seconds) as timeout:
        running = Limit(timeout, seconds)
        for _ in range(_shared_questions[0]):
            running.hold()
        _running[running] = None
        token = _MINE.set((*_MINE.get(), running))
        try:
            yield running
        finally:
            _MINE.reset(token)
            del _running[running]


def mine() -> tuple[Limit, ...]:
    """The limits that run around the caller."""
    return _MINE.get()


@contextmanager
def person_types(limits: Sequence[Limit] | None) -> Iterator[None]:
    """`limits` stand still for as long as the block lasts; None: those of all logins."""
    shared = limits is None
    _shared_questions[0] += shared
    for held in [*_running] if limits is None else limits:
        held.hold()
    try:
        yield
    finally:
        _shared_questions[0] -= shared
        for held in [*_running] if limits is None else limits:
            if held in _running:
                held.go_on()
