"""The connections that serve one box, and the sessions open on each: one as a rule, three at most.

A server tells how many sessions it allows on one connection (MaxSessions) only by refusing one more.
Who finds no place causes a further connection, and where there may be none waits for a place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import asyncssh

from gpu_tui.transport.base import ChannelRefused, LinkError, LinkLost
from gpu_tui.transport.proxy import shut

MAX_SESSIONS = 10  # what sshd allows on one connection unless told otherwise
MAX_LINES = 3
FILES, RUN, STREAM = 0, 1, 2  # how many places each kind leaves free for the kinds before it
PLACE_SECONDS = 5.0
CLOSE_SECONDS = 2.0
# A session that has just been closed counts for a moment longer on the server.
REFUSED_PAUSES = (0.05, 0.2, 0.8)

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class Line:
    """One connection. `used` counts sessions until the server has closed them, not until we left."""

    connection: asyncssh.SSHClientConnection
    lost: asyncio.Future[Exception | None]
    total: int = MAX_SESSIONS
    used: int = 0

    @property
    def gone(self) -> bool:
        """No session can be opened here any more."""
        return self.lost.done() or self.connection.is_closed()


class Lines:
    """Gives out places for sessions. `more` opens a further connection, or says no with a LinkError."""

    def __init__(self, first: Line, more: Callable[[], Awaitable[Line]] | None = None) -> None:
        self.first = first
        self._lines = [first]
        self._more = more
        self._opening: asyncio.Task[None] | None = None
        self._why = ""  # there is no further connection
        self._freed = asyncio.Event()
        self._closing: set[asyncio.Task[None]] = set()

    async def open(
        self, kind: int, session: Callable[[asyncssh.SSHClientConnection], Awaitable[T]]
    ) -> tuple[Line, T]:
        """Take a place and open a session in it, within what the server allows.

        Raises ChannelRefused where there is none for PLACE_SECONDS, LinkLost with the connection.
        """
        again = iter(REFUSED_PAUSES)
        while True:
            line = await self._take(kind)
            try:
                return line, await session(line.connection)
            except asyncssh.ChannelOpenError as error:
                self.release(line)
                if line.gone:
                    self._gone(line, error)
                elif error.code == asyncssh.OPEN_REQUEST_SESSION_FAILED:
                    raise ChannelRefused(
                        "the box opens no such session for this login",
                        next="ask the provider for a login with a shell and SFTP",
                    ) from None
                elif (pause := next(again, None)) is not None:
                    await asyncio.sleep(pause)
                else:
                    self._learn(line)
                    again = iter(REFUSED_PAUSES)
            except (asyncssh.Error, OSError) as error:
                self.release(line)
                self._gone(line, error)
            except BaseException:
                self.release(line)
                raise

    def _gone(self, line: Line, error: Exception) -> None:
        """A further connection may go by itself; with the first one all is over."""
        if line is self.first or self.first.gone:
            raise LinkLost(f"the connection was lost: {error}") from None

    def _learn(self, line: Line) -> None:
        """The server allows no more than are open now. Where none is, waiting would be in vain."""
        if not line.used:
            raise ChannelRefused(
                "the box opens no session at all (MaxSessions 0, or it has no process left)",
                next="log in by hand and look",
            ) from None
        for known in self._lines:
            known.total = min(known.total, line.used)

    async def _take(self, kind: int) -> Line:
        try:
            async with asyncio.timeout(PLACE_SECONDS):
                while (line := self._free(kind)) is None:
                    await self._another()
        except TimeoutError:
            raise ChannelRefused(
                self._full(), next="raise MaxSessions in its sshd_config"
            ) from None
        line.used += 1
        return line

    def _free(self, kind: int) -> Line | None:
        """The line with most room, unless the places left are kept for what comes before."""
        self._lines = [line for line in self._lines if line is self.first or not line.gone]
        total = sum(line.total for line in self._lines)
        free = total - sum(line.used for line in self._lines)
        if total < 6:
            kind = 1 if kind == STREAM and total > 1 else 0
        if free <= kind:
            return None
        return next((line for line in self._lines if line.used < line.total), None)

    async def _another(self) -> None:
        """Wait for a further connection, or for a place on those that there are."""
        self._freed.clear()
        if self._opening is None and self._more is not None and len(self._lines) < MAX_LINES:
            self._opening = asyncio.create_task(self._add())
        await self._freed.wait()

    async def _add(self) -> None:
        assert self._more is not None
        try:
            line = await self._more()
            line.total = self.first.total
            self._lines.append(line)
            self._why = ""
        except LinkError as error:
            self._why = str(error)
            if error.needs_person:
                self._more = None
        else:
            self._opening = None
            self._freed.set()
            return
        # Not again before those who wait now have been told.
        await asyncio.sleep(PLACE_SECONDS)
        self._opening = None

    def _full(self) -> str:
        count = len(self._lines)
        on = "one connection" if count == 1 else f"each of {count} connections"
        text = f"the box allows {self.first.total} sessions on {on} (MaxSessions), all are in use"
        return f"{text}; no further connection: {self._why}" if self._why else text

    def release(self, line: Line) -> None:
        """Give a place back."""
        line.used -= 1
        self._freed.set()

    def release_when_closed(self, line: Line, channel: asyncssh.SSHClientChannel[bytes]) -> None:
        """Give a place back as soon as the server has closed the channel."""
        task = asyncio.ensure_future(channel.wait_closed())
        self._closing.add(task)

        def done(task: asyncio.Task[None]) -> None:
            self._closing.discard(task)
            self.release(line)

        task.add_done_callback(done)

    async def close(self) -> None:
        """Close every connection; a peer that is gone does not hold us up.

        Each is told to end before anything is waited for: who is cancelled in here leaves none open.
        """
        self._more = None
        waiting = [asyncio.ensure_future(shut(line.connection)) for line in self._lines]
        if self._opening is not None:
            self._opening.cancel()
            waiting.append(self._opening)
        await asyncio.wait(waiting, timeout=CLOSE_SECONDS)
        for task in waiting:
            task.cancel()
