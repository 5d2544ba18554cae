"""One process of this machine, which ends with all that it started in its group."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import Process, SubprocessStreamProtocol
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

from gpu_tui.start_process import finish_start

STREAM_LIMIT = 262_144  # bytes held for a slow reader before the program is made to wait
END_SECONDS = 2.0  # for a program that was killed


@asynccontextmanager
async def child(
    argv: Sequence[str],
    *,
    stdin: int = asyncio.subprocess.DEVNULL,
    stderr: int = asyncio.subprocess.DEVNULL,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[Process]:
    """A process with a pipe as its stdout, killed with its group when the block ends.

    OSError or ValueError where it cannot be started.
    """
    loop = asyncio.get_running_loop()

    async def start() -> tuple[asyncio.SubprocessTransport, Process]:
        # As `asyncio.create_subprocess_exec` does it, which hands out no transport.
        transport, protocol = await loop.subprocess_exec(
            lambda: SubprocessStreamProtocol(STREAM_LIMIT, loop),
            *argv,
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            env=env,
            start_new_session=True,
        )
        return transport, Process(transport, protocol, loop)

    transport, process = await finish_start(start(), lambda made: made[1])
    try:
        yield process
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await process.wait()
        transport.close()  # one that left the group may hold the pipes
