"""A transport that hands every byte it brings to a recorder, and is otherwise the one beneath."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from gpu_tui.core.fleet import Instance
from gpu_tui.core.ports import ByteRecorder
from gpu_tui.core.redact import LONGEST
from gpu_tui.transport.base import (
    Completed,
    Connection,
    FileAccess,
    LinkError,
    Taker,
    Transport,
    arrived,
    login_of,
    nonce_of,
    peer_of,
    take_at_once,
    write_to,
)

HELD = 65_536  # bytes of an unfinished line that wait for its end


class RecordingTransport:
    """Connects by another transport and records its channels. Files that are pulled are not recorded."""

    def __init__(self, transport: Transport, recorder: ByteRecorder) -> None:
        self._transport = transport
        self._recorder = recorder

    async def connect(self, instance: Instance) -> Connection:
        """A recorded connection. Raises a LinkError."""
        connection = await self._transport.connect(instance)
        return RecordedConnection(connection, instance.name, self._recorder)


class RecordedConnection:
    """One connection whose programs are recorded."""

    def __init__(self, connection: Connection, instance: str, recorder: ByteRecorder) -> None:
        self._connection = connection
        self._instance = instance
        self._recorder = recorder
        self.host_key = connection.host_key
        self.via = getattr(connection, "via", None)
        self.peer = peer_of(connection)
        self.login = login_of(connection)
        self.nonce = nonce_of(connection)

    async def run(self, program: str, *, limit: float, stdout_cap: int = 4_194_304) -> Completed:
        """Run a program and record what it printed; also that it was asked, where no answer came."""
        channel = self._recorder.opened(self._instance, program)
        try:
            done = await self._connection.run(program, limit=limit, stdout_cap=stdout_cap)
            self._recorder.said(channel, done.stdout)
            return done
        finally:
            self._recorder.closed(channel)

    @asynccontextmanager
    async def stream(self, program: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Run a program and record its output, line by line."""
        channel = self._recorder.opened(self._instance, program)
        lines = _Lines(self._recorder, channel)
        try:
            async with self._connection.stream(program) as chunks:
                yield _Passing(chunks, lines)
        finally:
            lines.flush()
            self._recorder.closed(channel)

    def files(self) -> AbstractAsyncContextManager[FileAccess]:
        """The connection's own."""
        return self._connection.files()

    async def round_trip(self) -> float:
        """The connection's own."""
        return await self._connection.round_trip()

    async def answers(self, within: float) -> bool:
        """The connection's own."""
        return await self._connection.answers(within)

    async def wait_closed(self) -> LinkError | None:
        """The connection's own."""
        return await self._connection.wait_closed()

    async def close(self) -> None:
        """The connection's own."""
        await self._connection.close()


class _Passing:
    """The chunks of a channel, recorded as they pass; all else that the channel can do, it can."""

    def __init__(self, chunks: AsyncIterator[bytes], lines: _Lines) -> None:
        self._chunks = chunks
        self._lines = lines
        self._taker: Taker | None = None

    def __aiter__(self) -> _Passing:
        return self

    async def __anext__(self) -> bytes:
        chunk = await anext(self._chunks)
        self._lines.hear(chunk)
        return chunk

    @property
    def taker(self) -> Taker | None:
        """See `take_at_once`."""
        return self._taker

    @taker.setter
    def taker(self, taker: Taker) -> None:
        def take(chunk: bytes) -> bool:
            taken = taker(chunk)
            if taken:
                self._lines.hear(chunk)
            return taken

        self._taker = taker
        take_at_once(self._chunks, take)

    def write(self, data: bytes) -> None:
        """See `write_to`."""
        write_to(self._chunks, data)

    async def arrived(self) -> None:
        """See `base.arrived`."""
        await arrived(self._chunks)


class _Lines:
    """Records whole lines."""

    def __init__(self, recorder: ByteRecorder, channel: int) -> None:
        self._recorder = recorder
        self._channel = channel
        self._held = b""

    def hear(self, chunk: bytes) -> None:
        """Something came."""
        data = self._held + chunk
        cut = data.rfind(b"\n") + 1
        if not cut and len(data) > HELD:
            cut = self._recorder.seam(data, len(data) - LONGEST) or len(data)
        self._held = data[cut:]
        if cut:
            self._recorder.said(self._channel, data[:cut])

    def flush(self) -> None:
        """What is left."""
        if self._held:
            self._recorder.said(self._channel, self._held)
            self._held = b""
