"""Channels of one SSH connection: a program's output in bounded chunks, and places to open them in."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import asyncssh

from gpu_tui.transport.base import ChannelRefused, LinkLost

HIGH_WATER = 262_144  # bytes held for a slow reader before the box is made to wait
WINDOW = 262_144
STDERR_CAP = 8192
SHELL = "exec /bin/sh -s"

MAX_SESSIONS = 10  # what sshd allows on one connection unless told otherwise
FILES, RUN, STREAM = 0, 1, 2  # how many places each kind leaves free for the kinds before it
PLACE_SECONDS = 5.0

# A program that is run to its end. Its stdin is our lifeline: when the client leaves, however, the
# whole process group goes with it; a root login could not be ended by a signal over SSH.
GUARDED = """main() {
exec 3<&0 </dev/null
( exec >/dev/null 2>&1; cat <&3; kill -s KILL -- "-$$" || kill -s KILL "$$" ) &
exec 3<&-
:
@PROGRAM@
}
main; exit
"""


def guarded(program: str) -> str:
    """`program` under the lifeline; its own stdin is empty."""
    return GUARDED.replace("@PROGRAM@", program)


class ProgramOutput(asyncssh.SSHClientSession[bytes]):
    """Collects stdout chunks; holds the sender back when nobody reads; drops stderr past a little."""

    def __init__(self) -> None:
        self.stderr = bytearray()
        self.exit: int | None = None
        self._chunks: deque[bytes] = deque()
        self._held = 0
        self._ended = False
        self._closed = False
        self._paused = False
        self._draining = False
        self._error: Exception | None = None
        self._woken = asyncio.Event()
        self._channel: asyncssh.SSHClientChannel[bytes] | None = None

    def connection_made(self, chan: asyncssh.SSHClientChannel[bytes]) -> None:
        """The channel is open."""
        self._channel = chan

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """A chunk came."""
        if datatype is not None:
            self.stderr += data[: max(0, STDERR_CAP - len(self.stderr))]
            return
        self._chunks.append(data)
        self._held += len(data)
        self._pause_if_full()
        self._woken.set()

    def _pause_if_full(self) -> None:
        if self._held >= HIGH_WATER and not (self._paused or self._draining) and self._channel:
            self._paused = True
            self._channel.pause_reading()

    def _resume(self) -> None:
        """Let the box go on, once all that was held is read.

        asyncssh grants a whole new window with each chunk it delivers, also while it still holds
        others: were reading paused again before its buffer is empty, that buffer would grow with
        every turn. So all of it is taken at once; here and there stays at most a window each.
        """
        if self._channel is None or self._closed:
            return
        self._paused, self._draining = False, True
        self._channel.resume_reading()
        self._draining = False
        self._pause_if_full()

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
        self._ended = self._closed = True
        self._error = exc
        self._woken.set()

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Everything in order, until the program closes its output. LinkLost with the connection."""
        while True:
            while self._chunks:
                chunk = self._chunks.popleft()
                self._held -= len(chunk)
                yield chunk
            if self._paused and not self._closed:
                self._resume()
            elif self._ended:
                if self._error is not None:
                    raise LinkLost(f"the connection was lost: {self._error}")
                return
            else:
                self._woken.clear()
                await self._woken.wait()


class Places:
    """Counts the sessions that are open on one connection; who finds no place waits for one.

    A place is free again when the server has closed the session, not when we have left it.
    """

    def __init__(self) -> None:
        self.total = MAX_SESSIONS
        self.used = 0
        self._freed = asyncio.Event()
        self._closing: set[asyncio.Task[None]] = set()

    async def take(self, kind: int) -> None:
        """Take a place within PLACE_SECONDS, or raise ChannelRefused."""
        try:
            async with asyncio.timeout(PLACE_SECONDS):
                while self.used >= self.total - self._kept_from(kind):
                    self._freed.clear()
                    await self._freed.wait()
        except TimeoutError:
            raise ChannelRefused(
                f"the box allows {self.total} sessions on one connection (MaxSessions), all are in use",
                next="follow fewer logs, or raise MaxSessions in its sshd_config",
            ) from None
        self.used += 1

    def _kept_from(self, kind: int) -> int:
        if self.total >= 6:
            return kind
        return 1 if kind == STREAM and self.total > 1 else 0

    def release(self) -> None:
        """Give a place back."""
        self.used -= 1
        self._freed.set()

    def release_when_closed(self, channel: asyncssh.SSHClientChannel[bytes]) -> None:
        """Give a place back as soon as the server has closed the channel."""
        task = asyncio.ensure_future(channel.wait_closed())
        self._closing.add(task)

        def done(task: asyncio.Task[None]) -> None:
            self._closing.discard(task)
            self.release()

        task.add_done_callback(done)

    def shrink(self) -> bool:
        """The server allows no more than are open now. False where none is: waiting would be in vain."""
        self.total = max(1, min(self.total, self.used))
        return self.used > 0


@asynccontextmanager
async def closing(chunks: AsyncGenerator[bytes, None]) -> AsyncIterator[AsyncIterator[bytes]]:
    """Hand out an iterator and close it at the end of the block, whoever still holds it."""
    try:
        yield chunks
    finally:
        await chunks.aclose()
