"""Write a file whole or not at all, and never over one that is there."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path

NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EXDEV, errno.EMLINK)


def write_new(path: Path, text: str, *, replace: bool = False) -> None:
    """Write `text` to `path` in one step; FileExistsError where something is there, unless `replace`.

    Line ends are written as they stand. On a file system without hard links the name is taken first.
    What `leads_on` is written into, not replaced.
    """
    if replace and leads_on(path):
        with path.open("w", encoding="utf-8", newline="") as there:
            there.write(text)
        return
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as wrong:
        wrong.filename = str(
            path
        )  # the name that was asked for, not the one it would first have had
        raise
    scratch = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        scratch.chmod(0o666 & ~_umask())
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
