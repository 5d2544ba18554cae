"""Some lines of a log in one piece of memory: their bytes, where each one ends, what each one is.

A line costs its bytes and five more. One that came unread is kept as it came and read when somebody
looks at it; of one that was read the text and the mark are kept, for its progress and its queue event
were taken when it came. Only lines with colours of their own are kept as they are.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any

from gpu_tui.core.findings import Severity
from gpu_tui.core.log_block import Item
from gpu_tui.core.logs import LogLine, Mark

LINE_COST, SPAN_COST = 250, 150  # bytes of a line that is kept as it is, and of each colour
INDEX_COST = 5
SHRUNK_COST = 12  # bytes of a line that takes more, or less, in its file than here
UNREAD, WHOLE = 0, 1  # codes: a line that was not read, one that is kept as it is

_MARKS: list[Mark] = [Mark("", Severity.NONE, False)] * 2
_CODES: dict[Mark, int] = {}


def _code(line: LogLine) -> int:
    """The number of its mark; there are some sixty marks in all."""
    if line.spans:
        return WHOLE
    code = _CODES.get(line.mark)
    if code is None:
        if len(_MARKS) > 255:
            return WHOLE
        code = _CODES[line.mark] = len(_MARKS)
        _MARKS.append(line.mark)
    return code


class LogChunk:
    """Lines 0, 1, ... of this chunk. `start` is the byte of the file where the first one begins.

    Only whole lines; `cost` is about the bytes of memory that it takes. `alarms` are the places of
    lines that alarm, in order; one that was never read is none.
    """

    __slots__ = (
        "_codes", "_data", "_ends", "_shrunk", "_shrunk_by", "_whole", "alarms", "cost", "start",
    )  # fmt: skip

    def __init__(self, start: int | None = None) -> None:
        self._data: bytes | bytearray = bytearray()
        self._ends = array("I")
        self._codes = bytearray()
        self._whole: dict[int, LogLine] = {}
        self._shrunk = array("I")  # lines that keep another count of bytes than their file has
        self._shrunk_by = array("q")  # by how many bytes, with all such lines before
        self.alarms = array("I")
        self.start = start
        self.cost = 0

    def __len__(self) -> int:
        return len(self._ends)

    def add(self, items: Sequence[Item], told: Iterable[tuple[int, LogLine]]) -> None:
        """Append lines; `told` are those of them that were read, with their places."""
        assert isinstance(self._data, bytearray)
        if len(items) == 1 and isinstance(raw := items[0], bytes):  # as most come
            self._data += raw
            self._ends.append(len(self._data))
            self._codes.append(UNREAD)
            self.cost += len(raw) + INDEX_COST
            return
        first, before = len(self._ends), len(self._data)
        codes = bytearray(len(items))
        parts: list[Any] = list(items)
        cost = 0
        for place, line in told:
            parts[place] = kept = line.text.encode("utf-8", "surrogatepass")
            if line.size is not None and line.size != len(kept):
                by = self._shrunk_by[-1] if self._shrunk_by else 0
                self._shrunk.append(first + place)
                self._shrunk_by.append(by + line.size - len(kept))
                cost += SHRUNK_COST
            codes[place] = code = _code(line)
            if code == WHOLE:
                self._whole[first + place] = _bare(line)
                cost += LINE_COST + len(line.text) + SPAN_COST * len(line.spans)
            if line.mark.alarm:
                self.alarms.append(first + place)
        self._data += b"".join(parts)
        self._codes += codes
        self._ends.extend(accumulate(map(len, parts), initial=before))
        del self._ends[first]
        self.cost += cost + len(self._data) - before + INDEX_COST * len(items)

    def judge(self, place: int, line: LogLine) -> None:
        """A line that came unread was read meanwhile."""
        if not line.spans and self.raw(place) == line.text.encode("utf-8", "surrogatepass"):
            code = _code(line)
            if code != WHOLE:
                self._codes[place] = code
        if line.mark.alarm:
            self.alarms.append(place)

    def seal(self) -> None:
        """Nothing is added any more: give back the room that was kept for it."""
        self._data = bytes(self._data)
        self._ends = array("I", self._ends)
        self._codes = bytearray(self._codes)

    def raw(self, place: int) -> bytes:
        """One line as it is kept."""
        begin = self._ends[place - 1] if place else 0
        return bytes(self._data[begin : self._ends[place]])

    def line(self, place: int, read: Callable[[bytes], LogLine]) -> LogLine:
        """One line, read now where it was not yet."""
        code = self._codes[place]
        if code == WHOLE:
            return self._whole[place]
        raw = self.raw(place)
        if code == UNREAD:
            return _bare(read(raw))
        return LogLine(raw.decode("utf-8", "surrogatepass"), _MARKS[code])

    def text(self, place: int, show: Callable[[bytes], str]) -> str:
        """The text of one line, for who needs no more."""
        raw = self.raw(place)
        if self._codes[place] == UNREAD:
            return show(raw)
        return raw.decode("utf-8", "surrogatepass")

    def offset(self, place: int) -> int:
        """About how many bytes of the file stand before this line: all that a progress bar overwrote
        counts, a carriage return before a newline may not.
        """
        before = bisect_left(self._shrunk, place)
        shrunk = self._shrunk_by[before - 1] if before else 0
        return (self._ends[place - 1] if place else 0) + place + shrunk

    def place(self, offset: int) -> int:
        """The line that stands about `offset` bytes behind the beginning."""
        places = range(len(self._ends))
        return max(0, bisect_right(places, offset, key=self.offset) - 1)

    def lacks(self, word: bytes) -> bool:
        """Surely no line has this word, given in small ASCII letters. False where it takes reading."""
        data = self._data
        return data.isascii() and b"\x1b" not in data and word not in data.lower()


def _bare(line: LogLine) -> LogLine:
    """What is drawn of a line."""
    if line.progress is None and line.queue is None and line.plan is None:
        return line
    return LogLine(line.text, line.mark, spans=line.spans, open=line.open)
