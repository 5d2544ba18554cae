"""How much of the loop one stream may take: what a box says may be made to be slow to read, and never ends.

What an honest box says of itself costs a thousandth of the loop. Who sends more of it than can be read
in passing is read more slowly, which holds him back, and nobody else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from time import thread_time

SHARE = 0.1  # of the loop, in the long run
AT_ONCE = 0.1  # seconds of it that may be taken before
PIECE = 16_384  # bytes that are read before others get their turn


def pieces(chunk: bytes) -> Iterator[bytes]:
    """A chunk in parts that are each read in a moment."""
    if len(chunk) <= PIECE:
        yield chunk
        return
    for at in range(0, len(chunk), PIECE):
        yield chunk[at : at + PIECE]


class Share:
    """What one stream has taken of the loop: `with` it something is done, without a turn of the loop."""

    def __init__(self) -> None:
        self._owed = 0.0  # seconds that were taken, less what time has given since
        self._at = asyncio.get_running_loop().time()
        self._began = 0.0

    def __enter__(self) -> None:
        self._began = thread_time()  # what others take of the processor says nothing of it

    def __exit__(self, *_: object) -> None:
        self._owed += thread_time() - self._began

    async def turn(self) -> None:
        """Let others go on; for longer, where too much was taken."""
        now = asyncio.get_running_loop().time()
        self._owed = max(0.0, self._owed - (now - self._at) * SHARE)
        self._at = now
        await asyncio.sleep(self._owed / SHARE if self._owed > AT_ONCE else 0)
