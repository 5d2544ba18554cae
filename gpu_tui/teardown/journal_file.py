"""The file under the journal: nobody else's, appended in one write, synced, one writer at a time."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from gpu_tui.places import make_private


class Held(Exception):
    """Another gpu-tui has a ladder open for this instance."""


class Hold:
    """Keeps one instance for one ladder of this machine, until it is closed or its process dies."""

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd

    @classmethod
    def take(cls, directory: Path, instance: str, who: str) -> Self:
        """Take it. Held where another has it, OSError where that cannot be told."""
        made = own_directory(directory)
        name = hashlib.sha256(instance.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(made / f"{name}.lock", flags, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(fd, 0)
            os.pwrite(fd, who.encode(), 0)
        except BlockingIOError:
            other = os.pread(fd, 200, 0).decode("ascii", "replace")
            os.close(fd)
            raise Held(f"another gpu-tui ({other}) has a ladder open for it") from None
        except OSError:
            os.close(fd)
            raise
        return cls(fd)

    def close(self) -> None:
        """Give it back."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """The file for appending, locked; made where it is missing. OSError where it is not ours alone."""
    directory = own_directory(path.parent)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    new = not path.exists()
    fd = os.open(path, flags, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise _refused("is no regular file", path)
        _check(found, path)
        if new:
            sync_directory(directory)
        yield fd
    finally:
        os.close(fd)


def append(fd: int, data: bytes, path: Path) -> None:
    """All of `data` in one write, on the disk when this returns; else nothing of it stays."""
    size = os.fstat(fd).st_size
    try:
        whole = os.write(fd, data) == len(data)
        os.fsync(fd)
    except OSError as error:
        _forget(fd, size)
        raise type(error)(error.errno, error.strerror, str(path)) from None
    if not whole:
        _forget(fd, size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def _forget(fd: int, size: int) -> None:
    """What is not whole was never promised to anybody; a disk that cannot forget it keeps it torn."""
    with suppress(OSError):
        os.ftruncate(fd, size)


def read_file(path: Path, *, own: bool = False) -> bytes:
    """All that is in it. FileNotFoundError where there is none; what is no file is never waited for.

    `own`: PermissionError where another user could have written it.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise _refused("is no regular file", path)
        if own:
            _check(os.fstat(fd), path)
        return read_all(fd)
    finally:
        os.close(fd)


def read_all(fd: int) -> bytes:
    """The whole file, from its start."""
    size, parts, at = os.fstat(fd).st_size, [], 0
    while at < size and (part := os.pread(fd, size - at, at)):
        parts.append(part)
        at += len(part)
    return b"".join(parts)


def own_directory(directory: Path) -> Path:
    """The directory, made where it is missing. OSError where others could change what is in it."""
    if not directory.is_dir():
        make_private(directory)
        sync_directory(directory.parent)
    # A link in its place leads to a directory that must be as safe, and so must be what that one is in.
    for place in dict.fromkeys((directory, directory.parent, directory.resolve().parent)):
        found = place.stat()
        sticky = found.st_mode & stat.S_ISVTX and place != directory
        if not sticky:
            _check(found, place)
    return directory


def sync_directory(directory: Path) -> None:
    """Names that were made in it outlive a power cut."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _check(found: os.stat_result, path: Path) -> None:
    if found.st_uid not in (os.geteuid(), 0):
        raise _refused("belongs to another user", path)
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _refused("can be written by others (chmod go-w)", path)


def _refused(what: str, path: Path) -> OSError:
    return PermissionError(errno.EPERM, f"it {what}", str(path))
