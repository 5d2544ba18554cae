"""An older part of one file, as far as somebody scrolled: stretches that follow one on another.

Its lines have keys far below zero, so that they stand before those of the live tail whatever either of
them grows by.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from gpu_tui.core.log_block import LogBlock
from gpu_tui.core.log_range import Anchor, LogPart
from gpu_tui.core.logs import LogLine
from gpu_tui.state.log_chunk import LogChunk

BASE = -(1 << 40)
BUDGET = 33_554_432  # bytes of one window: what is scrolled out of it is read again


@dataclass(slots=True)
class _Stretch:
    chunk: LogChunk
    start: int
    end: int
    line: int | None
    first: int  # key of its first line
    anchor: Anchor | None


class LogWindow:
    """Lines of [start, end) of file `file`; `size` is how long it was. Never empty of stretches."""

    def __init__(self, part: LogPart, budget: int = BUDGET) -> None:
        self.file = part.file
        self.size = part.size
        self._budget = budget
        self._stretches = [_stretch(part, BASE)]
        self._firsts = [BASE]

    @property
    def start(self) -> int:
        """The byte where the first line begins."""
        return self._stretches[0].start

    @property
    def end(self) -> int:
        """The byte behind the last line."""
        return self._stretches[-1].end

    @property
    def keys(self) -> range:
        """The keys of the lines."""
        last = self._stretches[-1]
        return range(self._firsts[0], last.first + len(last.chunk))

    @property
    def anchor(self) -> Anchor | None:
        """What tells this file from another one."""
        return self._stretches[0].anchor

    def take(self, part: LogPart) -> bool:
        """Add what stands right before or right behind; False where this does not fit."""
        if part.file != self.file:
            return False
        self.size = part.size
        if part.end == self.start and part.lines:
            old = self._stretches[0]
            stretch = _stretch(part, old.first - len(part.lines))
            self._stretches.insert(0, stretch)
            self._firsts.insert(0, stretch.first)
            self._count()
            while self._held() > self._budget and len(self._stretches) > 1:
                self._stretches.pop()
                self._firsts.pop()
            return True
        if part.start == self.end and part.lines:
            old = self._stretches[-1]
            stretch = _stretch(part, old.first + len(old.chunk))
            self._stretches.append(stretch)
            self._firsts.append(stretch.first)
            self._count()
            while self._held() > self._budget and len(self._stretches) > 1:
                del self._stretches[0], self._firsts[0]
            return True
        return False

    def _count(self) -> None:
        """Where one stretch knows its lines' numbers, all do."""
        for one in self._stretches:
            if one.line is not None:
                for other in self._stretches:
                    other.line = one.line + other.first - one.first
                return

    def _held(self) -> int:
        return sum(stretch.chunk.cost for stretch in self._stretches)

    def _at(self, key: int) -> tuple[_Stretch, int]:
        if key not in self.keys:
            raise IndexError(key)
        stretch = self._stretches[bisect_right(self._firsts, key) - 1]
        return stretch, key - stretch.first

    def line(self, key: int) -> LogLine:
        """One line, read now where it was not yet."""
        from gpu_tui.parse.log_reader import read_line  # not before the first frame

        stretch, place = self._at(key)
        return stretch.chunk.line(place, read_line)

    def text(self, key: int) -> str:
        """The text of one line."""
        from gpu_tui.parse.log_reader import show_line  # not before the first frame

        stretch, place = self._at(key)
        return stretch.chunk.text(place, show_line)

    def number(self, key: int) -> int | None:
        """Which line of the file it is, from 0; None where nobody has counted."""
        stretch, place = self._at(key)
        return None if stretch.line is None else stretch.line + place

    def byte(self, key: int) -> int:
        """The byte near which it begins."""
        stretch, place = self._at(key)
        return min(stretch.end, stretch.start + stretch.chunk.offset(place))

    def near(self, byte: int) -> int | None:
        """The key of a line near `byte`; None where that is outside."""
        for stretch in self._stretches:
            if stretch.start <= byte < stretch.end:
                return stretch.first + stretch.chunk.place(byte - stretch.start)
        return None

    def key_of(self, number: int) -> int | None:
        """The key of line `number` of the file; None where that is outside or not known."""
        for stretch in self._stretches:
            if stretch.line is not None and 0 <= number - stretch.line < len(stretch.chunk):
                return stretch.first + number - stretch.line
        return None

    def next_alarm(self, here: int, step: int) -> int | None:
        """The nearest alarm behind `here` (step 1) or before it (-1)."""
        for stretch in self._stretches[::step]:
            alarms = stretch.chunk.alarms
            at = (
                bisect_right(alarms, here - stretch.first)
                if step > 0
                else bisect_left(alarms, here - stretch.first) - 1
            )
            if 0 <= at < len(alarms):
                return stretch.first + alarms[at]
        return None

    def pick(self, start: int, stop: int, keeps: Callable[[str], bool], word: bytes) -> list[int]:
        """The keys within [start, stop) whose texts `keeps`; see LogBuffer.pick."""
        kept: list[int] = []
        for stretch in self._stretches:
            low, high = (
                max(start, stretch.first),
                min(stop, stretch.first + len(stretch.chunk)),
            )
            if low < high and not (word and stretch.chunk.lacks(word)):
                kept += [key for key in range(low, high) if keeps(self.text(key))]
        return kept


def _stretch(part: LogPart, first: int) -> _Stretch:
    chunk = LogChunk(part.start)
    if isinstance(part.lines, LogBlock):
        chunk.add(part.lines.items, part.lines.told)
    else:
        chunk.add(part.lines, enumerate(part.lines))
    chunk.seal()
    return _Stretch(chunk, part.start, part.end, part.line, first, part.anchor)
