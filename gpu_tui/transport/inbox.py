"""What came over a connection and is not yet taken apart, without copying all of it for each packet.

asyncssh cuts each packet from the front of one `bytes`, twice copying what is behind it: of a read of
256 KiB that is sixteen times what was read. This looks the same to it and only moves on.
"""

from __future__ import annotations


class Inbox:
    """Bytes from which the front is cut: `[:n]` and `[n:m]` are bytes, `[n:]` is the inbox, moved on."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes = b"") -> None:
        self._data, self._at = data, 0

    def __len__(self) -> int:
        return len(self._data) - self._at

    def __iadd__(self, more: bytes) -> Inbox:
        self._data = self._data[self._at :] + more if len(self) else more
        self._at = 0
        return self

    def __getitem__(self, part: slice) -> bytes | Inbox:
        first = self._at + (part.start or 0)
        if part.stop is None:
            self.skip(first - self._at)
            return self
        return self._data[first : self._at + part.stop]

    def view(self, start: int, stop: int) -> memoryview:
        """The bytes `[start:stop]` where they lie."""
        return memoryview(self._data)[self._at + start : self._at + stop]

    def skip(self, count: int) -> None:
        """Cut `count` bytes from the front."""
        self._at = min(self._at + count, len(self._data))
