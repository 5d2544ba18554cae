"""One more ssh program that shares a connection: a program's output, or a pipe for SFTP."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator
from contextlib import suppress

from gpu_tui.transport.base import ChannelRefused, LinkError, LinkLost
from gpu_tui.transport.channels import STDERR_CAP

LOSS_SECONDS = 1.0  # for the connection to be known as lost after a session was
CHUNK = 65_536
FAILED = 255  # ssh's own exit code


class Session:
    """One ssh that shares the connection."""

    def __init__(self, process: Process, lost: asyncio.Future[None]) -> None:
        self.process = process
        self.stderr = bytearray()
        self._lost = lost
        self._code: int | None = None
        self._reading = asyncio.create_task(self._read_stderr())

    def write(self, data: bytes) -> None:
        """Bytes for the program's stdin."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.write(data)

    async def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(CHUNK):
            self.stderr += data[: max(0, STDERR_CAP - len(self.stderr))]

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Everything in order, until the program closes its output. LinkLost with the connection."""
        assert self.process.stdout is not None
        while data := await self.process.stdout.read(CHUNK):
            yield data
        await self.exit()

    async def exit(self) -> int:
        """The program's exit code; an end of ssh itself is an error."""
        if self._code is not None:
            return self._code
        code = await self.process.wait()
        await asyncio.shield(self._reading)
        if code == FAILED:
            refused = await self.refusal()
            if isinstance(refused, LinkLost) or b"session request failed" in self.stderr:
                raise refused
        self._code = code
        return code

    async def refusal(self) -> LinkError:
        """Why there is no such session (any more)."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOSS_SECONDS):
                await asyncio.shield(self._lost)
                return LinkLost("the connection was lost")
        return ChannelRefused(
            "the box opens no further session (MaxSessions, or none of this kind)",
            next="follow fewer logs, or ask the provider for a login with a shell and SFTP",
        )

    async def end(self) -> None:
        """The channel closes with its ssh."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.kill()
        # A pipe that is full and not read never shows its end, and the wait for ssh would have none.
        assert self.process.stdout is not None
        with suppress(RuntimeError):  # somebody reads it
            while await self.process.stdout.read(CHUNK):
                pass
        await self.process.wait()
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
