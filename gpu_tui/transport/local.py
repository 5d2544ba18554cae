"""This machine in the place of a box, for an instance that has none: its kubectl tells everything.

A connection is made when the cluster lets us in: `connect` asks it the smallest question, and a refusal is
a LinkError like any other. What the connection then runs is this machine's own sh, and its files are
this machine's: that is where the results of such an instance are looked for.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from gpu_tui.core.command import CommandFailed
from gpu_tui.core.fleet import Instance
from gpu_tui.parse.kubectl import Refusal, ask_access, no_kubectl, refusal_of
from gpu_tui.transport.argv import Here, started
from gpu_tui.transport.base import (
    Completed,
    Connection,
    FileAccess,
    LinkError,
    NoShell,
    RemoteEntry,
    RemoteFileError,
    Transport,
)

ANSWER_LIMIT = 30.0  # seconds for the first question: an exec plugin may have to log in
ANSWER_CAP = 1 << 20
MACHINE_ID = "/etc/machine-id"


class ClusterRefused(LinkError):
    """What kubectl said instead of an answer; `state` as of a LinkState. It is asked again."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.text, next=refusal.next)
        self.state = refusal.state


class HereOrThere:
    """Connects an instance without a box to this machine, and every other one by `there`."""

    def __init__(self, there: Transport) -> None:
        self._there = there

    async def connect(self, instance: Instance) -> Connection:
        """Raises a LinkError."""
        return await (connect_here(instance) if instance.here else self._there.connect(instance))


async def connect_here(instance: Instance) -> LocalConnection:
    """This machine, once the instance's cluster has answered. Raises a LinkError."""
    scope = instance.scheduler_scope
    try:
        done = await Here().run(ask_access(scope), limit=ANSWER_LIMIT, cap=ANSWER_CAP)
    except CommandFailed as error:
        if "cannot be run" in str(error):
            raise NoShell(no_kubectl().text, next=no_kubectl().next) from None
        refusal = Refusal("timeout", str(error), "Try the same kubectl by hand.")
        raise ClusterRefused(refusal) from None
    if done.exit != 0:
        raise ClusterRefused(refusal_of(done, scope))
    return LocalConnection()


class LocalConnection:
    """Programs and files of this machine. It is never lost, only closed.

    `host_key` stands for the machine, as a host key does for a box.
    """

    def __init__(self) -> None:
        self.host_key = _machine()
        self._closed = asyncio.Event()

    async def run(self, program: str, *, limit: float, stdout_cap: int = 4_194_304) -> Completed:
        """Run a POSIX sh program. TimeoutError after `limit` seconds."""
        async with asyncio.timeout(limit), started(("/bin/sh", "-s"), stdin=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(program.encode("utf-8", "surrogateescape"))
            process.stdin.close()
            kept = bytearray()
            while chunk := await process.stdout.read(65_536):
                kept += chunk[: max(0, stdout_cap - len(kept))]
            return Completed(bytes(kept), b"", await process.wait())

    @asynccontextmanager
    async def stream(self, program: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Run a sh program for as long as the block lasts."""
        async with started(("/bin/sh", "-s"), stdin=True) as process:
            assert process.stdin is not None
            process.stdin.write(program.encode("utf-8", "surrogateescape"))
            yield _chunks(process)

    def files(self) -> AbstractAsyncContextManager[FileAccess]:
        """This machine's files."""
        return _files()

    async def round_trip(self) -> float:
        """Never answers: there is no server in between whose distance could be measured."""
        await self._closed.wait()
        raise LinkError("closed")

    async def answers(self, within: float) -> bool:
        """This machine does."""
        return not self._closed.is_set()

    async def wait_closed(self) -> LinkError | None:
        """Return after our own close."""
        await self._closed.wait()
        return None

    async def close(self) -> None:
        """Close it."""
        self._closed.set()


class LocalFiles:
    """Files of this machine, read only."""

    async def walk(self, root: str, *, limit: int = 100_000) -> list[RemoteEntry]:
        """Every entry below `root`, links listed and never followed."""
        return await asyncio.to_thread(_walk, _here(root), limit)

    async def read(
        self, path: str, offset: int = 0, *, block: int = 262_144
    ) -> AsyncIterator[bytes]:
        """The bytes of one regular file."""
        where = _here(path)
        try:
            handle = await asyncio.to_thread(
                os.open, where, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            )
            try:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise RemoteFileError(f"{path} is not a regular file")
                while data := await asyncio.to_thread(os.pread, handle, block, offset):
                    offset += len(data)
                    yield data
            finally:
                os.close(handle)
        except OSError as error:
            raise RemoteFileError(f"{path} cannot be read: {error.strerror}") from None


@asynccontextmanager
async def _files() -> AsyncIterator[FileAccess]:
    yield LocalFiles()


def _here(path: str) -> str:
    """`~/` is the home of whoever runs gpu-tui."""
    return os.path.expanduser(path)


def _walk(root: str, limit: int) -> list[RemoteEntry]:
    base = os.fsencode(root)
    found: list[RemoteEntry] = []
    left = [b""]
    try:
        while left:
            below = left.pop()
            with os.scandir(os.path.join(base, below) if below else base) as names:
                for name in names:
                    entry = _entry(below + b"/" + name.name if below else name.name, name)
                    found.append(entry)
                    if entry.kind == "dir":
                        left.append(entry.path)
                    if len(found) > limit:
                        raise RemoteFileError(f"{root} holds more than {limit} entries")
    except OSError as error:
        raise RemoteFileError(f"{root} cannot be listed: {error.strerror}") from None
    return found


def _entry(path: bytes, name: os.DirEntry[bytes]) -> RemoteEntry:
    status = name.stat(follow_symlinks=False)
    mode = status.st_mode
    kinds = ((stat.S_ISREG, "file"), (stat.S_ISDIR, "dir"), (stat.S_ISLNK, "link"))
    kind = next((word for test, word in kinds if test(mode)), "other")
    return RemoteEntry(path, kind, status.st_size, status.st_mtime)


async def _chunks(process: asyncio.subprocess.Process) -> AsyncIterator[bytes]:
    assert process.stdout is not None
    while chunk := await process.stdout.read(65_536):
        yield chunk


def _machine() -> str:
    """What tells this machine from others, without saying its id."""
    try:
        id = Path(MACHINE_ID).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        id = ""
    return f"machine:{hashlib.sha256((id or socket.gethostname()).encode()).hexdigest()[:32]}"
