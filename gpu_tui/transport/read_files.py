"""Which files of the user one attempt was made with, and their states then: an edit of one may mend what failed.

Who reads such a file notes it, also one that is not there: it may come. So it is with a pattern, whose state are
the names that it has now. Everything here blocks on files.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar
from zlib import crc32

from gpu_tui.transport.base import LinkError, State

MOST = 256  # files of one attempt; a directory of included ones may hold any number
Read = dict[str, State | None]
T = TypeVar("T")
_READ: ContextVar[Read | None] = ContextVar("read", default=None)


def noting(read: Read, call: Callable[..., T], *args: object) -> T:
    """Call; what is read meanwhile is noted in `read`."""
    token = _READ.set(read)
    try:
        return call(*args)
    finally:
        _READ.reset(token)


def note(*paths: str | Path) -> None:
    """These files are about to be read."""
    read = _READ.get()
    if read is None:
        return
    for path in map(str, paths):
        if path in read or len(read) < MOST:
            read[path] = state(path)


def note_key(path: str | Path) -> None:
    """A key is about to be read, with what may lie beside it."""
    note(path, f"{path}.pub", f"{path}-cert.pub")


@contextmanager
def mendable(read: Read) -> Iterator[None]:
    """A LinkError says what was read; one that others share keeps what its own attempt had read."""
    try:
        yield
    except LinkError as error:
        error.read = error.read or tuple(read.items())
        raise


def state(path: str) -> State | None:
    """When it was changed, and its size; None where it is not there. Of a pattern, what it names."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        names = sorted(glob.glob(path)) if glob.has_magic(path) else []
        return (crc32("\0".join(names).encode("utf-8", "replace")), len(names)) if names else None
    return stat.st_mtime_ns, stat.st_size


def states(read: Iterable[tuple[str, State | None]]) -> tuple[tuple[str, State | None], ...]:
    """The same files as they are now."""
    return tuple((path, state(path)) for path, _ in read)
