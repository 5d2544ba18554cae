"""The lines of a gzip file from any place that was once reached: going back costs no unpacking of what is before.

A file may come from anybody and may end anywhere: what stands before the damage is read, and the damage is said.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PACKED = 16_384  # bytes read at once
UNPACKED = 131_072  # bytes unpacked at once
LINE_CAP = 16_777_216
GZIP = 31  # zlib's word for a gzip header and trailer


@dataclass(frozen=True, slots=True)
class Place:
    """Between two lines of a reel."""

    offset: int  # of the file, read so far
    unpacker: Any  # zlib's state there; copied before it is used
    packed: bytes  # read, and not unpacked yet
    rest: bytes  # unpacked, and not given out yet


class Reel(Iterator[bytes]):
    """Iterates the lines, each with its newline; the last one may have none. OSError where it cannot be read."""

    def __init__(self, path: Path, place: Place | None = None) -> None:
        self._path = path
        self._offset = place.offset if place else 0
        self._unpacker: Any = place.unpacker.copy() if place else zlib.decompressobj(GZIP)
        self._packed = place.packed if place else b""
        self._buffer = place.rest if place else b""
        self._at = 0
        self._over = False
        self.damage: str | None = None

    def place(self) -> Place:
        """Here, to come back to."""
        return Place(self._offset, self._unpacker.copy(), self._packed, self._buffer[self._at :])

    def __next__(self) -> bytes:
        """The next line."""
        searched = self._at
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer) - self._at
            if self._over or not self._more():
                line, self._buffer, self._at = self._buffer[self._at :], b"", 0
                if not line:
                    raise StopIteration
                return line
        line, self._at = self._buffer[self._at : end + 1], end + 1
        return line

    def blocks(self) -> Iterator[bytes]:
        """Everything from here on in pieces of whole lines, the last one perhaps cut."""
        while self._more():
            if (end := self._buffer.rfind(b"\n") + 1) > 0:
                yield self._buffer[:end]
                self._at = end
        if self._buffer:
            yield self._buffer

    def _more(self) -> bool:
        """Unpack some more behind what is left; False at the end, whatever kind of end it is."""
        self._buffer, self._at = self._buffer[self._at :], 0
        if len(self._buffer) > LINE_CAP:
            return self._end("a line in it is longer than any that is written")
        while True:
            if not self._packed and not self._read():
                whole = self._unpacker.eof or self._offset == 0
                return self._end(None if whole else "the file was cut, or is still being written")
            if self._unpacker.eof:  # one gzip file after another is one
                self._unpacker = zlib.decompressobj(GZIP)
            try:
                made = self._unpacker.decompress(self._packed, UNPACKED)
            except zlib.error:
                return self._end("the file is damaged there")
            self._packed = self._unpacker.unconsumed_tail or self._unpacker.unused_data
            if made:
                self._buffer += made
                return True

    def _read(self) -> bool:
        with self._path.open("rb") as file:
            file.seek(self._offset)
            self._packed = file.read(PACKED)
        self._offset += len(self._packed)
        return bool(self._packed)

    def _end(self, damage: str | None) -> bool:
        self._over, self.damage = True, damage
        return False
