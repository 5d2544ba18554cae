"""Remote files over SFTP, read only. The server may be hostile: its names are checked, nothing is followed."""

from __future__ import annotations

import asyncio
import stat
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import cast

import asyncssh

from gpu_tui.transport.base import LinkLost, RemoteEntry, RemoteFileError

LISTED_AT_ONCE = 8  # directories; one round trip each
AHEAD = 4  # blocks asked for before the first is there
PATH_CAP = 4096  # bytes; no longer one can be opened, and a server may pretend that it has no end


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
            batch = [left.popleft() for _ in range(min(len(left), LISTED_AT_ONCE))]
            listed = await asyncio.gather(*(self._list(base, below, limit) for below in batch))
            for entries in listed:
                found += entries
                left += [entry.path for entry in entries if entry.kind == "dir"]
            if len(found) > limit:
                raise RemoteFileError(f"{root} holds more than {limit} entries")
        return found

    async def _list(self, base: bytes, below: bytes, limit: int) -> list[RemoteEntry]:
        place = base + b"/" + below if below else base
        entries: list[RemoteEntry] = []
        with _translated(place, "listed"):
            async for name in self._client.scandir(place):
                leaf = cast(bytes, name.filename)
                if leaf in (b".", b".."):
                    continue
                if not leaf or b"/" in leaf or b"\0" in leaf or len(leaf) > PATH_CAP:
                    raise RemoteFileError(f"{_shown(place)} lists a name that no file can have")
                path = below + b"/" + leaf if below else leaf
                if len(path) > PATH_CAP:
                    raise RemoteFileError(f"{_shown(base)} is deeper than any path can be")
                attrs = name.attrs
                if attrs.permissions is None:
                    attrs = await self._client.lstat(place + b"/" + leaf)
                entries.append(_entry(path, attrs))
                if len(entries) > limit:
                    raise RemoteFileError(f"{_shown(place)} holds more than {limit} entries")
        return entries

    async def read(
        self, path: str, offset: int = 0, *, block: int = 262_144
    ) -> AsyncIterator[bytes]:
        """The bytes of one regular file from `offset` to the end it has now, a few blocks asked ahead.

        One that is cut short meanwhile ends early; only its hash tells.
        """
        where = remote_path(path)
        with _translated(where, "read"):
            attrs = await self._client.lstat(where)
            # A FIFO would block the whole SFTP session; a link may lead anywhere.
            if not stat.S_ISREG(attrs.permissions or 0):
                raise RemoteFileError(f"{path} is not a regular file")
            # Nothing is asked for past the end: asyncssh leaves such an error behind, unread.
            end = attrs.size or 0
            async with self._client.open(where, "rb") as file:
                coming: deque[asyncio.Task[bytes]] = deque()
                at = asked = offset
                try:
                    while at < end:
                        while asked < end and len(coming) < AHEAD:
                            size = min(block, end - asked)
                            coming.append(asyncio.create_task(_block(file, size, asked)))
                            asked += size
                        wanted = min(block, end - at)
                        data = await coming.popleft()
                        if not data:
                            return
                        at += len(data)
                        yield data
                        if len(data) < wanted:  # a short answer: ask again from where it ended
                            await _drop(coming)
                            asked = at
                finally:
                    await _drop(coming)


async def _block(file: asyncssh.SFTPClientFile, block: int, offset: int) -> bytes:
    return cast(bytes, await file.read(block, offset))


async def _drop(tasks: deque[asyncio.Task[bytes]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    tasks.clear()


@contextmanager
def _translated(path: bytes, verb: str) -> Iterator[None]:
    """The errors of asyncssh as ours."""
    try:
        yield
    except (asyncssh.SFTPConnectionLost, asyncssh.SFTPNoConnection) as error:
        raise LinkLost(f"the connection was lost: {error.reason}") from None
    except asyncssh.SFTPError as error:
        raise RemoteFileError(f"{_shown(path)} cannot be {verb}: {error.reason}") from None
    except (asyncssh.Error, OSError) as error:
        raise LinkLost(f"the connection was lost: {error}") from None


def remote_path(path: str) -> bytes:
    """A path for SFTP: `~/x` is relative, which is below the login's home."""
    bare = path.removeprefix("~").lstrip("/") if path == "~" or path.startswith("~/") else path
    return bare.encode("utf-8", "surrogateescape") or b"."


def _shown(path: bytes) -> str:
    return path[:200].decode("utf-8", "replace")


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
