"""One box, connected: programs over stdin, remote files, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import asyncssh

from gpu_tui.transport.asyncssh_private import ask_keepalive
from gpu_tui.transport.base import (
    ChannelRefused,
    Completed,
    FileAccess,
    LinkError,
    LinkLost,
    new_nonce,
    shell_command,
)
from gpu_tui.transport.channels import WINDOW, ProgramOutput, guarded
from gpu_tui.transport.files import SftpFiles
from gpu_tui.transport.hops import Hop, broken, lost_hop
from gpu_tui.transport.keepalive import responds
from gpu_tui.transport.lines import CLOSE_SECONDS, FILES, RUN, STREAM, Line, Lines
from gpu_tui.transport.proxy import Proxy

HOP_SECONDS = 1.5  # for a jump host to show that it lives, when the box behind it fell silent


class SshConnection:
    """One live box. Sessions are counted and wait for a place when all are in use.

    `more` opens a further connection to the same box, for when one does not allow enough sessions.
    """

    def __init__(
        self,
        connection: asyncssh.SSHClientConnection,
        lost: asyncio.Future[Exception | None],
        hops: tuple[Hop, ...] = (),
        more: Callable[[], Awaitable[Line]] | None = None,
        peer: tuple[str, int] | None = None,
    ) -> None:
        self._connection = connection
        self._lost = lost
        self._hops = hops
        self._lines = Lines(Line(connection, lost), more)
        self._closed_by_us = False
        self.nonce = new_nonce()
        self.peer = peer  # where it was reached, None where only a hop knows
        self.login = connection.get_extra_info("username")
        key = connection.get_server_host_key()
        self.host_key = key.get_fingerprint() if key else ""

    async def run(self, program: str, *, limit: float, stdout_cap: int = 4_194_304) -> Completed:
        """Run a program to its end. TimeoutError after `limit` seconds; output past the cap is cut."""
        async with (
            asyncio.timeout(limit),
            self._program(guarded(program), RUN) as (session, channel),
        ):
            kept = bytearray()
            async for chunk in session:
                kept += chunk[: max(0, stdout_cap - len(kept))]
            await channel.wait_closed()
            if session.exit is None and self._lost.done():
                raise LinkLost("the connection was lost while a command ran")
            return Completed(bytes(kept), bytes(session.stderr), session.exit)

    @asynccontextmanager
    async def stream(self, program: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Run a program for as long as the block lasts; its stdin stays open until then."""
        opened = self._program(program, STREAM)
        del program  # large, and sent once: the block may last for days
        async with opened as (session, _):
            yield session

    @asynccontextmanager
    async def _program(
        self, program: str, kind: int
    ) -> AsyncIterator[tuple[ProgramOutput, asyncssh.SSHClientChannel[bytes]]]:
        """A channel with a program in it. Closing it is EOF for the program, which ends it."""
        session = ProgramOutput(program)
        del program

        async def open_session(
            connection: asyncssh.SSHClientConnection,
        ) -> asyncssh.SSHClientChannel[bytes]:
            command = shell_command(self.nonce)
            channel, _ = await connection.create_session(
                lambda: session, command, encoding=None, window=WINDOW, request_pty=False
            )
            return channel

        line, channel = await self._lines.open(kind, open_session)
        try:
            yield session, channel
        except LinkLost as error:
            if line is self._lines.first or self._lost.done():
                raise
            # A further connection went; the box is still there.
            raise ChannelRefused(f"{error} (one of several)", next="it is opened again") from None
        finally:
            session.taker = None
            channel.close()
            self._lines.release_when_closed(line, channel)

    @asynccontextmanager
    async def files(self) -> AsyncIterator[FileAccess]:
        """An SFTP channel."""

        async def open_sftp(connection: asyncssh.SSHClientConnection) -> asyncssh.SFTPClient:
            return await connection.start_sftp_client(path_encoding=None)

        line, client = await self._lines.open(FILES, open_sftp)
        try:
            yield SftpFiles(client)
        finally:
            client.exit()
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await client.wait_closed()
            self._lines.release(line)

    async def round_trip(self) -> float:
        """Seconds that one request takes to the server and back; no process is started for it."""
        clock = asyncio.get_running_loop().time
        began = clock()
        known = await ask_keepalive(self._connection)
        if self._lost.done():
            raise LinkLost("the connection was lost")
        if not known:
            raise LinkError("this version of asyncssh measures no round trip")
        return clock() - began

    async def answers(self, within: float) -> bool:
        """Whether any sign of life comes within `within` seconds; slow is not dead."""
        return not self._lost.done() and await responds(self._connection, within)

    async def wait_closed(self) -> LinkError | None:
        """Wait until it is gone; the reason, or None after our own close."""
        error = await asyncio.shield(self._lost)
        if self._closed_by_us:
            return None
        hop = broken(self._hops)
        if hop is None and "keepalive" in str(error):
            hop = await self._silent_hop()
        if hop is not None:
            return lost_hop(hop)
        if said := await self._last_words():
            return LinkLost(f"the connection was lost: the ProxyCommand ended: {said}")
        return LinkLost(f"the connection was lost: {error or 'closed by the box'}")

    async def _last_words(self) -> str:
        """What a ProxyCommand said as it ended; empty where it said nothing, or there is none."""
        proxy = self._connection.get_extra_info("proxy")
        if not isinstance(proxy, Proxy) or not proxy.hung_up:
            return ""
        await proxy.wait_closed()
        return proxy.said

    async def _silent_hop(self) -> str | None:
        """The box fell silent: so may a hop have, which is then of no use to others either."""
        alive = await asyncio.gather(*(responds(link, HOP_SECONDS) for _, link in self._hops))
        for (name, link), lives in zip(self._hops, alive, strict=True):
            if not lives:
                link.abort()
                return name
        return None

    async def close(self) -> None:
        """Close it; a peer that is gone does not hold us up."""
        self._closed_by_us = True
        await self._lines.close()
