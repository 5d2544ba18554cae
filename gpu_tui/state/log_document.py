"""One log as it is scrolled through: what was fetched of its past, then the live tail, as one list of lines.

Every line has a key, an int that rises down the page: the tail's own numbers from 0 on, the past far
below. Two more keys stand for what is not loaded: `OLDER` before everything, `BETWEEN` between the past
and the tail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import overload

from gpu_tui.core.log_range import STRETCH, LogAsk, LogPart
from gpu_tui.core.logs import LogLine
from gpu_tui.state.log_window import LogWindow
from gpu_tui.state.logbuffer import LogBuffer

OLDER, BETWEEN = -(1 << 50), -(1 << 20)


class Joined(Sequence[int]):
    """Sorted parts, one behind the other, without a copy."""

    def __init__(self, *parts: Sequence[int]) -> None:
        self._parts = [part for part in parts if len(part)]
        self._count = sum(map(len, self._parts))

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: object) -> bool:
        return any(key in part for part in self._parts)

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[int]: ...
    def __getitem__(self, at: int | slice) -> int | Sequence[int]:
        if isinstance(at, slice):
            return [self[n] for n in range(*at.indices(self._count))]
        at = at + self._count if at < 0 else at
        for part in self._parts:
            if at < len(part):
                return part[at]
            at -= len(part)
        raise IndexError(at)


@dataclass(slots=True)
class LogDocument:
    """`reach` is whether the box can be asked for older lines; `said` is what came of asking, or that
    it is under way; `bookmarks` are keys in order.
    """

    tail: LogBuffer
    past: LogWindow | None = None
    reach: bool = True
    said: str = ""
    version: int = 0
    bookmarks: list[int] = field(default_factory=list)

    @property
    def state(self) -> tuple[object, ...]:
        """Another value where anything is to be drawn anew."""
        return (id(self.tail), self.tail.version, self.version)

    # --- what there is ------------------------------------------------------------------------

    @property
    def start(self) -> int | None:
        """The byte where the first line begins; None where that is not known."""
        return self.past.start if self.past is not None else self.tail.start

    @property
    def gap(self) -> int | None:
        """Bytes between the past and the tail; None where there is no past or these are two files."""
        past, start = self.past, self.tail.start
        if past is None or start is None or past.file != self.tail.start_file:
            return None
        return start - past.end

    @property
    def origin(self) -> int | None:
        """What to add to a key of the tail for its number in the file; None where nobody has counted."""
        if self.tail.from_start:
            return 0
        last = (
            self.past.number(self.past.keys[-1]) if self.past is not None and not self.gap else None
        )
        return None if last is None or self.gap is None else last + 1 - self.tail.first

    @property
    def numbers(self) -> Sequence[int]:
        """All keys, in order."""
        tail = range(self.tail.first, self.tail.end)
        older = [OLDER] if self.start else []
        if self.past is None:
            return Joined(older, tail) if older else tail
        between = [] if self.gap == 0 else [BETWEEN]
        return Joined(older, self.past.keys, between, tail)

    def line(self, key: int) -> LogLine | None:
        """The line; None where the key stands for what is not loaded."""
        if key in (OLDER, BETWEEN):
            return None
        if key < 0 and self.past is not None:
            return self.past.line(key)
        return self.tail[key]

    def number(self, key: int) -> int | None:
        """Which line of the file it is, from 0; None where nobody has counted."""
        if key in (OLDER, BETWEEN):
            return None
        if key < 0 and self.past is not None:
            return self.past.number(key)
        return None if self.origin is None else key + self.origin

    def byte(self, key: int) -> int | None:
        """The byte of its file near which it begins."""
        if key in (OLDER, BETWEEN):
            return None
        if key < 0 and self.past is not None:
            return self.past.byte(key)
        return self.tail.byte_of(key)

    def file(self, key: int) -> int:
        """The inode of the file that a line stands in, as far as is known."""
        return self.past.file if key < 0 and self.past is not None else self.tail.file

    def pick(self, start: int, stop: int, keeps: Callable[[str], bool], word: bytes) -> list[int]:
        """The keys within [start, stop) whose texts `keeps`."""
        past = self.past.pick(start, stop, keeps, word) if self.past and start < 0 else []
        return past + (self.tail.pick(max(0, start), stop, keeps, word) if stop > 0 else [])

    def next_alarm(self, here: int, step: int) -> int | None:
        """The nearest alarm behind `here` (step 1) or before it (-1)."""
        past, tail = self.past, self.tail
        if step > 0:
            found = past.next_alarm(here, 1) if past is not None and here < 0 else None
            return tail.next_alarm(max(-1, here), 1) if found is None else found
        found = tail.next_alarm(here, -1) if here > 0 else None
        return past.next_alarm(here, -1) if found is None and past is not None else found

    def unread(self, here: int, there: int | None, step: int) -> int:
        """How many bytes are not loaded between two lines; where `there` is None, between one and that end."""
        end = there if there is not None else OLDER if step < 0 else self.tail.end
        crossed = self.past is not None and (here < 0) is not (end < 0)
        older = (self.start or 0) if there is None and step < 0 else 0
        return older + (max(0, self.gap or 0) if crossed else 0)

    def mark(self, keys: Iterable[int]) -> None:
        """These lines have a bookmark, and no others."""
        self.bookmarks = sorted(keys)
        self.version += 1

    # --- what to ask for, and what came ---------------------------------------------------------

    def older(self) -> LogAsk | None:
        """What stands right before the first line."""
        start = self.start
        if not start:
            return None
        if self.past is not None:
            return LogAsk(
                max(0, start - STRETCH), start, file=self.past.file, anchor=self.past.anchor
            )
        return LogAsk(max(0, start - STRETCH), start, file=self.tail.start_file)

    def newer(self) -> LogAsk | None:
        """What stands right behind the past."""
        gap, past = self.gap, self.past
        if past is None or not gap or gap < 0:
            return None
        return LogAsk(past.end, past.end + min(gap, STRETCH), file=past.file, anchor=past.anchor)

    def first(self) -> LogAsk | None:
        """The beginning of the file; None where it is loaded."""
        start = self.start
        if not start:
            return None
        return LogAsk(0, min(start, STRETCH), file=self._file)

    def around(self, byte: int) -> LogAsk:
        """What stands around a byte that is not loaded."""
        start = max(0, byte - STRETCH // 2)
        stop = start + STRETCH
        if self.tail.start is not None and byte < self.tail.start:
            stop = min(stop, self.tail.start)
        return LogAsk(start, stop, file=self._file)

    def around_line(self, number: int) -> LogAsk:
        """What stands around a line whose byte nobody knows."""
        return LogAsk(-STRETCH // 2, STRETCH // 2, line=number, file=self._file)

    @property
    def _file(self) -> int:
        return self.past.file if self.past is not None else self.tail.start_file

    def take(self, part: LogPart) -> None:
        """Add what was read, or begin a new window with it."""
        self.said = ""
        self.version += 1
        stop = self.tail.start
        if stop is not None and part.file == self.tail.start_file and part.start >= stop:
            return  # the tail has these lines
        if self.past is None or not self.past.take(part):
            self.past = LogWindow(part) if part.lines else None

    def near(self, byte: int) -> int | None:
        """The key of a loaded line near `byte` of the newest file."""
        start = self.tail.start
        if self.past is not None and (found := self.past.near(byte)) is not None:
            return found
        return self.tail.near(byte) if start is not None and byte >= start else None
