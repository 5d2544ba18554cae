"""What `kubectl logs --timestamps` prints -> the log's own bytes, each line once, whatever was asked again.

A resumed log begins at a whole second, so lines come again. The stamps tell which: those before the last
one, and as many with the last one as were taken. Bytes of a line that was not yet whole are not repeated.
"""

from __future__ import annotations

import re

STAMP_CAP = 40  # characters of a stamp and its space
STAMP = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d) ")


class StampedLog:
    """Where we are in one container's log. Feed it what one call of kubectl prints; `again` before the next.

    `last` is the stamp of the newest line taken, in the API's own words.
    """

    def __init__(self) -> None:
        self.last = b""
        self._same = 0  # whole lines taken that bear the last stamp
        self._open = 0  # bytes taken of the line behind them, which has not ended
        self._behind = 0  # lines with the last stamp that come again
        self._skip = 0  # bytes of the next line that come again
        self._passing: bool | None = None  # within a line: is it taken? None: its stamp is awaited
        self._head = b""

    @property
    def since(self) -> str | None:
        """From where to ask again; None where nothing was taken."""
        return self.last.decode("ascii") if self.last else None

    def again(self) -> None:
        """Another call begins, at `since`."""
        self._behind, self._skip = self._same, self._open
        self._passing, self._head = None, b""

    def feed(self, chunk: bytes) -> bytes:
        """The bytes that were not taken before."""
        taken: list[bytes] = []
        data = self._head + chunk
        self._head = b""
        while data:
            if self._passing is None:
                torn = bool(self._open)
                if len(data) < STAMP_CAP and b" " not in data and b"\n" not in data:
                    self._head = data
                    break
                data = self._begin(data)
                if torn and not self._open:  # the rest of that line is not to be had any more
                    taken.append(b"\n")
            line, newline, data = data.partition(b"\n")
            if self._passing:
                taken.append(self._take(line, ended=bool(newline)))
            if newline:
                self._passing = None
        return b"".join(taken)

    def _begin(self, data: bytes) -> bytes:
        """Read the stamp of a line, and decide whether it is taken; the rest of the data."""
        match = STAMP.match(data)
        if match is None:  # a runtime that stamps nothing: it is taken as it comes
            self._passing = True
            return data
        stamp = match[0][:-1]
        order = _order(stamp)
        if self.last and order < _order(self.last):
            self._passing = self._behind == 0 and self._skip == 0
        elif stamp == self.last and self._behind:
            self._behind -= 1
            self._passing = False
        else:
            if stamp != self.last:
                self.last, self._same, self._open = stamp, 0, 0
                self._skip = 0
            self._behind = 0
            self._passing = True
        return data[match.end() :]

    def _take(self, line: bytes, *, ended: bool) -> bytes:
        again = min(self._skip, len(line))
        self._skip = 0 if ended else self._skip - again
        fresh = line[again:]
        if ended:
            self._same += 1
            self._open = 0
            return fresh + b"\n"
        self._open += len(fresh)
        return fresh


def _order(stamp: bytes) -> bytes:
    """Stamps of one container, all in UTC or all in one zone, compared as text of one width."""
    whole, _, rest = stamp.partition(b".")
    digits = re.match(rb"\d*", rest)
    return whole[:19] + b"." + (digits[0] if digits else b"").ljust(9, b"0")
