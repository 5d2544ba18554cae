"""Boxes made of values: a Transport that plays scripted answers and keeps every promise of a real one.

What is trusted of it is what the contract tests prove of it and of a real sshd alike.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from gpu_tui.core.fleet import Instance
from gpu_tui.transport.base import (
    Completed,
    Connection,
    FileAccess,
    LinkError,
    LinkLost,
    RemoteEntry,
    RemoteFileError,
)
from gpu_tui.transport.channels import STDERR_CAP, closing


@dataclass(frozen=True, slots=True)
class Played:
    """What one program does: its stdout in chunks, then `exit`; None = it runs until it is left."""

    chunks: tuple[bytes, ...] = ()
    exit: int | None = 0
    stderr: bytes = b""


@dataclass(frozen=True, slots=True)
class Box:
    """One scripted box. `answer` maps a program's text to what it does.

    `files` maps absolute paths (or `~/...`) to contents, a `link` to None; `refusal` is raised instead
    of a connection.
    """

    answer: Callable[[str], Played]
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    host_key: str = "SHA256:replayed"
    refusal: LinkError | None = None


class ReplayTransport:
    """Connects to scripted boxes by instance name."""

    def __init__(self, boxes: Mapping[str, Box]) -> None:
        self._boxes = boxes
        self.connections: list[ReplayConnection] = []

    async def connect(self, instance: Instance) -> Connection:
        """A connection, or the scripted refusal."""
        box = self._boxes[instance.name]
        if box.refusal is not None:
            raise box.refusal
        made = ReplayConnection(box)
        self.connections.append(made)
        return made


class ReplayConnection:
    """One connection to a scripted box. `lose` breaks it as a dead network would."""

    def __init__(self, box: Box) -> None:
        self._box = box
        self._gone = asyncio.Event()
        self._lost = False
        self.host_key = box.host_key
        self.left: list[str] = []  # the streamed programs that were left, in order

    def lose(self) -> None:
        """Lose it now."""
        if not self._gone.is_set():
            self._lost = True
            self._gone.set()

    async def run(self, program: str, *, limit: float, stdout_cap: int = 4_194_304) -> Completed:
        """Play a program to its end."""
        played = self._ask(program)
        async with asyncio.timeout(limit):
            if played.exit is None:
                await self._gone.wait()
                self._still_there()
        stdout = b"".join(played.chunks)[:stdout_cap]
        return Completed(stdout, played.stderr[:STDERR_CAP], played.exit)

    @asynccontextmanager
    async def stream(self, program: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Play a program for as long as the block lasts."""
        played = self._ask(program)
        try:
            async with closing(self._chunks(played)) as chunks:
                yield chunks
        finally:
            self.left.append(program)

    async def _chunks(self, played: Played) -> AsyncGenerator[bytes, None]:
        for chunk in played.chunks:
            self._still_there()
            yield chunk
        if played.exit is None:
            await self._gone.wait()
        self._still_there()

    @asynccontextmanager
    async def files(self) -> AsyncIterator[FileAccess]:
        """The scripted files."""
        self._still_there()
        yield ReplayFiles(self._box.files)

    async def round_trip(self) -> float:
        """No distance at all."""
        self._still_there()
        return 0.0

    async def answers(self, within: float) -> bool:
        """As long as it is not lost."""
        return not self._gone.is_set()

    async def wait_closed(self) -> LinkError | None:
        """The loss, or None after our own close."""
        await self._gone.wait()
        return LinkLost("the connection was lost") if self._lost else None

    async def close(self) -> None:
        """Close it."""
        self._gone.set()

    def _ask(self, program: str) -> Played:
        self._still_there()
        return self._box.answer(program)

    def _still_there(self) -> None:
        if self._gone.is_set():
            raise LinkLost("the connection was lost")


class ReplayFiles:
    """Files from a mapping; directories are what the paths imply."""

    def __init__(self, files: Mapping[str, bytes | None]) -> None:
        self._files = files

    async def walk(self, root: str, *, limit: int = 100_000) -> list[RemoteEntry]:
        """Every entry below `root`."""
        below = f"{root.rstrip('/')}/"
        found: dict[bytes, RemoteEntry] = {}
        for path, content in self._files.items():
            if not path.startswith(below):
                continue
            name = path.removeprefix(below).encode("utf-8", "surrogateescape")
            parts = name.split(b"/")
            for end in range(1, len(parts)):
                folder = b"/".join(parts[:end])
                found[folder] = RemoteEntry(folder, "dir", 0, 0.0)
            kind, size = ("link", 0) if content is None else ("file", len(content))
            found[name] = RemoteEntry(name, kind, size, 0.0)
        if not found:
            raise RemoteFileError(f"{root} cannot be listed: no such directory")
        if len(found) > limit:
            raise RemoteFileError(f"{root} holds more than {limit} entries")
        return list(found.values())

    async def read(
        self, path: str, offset: int = 0, *, block: int = 262_144
    ) -> AsyncIterator[bytes]:
        """The bytes of one file."""
        if path not in self._files:
            raise RemoteFileError(f"{path} cannot be read: no such file")
        content = self._files[path]
        if content is None:
            raise RemoteFileError(f"{path} is not a regular file")
        for at in range(offset, len(content), block):
            yield content[at : at + block]
