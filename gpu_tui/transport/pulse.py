"""asyncssh's private API, of which only this and `packets` know: is anybody there, how much may be on its way
to us, what must end.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import asyncssh


async def keepalive(connection: asyncssh.SSHClientConnection) -> None:
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


async def shut(connection: asyncssh.SSHClientConnection) -> None:
    """Abort it and wait until all of it is over.

    asyncssh kills its ProxyCommand with the connection and forgets it: nobody would wait for the process.
    """
    proxy = connection._tunnel
    connection.abort()
    await connection.wait_closed()
    if proxy is not None:
        await proxy.wait_closed()  # type: ignore[no-untyped-call]
