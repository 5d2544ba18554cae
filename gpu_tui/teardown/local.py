"""The results as they are on this machine: hashed file by file, links never followed."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gpu_tui.core.manifest import FileEntry, Manifest

# Our own directory beside the results: partial files, replaced copies, the manifest.
OWN = ".gpu-tui"
BLOCK = 1 << 20
Progress = Callable[[int], None]  # told of each block's bytes


@dataclass(frozen=True, slots=True)
class LocalTree:
    """What is here. `odd`: links, devices and other things that are no regular file."""

    manifest: Manifest
    odd: tuple[str, ...] = ()


def local_tree(root: Path, progress: Progress | None = None) -> LocalTree:
    """Hash everything below `root` except our own directory. A missing root is an empty tree."""
    files: list[FileEntry] = []
    odd: list[str] = []
    for path in _walk(root):
        name = path.relative_to(root).as_posix()
        try:
            size, digest = hash_file(path, progress)
        except OSError:
            odd.append(name)
        else:
            files.append(FileEntry(name, size, digest))
    return LocalTree(Manifest.of(files), tuple(sorted(odd)))


def directories(root: Path) -> frozenset[str]:
    """What stands at the top, empty or not, but for our own."""
    with os.scandir(root) as entries:
        found = (e.name for e in entries if e.is_dir(follow_symlinks=False))
        return frozenset(name for name in found if name != OWN)


def local_stamps(root: Path) -> dict[str, tuple[int, ...]]:
    """Device, inode, size, mtime and ctime (ns) of everything that `local_tree` reads: equal values mean an untouched file."""
    found: dict[str, tuple[int, ...]] = {}
    for path in _walk(root):
        try:
            seen = path.lstat()
        except OSError:
            found[str(path)] = (-1,)
        else:
            times = seen.st_mtime_ns, seen.st_ctime_ns
            found[str(path)] = (seen.st_dev, seen.st_ino, seen.st_size, *times)
    return found


def hash_file(path: Path, progress: Progress | None = None) -> tuple[int, str]:
    """Size and SHA-256 of one regular file; OSError for anything else."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(f"{path} is not a regular file")
        digest, size = hashlib.sha256(), 0
        while block := file.read(BLOCK):
            digest.update(block)
            size += len(block)
            if progress:
                progress(len(block))
    return size, digest.hexdigest()


def _walk(root: Path) -> Iterator[Path]:
    """Everything below `root` that is not a directory, unreadable directories included."""
    try:
        entries = sorted(os.scandir(root), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            if entry.name == OWN:
                continue
            try:
                yield from _walk(path)
            except OSError:
                yield path
        else:
            yield path
