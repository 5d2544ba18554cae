"""Jump hosts: one shared connection per chain, however many boxes lie behind it.

A jump connection per box loses boxes to the server's MaxStartups and costs nine times the CPU.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import asyncssh

from gpu_tui.core.fleet import SshAccess

OpenHop = Callable[
    [SshAccess, asyncssh.SSHClientConnection | None], Awaitable[asyncssh.SSHClientConnection]
]


class Hops:
    """Opens each prefix of each chain once and hands out the shared connection."""

    def __init__(self, open_hop: OpenHop) -> None:
        self._open_hop = open_hop
        self._open: dict[tuple[str, tuple[str, ...]], asyncssh.SSHClientConnection] = {}
        self._locks: dict[tuple[str, tuple[str, ...]], asyncio.Lock] = {}

    async def through(self, jump: str, config: tuple[str, ...]) -> asyncssh.SSHClientConnection:
        """A connection to the last hop of `jump` (`[user@]host[:port],…`). Raises LinkError."""
        hops = [hop.strip() for hop in jump.split(",") if hop.strip()]
        connection: asyncssh.SSHClientConnection | None = None
        for end in range(1, len(hops) + 1):
            connection = await self._hop(tuple(hops[:end]), config, connection)
        if connection is None:
            raise ValueError("an empty jump chain")
        return connection

    async def _hop(
        self,
        chain: tuple[str, ...],
        config: tuple[str, ...],
        tunnel: asyncssh.SSHClientConnection | None,
    ) -> asyncssh.SSHClientConnection:
        key = (",".join(chain), config)
        async with self._locks.setdefault(key, asyncio.Lock()):
            kept = self._open.get(key)
            if kept is not None and not kept.is_closed():
                return kept
            access = hop_access(chain[-1], config)
            self._open[key] = await self._open_hop(access, tunnel)
            return self._open[key]

    async def close(self) -> None:
        """Close every shared connection."""
        for connection in self._open.values():
            connection.abort()
        self._open.clear()


def hop_access(hop: str, config: tuple[str, ...]) -> SshAccess:
    """One hop of a ProxyJump value; the same config file speaks for it."""
    user, _, host = hop.rpartition("@")
    port: int | None = None
    if host.startswith("["):
        host, _, rest = host[1:].partition("]")
        port = int(rest[1:]) if rest.startswith(":") and rest[1:].isdigit() else None
    elif ":" in host:
        host, _, digits = host.rpartition(":")
        port = int(digits) if digits.isdigit() else None
    return SshAccess(host, user or None, port, config=config[0] if config else None)
