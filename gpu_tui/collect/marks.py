"""Our own words inside a stream of a box's raw bytes: found, taken out, never mistaken for the bytes.

A mark is the sign, which nobody who writes a log can guess, some words, and a newline. It may stand
anywhere, also in the middle of a line: what stood around it belongs together again.
"""

from __future__ import annotations

LONGEST = 65_536  # bytes of one mark; what is longer was never ours


class Mark(bytes):
    """The words of one mark, without sign and newline."""


class MarkReader:
    """Chunks, however they are cut, become the bytes between the marks, and the marks, in order.

    A mark that was written while another one was (each in one piece) comes before the outer one.
    """

    def __init__(self, sign: bytes) -> None:
        self._sign = sign
        self._held = b""

    def passes(self, chunk: bytes) -> bool:
        """Nothing is held back, and no mark begins in `chunk`: it would come out as it is."""
        return not self._held and self._sign[:1] not in chunk

    def feed(self, chunk: bytes) -> list[bytes | Mark]:
        """What `chunk` completes. What may be the beginning of a mark is held back."""
        if self.passes(chunk):
            return [chunk] if chunk else []
        data, self._held = self._held + chunk, b""
        found: list[bytes | Mark] = []
        while (at := data.find(self._sign)) >= 0:
            begin = at + len(self._sign)
            end = data.find(b"\n", begin)
            inner = data.rfind(self._sign, begin, end if end >= 0 else len(data))
            if inner >= 0 and end >= 0:
                found.append(Mark(data[inner + len(self._sign) : end]))
                data = data[:inner] + data[end + 1 :]
            elif end >= 0:
                if at:
                    found.append(data[:at])
                found.append(Mark(data[begin:end]))
                data = data[end + 1 :]
            elif len(data) - at > LONGEST:
                data = data[:at] + data[begin:]
            else:
                break
        keep = len(data) - at if at >= 0 else self._begun(data)
        if len(data) > keep:
            found.append(data[: len(data) - keep])
        self._held = data[len(data) - keep :]
        return found

    def _begun(self, data: bytes) -> int:
        """How many bytes at the end of `data` may be the beginning of a sign."""
        last = data.rfind(self._sign[:1], max(0, len(data) - len(self._sign) + 1))
        return len(data) - last if last >= 0 and self._sign.startswith(data[last:]) else 0
