"""Channels of one SSH connection: a program's output in bounded chunks, and remote files."""

from __future__ import annotations

import asyncio
import stat
from collections import deque
from collections.abc import AsyncIterator
from typing import cast

import asyncssh

from gpu_tui.transport.base import RemoteEntry, RemoteFileError

HIGH_WATER = 262_144  # bytes held for a slow reader before the box is made to wait
WINDOW = 262_144
SHELL = "exec /bin/sh -s"


class ProgramOutput(asyncssh.SSHClientSession[bytes]):
    """Collects stdout chunks; holds the sender back when nobody reads; drops stderr past a little."""

    def __init__(self) -> None:
        self.stderr = bytearray()
        self.exit: int | None = None
        self._chunks: deque[bytes] = deque()
        self._held = 0
        self._ended = False
        self._paused = False
        self._error: Exception | None = None
        self._woken = asyncio.Event()
        self._channel: asyncssh.SSHClientChannel[bytes] | None = None

    def connection_made(self, chan: asyncssh.SSHClientChannel[bytes]) -> None:
        """The channel is open."""
        self._channel = chan

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """A chunk came."""
        if datatype is not None:
            if len(self.stderr) < 8192:
                self.stderr += data[:8192]
            return
        self._chunks.append(data)
        self._held += len(data)
        if self._held >= HIGH_WATER and not self._paused and self._channel:
            self._paused = True
            self._channel.pause_reading()
        self._woken.set()

    def eof_received(self) -> bool:
        """The program closed its stdout; the channel stays for its exit status."""
        self._ended = True
        self._woken.set()
        return True

    def exit_status_received(self, status: int) -> None:
        """The program ended."""
        self.exit = status

    def connection_lost(self, exc: Exception | None) -> None:
        """The channel is gone."""
        self._ended = True
        self._error = exc
        self._woken.set()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Everything in order, until the program closes its output."""
        while True:
            while self._chunks:
                chunk = self._chunks.popleft()
                self._held -= len(chunk)
                if self._paused and self._held < HIGH_WATER // 2 and self._channel:
                    self._paused = False
                    self._channel.resume_reading()
                yield chunk
            if self._ended:
                return
            self._woken.clear()
            await self._woken.wait()


class SftpFiles:
    """Remote files over SFTP. There is no write in it."""

    def __init__(self, client: asyncssh.SFTPClient) -> None:
        self._client = client

    async def walk(self, root: str, *, limit: int = 100_000) -> list[RemoteEntry]:
        """Every entry below `root`, links listed and never followed."""
        base = remote_path(root)
        found: list[RemoteEntry] = []
        left = deque([b""])
        while left:
            below = left.popleft()
            place = base + b"/" + below if below else base
            try:
                names = await self._client.readdir(place)
            except asyncssh.SFTPError as error:
                where = place.decode("utf-8", "replace")
                raise RemoteFileError(f"{where} cannot be listed: {error.reason}") from None
            for name in names:
                raw = name.filename
                leaf = raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogateescape")
                if leaf in (b".", b".."):
                    continue
                path = below + b"/" + leaf if below else leaf
                entry = _entry(path, name.attrs)
                found.append(entry)
                if len(found) > limit:
                    raise RemoteFileError(f"{root} holds more than {limit} entries")
                if entry.kind == "dir":
                    left.append(path)
        return found

    async def read(
        self, path: str, offset: int = 0, *, block: int = 262_144
    ) -> AsyncIterator[bytes]:
        """The bytes of one regular file from `offset` on."""
        where = remote_path(path)
        try:
            attrs = await self._client.lstat(where)
            if not stat.S_ISREG(attrs.permissions or 0):
                raise RemoteFileError(f"{path} is not a regular file")
            async with self._client.open(where, "rb") as file:
                at = offset
                while chunk := await file.read(block, at):
                    data = cast(bytes, chunk)  # the file was opened in binary
                    at += len(data)
                    yield data
        except asyncssh.SFTPError as error:
            raise RemoteFileError(f"{path} cannot be read: {error.reason}") from None


def remote_path(path: str) -> bytes:
    """A path for SFTP: `~/x` is relative, which is below the login's home."""
    if path == "~":
        return b"."
    bare = path.removeprefix("~/")
    return bare.encode("utf-8", "surrogateescape")


def _entry(path: bytes, attrs: asyncssh.SFTPAttrs) -> RemoteEntry:
    mode = attrs.permissions or 0
    kind = "other"
    if stat.S_ISREG(mode):
        kind = "file"
    elif stat.S_ISDIR(mode):
        kind = "dir"
    elif stat.S_ISLNK(mode):
        kind = "link"
    return RemoteEntry(path, kind, attrs.size or 0, float(attrs.mtime or 0))
