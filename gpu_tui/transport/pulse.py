"""asyncssh's private API, of which only this and `packets` know: is anybody there, how much may be on its way
to us, what must end.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import monotonic
from typing import Any

import asyncssh
from asyncssh.connection import SSHConnection


async def keepalive(connection: SSHConnection) -> None:
    """One request to the server and back, as asyncssh's own keepalive option sends it."""
    await connection._make_global_request(b"keepalive@openssh.com")


async def beats(connection: asyncssh.SSHClientConnection, within: float) -> bool:
    """Whether anything at all comes within `within` seconds.

    On a slow link the answer queues behind other bytes: any packet is a sign of life.
    """
    before = connection._recv_seq
    with suppress(TimeoutError, asyncssh.Error, OSError):
        async with asyncio.timeout(within):
            await keepalive(connection)
    return connection._recv_seq != before and not connection.is_closed()


def grant(channel: asyncssh.SSHClientChannel[bytes], window: int) -> None:
    """From the next grant on, let the box send `window` bytes ahead; what is granted stays granted."""
    channel._init_recv_window = window


class Silence:
    """Notices that a connection is silent, with a timer that is not set anew for each read.

    asyncssh cancels its own and makes another one whenever bytes come: of a line that comes alone that
    is a tenth of the work. This one looks, when it is due, when something was last heard. asyncssh also counts
    on until what it asked is answered: on a narrow line that answer stands behind all that was sent before.
    """

    def __init__(self, connection: asyncssh.SSHClientConnection) -> None:
        self._connection: Any = connection
        self._due = self._connection._keepalive_timer_callback
        self._heard = self._asked = monotonic()

    def watch(self) -> None:
        """From now on."""
        connection = self._connection
        connection._cancel_keepalive_timer()
        connection._reset_keepalive_timer = self._hear
        connection._keepalive_timer_callback = self._look
        connection._set_keepalive_timer()

    def _hear(self) -> None:
        self._heard = monotonic()

    def _look(self) -> None:
        connection = self._connection
        if self._heard > self._asked:
            connection._keepalive_count = 0
        left = self._heard + connection._keepalive_interval - monotonic()
        if left <= 0.001:
            self._asked = monotonic()
            self._due()  # asks for a sign of life, or gives up; sets the timer again
            return
        later = asyncio.get_running_loop().call_later
        connection._keepalive_timer = later(left, self._look)


async def shut(connection: asyncssh.SSHClientConnection) -> None:
    """Abort it and wait until all of it is over.

    asyncssh kills its ProxyCommand with the connection and forgets it: nobody would wait for the process.
    """
    proxy = connection._tunnel
    connection.abort()
    await connection.wait_closed()
    if proxy is not None:
        await proxy.wait_closed()  # type: ignore[no-untyped-call]
