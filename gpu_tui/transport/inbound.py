"""Passes the bytes of a connection to asyncssh, and bounds what one server can take of the event loop.

A server may cut its data into packets of one byte, each of which costs as much time as one of 32 kB. Its bytes are
therefore passed for at most `MAX_TURN_SECONDS` in one turn of the event loop. If they cost more time than
`MIN_BYTES_PER_SECOND` allows, the connection then pauses for a multiple of the excess.
"""

from __future__ import annotations

import asyncio
from time import monotonic, thread_time

import asyncssh

from gpu_tui.transport.asyncssh_private import transport_of

# The least and the most that is passed at once: asyncssh copies all that it holds once per packet.
SMALL_BYTES, LARGE_BYTES = 4_096, 65_536
MAX_TURN_SECONDS = 0.01  # of CPU time
MIN_BYTES_PER_SECOND = 4e6  # of CPU time; large packets pass 50 times as fast
PAUSE_FACTOR = 9  # seconds of pause per second of excess


class Inbound:
    """Takes the place of a connection's `data_received`. `heard` is when bytes last came (`monotonic`)."""

    def __init__(self, connection: asyncssh.SSHClientConnection) -> None:
        self.heard = monotonic()
        self._pass = connection.data_received
        self._transport = transport_of(connection)
        self._piece = SMALL_BYTES
        self._rest = b""
        self._waiting = False
        connection.data_received = self.data_received  # type: ignore[method-assign]

    def data_received(self, data: bytes, datatype: int | None = None) -> None:
        """Pass `data` on, or a part of it now and the rest after a pause."""
        self.heard = monotonic()
        if self._waiting:
            self._rest += data
        elif len(data) <= SMALL_BYTES or self._transport is None:
            self._pass(data)
        else:
            self._pass_pieces(data, self._transport)

    def _pass_pieces(self, data: bytes, transport: asyncio.Transport) -> None:
        at, spent, began = 0, 0.0, thread_time()
        while at < len(data) and not transport.is_closing():
            piece = data[at : at + self._piece]
            self._pass(piece)
            at += len(piece)
            before, spent = spent, thread_time() - began
            expensive = (spent - before) * MIN_BYTES_PER_SECOND > len(piece)
            self._piece = SMALL_BYTES if expensive else min(LARGE_BYTES, 2 * self._piece)
            if spent > MAX_TURN_SECONDS and at < len(data):
                self._pause(
                    data[at:], transport, PAUSE_FACTOR * max(0.0, spent - at / MIN_BYTES_PER_SECOND)
                )
                return

    def _pause(self, rest: bytes, transport: asyncio.Transport, seconds: float) -> None:
        self._rest, self._waiting = rest, True
        transport.pause_reading()
        asyncio.get_running_loop().call_later(seconds, self._resume, transport)

    def _resume(self, transport: asyncio.Transport) -> None:
        """Pass on the rest, and then all that the transport itself still holds.

        A channel of a jump host delivers what it holds during `resume_reading`, and grants the server a new window
        with each chunk: a pause in the middle would let its buffer grow without bound.
        """
        rest, self._rest = self._rest, b""
        self._waiting = False
        self._pass_pieces(rest, transport)
        if self._waiting or transport.is_closing():
            return
        self._waiting = True
        transport.resume_reading()
        self._waiting = False
        if self._rest:
            self._pause(self._rest, transport, 0)
