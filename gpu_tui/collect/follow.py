"""Follow one log file on a box: resume by identity and byte offset, so that a reconnect repeats nothing.

One channel carries one identity of the file (see follow_program): what was opened, then its raw bytes.
When the file is rotated, cut short or replaced the program on the box ends, or is ended; it is started
again with what we know and decides what comes next: the rest of the old file, files that came and were
renamed while we were away, a copy made before a cut, then the file at the path.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterable

from gpu_tui.collect import follow_program as box
from gpu_tui.collect.shell import quote_path
from gpu_tui.collect.tail import Tail
from gpu_tui.collect.tail_memory import TailMemory
from gpu_tui.core.clock import Clock
from gpu_tui.core.events import LogFailed
from gpu_tui.core.fleet import Instance
from gpu_tui.core.logs import LogSource
from gpu_tui.core.ports import Sink
from gpu_tui.transport.base import Connection, arrived, take_at_once

CELL_HISTORY = 262_144  # bytes before the end that are read of a cell's log at first sight
QUEUE_HISTORY = 4_194_304
AGAIN_SECONDS = 0.05  # before a program that ended is started again
DUMB_SECONDS = 30.0  # in which the box says what there is to read: it waits for a disk else
LONGEST_WAIT = 30.0  # between starts of a program that does not get as far as a file


def follow_program(
    path: str, nonce: str, memory: TailMemory, history: int, others: Iterable[str] = ()
) -> str:
    """The sh program for one start."""
    words = {
        "INODE": str(memory.inode),
        "BORN": memory.born,
        "OFFSET": str(memory.offset),
        "HAVE": str(len(memory.known)),
        "TRAIL": str(len(memory.trail)),
        "SINCE": str(memory.since),
        "PAST": " ".join((*memory.past, *others)),
        "CUT": memory.cut,
        "DONE": "yes" if memory.done else "",
        "HISTORY": str(history),
        "NONCE": nonce,
    }
    return box.program(quote_path(path), words)


async def follow(
    connection: Connection,
    instance: Instance,
    source: LogSource,
    sink: Sink,
    clock: Clock,
    memory: TailMemory,
    *,
    history: int = CELL_HISTORY,
    others: Callable[[], Iterable[str]] = tuple,
) -> None:
    """Follow until cancelled. Raises LinkError when the connection goes.

    `others` are files (inode:born) that are no rotated ones of this log, whatever they are called.
    """
    wait = AGAIN_SECONDS
    memory.left = -1  # what came since then nobody saw
    while True:
        nonce = secrets.token_hex(8)
        tail = Tail(instance.name, source, sink, clock, memory, nonce)
        async with connection.stream(
            follow_program(source.path, nonce, memory, history, others())
        ) as chunks:
            take_at_once(chunks, tail.at_once)
            told = asyncio.create_task(_dumb(tail, chunks))
            try:
                await tail.take(chunks)
            finally:
                told.cancel()
        if tail.opened:
            wait = AGAIN_SECONDS
        else:
            wait = min(LONGEST_WAIT, wait * 2)
            if wait > 1.0:
                why = f"{source.path} cannot be followed: the box needs sh, stat, tail and cat"
                sink(LogFailed(instance.name, clock.now(), source, why))
        await asyncio.sleep(wait)


async def _dumb(tail: Tail, chunks: AsyncIterator[bytes]) -> None:
    """Once the box has the program and its time: it should have said something of the file."""
    await arrived(chunks)
    await asyncio.sleep(DUMB_SECONDS)
    tail.dumb()
