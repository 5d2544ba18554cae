"""Brings the results home: listed over SFTP, hashed on the box, read once, hashed while it is written.

A file appears under its own name only after its hash was right. What was there before is moved aside,
never overwritten. Local paths are built here, component by component, and no link is followed.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gpu_tui.core.evidence import Pulled
from gpu_tui.core.manifest import FileEntry, Manifest
from gpu_tui.core.plain import plain
from gpu_tui.teardown.box import BoxError, hash_files, link_targets
from gpu_tui.teardown.local import BLOCK, OWN, hash_file
from gpu_tui.transport.base import Connection, FileAccess, RemoteEntry, RemoteFileError

MAX_ENTRIES = 100_000
COMPONENT_BYTES, PATH_BYTES = 240, 1_024
BATCH_FILES, BATCH_BYTES = 400, 2 << 30  # per hash program: small enough to show progress
HASH_RATE = 20_000_000  # bytes per second that the slowest box hashes at; sets the time limit
STALL = 60.0  # seconds without a byte
ROOM = 1.1  # free space asked for, as a multiple of what is still to come
Step = Callable[[int], None]  # told of each block's bytes


@dataclass(frozen=True, slots=True)
class Listing:
    """The tree on the box. `files`: (path, size). `refused`: (path, why), nothing is left out."""

    root: str
    files: tuple[tuple[str, int], ...]
    refused: tuple[tuple[str, str], ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that would be lost, also those that cannot be pulled."""
        return tuple(path for path, _ in self.files) + tuple(path for path, _ in self.refused)

    @property
    def bytes(self) -> int:
        """Sum of all sizes."""
        return sum(size for _, size in self.files)


async def list_remote(connection: Connection, root: str) -> Listing:
    """Everything below `root` (absolute). RemoteFileError where it cannot be read whole."""
    async with connection.files() as files:
        entries = await files.walk(root, limit=MAX_ENTRIES)
    if len(entries) >= MAX_ENTRIES:
        raise RemoteFileError(f"more than {MAX_ENTRIES} files: too many to be sure of")
    found = sorted((entry for entry in entries if entry.kind != "dir"), key=lambda e: e.path)
    regular: list[tuple[str, int]] = []
    links: list[str] = []
    refused: list[tuple[str, str]] = []
    folded: set[str] = set()
    for entry in found:
        path = entry.path.decode("utf-8", "surrogateescape")
        why = _problem(entry, path, folded)
        folded.add(path.casefold())
        if why:
            refused.append((path, why))
        elif entry.kind == "link":
            links.append(path)
        else:
            regular.append((path, entry.size))
    if links:
        refused += await _bad_links(connection, root, links, {path for path, _ in regular})
    return Listing(root, tuple(regular), tuple(refused))


def path_problem(path: str) -> str | None:
    """Why a remote path cannot be a local one, or None."""
    try:
        data = path.encode()
    except UnicodeEncodeError:
        return "the name is not UTF-8"
    parts = path.split("/")
    if not path or any(part in ("", ".", "..") for part in parts):
        return "the path leaves its directory"
    if not path.isprintable() or "\\" in path:
        return "the name has control characters"
    if OWN in parts:
        return f"{OWN} is reserved"
    if len(data) > PATH_BYTES or any(len(part.encode()) > COMPONENT_BYTES for part in parts):
        return "the name is too long"
    return None


async def remote_manifest(
    connection: Connection, listing: Listing, step: Step | None = None
) -> tuple[Manifest, tuple[tuple[str, str], ...]]:
    """Hash what was listed, on the box. Also (path, why) of each file that gave no hash."""
    found: list[FileEntry] = []
    failed: list[tuple[str, str]] = []
    for batch in _batches(listing.files):
        total = sum(size for _, size in batch)
        hashes = await hash_files(connection, listing.root, batch, 60.0 + total / HASH_RATE)
        for path, size in batch:
            if path not in hashes:
                failed.append((path, "it could not be hashed on the box"))
            elif hashes[path][1] != size:
                failed.append((path, "its size changed while it was hashed"))
            else:
                found.append(FileEntry(path, size, hashes[path][0]))
        if step:
            step(total)
    return Manifest.of(found), tuple(failed)


async def pull_files(
    connection: Connection, root: str, manifest: Manifest, local: Path, step: Step | None = None
) -> Pulled:
    """Bring every file of `manifest` home. LinkError passes; trouble with one file is in `failed`."""
    tell = step or (lambda count: None)
    await asyncio.to_thread(_prepare, local)
    missing = [
        file for file in manifest.files if not await asyncio.to_thread(_is_here, local, file)
    ]
    here = set(manifest.files) - set(missing)
    tell(sum(file.bytes for file in here))
    if short := await asyncio.to_thread(_space_problem, local, missing):
        return Pulled(len(here), manifest.total_bytes, (("the disk here", short),))
    arrived = len(here)
    failed: list[tuple[str, str]] = []
    async with connection.files() as files:
        for file in missing:
            try:
                await _pull_one(files, f"{root}/{file.path}", file, local, tell)
                arrived += 1
            except (RemoteFileError, BoxError, OSError) as error:
                failed.append((file.path, _why(error)))
                if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
                    break
    return Pulled(arrived, manifest.total_bytes, tuple(failed))


async def _pull_one(
    files: FileAccess, remote: str, file: FileEntry, local: Path, tell: Step
) -> None:
    """Read one file into its part and give it its name; a stale part is thrown away once."""
    part = local / OWN / "parts" / f"{file.sha256}.part"
    for fresh in (False, True):
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(part, flags | (os.O_TRUNC if fresh else 0), 0o600)
        try:
            resumed = os.fstat(fd).st_size
            right = await _fill(files, remote, file, fd, tell)
            if right:
                await _held(_finish, fd, local, file.path, part)
                return
        finally:
            await asyncio.to_thread(os.close, fd)
        await asyncio.to_thread(part.unlink, missing_ok=True)
        if not resumed:
            break
    raise BoxError("what came is not what was hashed on the box: it changed, or the disk here errs")


async def _fill(files: FileAccess, remote: str, file: FileEntry, fd: int, tell: Step) -> bool:
    """Append what is missing of the part; True where its hash is then the right one."""
    digest, have = hashlib.sha256(), os.fstat(fd).st_size
    if have > file.bytes:
        os.ftruncate(fd, 0)
        have = 0
    if have:
        await _held(_hash_start, fd, have, digest.update)
        tell(have)
    os.lseek(fd, have, os.SEEK_SET)
    if have < file.bytes:
        held: list[bytes] = []  # written and hashed in a thread, some blocks at a time
        waiting = 0
        blocks = files.read(remote, have)
        try:
            while True:
                async with asyncio.timeout(STALL):
                    block = await anext(blocks, b"")
                if not block:
                    break
                have += len(block)
                if have > file.bytes:
                    return False
                held.append(block)
                if (waiting := waiting + len(block)) >= BLOCK:
                    await _held(_append, fd, held, digest.update)
                    held, waiting = [], 0
                tell(len(block))
            await _held(_append, fd, held, digest.update)
        except TimeoutError as error:
            raise BoxError(f"no byte for {STALL:.0f} s") from error
        finally:
            close = getattr(blocks, "aclose", None)
            if close:
                await close()
    return have == file.bytes and digest.hexdigest() == file.sha256


async def _held(work: Callable[..., None], *args: object) -> None:
    """Do it in a thread, and be there until it ends: cancelled or not, its descriptor stays open so long."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *args))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


def _append(fd: int, blocks: Sequence[bytes], update: Callable[[bytes], None]) -> None:
    for block in blocks:
        view = memoryview(block)
        while view:
            view = view[os.write(fd, view) :]
        update(block)


def _finish(fd: int, local: Path, path: str, part: Path) -> None:
    os.fsync(fd)
    _name(local, path, part)


def _hash_start(fd: int, size: int, update: Callable[[bytes], None]) -> None:
    offset = 0
    while offset < size and (block := os.pread(fd, min(1 << 20, size - offset), offset)):
        update(block)
        offset += len(block)


def _name(local: Path, path: str, part: Path) -> None:
    """Give a finished part its own name; an older file of that name moves aside."""
    *parents, name = path.split("/")
    with _directory(local, parents) as held:
        old = _stat_at(name, held)
        if old is not None:
            if not stat.S_ISREG(old.st_mode):
                raise BoxError("something that is no file stands in its place here: move it away")
            aside = _aside(local, path, old.st_mtime_ns)
            os.rename(name, aside, src_dir_fd=held)
        os.rename(part, name, dst_dir_fd=held)
        os.fsync(held)


def _aside(local: Path, path: str, mtime_ns: int) -> Path:
    """A place for one replaced copy: its own path below a directory that is new, so nothing is there."""
    place = Path(tempfile.mkdtemp(prefix=f"{mtime_ns}-", dir=local / OWN / "replaced")) / path
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


@contextmanager
def _directory(root: Path, parents: Sequence[str]) -> Iterator[int]:
    """A held directory below `root`, made where missing; OSError if any part of it is a link."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    held = os.open(root, flags)
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


def _prepare(local: Path) -> None:
    """Make the directories that are ours; OSError where something else stands there."""
    local.mkdir(parents=True, exist_ok=True)
    for path in (local / OWN, local / OWN / "parts", local / OWN / "replaced"):
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            if path.is_symlink() or not path.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, "not a directory", str(path)) from None


def _stat_at(name: str, held: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=held, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _is_here(local: Path, file: FileEntry) -> bool:
    """The file is home already, under its own name and with the right bytes."""
    path = local.joinpath(*file.path.split("/"))
    try:
        if path.lstat().st_size != file.bytes:
            return False
        return hash_file(path) == (file.bytes, file.sha256)
    except OSError:
        return False


def _space_problem(local: Path, missing: Sequence[FileEntry]) -> str | None:
    parts = local / OWN / "parts"
    need = 0
    for file in missing:
        part = parts / f"{file.sha256}.part"
        need += file.bytes - (min(part.stat().st_size, file.bytes) if part.exists() else 0)
    room = os.statvfs(local)
    free = room.f_bavail * room.f_frsize
    if need * ROOM <= free:
        return None
    return f"needs {need * ROOM / 1e9:.2f} GB free in {local}, has {free / 1e9:.2f} GB"


def _batches(files: Sequence[tuple[str, int]]) -> Iterator[list[tuple[str, int]]]:
    batch: list[tuple[str, int]] = []
    total = 0
    for path, size in files:
        if batch and (len(batch) >= BATCH_FILES or total + size > BATCH_BYTES):
            yield batch
            batch, total = [], 0
        batch.append((path, size))
        total += size
    if batch:
        yield batch


def _problem(entry: RemoteEntry, path: str, folded: set[str]) -> str | None:
    if entry.kind not in ("file", "link"):
        return "it is neither a file nor a directory"
    if path.casefold() in folded:
        return "another name differs only in case"
    return path_problem(path)


async def _bad_links(
    connection: Connection, root: str, links: Sequence[str], files: set[str]
) -> list[tuple[str, str]]:
    """Links that lead to nothing that is pulled. A link to a pulled file loses nothing."""
    targets = await link_targets(connection, root, links)
    bad: list[tuple[str, str]] = []
    for path in links:
        target = targets.get(path)
        if target is None or target.removeprefix(f"{root}/") not in files:
            bad.append((path, "it is a link to something that is not pulled"))
    return bad


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk here is full"
    if isinstance(error, OSError):
        return f"cannot be written here: {error.strerror or type(error).__name__}"
    return plain(str(error), 120)
