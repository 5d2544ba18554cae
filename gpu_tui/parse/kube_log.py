"""What `kubectl logs --timestamps` prints -> the log's own bytes, each line once, whatever was asked again.

A log is asked for again from the whole second of its newest line on, for the API counts in seconds; so the
lines of that second come again, in the same order. As many as were taken are dropped, and of a line that
had not ended its first bytes. A line that is newer than all of them ends the dropping at once: where a
log was rotated meanwhile, nothing new may be taken for old. What two streams of one container write out of
step is kept apart within a second; over the turn of one, the API itself leaves it out of its answer.
"""

from __future__ import annotations

import re

from gpu_tui.parse.instants import epoch_of

STAMP_CAP = 40  # characters of a stamp and its space
STAMP = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d) ")
SECOND = 19  # characters of a stamp up to its fraction


class StampedLog:
    """Where we are in one container's log. Feed it what one call of kubectl prints; `again` before the next."""

    def __init__(self) -> None:
        self._last = b""  # the newest stamp
        self._whole = 0  # lines taken in its second, to their end
        self._open = 0  # bytes taken of the line behind them
        self._behind = 0  # lines that come again
        self._skip = 0  # bytes of the line behind them that come again
        self._catching_up = False
        self._passing: bool | None = None  # within a line: is it taken? None: its stamp is awaited
        self._counts = False  # the line is of the newest second, or of a later one
        self._head = b""
        # Lines that should have come again did not: the log was rotated, and others may be missing with them.
        self.gap = False
        self._stamp = b""  # of the line that is being taken
        self._stamps: list[bytes] = []  # of the lines that the last feed took to their end

    @property
    def since(self) -> str | None:
        """From where to ask again, in the API's own words; None where nothing was taken."""
        return self._last.decode("ascii") if self._last else None

    @property
    def stamps(self) -> tuple[float, ...]:
        """The epoch seconds of each line that the last `feed` took to its end; empty if one of them has no stamp."""
        times = [epoch_of(stamp.decode("ascii")) for stamp in self._stamps]
        return tuple(time for time in times if time is not None) if None not in times else ()

    def again(self) -> None:
        """Another call begins, at `since`."""
        self._catching_up = bool(self._last)
        self._behind, self._skip = self._whole, self._open
        self._passing, self._head = None, b""

    def feed(self, chunk: bytes) -> bytes:
        """The bytes that were not taken before."""
        taken: list[bytes] = []
        self._stamps = []
        data = self._head + chunk
        self._head = b""
        while data:
            if self._passing is None:
                if len(data) < STAMP_CAP and b" " not in data and b"\n" not in data:
                    self._head = data
                    break
                data = self._begin(data, taken)
            line, newline, data = data.partition(b"\n")
            if self._passing:
                taken.append(self._take(line, ended=bool(newline)))
            if newline:
                self._passing = None
        return b"".join(taken)

    def _begin(self, data: bytes, taken: list[bytes]) -> bytes:
        """Read the stamp of a line, and decide whether it is taken; the rest of the data."""
        match = STAMP.match(data)
        if match is None:  # a runtime that stamps nothing: it is taken as it comes
            self._passing, self._counts, self._stamp = True, False, b""
            return data
        stamp = match[0][:-1]
        newer = not self._last or _order(stamp) > _order(self._last)
        if self._catching_up and not newer and stamp[:SECOND] < self._last[:SECOND]:
            self._passing = False  # more came again than was asked for
        elif self._catching_up and not newer and self._behind:
            self._behind -= 1
            self._passing = False
        else:
            same = self._catching_up and not newer and self._skip
            lost = self._behind > 0 or (self._open > 0 and not same)
            self.gap = self.gap or (self._catching_up and newer and lost)
            if self._open and not same:  # the rest of that line is not to be had any more
                taken.append(b"\n")
                self._stamps.append(self._stamp)
                self._open = 0
            self._stamp = stamp
            self._catching_up, self._behind = False, 0
            self._skip = self._skip if same else 0
            if newer:
                if stamp[:SECOND] != self._last[:SECOND]:
                    self._whole = 0
                self._last = stamp
            self._passing = True
            self._counts = stamp[:SECOND] >= self._last[:SECOND]
        return data[match.end() :]

    def _take(self, line: bytes, *, ended: bool) -> bytes:
        """What was not taken of a line before, or of a part of one."""
        again = min(self._skip, len(line))
        self._skip = 0 if ended else self._skip - again
        fresh = line[again:]
        self._open = 0 if ended else self._open + len(fresh)
        if ended:
            self._whole += self._counts
            self._stamps.append(self._stamp)
            return fresh + b"\n"
        return fresh


def _order(stamp: bytes) -> bytes:
    """Stamps of one container, all in UTC or all in one zone, compared as text of one width."""
    fraction = re.match(rb"\.(\d*)", stamp[SECOND:])
    return stamp[:SECOND] + (fraction[1] if fraction else b"").ljust(9, b"0")
