"""Programs by their argument list, on a box or on this machine: run to an end, or read as they go.

Here they are started without any shell. A box has only its login shell to start anything, so there each
argument is quoted, and the program dies with our channel: one that is silent would outlive us else.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Protocol

from gpu_tui.core.command import CommandFailed
from gpu_tui.transport.base import Completed, Connection
from gpu_tui.transport.channels import STDERR_CAP, guarded
from gpu_tui.transport.child import child

CHUNK = 65_536


class Programs(Protocol):
    """Runs programs somewhere."""

    async def run(self, argv: Sequence[str], *, limit: float, cap: int) -> Completed:
        """Run to its end; stdout past `cap` bytes is cut. CommandFailed, or a LinkError of the box."""
        ...

    def stream(self, argv: Sequence[str]) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Its stdout as it comes, until it ends; leaving the block ends it."""
        ...


class OnBox:
    """Programs of the box at the other end of a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def run(self, argv: Sequence[str], *, limit: float, cap: int) -> Completed:
        """Run to its end. CommandFailed where it did not end in time; LinkError passes."""
        try:
            return await self._connection.run(_line(argv), limit=limit, stdout_cap=cap)
        except TimeoutError:
            raise CommandFailed(f"{argv[0]} did not end in {limit:g} s") from None

    def stream(self, argv: Sequence[str]) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Its stdout as it comes."""
        return self._connection.stream(guarded(f"{_line(argv)} 2>/dev/null"))


class Here:
    """Programs of this machine."""

    async def run(self, argv: Sequence[str], *, limit: float, cap: int) -> Completed:
        """Run to its end. CommandFailed where it cannot be started or did not end in time."""
        try:
            async with asyncio.timeout(limit), started(argv, stderr=True) as process:
                assert process.stdout is not None
                assert process.stderr is not None
                out, err = await asyncio.gather(
                    _capped(process.stdout, cap), _capped(process.stderr, STDERR_CAP)
                )
                return Completed(out, err, await process.wait())
        except TimeoutError:
            raise CommandFailed(f"{argv[0]} did not end in {limit:g} s") from None

    @asynccontextmanager
    async def stream(self, argv: Sequence[str]) -> AsyncIterator[AsyncIterator[bytes]]:
        """Its stdout as it comes. CommandFailed where it cannot be started."""
        async with started(argv) as process:
            assert process.stdout is not None
            yield _chunks(process.stdout)


@asynccontextmanager
async def started(
    argv: Sequence[str], *, stdin: bool = False, stderr: bool = False
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process of this machine that ends with the block. CommandFailed where it cannot be started."""
    pipe, none = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    async with AsyncExitStack() as stack:
        try:
            running = child(argv, stdin=pipe if stdin else none, stderr=pipe if stderr else none)
            process = await stack.enter_async_context(running)
        except OSError as error:
            text = f"{argv[0]} cannot be run here: {error.strerror}"
            raise CommandFailed(text, next=f"Install {argv[0]}, or correct PATH.") from None
        yield process


async def _chunks(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while chunk := await stream.read(CHUNK):
        yield chunk


async def _capped(stream: asyncio.StreamReader, cap: int) -> bytes:
    kept = bytearray()
    async for chunk in _chunks(stream):
        kept += chunk[: max(0, cap - len(kept))]
    return bytes(kept)


def _line(argv: Sequence[str]) -> str:
    """One simple command, each argument one word."""
    return shlex.join(argv)
