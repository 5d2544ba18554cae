"""Write a file whole or not at all, and never over one that is there."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EXDEV, errno.EMLINK)


def write_new(path: Path, text: str, *, replace: bool = False) -> None:
    """Write `text` to `path` in one step; FileExistsError where something is there, unless `replace`.

    Line ends are written as they stand. On a file system without hard links the name is taken first.
    What `leads_on` is written into, not replaced.
    """
    with named(path):
        if replace and leads_on(path):
            with path.open("w", encoding="utf-8", newline="") as there:
                there.write(text)
            return
        _write_whole(path, text, replace=replace)


def write_private(path: Path, data: bytes) -> None:
    """A new file that its owner alone can read, whole or not there; FileExistsError where something is."""
    with named(path):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
        except OSError:
            path.unlink(missing_ok=True)
            raise


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Whatever fails in here tells of `path`: not of the name that it first had, nor of none (a full disk)."""
    try:
        yield
    except OSError as wrong:
        wrong.filename = str(path)
        raise


def _write_whole(path: Path, text: str, *, replace: bool) -> None:
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    scratch = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        scratch.chmod(mode)
        if replace:
            scratch.replace(path)
            return
        try:
            os.link(scratch, path)
        except OSError as wrong:
            if wrong.errno not in NO_LINKS:
                raise
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
            scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def leads_on(path: Path) -> bool:
    """A link, a device or a pipe is there. With a file in its place it would be no more: for root that is
    the machine's own /dev/null.
    """
    try:
        return not stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
