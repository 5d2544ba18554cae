"""Many files of the box through one channel, each from where it is wanted, one behind the other.

A program on the box says a mark, the bytes, a mark for each file. It costs no round trip per file or
block, as SFTP does, and neither writes nor follows anything.
"""

from __future__ import annotations

import asyncio
import secrets
import shlex
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from gpu_tui.teardown.part import BLOCK
from gpu_tui.transport.base import Connection
from gpu_tui.transport.channels import guarded

STALL = 60.0  # seconds without a byte
MARK = 17  # bytes: 16 of chance, 1 of meaning
NOISE = 65_536  # bytes that a login may say before the first mark


class OutOfStep(Exception):
    """What came is not what was asked for; what comes behind it cannot be told apart any more."""


class Gone(Exception):
    """It is not there any more, or cannot be read; the files behind it come all the same."""


@asynccontextmanager
async def frames(
    connection: Connection, root: str, wanted: Sequence[tuple[str, int]]
) -> AsyncIterator[Frames]:
    """Open the channel. `wanted`: (path below `root`, first block), read in this order to their ends."""
    mark = secrets.token_hex(8)
    calls = "\n".join(f"g {shlex.quote('./' + path)} {first}" for path, first in wanted)
    program = _READ.format(root=shlex.quote(root), mark=mark, block=BLOCK, calls=calls)
    async with connection.stream(guarded(program)) as chunks:
        yield Frames(chunks, mark.encode())


class Frames:
    """The bytes that come, file by file."""

    def __init__(self, chunks: AsyncIterator[bytes], mark: bytes) -> None:
        self._chunks = chunks
        self._mark = mark
        self._rest = b""
        self._begun = False

    async def file(self, size: int) -> AsyncGenerator[bytes, None]:
        """The next file's bytes, `size` of them. OutOfStep where it has more or fewer, Gone where there
        is none, TimeoutError where nothing comes for STALL seconds.
        """
        if not self._begun:
            await self._skip_noise()
        head = await self._exactly(MARK)
        if head == self._mark + b"!":
            raise Gone("it is gone from the box, or cannot be read there")
        if head != self._mark + b"+":
            raise OutOfStep("what came is not what was asked for")
        while size:
            block = self._rest or await self._more()
            if not block:
                raise OutOfStep("fewer bytes came than it had: it was cut short on the box")
            taken, self._rest = block[:size], block[size:]
            size -= len(taken)
            yield taken
        if await self._exactly(MARK) != self._mark + b"-":
            raise OutOfStep("it has another size now than when it was hashed")

    async def _more(self) -> bytes:
        async with asyncio.timeout(STALL):
            return await anext(self._chunks, b"")

    async def _exactly(self, size: int) -> bytes:
        while len(self._rest) < size:
            more = await self._more()
            if not more:
                break
            self._rest += more
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken

    async def _skip_noise(self) -> None:
        """What a login shell prints before our program speaks."""
        self._begun = True
        while (at := self._rest.find(self._mark)) < 0:
            more = await self._more()
            if not more or len(self._rest) > NOISE:
                raise OutOfStep("the box did not run a small sh program")
            self._rest += more
        self._rest = self._rest[at:]


_READ = """
cd -- {root} || exit 1
g() {{
  if [ -f "$1" ] && [ ! -L "$1" ] && [ -r "$1" ]; then
    printf '{mark}+'
    dd if="$1" bs={block} skip="$2" 2>/dev/null
    printf '{mark}-'
  else printf '{mark}!'; fi
}}
{calls}
"""
