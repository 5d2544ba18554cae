"""One live SSH connection: programs over stdin, remote files, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

import asyncssh

from gpu_tui.transport.base import ChannelRefused, Completed, FileAccess, LinkError, LinkLost
from gpu_tui.transport.channels import (
    FILES,
    RUN,
    SHELL,
    STREAM,
    WINDOW,
    Places,
    ProgramOutput,
    closing,
    guarded,
)
from gpu_tui.transport.files import SftpFiles

CLOSE_SECONDS = 2.0
# A session that has just been closed counts for a moment longer on the server.
REFUSED_PAUSES = (0.05, 0.2, 0.8)

T = TypeVar("T")


class SshConnection:
    """One live connection; channels are counted and wait for a place when all are in use."""

    def __init__(
        self,
        connection: asyncssh.SSHClientConnection,
        lost: asyncio.Future[Exception | None],
        hop: tuple[str, asyncssh.SSHClientConnection] | None = None,
    ) -> None:
        self._connection = connection
        self._lost = lost
        self._hop = hop
        self._places = Places()
        self._closed_by_us = False
        key = connection.get_server_host_key()
        self.host_key = key.get_fingerprint() if key else ""

    async def run(self, program: str, *, limit: float, stdout_cap: int = 4_194_304) -> Completed:
        """Run a program to its end. TimeoutError after `limit` seconds; output past the cap is cut."""
        async with (
            asyncio.timeout(limit),
            self._program(guarded(program), RUN) as (session, channel),
            closing(session.chunks()) as chunks,
        ):
            kept = bytearray()
            async for chunk in chunks:
                kept += chunk[: max(0, stdout_cap - len(kept))]
            await channel.wait_closed()
            if session.exit is None and self._lost.done():
                raise LinkLost("the connection was lost while a command ran")
            return Completed(bytes(kept), bytes(session.stderr), session.exit)

    @asynccontextmanager
    async def stream(self, program: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Run a program for as long as the block lasts; its stdin stays open until then."""
        async with (
            self._program(program, STREAM) as (session, _),
            closing(session.chunks()) as chunks,
        ):
            yield chunks

    @asynccontextmanager
    async def _program(
        self, program: str, kind: int
    ) -> AsyncIterator[tuple[ProgramOutput, asyncssh.SSHClientChannel[bytes]]]:
        """A channel with a program in it. Closing it is EOF for the program, which ends it."""
        session = ProgramOutput()
        channel = await self._session(session, kind)
        try:
            _send(channel, program)
            yield session, channel
        finally:
            channel.close()
            self._places.release_when_closed(channel)

    async def _session(self, session: ProgramOutput, kind: int) -> asyncssh.SSHClientChannel[bytes]:
        async def open_session() -> asyncssh.SSHClientChannel[bytes]:
            channel, _ = await self._connection.create_session(
                lambda: session, SHELL, encoding=None, window=WINDOW, request_pty=False
            )
            return channel

        return await self._placed(kind, open_session)

    @asynccontextmanager
    async def files(self) -> AsyncIterator[FileAccess]:
        """An SFTP channel."""

        async def open_sftp() -> asyncssh.SFTPClient:
            return await self._connection.start_sftp_client(path_encoding=None)

        client = await self._placed(FILES, open_sftp)
        try:
            yield SftpFiles(client)
        finally:
            client.exit()
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await client.wait_closed()
            self._places.release()

    async def _placed(self, kind: int, open_channel: Callable[[], Awaitable[T]]) -> T:
        """Take a place and open a channel in it; where the server refuses, learn how many it allows."""
        again = iter(REFUSED_PAUSES)
        while True:
            await self._places.take(kind)
            try:
                return await open_channel()
            except asyncssh.ChannelOpenError as error:
                self._places.release()
                if self._lost.done() or self._connection.is_closed():
                    raise self._loss(error) from None
                if error.code == asyncssh.OPEN_REQUEST_SESSION_FAILED:
                    raise ChannelRefused(
                        "the box opens no such session for this login",
                        next="ask the provider for a login with a shell and SFTP",
                    ) from None
                pause = next(again, None)
                if pause is not None:
                    await asyncio.sleep(pause)
                elif not self._places.shrink():
                    raise ChannelRefused(
                        "the box opens no session at all (MaxSessions 0, or it has no process left)",
                        next="log in by hand and look",
                    ) from None
            except (asyncssh.Error, OSError) as error:
                self._places.release()
                raise self._loss(error) from None
            except BaseException:
                self._places.release()
                raise

    def _loss(self, error: Exception) -> LinkError:
        return LinkLost(f"the connection was lost: {error}")

    async def round_trip(self) -> float:
        """Seconds that one request takes to the server and back; no process is started for it."""
        clock = asyncio.get_running_loop().time
        began = clock()
        await _keepalive(self._connection)
        if self._lost.done():
            raise LinkLost("the connection was lost")
        return clock() - began

    async def wait_closed(self) -> LinkError | None:
        """Wait until it is gone; the reason, or None after our own close."""
        error = await asyncio.shield(self._lost)
        if self._closed_by_us:
            return None
        if self._hop and self._hop[1].is_closed():
            name = self._hop[0]
            return LinkLost(f"the connection to the jump host {name} was lost", hop=name)
        return LinkLost(f"the connection was lost: {error or 'closed by the box'}")

    async def close(self) -> None:
        """Close it; a peer that is gone does not hold us up."""
        self._closed_by_us = True
        self._connection.abort()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._connection.wait_closed()


def _send(channel: asyncssh.SSHClientChannel[bytes], program: str) -> None:
    try:
        channel.write(program.encode("utf-8", "surrogateescape"))
    except OSError as error:  # it has just been closed
        raise LinkLost(f"the connection was lost: {error}") from None


async def _keepalive(connection: asyncssh.SSHClientConnection) -> None:
    """The one use of asyncssh's private API: the request behind its keepalive option."""
    await connection._make_global_request(b"keepalive@openssh.com")
