"""One channel of an SSH connection: a program sent over stdin, its output in bounded chunks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress

import asyncssh

from gpu_tui.transport.asyncssh_private import ask_keepalive, set_window
from gpu_tui.transport.base import LinkLost, Taker, to_send

HIGH_WATER = 262_144  # bytes held for a slow reader before the box is made to wait
# What the box may send ahead. A stream that is read as fast as it comes may grow to what passes in
# half a second, so that on a slow line nothing else waits long behind it.
WINDOW = 262_144
WIDEST = 4_194_304
PASSES_SECONDS = 0.5
STDERR_CAP = 8192
PACKET = 2048  # bytes of a program that go out at once
# Bytes of a program after which the server is asked for a sign of life: on a narrow line, which others may share,
# the rest is on its way for longer than a server may be silent.
STRETCH = 8192

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
    """Sends a program and collects its stdout; holds the box back when nobody reads.

    Stderr past a little is dropped.
    """

    def __init__(self, program: str = "") -> None:
        self._program = to_send(program)
        self.stderr = bytearray()
        self.exit: int | None = None
        self._chunks: list[bytes] = []
        self._held = 0
        self._ended = False
        self._closed = False
        self._paused = False
        self._draining = False
        self._error: Exception | None = None
        self._fault: Exception | None = None  # of the taker
        self._window = WINDOW
        self._passed = 0  # bytes of this window, which began to come at `_since`
        self._since = 0.0
        self._paused_at = 0.0
        self._waiter: asyncio.Future[None] | None = None
        self.taker: Taker | None = None  # see `take_at_once`
        self._channel: asyncssh.SSHClientChannel[bytes] | None = None
        self._asked: set[asyncio.Task[None]] = set()
        self._sent = asyncio.Event()
        self._waits = False  # some of what was written, for room at the server

    def connection_made(self, chan: asyncssh.SSHClientChannel[bytes]) -> None:
        """The channel is open: the program follows the request for its shell at once.

        asyncssh sends that request within this very turn of the loop, and only then awaits the
        answer: to wait for it as well would cost another round trip before the first byte.
        """
        self._channel = chan
        chan.set_write_buffer_limits(0)  # so that it is told when all of it went
        asyncio.get_running_loop().call_soon(self._send)

    def _send(self) -> None:
        """In small packets: of a large one a slow line brings nothing before its last byte."""
        stretch, self._program = self._program[:STRETCH], self._program[STRETCH:]
        for start in range(0, len(stretch), PACKET):
            self._pass(stretch[start : start + PACKET])
        if not self._waits:
            self._went()

    def pause_writing(self) -> None:
        """The server has no room: sshd has none before it has started the shell."""
        self._waits = True

    def resume_writing(self) -> None:
        """All that was written is on its way."""
        self._waits = False
        if not self._sent.is_set():
            self._went()

    def _went(self) -> None:
        if not self._program:
            self._sent.set()
            return
        asking = asyncio.ensure_future(self._ask())
        self._asked.add(asking)
        asking.add_done_callback(self._asked.discard)
        asyncio.get_running_loop().call_soon(self._send)  # behind what is asked

    async def _ask(self) -> None:
        """Return when the server has all that was sent so far, or is gone."""
        if self._channel is not None and not self._closed:
            with suppress(asyncssh.Error, OSError):
                await ask_keepalive(self._channel.get_connection())

    async def arrived(self) -> None:
        """See `base.arrived`."""
        await self._sent.wait()
        await self._ask()

    def write(self, data: bytes) -> None:
        """Bytes for the program's stdin, behind the program itself: see `write_to`."""
        if self._sent.is_set():
            self._pass(data)
        else:
            self._program += data

    def _pass(self, data: bytes) -> None:
        if self._channel is not None and not self._closed:
            with suppress(OSError):  # it has just been closed, which is told elsewhere
                self._channel.write(data)

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """A chunk came."""
        if datatype is not None:
            self.stderr += data[: max(0, STDERR_CAP - len(self.stderr))]
            return
        if self.taker is not None and self._awaited and self._taken(data):
            return
        self._chunks.append(data)
        self._held += len(data)
        self._passed += len(data)
        if self._held >= HIGH_WATER:
            self._pause()
        elif self._passed >= self._window < WIDEST:
            self._widen()
        self._wake()

    @property
    def _awaited(self) -> bool:
        """All that came before is read, and the reader waits for more."""
        return self._waiter is not None and not (self._waiter.done() or self._chunks)

    def _taken(self, data: bytes) -> bool:
        """Offer a chunk to the taker. An error of its own ends this channel only."""
        assert self.taker is not None
        try:
            return self.taker(data)
        except Exception as error:
            self._fault, self.taker = error, None
            self._wake()
            return True

    def _widen(self) -> None:
        """A whole window has passed: was it quick, the next one may be twice as wide."""
        now = asyncio.get_running_loop().time()
        if now - self._since < PASSES_SECONDS and self._channel:
            self._window *= 2
            set_window(self._channel, self._window)
        self._passed, self._since = 0, now

    def _pause(self) -> None:
        if not (self._paused or self._draining) and self._channel:
            self._paused = True
            self._channel.pause_reading()
            self._paused_at = asyncio.get_running_loop().time()

    def _resume(self) -> None:
        """Let the box go on, once all that was held is read.

        asyncssh grants a whole new window with each chunk it delivers, also while it still holds
        others: were reading paused again before its buffer is empty, that buffer would grow with
        every turn. So all of it is taken at once; here and there stays at most a window each.
        """
        if self._channel is None or self._closed:
            return
        if asyncio.get_running_loop().time() - self._paused_at > PASSES_SECONDS:
            self._window = WINDOW  # the reader is slow, not the line
            set_window(self._channel, WINDOW)
        self._paused, self._draining = False, True
        self._channel.resume_reading()
        self._draining = False
        if self._held >= HIGH_WATER:
            self._pause()

    def eof_received(self) -> bool:
        """The program closed its stdout; the channel stays for its exit status."""
        self._ended = True
        self._wake()
        return True

    def exit_status_received(self, status: int) -> None:
        """The program ended."""
        self.exit = status

    def connection_lost(self, exc: Exception | None) -> None:
        """The channel is gone."""
        self._ended = self._closed = True
        self._error = exc
        self._sent.set()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def __aiter__(self) -> ProgramOutput:
        """Everything in order, until the program closes its output. LinkLost with the connection.

        What came since the last turn of the loop comes as one chunk.
        """
        return self

    async def __anext__(self) -> bytes:
        """The next chunk."""
        while True:
            if self._fault is not None:
                raise self._fault
            if self._chunks:
                data = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
                self._chunks.clear()
                self._held = 0
                return data
            if self._paused and not self._closed:
                self._resume()
            elif self._ended:
                if self._error is not None:
                    raise LinkLost(f"the connection was lost: {self._error}")
                raise StopAsyncIteration
            else:
                self._waiter = asyncio.get_running_loop().create_future()
                await self._waiter


@asynccontextmanager
async def closing(chunks: AsyncGenerator[bytes, None]) -> AsyncIterator[AsyncIterator[bytes]]:
    """Hand out an iterator and close it at the end of the block, whoever still holds it."""
    try:
        yield chunks
    finally:
        await chunks.aclose()
