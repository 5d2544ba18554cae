"""Files on their way home: parts that survive any cut, and final names that only whole files get.

Everything here blocks, and runs in threads. Local paths are made component by component and no link is
followed; a file that stood under the same name moves aside, never over.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from gpu_tui.core import units
from gpu_tui.core.manifest import FileEntry, home_path
from gpu_tui.places import make_private
from gpu_tui.teardown.box import BoxError
from gpu_tui.teardown.local import OWN, hash_file

BLOCK = 1 << 20  # a part is taken up again at a multiple of it
ROOM = 1.1  # free space asked for, as a multiple of what is still to come
AHEAD = 8 << 20  # bytes that wait for the disk to be told of them
SPARE_INODES = 16  # besides one for each file and each directory: our own
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES})


class Shelf:
    """Where the results of one instance come to lie. Held by one process at a time."""

    def __init__(self, local: Path) -> None:
        self.local = local
        self.parts = local / OWN / "parts"
        self._lock = -1
        self.aside: list[str] = []  # paths where another file stood
        self._directories: set[tuple[str, ...]] = set()  # those that got a name

    def open(self) -> None:
        """Make the directories that are ours and hold them; BoxError where another process does."""
        make_private(self.local)
        for path in (self.local / OWN, self.parts, self.local / OWN / "replaced"):
            with suppress(FileExistsError):
                make_private(path)
            if path.is_symlink() or not path.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, "not a directory", str(path))
        self._lock = os.open(self.parts, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise BoxError("another gpu-tui pulls into this directory: wait for it") from None
        except OSError:
            pass  # a file system without locks

    def close(self) -> None:
        """Let go of it."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def is_here(self, file: FileEntry) -> bool:
        """The file is home already, under its own name and with the right bytes: on the disk from now on,
        whoever put it there.
        """
        if home_path(file.path) != file.path and _is_whole(self.local / file.path, file):
            # gpu-tui 0.1.0 brought it home under its own name, where it reads as a proof of this machine.
            with self._directory(()) as held:
                self._move_aside(file.path, file.path, held)
        path = self.local.joinpath(*home_path(file.path).split("/"))
        if not _is_whole(path, file):
            return False
        for place in (path, path.parent):
            with suppress(OSError):  # a file system that cannot promise it
                _sync(place)
        return True

    def part_of(self, file: FileEntry) -> Path:
        """Two files of the same bytes have two parts."""
        place = hashlib.sha256(file.path.encode("utf-8", "surrogateescape")).hexdigest()
        return self.parts / f"{file.sha256[:32]}-{place[:16]}.part"

    def sweep(self, wanted: Sequence[FileEntry]) -> None:
        """Forget the parts of files that the box has no longer, or has otherwise now."""
        keep = {self.part_of(file).name for file in wanted}
        for entry in os.scandir(self.parts):
            if entry.name.endswith(".part") and entry.name not in keep:
                with suppress(OSError):
                    os.unlink(entry.path)

    def problem(self, missing: Sequence[FileEntry]) -> str | None:
        """Why they cannot be kept here: no room for their bytes, or for their inodes where it counts them."""
        have = {
            entry.name: entry.stat(follow_symlinks=False).st_size
            for entry in os.scandir(self.parts)
        }
        need = sum(
            file.bytes - min(have.get(self.part_of(file).name, 0), file.bytes) for file in missing
        )
        room = os.statvfs(self.local)
        free = room.f_bavail * room.f_frsize
        if need * ROOM > free:
            return (
                f"needs {units.size(need * ROOM)} free in {self.local}, {units.size(need * ROOM - free)} more than it has: "
                "free some, or name another results.local"
            )
        folders = {above for file in missing for above in _above(file.path)}
        names = len(missing) + len(folders) + SPARE_INODES
        if missing and room.f_files and room.f_favail < names:
            return (
                f"needs {names} inodes free in {self.local}, has {room.f_favail}: "
                "delete small files, or name another results.local"
            )
        return None

    def settle(self) -> None:
        """Make the names that were given durable."""
        for parents in self._directories:
            with self._directory(parents) as held:
                os.fsync(held)
        self._directories.clear()

    def name(self, path: str, part: Path) -> None:
        """Give a whole part its own name; an older file of that name moves aside."""
        *parents, name = path.split("/")
        with self._directory(parents) as held:
            while not _linked(part, name, held):
                self._move_aside(path, name, held)
        self._directories.update({tuple(parents[:depth]) for depth in range(len(parents) + 1)})

    def _move_aside(self, path: str, name: str, held: int) -> None:
        """To a place that is new, so that nothing is there: its own path below the time it had."""
        try:
            old = os.stat(name, dir_fd=held, follow_symlinks=False)
        except FileNotFoundError:
            return
        if not stat.S_ISREG(old.st_mode):
            raise BoxError("something that is no file stands in its place here: move it away")
        prefix = f"{old.st_mtime_ns}-"
        place = Path(tempfile.mkdtemp(prefix=prefix, dir=self.local / OWN / "replaced")) / path
        make_private(place.parent)
        os.rename(name, place, src_dir_fd=held)
        self.aside.append(path)

    @contextmanager
    def _directory(self, parents: Sequence[str]) -> Iterator[int]:
        """A held directory of it, made where missing; OSError if any part of it is a link."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        held = os.open(self.local, flags)
        try:
            for name in parents:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=held)
                inner = os.open(name, flags | os.O_NOFOLLOW, dir_fd=held)
                os.close(held)
                held = inner
            yield held
        finally:
            os.close(held)


class Part:
    """One file on its way: what is there of it, its hash so far."""

    def __init__(self, shelf: Shelf, file: FileEntry) -> None:
        self.file = file
        self.have = 0  # bytes that are on disk and in the hash
        self.told = 0  # bytes that were told as progress
        self.resumed = False
        self._shelf = shelf
        self._path = shelf.part_of(file)
        self._digest = hashlib.sha256()
        self._fd = -1
        self._sent = 0  # bytes that are on their way to the disk

    def begin(self, go_on: Callable[[], bool]) -> None:
        """Take up what is there, down to whole blocks. `go_on` is asked between blocks."""
        try:
            size = self._path.lstat().st_size
        except FileNotFoundError:
            return
        self._open()
        while self.have + BLOCK <= min(size, self.file.bytes) and go_on():
            block = os.pread(self._fd, BLOCK, self.have)
            if len(block) < BLOCK:
                break
            self._digest.update(block)
            self.have += BLOCK
        self.resumed, self._sent = self.have > 0, self.have
        self.close()

    def append(self, blocks: Sequence[bytes]) -> None:
        """Write and hash some blocks."""
        if self._fd < 0:
            self._open()
        for block in blocks:
            view = memoryview(block)
            while view:
                wrote = os.pwrite(self._fd, view, self.have)
                self._digest.update(view[:wrote])
                self.have += wrote
                view = view[wrote:]
        if self.have - self._sent >= AHEAD:
            _write_out(self._fd, self._sent, self.have)
            self._sent = self.have

    def finish(self) -> bool:
        """Make it durable under its own name, or throw it away where its bytes are not the right ones."""
        if self._fd < 0:
            self._open()
        try:
            right = self.have == self.file.bytes and self._digest.hexdigest() == self.file.sha256
            if right:
                os.ftruncate(self._fd, self.have)
                os.fsync(self._fd)
                self._shelf.name(home_path(self.file.path), self._path)
            else:
                self._path.unlink(missing_ok=True)
        finally:
            self.close()
        return right

    def discard(self) -> None:
        """Throw away what is there of it."""
        self.close()
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the file; what is there of it stays."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd = os.open(self._path, flags, 0o600)
        if not stat.S_ISREG(os.fstat(self._fd).st_mode):
            self.close()
            raise BoxError("something that is no file stands where its part belongs: move it away")


def _write_out(fd: int, start: int, end: int) -> None:
    """Let the disk begin with these bytes, so that the fsync at the end finds little left to wait for.

    Linux starts to write what it is told is not needed (mm/fadvise.c), and lets go only of what is written.
    """
    if sys.platform == "linux":
        with suppress(OSError):
            os.posix_fadvise(fd, start, end - start, os.POSIX_FADV_DONTNEED)


def _is_whole(path: Path, file: FileEntry) -> bool:
    """A regular file with these bytes."""
    try:
        return path.lstat().st_size == file.bytes and hash_file(path) == (file.bytes, file.sha256)
    except OSError:
        return False


def _sync(place: Path) -> None:
    held = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(held)
    finally:
        os.close(held)


def _linked(part: Path, name: str, held: int) -> bool:
    """Give `part` its name in one step that replaces nothing; False where the name is taken."""
    try:
        os.link(part, name, dst_dir_fd=held, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        # No hard links here: there is a moment between the look and the rename.
        with suppress(FileNotFoundError):
            os.stat(name, dir_fd=held, follow_symlinks=False)
            return False
        os.rename(part, name, dst_dir_fd=held)
        return True
    os.unlink(part)
    return True


def _above(path: str) -> Iterator[str]:
    """Every directory on the way to it."""
    parts = path.split("/")[:-1]
    return ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
