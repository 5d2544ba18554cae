"""Jump hosts: one shared connection per chain, however many boxes lie behind it.

A jump connection per box loses boxes to the server's MaxStartups and costs nine times the CPU.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import asyncssh

from gpu_tui.transport.access import Route
from gpu_tui.transport.base import LinkError, LinkLost
from gpu_tui.transport.channels import WINDOW, ProgramOutput
from gpu_tui.transport.doors import Doors
from gpu_tui.transport.keepalive import responds
from gpu_tui.transport.proxy import shut

Dial = Callable[
    [Route, asyncssh.SSHClientConnection | None], Awaitable[asyncssh.SSHClientConnection]
]
Chain = tuple[Route, ...]
Hop = tuple[str, asyncssh.SSHClientConnection]  # how a person calls it, and our connection to it
WARM_SECONDS = 5.0
TRUSTED_SECONDS = 10.0  # after which a connection that was kept must show that it is alive
SILENT_SECONDS = 3.0


class Hops:
    """Opens each prefix of each chain once and hands out the shared connection."""

    def __init__(self, dial: Dial, doors: Doors) -> None:
        self._dial = dial
        self._doors = doors
        self._open: dict[Chain, asyncssh.SSHClientConnection] = {}
        self._opening: dict[Chain, asyncio.Task[asyncssh.SSHClientConnection]] = {}
        self._seen: dict[Chain, float] = {}

    async def reach(self, chain: Chain) -> asyncssh.SSHClientConnection:
        """A connection to the last host of `chain`. Raises LinkError with `hop` set.

        All who wait share one attempt: it goes on if one of them gives up.
        """
        kept = self._open.get(chain)
        if kept is not None and not kept.is_closed() and self._fresh(chain):
            return kept
        task = self._opening.get(chain)
        if task is None:
            task = asyncio.create_task(self._connect(chain))
            self._opening[chain] = task
            task.add_done_callback(lambda done: self._opened(chain, done))
        return await asyncio.shield(task)

    def along(self, chain: Chain) -> tuple[Hop, ...]:
        """The open connections on the way to the end of `chain`, nearest first."""
        prefixes = (chain[:end] for end in range(1, len(chain) + 1))
        return tuple((p[-1].named, self._open[p]) for p in prefixes if p in self._open)

    def _fresh(self, chain: Chain) -> bool:
        return asyncio.get_running_loop().time() - self._seen[chain] < TRUSTED_SECONDS

    async def _connect(self, chain: Chain) -> asyncssh.SSHClientConnection:
        kept = self._open.get(chain)
        if kept is not None and not kept.is_closed():
            if await responds(kept, SILENT_SECONDS):
                return kept
            kept.abort()
        tunnel = await self.reach(chain[:-1]) if len(chain) > 1 else None
        behind = chain[-2].where if len(chain) > 1 else None
        try:
            async with self._doors.through(chain, chain[-1].where, behind):
                connection = await self._dial(chain[-1], tunnel)
        except LinkError as error:
            error.met_at(chain[-1].named, chain[-1].where)
            raise
        await _warm(connection)
        return connection

    def _opened(self, chain: Chain, task: asyncio.Task[asyncssh.SSHClientConnection]) -> None:
        self._opening.pop(chain, None)
        if not task.cancelled() and task.exception() is None:
            self._open[chain] = task.result()
            self._seen[chain] = asyncio.get_running_loop().time()

    async def close(self) -> None:
        """Close every shared connection."""
        for task in list(self._opening.values()):
            task.cancel()
        await asyncio.gather(*self._opening.values(), return_exceptions=True)
        # From the far end: a hop closes only when nothing lies behind it any more.
        for chain in sorted(self._open, key=len, reverse=True):
            await shut(self._open.pop(chain))


async def _warm(connection: asyncssh.SSHClientConnection) -> None:
    """The first session makes sshd turn Nagle off: without one, each packet of a box behind it waits
    for an acknowledgement. A jump host that gives no session works all the same, and what one says in it,
    which may have no end, is not heard out.
    """
    said = ProgramOutput()
    with suppress(asyncssh.Error, LinkError, OSError, TimeoutError):
        async with asyncio.timeout(WARM_SECONDS):
            channel, _ = await connection.create_session(
                lambda: said, "true", encoding=None, window=WINDOW, request_pty=False
            )
            try:
                async for _ in said:
                    break
            finally:
                channel.close()


def lost_hop(hop: str) -> LinkLost:
    """Its connection went, and with it all that lies behind."""
    return LinkLost(f"the connection to the jump host {hop} was lost", hop=hop)


def broken(hops: tuple[Hop, ...]) -> str | None:
    """The nearest hop whose connection is gone: those behind it went with it."""
    return next((name for name, connection in hops if connection.is_closed()), None)
