"""Brings the results home: several files at once, each read once, hashed while it is written.

A file appears under its own name only after its hash was right. Whatever cuts it short, what came is
kept and the next pull goes on from there.
"""

from __future__ import annotations

import asyncio
import errno
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from enum import Enum
from pathlib import Path
from typing import TypeVar

from gpu_tui.core.evidence import Pulled
from gpu_tui.core.manifest import FileEntry, Manifest
from gpu_tui.core.plain import plain
from gpu_tui.core.transfer import Count
from gpu_tui.teardown.box import BoxError
from gpu_tui.teardown.frames import STALL, Frames, Gone, OutOfStep, frames
from gpu_tui.teardown.inventory import nobody
from gpu_tui.teardown.part import BLOCK, FULL, Part, Shelf
from gpu_tui.transport.base import ChannelRefused, Connection, LinkError

CHANNELS = 2  # files that come at once: while the disk ends one, the other comes
AT_ONCE, BYTES_AT_ONCE = 200, 256 << 20  # that one channel is asked for before it is opened anew
T = TypeVar("T")


async def pull_files(
    connection: Connection,
    root: str,
    manifest: Manifest,
    local: Path,
    count: Count = nobody,
    *,
    whole: bool = True,
) -> Pulled:
    """Bring every file of `manifest` home. LinkError passes; trouble with one file is in `failed`.

    `whole`: there are no other files, so that what an earlier pull began of others is of no use.
    """
    shelf = Shelf(local)
    try:
        await _held(shelf.open)
    except BoxError as error:
        return Pulled(0, 0, (("the directory here", str(error)),))
    try:
        return await _Pull(connection, root, shelf, count).all(manifest, whole=whole)
    finally:
        shelf.close()


class _Pull:
    """One pull under way."""

    def __init__(self, connection: Connection, root: str, shelf: Shelf, count: Count) -> None:
        self._connection, self._root, self._shelf, self._count = connection, root, shelf, count
        self._left: deque[FileEntry] = deque()
        self._again: set[FileEntry] = set()  # whose part was of no use
        self._arrived = self._bytes = 0  # files that are home, and how much they hold
        self._failed: list[tuple[str, str]] = []
        self._over = False  # no further file is begun
        self._channels = 0

    async def all(self, manifest: Manifest, *, whole: bool) -> Pulled:
        """Whatever is missing here, then make all names durable."""
        for file in manifest.files:
            if await _held(self._shelf.is_here, file):
                self._home(file)
                self._count(file.bytes, file.path, moved=False)
            else:
                self._left.append(file)
        missing = tuple(self._left)
        if whole:
            await _held(self._shelf.sweep, missing)
        if short := await _held(self._shelf.problem, missing):
            return Pulled(self._arrived, self._bytes, (("the disk here", short),))
        self._channels = min(CHANNELS, len(missing))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._channels):
                    group.create_task(self._channel())
        except BaseExceptionGroup as several:
            raise _one(several.exceptions) from None
        finally:
            self._over = True
            await _held(self._shelf.settle)
        failed, aside = tuple(sorted(self._failed)), tuple(sorted(self._shelf.aside))
        return Pulled(self._arrived, self._bytes, failed, aside, str(self._shelf.local.absolute()))

    async def _channel(self) -> None:
        """One channel after the other, until no file is left."""
        while batch := self._batch():
            try:
                await self._some(batch)
            except ChannelRefused:
                # The others go on with what this one left; the last one has nobody to leave it to.
                self._channels -= 1
                if not self._channels:
                    raise
                return
            finally:
                self._left.extendleft(reversed(batch))

    def _batch(self) -> deque[FileEntry]:
        """The next files for one channel."""
        batch: deque[FileEntry] = deque()
        size = 0
        while self._left and not self._over and len(batch) < AT_ONCE and size < BYTES_AT_ONCE:
            batch.append(self._left.popleft())
            size += batch[-1].bytes
        return batch

    async def _some(self, batch: deque[FileEntry]) -> None:
        """Read a batch through one channel; what it did not come to stays in `batch`."""
        parts = [Part(self._shelf, file) for file in batch]
        naming: asyncio.Task[None] | None = None
        try:
            await _held(self._begin, parts)
            for part in parts:
                self._tell(part, part.have, moved=False)
            wanted = [(part.file.path, part.have // BLOCK) for part in parts]
            async with frames(self._connection, self._root, wanted) as coming:
                for part in parts:
                    came = await self._receive(coming, part)
                    batch.popleft()
                    if naming:
                        await naming
                    # The disk may take its time for it while the next file comes.
                    naming = asyncio.create_task(self._finish(part)) if came is Came.WHOLE else None
                    if came is Came.ASTRAY or self._over:
                        break
        finally:
            if naming:
                await _outlast(naming)
            for part in parts:
                part.close()

    def _begin(self, parts: Sequence[Part]) -> None:
        for part in parts:
            part.begin(lambda: not self._over)

    async def _receive(self, coming: Frames, part: Part) -> Came:
        """Write one file as it comes; trouble with it is told."""
        try:
            async with aclosing(coming.file(part.file.bytes - part.have)) as blocks:
                await self._write(blocks, part)
        except Gone as error:
            self._fail(part, str(error))
            return Came.NOT
        except OutOfStep as error:
            await _held(part.discard)
            self._fail(part, str(error))
        except TimeoutError:
            self._fail(part, f"no byte for {STALL:.0f} s")
        except (OSError, BoxError) as error:
            self._fail(part, self._why(error))
        else:
            return Came.WHOLE
        return Came.ASTRAY

    async def _write(self, blocks: AsyncGenerator[bytes, None], part: Part) -> None:
        """In a thread, while the next bytes come."""
        held: list[bytes] = []
        waiting = 0
        writing: asyncio.Task[None] | None = None
        try:
            async for block in blocks:
                held.append(block)
                waiting += len(block)
                if waiting >= BLOCK:
                    if writing:
                        await asyncio.shield(writing)
                    writing = asyncio.create_task(asyncio.to_thread(part.append, held))
                    self._tell(part, waiting)
                    held, waiting = [], 0
        finally:
            if writing:
                await _outlast(writing)
        if writing:
            writing.result()
        await _held(part.append, held)
        self._tell(part, waiting)

    async def _finish(self, part: Part) -> None:
        """Check and name it. One that was resumed and is wrong is read once more from its start."""
        try:
            right = await _held(part.finish)
        except (OSError, BoxError) as error:
            self._fail(part, self._why(error))
            return
        if right:
            self._home(part.file)
        elif part.resumed and part.file not in self._again:
            self._again.add(part.file)
            self._tell(part, -part.told, moved=False)
            self._left.append(part.file)
        else:
            self._fail(
                part, "what came is not what was hashed on the box, where it may have changed"
            )

    def _home(self, file: FileEntry) -> None:
        self._arrived += 1
        self._bytes += file.bytes

    def _tell(self, part: Part, count: int, *, moved: bool = True) -> None:
        part.told += count
        self._count(count, part.file.path, moved=moved)

    def _fail(self, part: Part, why: str) -> None:
        self._tell(part, -part.told, moved=False)
        self._failed.append((part.file.path, why))

    def _why(self, error: Exception) -> str:
        if isinstance(error, OSError) and error.errno in FULL:
            self._over = True
            return (
                "your quota here is used up"
                if error.errno == errno.EDQUOT
                else "the disk here is full"
            )
        if isinstance(error, OSError):
            return f"cannot be written here: {error.strerror or type(error).__name__}"
        return plain(str(error), 120)


class Came(Enum):
    """What became of one file of a channel: it is whole, did not come, or led the channel astray."""

    WHOLE, NOT, ASTRAY = range(3)


async def _held(work: Callable[..., T], *args: object) -> T:
    """Do it in a thread, and be there until it ends: cancelled or not, its descriptor stays open so long."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *args))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await _outlast(task)
        raise


async def _outlast(task: asyncio.Future[T]) -> None:
    """Be there until it ends; how, is asked elsewhere."""
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()


def _one(errors: Sequence[BaseException]) -> BaseException:
    """All of one link say the same; what is no trouble of the link is a bug, and is said first."""
    return next((error for error in errors if not isinstance(error, LinkError)), errors[0])
