"""Starts processes so that a cancellation meanwhile neither hangs nor leaves one.

asyncio's own start hangs where it is cancelled after some of the pipes are connected and before all are: it then waits
for the exit of a transport that ends only with its last pipe (CPython 3.11, `BaseSubprocessTransport._wait`).
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

Started = TypeVar("Started")
END_SECONDS = 2.0  # for a process that was killed, and for what holds its pipes
_ending: set[asyncio.Task[None]] = set()


async def start_process(*argv: str, **options: Any) -> Process:
    """As `asyncio.create_subprocess_exec`. OSError or ValueError where it cannot be started."""
    return await finish_start(asyncio.create_subprocess_exec(*argv, **options), lambda made: made)


async def finish_start(
    starting: Coroutine[Any, Any, Started], process_of: Callable[[Started], Process]
) -> Started:
    """The result of `starting`; a cancellation waits for it and kills the process, with its group if it leads one."""
    task = asyncio.create_task(starting)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        ending = asyncio.create_task(_end(task, process_of))
        _ending.add(ending)  # a second cancellation ends this wait and not that task
        ending.add_done_callback(_ending.discard)
        await asyncio.wait({ending})
        raise


async def _end(task: asyncio.Task[Started], process_of: Callable[[Started], Process]) -> None:
    try:
        process = process_of(await task)
    except (OSError, ValueError):
        return
    with suppress(ProcessLookupError, PermissionError):
        leads = os.getpgid(process.pid) == process.pid
        (os.killpg if leads else os.kill)(process.pid, signal.SIGKILL)
    with suppress(TimeoutError, ConnectionError):
        async with asyncio.timeout(END_SECONDS):
            await process.communicate()
