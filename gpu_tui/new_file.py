"""Write a file whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EXDEV, errno.EMLINK)
PREFIX = 40  # characters of its name that a scratch file has: a long name has no room for more


def write_new(
    path: Path, data: str | bytes, *, replace: bool = False, mode: int | None = None
) -> None:
    """Write to a path that a person named; FileExistsError where something is there, unless `replace`.

    What `leads_on` is written into, not replaced. Otherwise as `write_whole`.
    """
    if replace and leads_on(path):
        with named(path), path.open("wb") as there:
            there.write(_bytes(data))
        return
    write_whole(path, data, replace=replace, mode=mode)


def write_whole(
    path: Path,
    data: str | bytes,
    *,
    replace: bool = True,
    mode: int | None = None,
    synced: bool = True,
) -> None:
    """Write in one step: a reader sees the old file or the new one, and a failure leaves the old one.

    A link is replaced, never followed. Without `replace`: FileExistsError where something is there; on a file
    system without hard links the name is taken first. `mode` None is that of the file there, else the
    umask's. A file that is not `synced` may be empty after a power cut.
    """
    raw = _bytes(data)
    with named(path):
        if mode is None:
            mode = _mode_of(path)
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:PREFIX]}.", dir=path.parent)
        scratch = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(raw)
                file.flush()
                os.fchmod(handle, mode)
                if synced:
                    os.fsync(handle)
            _give_name(scratch, path, replace=replace)
        finally:
            scratch.unlink(missing_ok=True)


def _give_name(scratch: Path, path: Path, *, replace: bool) -> None:
    if not replace:
        try:
            os.link(scratch, path)
        except OSError as wrong:
            if wrong.errno not in NO_LINKS:
                raise
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        else:
            return
    scratch.replace(path)


@contextmanager
def named(path: Path) -> Iterator[None]:
    """An OSError in here names `path`: not the name of a scratch file, nor none (a full disk)."""
    try:
        yield
    except OSError as wrong:
        wrong.filename = str(path)
        raise


def leads_on(path: Path) -> bool:
    """A link, a device or a pipe is there. With a file in its place it would be no more: for root that is
    the machine's own /dev/null.
    """
    try:
        return not stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _bytes(data: str | bytes) -> bytes:
    return data.encode("utf-8") if isinstance(data, str) else data


def _mode_of(path: Path) -> int:
    """Of the regular file there, else as a new file gets it."""
    try:
        found = path.lstat().st_mode
    except FileNotFoundError:
        found = 0
    return stat.S_IMODE(found) if stat.S_ISREG(found) else 0o666 & ~_umask()


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
