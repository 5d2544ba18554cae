"""The packets that carry a program's bytes, taken the short way; all others stay asyncssh's own business.

asyncssh gives every packet the same long way: many small steps in Python and five copies of its bytes.
Of a big file, and of a log's lines that come one by one, each packet is alike: AES-GCM, one channel's
data. One that is exactly that is decrypted from where it lies and handed to its channel; at the least
doubt it stays untouched, and asyncssh takes it, and judges it, itself. It deals in asyncssh's private
parts (2.24); where one is missing, nothing is changed.

A server may cut what it sends into packets of one byte, each of which costs as much as a big one: of more
than can be taken in a moment the rest waits, and so does the server, while others have their turn. Who goes
on like that for seconds waits longer and longer, up to a share of the loop that does not hurt hundreds of others.
"""

from __future__ import annotations

import asyncio
from struct import Struct
from time import monotonic
from typing import Any

import asyncssh
from asyncssh.crypto.cipher import AESGCM, InvalidTag  # type: ignore[attr-defined]
from asyncssh.encryption import GCMEncryption

DATA = 94  # SSH_MSG_CHANNEL_DATA, RFC 4254 section 5.2
LENGTH, TAG = 4, 16  # bytes before and behind what is encrypted, RFC 5647 section 7.2
LEAST = 32  # bytes; a smaller one is no data
SHORT = 4_096  # bytes; less is sooner copied than looked at where it lies
MOMENT = 0.01  # seconds in one turn of the loop, and until the next one
PATIENT = 50  # turns in a row after which the wait grows by another moment
LONGEST = 9  # moments of it, for one that is taken
FAIR = 131_072  # bytes of one turn: who brings so many floods us with his text, which is worth the time
CALM = 1.0  # seconds without such a turn: then it was one flood, and the next is another
OFTEN = 32  # packets between two looks at the clock: big ones never get there
PIECE = 4_096  # bytes that go the long way between two looks
HEAD = Struct(">BBII")  # length of the padding, type, channel, length of the data
PARTS = (
    "_inpbuf", "_recv_pkthdr", "_recv_handler", "_recv_encryption", "_recv_seq", "_decompressor",
    "_max_recv_pktlen", "_auth_complete", "_channels", "_transport", "_reset_keepalive_timer",
)  # fmt: skip


def shorten(connection: asyncssh.SSHClientConnection) -> None:
    """Let its data packets go the short way from now on."""
    if all(hasattr(connection, name) for name in PARTS):
        connection.data_received = ShortWay(connection).data_received  # type: ignore[method-assign]


class ShortWay:
    """Stands between the socket and asyncssh."""

    def __init__(self, connection: asyncssh.SSHClientConnection) -> None:
        self._connection: Any = connection
        self._long = connection.data_received
        self._between = connection._recv_pkthdr  # what asyncssh does next between two packets
        self._cipher: Any = None
        self._open: Any = None
        self._rest = b""  # of what came, for another turn
        self._ends = 0.0  # of this turn
        self._came = 0  # bytes, in this turn
        self._turns = 0  # in a row in which more came than could be taken
        self._calm_at = 0.0
        self.taken = 0  # packets

    def data_received(self, data: bytes, datatype: Any = None) -> None:
        """Bytes came: take whole packets; what has come of the next one waits in asyncssh's own place."""
        if self._rest:
            self._rest += data
            return
        self._ends, self._came = monotonic() + MOMENT, len(data)
        connection = self._connection
        if not self._ours():
            self._whole_long_way(data, datatype)
            return
        connection._reset_keepalive_timer()
        held, connection._inpbuf = connection._inpbuf, b""
        if not held:
            self._walk(data, 0, datatype)
            return
        # A packet of which a part had come is put together alone: what came behind it stays where it lies.
        cut = self._end(held + data[:LENGTH], 0) - len(held)
        if not 0 < cut < len(data):
            self._walk(held + data, 0, datatype)
        elif self._walk(held + data[:cut], 0, datatype):
            self._walk(data, cut, datatype)
        else:
            self._long(data[cut:], datatype)

    def _whole_long_way(self, data: bytes, datatype: Any) -> None:
        at = 0
        while at < len(data):
            self._long(data[at : at + PIECE], datatype)
            at += PIECE
            if at < len(data) and monotonic() > self._ends and self._put_off(data[at:]):
                return

    def _put_off(self, rest: bytes) -> bool:
        """Take the rest a moment later. False where the server could not be made to wait."""
        transport = self._connection._transport
        if transport is None:  # it was closed meanwhile: nobody wants the rest
            return True
        if not hasattr(transport, "pause_reading"):
            return False
        self._rest = rest
        transport.pause_reading()
        now = monotonic()
        if self._came - len(rest) < FAIR:
            self._turns = self._turns + 1 if now < self._calm_at else 0
        wait = MOMENT * min(LONGEST, 1 + self._turns // PATIENT)
        self._calm_at = now + wait + CALM
        asyncio.get_running_loop().call_later(wait, self._go_on, transport)
        return True

    def _go_on(self, transport: Any) -> None:
        rest, self._rest = self._rest, b""
        if self._connection._transport is not transport:
            return
        self.data_received(rest)
        if not self._rest and self._connection._transport is transport:
            transport.resume_reading()

    def _walk(self, data: bytes, at: int, datatype: Any) -> bool:
        """Take the packets from `at` on; False where all of them were left to asyncssh, from one on."""
        connection, size, count = self._connection, len(data), 0
        while size - at >= LENGTH:
            count += 1
            if not count % OFTEN and monotonic() > self._ends and self._put_off(data[at:]):
                return True
            end = self._end(data, at)
            if end > size and end - at < connection._max_recv_pktlen:
                break
            if not self._take(data, at, end):
                self._long(data[at:end], datatype)
                if not self._ours():
                    self._long(data[end:], datatype)
                    return False
            at = end
        connection._inpbuf = data[at:]
        return True

    def _end(self, data: bytes, at: int) -> int:
        """Where the packet that begins at `at` ends; a few bytes behind `at` where too little has come."""
        return at + LENGTH + TAG + int.from_bytes(data[at : at + LENGTH], "big")

    def _ours(self) -> bool:
        """The long way is between two packets, and what comes is AES-GCM, not compressed."""
        connection = self._connection
        coded = connection._recv_encryption
        if type(coded) is not GCMEncryption or connection._recv_handler != self._between:
            return False
        if coded._cipher is not self._cipher:  # new with each key exchange
            self._cipher = coded._cipher
            self._open = AESGCM(self._cipher._key).decrypt
        return connection._transport is not None and not connection._decompressor

    def _take(self, data: bytes, at: int, end: int) -> bool:
        """Take one packet; False where it is not plainly data for a channel that is open."""
        begin = at + LENGTH
        if end - begin < LEAST + TAG or end > len(data):
            return False
        cipher, connection = self._cipher, self._connection
        coded = data[begin:end] if end - begin < SHORT else memoryview(data)[begin:end]
        try:
            plain = self._open(cipher._iv, coded, data[at:begin])
        except InvalidTag:
            return False
        padding, kind, number, count = HEAD.unpack_from(plain)
        channel = connection._channels.get(number)
        if (
            kind != DATA
            or channel is None
            or channel._recv_state != "open"
            or HEAD.size + count + padding != len(plain)
            or count > channel._recv_window
        ):
            return False
        # From here on it is taken: what follows leaves asyncssh as its own way would have.
        cipher._update_iv()
        connection._recv_seq = (connection._recv_seq + 1) & 0xFFFFFFFF
        self.taken += 1
        try:
            channel._accept_data(plain[HEAD.size : HEAD.size + count])
        except Exception:
            connection.internal_error()
        return True
