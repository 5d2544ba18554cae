"""Our own words inside a stream of a box's raw bytes: found, taken out, never mistaken for the bytes.

A mark is the sign, which nobody who writes a log can guess, some words, and a newline. It may stand
anywhere, also in the middle of a line: what stood around it belongs together again.
"""

from __future__ import annotations

from collections import deque

LONGEST = 65_536  # bytes of one mark; what is longer was never ours


class Mark(bytes):
    """The words of one mark, without sign and newline."""


class MarkReader:
    """Chunks, however they are cut, become the bytes between the marks, and the marks, in order.

    A mark that was written while another one was (each in one piece) comes before the outer one. Each
    byte is looked at once: a box that knows the sign may send nothing else.
    """

    def __init__(self, sign: bytes) -> None:
        self._sign = sign
        self._held = b""  # what may be the beginning of a sign
        self._open: deque[bytes] = (
            deque()
        )  # what came of marks that have no end yet, the outer one first
        self._size = 0  # of all of these

    def passes(self, chunk: bytes) -> bool:
        """Nothing is held back, and no mark begins in `chunk`: it would come out as it is."""
        return not self._held and not self._open and self._sign[:1] not in chunk

    def feed(self, chunk: bytes) -> list[bytes | Mark]:
        """What `chunk` completes. What may be the beginning of a mark is held back."""
        if self.passes(chunk):
            return [chunk] if chunk else []
        data = self._held + chunk
        keep = self._begun(data)
        self._held = data[len(data) - keep :]
        found: list[bytes | Mark] = []
        first, *others = data[: len(data) - keep].split(self._sign)
        self._text(first, found)
        for part in others:
            self._open.append(b"")
            self._size += len(self._sign)
            self._text(part, found)
        return found

    def _text(self, data: bytes, found: list[bytes | Mark]) -> None:
        """What stands between two signs: first the rest of the marks that are open."""
        at = 0
        while self._open:
            end = data.find(b"\n", at)
            rest = data[at : end if end >= 0 else len(data)]
            words = self._open.pop()
            if end < 0:
                self._open.append(words + rest)
                self._size += len(rest)
                self._let_go(found)
                return
            found.append(Mark(words + rest))
            self._size -= len(self._sign) + len(words)
            at = end + 1
        if at < len(data):
            found.append(data[at:])

    def _let_go(self, found: list[bytes | Mark]) -> None:
        """What is longer than any mark was never ours: it is text."""
        while self._size > LONGEST:
            words = self._open.popleft()
            self._size -= len(self._sign) + len(words)
            if words:
                found.append(words)

    def _begun(self, data: bytes) -> int:
        """How many bytes at the end of `data` may be the beginning of a sign."""
        last = data.rfind(self._sign[:1], max(0, len(data) - len(self._sign) + 1))
        return len(data) - last if last >= 0 and self._sign.startswith(data[last:]) else 0
