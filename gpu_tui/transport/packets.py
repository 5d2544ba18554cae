"""The packets that carry a program's bytes, taken the short way; all others stay asyncssh's own business.

asyncssh gives every packet the same long way: many small steps in Python and five copies of its bytes.
Of a big file each packet is alike: AES-GCM, one channel's data. One that is exactly that is decrypted
from where it lies and handed to its channel; at the least doubt it stays untouched, and asyncssh takes
it, and judges it, itself. It deals in asyncssh's private parts (2.24); where one is missing, nothing
is changed.
"""

from __future__ import annotations

from struct import Struct

import asyncssh
from asyncssh.crypto.cipher import AESGCM, GCMCipher, InvalidTag  # type: ignore[attr-defined]
from asyncssh.encryption import GCMEncryption

from gpu_tui.transport.inbox import Inbox

DATA = 94  # SSH_MSG_CHANNEL_DATA, RFC 4254 section 5.2
LENGTH, TAG = 4, 16  # bytes before and behind what is encrypted, RFC 5647 section 7.2
LEAST = 512  # bytes; a smaller one gains nothing
HEAD = Struct(">BBII")  # length of the padding, type, channel, length of the data
PARTS = (
    "_inpbuf", "_recv_pkthdr", "_recv_handler", "_recv_encryption", "_recv_seq", "_decompressor",
    "_max_recv_pktlen", "_auth_complete", "_channels",
)  # fmt: skip


def shorten(connection: asyncssh.SSHClientConnection) -> None:
    """Let its data packets go the short way from now on."""
    if isinstance(getattr(connection, "_inpbuf", None), bytes) and all(
        hasattr(connection, name) for name in PARTS
    ):
        connection._inpbuf = Inbox(connection._inpbuf)  # type: ignore[assignment]
        short = ShortWay(connection)
        if connection._recv_handler == connection._recv_pkthdr:
            connection._recv_handler = short.take
        connection._recv_pkthdr = short.take  # type: ignore[method-assign]


class ShortWay:
    """Stands where asyncssh begins with a packet."""

    def __init__(self, connection: asyncssh.SSHClientConnection) -> None:
        self._connection = connection
        self._long = connection._recv_pkthdr
        self._cipher: GCMCipher | None = None
        self._open = AESGCM(bytes(16))
        self.taken = 0  # packets

    def take(self) -> bool:
        """Take one packet; False where it has not come whole yet."""
        connection = self._connection
        inbox: object = connection._inpbuf  # bytes again once it is closed
        coded = connection._recv_encryption
        if (
            not isinstance(inbox, Inbox)
            or not isinstance(coded, GCMEncryption)
            or connection._decompressor
            or not connection._auth_complete
            or len(inbox) < LENGTH
        ):
            return self._long()
        length = inbox.view(0, LENGTH)
        size = int.from_bytes(length, "big")
        if not LEAST <= size <= connection._max_recv_pktlen:
            return self._long()
        whole = LENGTH + size + TAG
        if len(inbox) < whole:
            return False
        cipher = coded._cipher
        if cipher is not self._cipher:  # new with each key exchange
            self._cipher, self._open = cipher, AESGCM(cipher._key)
        try:
            plain = self._open.decrypt(cipher._iv, inbox.view(LENGTH, whole), length)
        except InvalidTag:
            return self._long()
        padding, kind, number, count = HEAD.unpack_from(plain)
        channel = connection._channels.get(number)
        if (
            kind != DATA
            or channel is None
            or channel._recv_state != "open"
            or HEAD.size + count + padding != size
            or count > channel._recv_window
        ):
            return self._long()
        # From here on it is taken: what follows leaves asyncssh as its own way would have.
        cipher._update_iv()
        inbox.skip(whole)
        connection._recv_seq = (connection._recv_seq + 1) & 0xFFFFFFFF
        self.taken += 1
        channel._accept_data(plain[HEAD.size : HEAD.size + count])
        return True
