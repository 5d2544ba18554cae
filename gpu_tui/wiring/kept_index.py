"""The index of triage, kept between two starts: to make it takes a second of the processor and the memory of as much again.

It is good for one state of the rules and of the code around them: it bears the hash of both, and of this Python. One
that is of others, broken, or writable by anybody else is made anew. Where none can be kept, only the time is lost.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from gpu_tui.parse import triage_scan
from gpu_tui.places import NoHome, make_private, xdg

FILE = "triage-index"
LARGEST = 64 * 1024 * 1024  # bytes
PATIENCE = 20.0  # seconds that another process may take to make one
SOURCES = Path(triage_scan.__file__).parent
_HASH = hashlib.blake2b().digest_size


def keep_index(env: Mapping[str, str]) -> None:
    """Have triage look for its index in the user's cache, and leave it there, when a line first needs it."""
    with suppress(NoHome):
        triage_scan.keep_index(IndexFile(_place(env)))


async def have_index(env: Mapping[str, str]) -> None:
    """Have it made by another process where none is kept: here it would hold up the loop for a second, and leave
    some 17 MB behind for good. Best effort: whoever has none makes one.
    """
    try:
        path = _place(env)
    except NoHome:
        return
    if await asyncio.to_thread(triage_scan.index_at_hand):
        return
    none = asyncio.subprocess.DEVNULL
    try:
        maker = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", __name__, str(path),
            stdin=none, stdout=none, stderr=none, start_new_session=True,
        )  # fmt: skip
    except OSError:
        return
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await maker.wait()
    finally:
        if maker.returncode is None:
            with suppress(ProcessLookupError):
                maker.kill()
            await maker.wait()


def _place(env: Mapping[str, str]) -> Path:
    """Raises NoHome."""
    return xdg(env, "XDG_CACHE_HOME", ".cache") / "gpu-tui" / FILE


class IndexFile:
    """Where the index is kept."""

    def __init__(self, path: Path, sources: Path = SOURCES) -> None:
        self._path, self._sources = path, sources

    def holds(self, made_of: str) -> bool:
        """Whether something is kept for the rules as they are."""
        try:
            return self._bytes(_HASH) == self._mark(made_of)
        except OSError:
            return False

    def read(self, made_of: str) -> bytes | None:
        """What is kept for the rules as they are; None where that is nothing."""
        try:
            data = self._bytes(LARGEST)
            mark, seal, body = data[:_HASH], data[_HASH : 2 * _HASH], data[2 * _HASH :]
            if mark != self._mark(made_of) or seal != hashlib.blake2b(body).digest():
                return None
        except OSError:
            return None
        return body

    def _bytes(self, most: int) -> bytes:
        """What the file begins with; nothing where it is not ours alone. Raises OSError."""
        descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            about = os.fstat(descriptor)
            ours = about.st_uid == os.geteuid() and not about.st_mode & 0o022
            return file.read(most) if ours and stat.S_ISREG(about.st_mode) else b""

    def write(self, made_of: str, body: bytes) -> None:
        """Keep it for the next start; best effort."""
        scratch = self._path.with_name(f".{FILE}.{os.getpid()}")
        try:
            data = self._mark(made_of) + hashlib.blake2b(body).digest() + body
            make_private(self._path.parent)
            scratch.unlink(missing_ok=True)  # of one that was killed, or laid there by somebody
            with open(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
            scratch.replace(self._path)
        except OSError:
            with suppress(OSError):
                scratch.unlink()

    def _mark(self, made_of: str) -> bytes:
        """The hash of all that an index depends on. Raises OSError where the sources cannot be read."""
        found = hashlib.blake2b(f"{sys.version}\n{sys.byteorder}\n{sys.maxsize}\n".encode())
        found.update(made_of.encode())
        files = sorted(self._sources.glob("*.py"))
        if not files:
            raise FileNotFoundError(self._sources)
        for file in files:
            text = file.read_bytes()
            found.update(f"\n{file.name} {len(text)}\n".encode() + text)
        return found.digest()


if __name__ == "__main__":
    triage_scan.keep_index(IndexFile(Path(sys.argv[1])))
    triage_scan.make_index()
