"""Detects dead connections: ends one that stays silent, and asks a server whether it is there."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import monotonic

import asyncssh

from gpu_tui.transport.asyncssh_private import ask_keepalive
from gpu_tui.transport.inbound import Inbound


class Keepalive:
    """Ends a connection when no byte has come for `count` + 1 intervals.

    asyncssh sends a request after each silent interval, but ends the connection when answers are missing. On a slow
    link an answer comes after all that was sent before it, so here any byte counts. `asyncssh.connect` must be given
    the same interval, and a count that is never reached.
    """

    def __init__(
        self, connection: asyncssh.SSHClientConnection, interval: float, count: int
    ) -> None:
        self.interval = interval
        self._connection = connection
        self._inbound = Inbound(connection)
        self._count = count
        self._missed = 0
        self._seen = self._inbound.heard
        connection.set_extra_info(keepalive=self)
        asyncio.get_running_loop().call_later(interval, self._look)

    @property
    def heard(self) -> float:
        """When bytes last came, as `monotonic` has it."""
        return self._inbound.heard

    def _look(self) -> None:
        if self._connection.is_closed():
            return
        wait = self.interval
        if self.heard != self._seen:
            self._seen, self._missed = self.heard, 0
            wait += self._seen - monotonic()
        else:
            self._missed += 1
            if self._missed > self._count:
                lost = asyncssh.ConnectionLost("Server not responding to keepalive")
                self._connection.connection_lost(lost)
                return
        asyncio.get_running_loop().call_later(wait, self._look)


async def responds(connection: asyncssh.SSHClientConnection, within: float) -> bool:
    """Ask the server, and return whether anything at all comes within `within` seconds.

    On a slow link the answer queues behind other bytes: any byte is a sign of life.
    """
    watch = connection.get_extra_info("keepalive")
    assert isinstance(watch, Keepalive)
    before = watch.heard
    with suppress(TimeoutError, asyncssh.Error, OSError):
        async with asyncio.timeout(within):
            if not await ask_keepalive(connection):
                await _asked_by_asyncssh(connection, watch, within)
    return watch.heard != before and not connection.is_closed()


async def _asked_by_asyncssh(
    connection: asyncssh.SSHClientConnection, watch: Keepalive, within: float
) -> None:
    """Let asyncssh's own keepalive send its request after half of the time."""
    connection.set_keepalive(within / 2)
    try:
        await asyncio.sleep(within)
    finally:
        if not connection.is_closed():
            connection.set_keepalive(watch.interval)
