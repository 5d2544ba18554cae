"""The last lines of one log, bounded, numbered from the first line ever seen.

Lines lie in chunks (see log_chunk). What a fleet's logs may take together is a `LogPool`: where it is
full, the longest log gives up its oldest chunk, which the box still has.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from gpu_tui.core.log_block import Item, LogBlock
from gpu_tui.core.logs import LogLine
from gpu_tui.state.log_chunk import LogChunk

CHUNK = 65_536  # bytes of lines, about
BUDGET = 134_217_728  # bytes of one log
POOL = 268_435_456  # bytes of all logs of a fleet


class LogPool:
    """At most `budget` bytes for all buffers that were made with it."""

    def __init__(self, budget: int = POOL) -> None:
        self.budget = budget
        self.held = 0
        self._buffers: list[LogBuffer] = []

    @property
    def share(self) -> int:
        """Bytes that one log may take."""
        return self.budget // 2

    def join(self, buffer: LogBuffer) -> None:
        """One more log."""
        self._buffers.append(buffer)

    def leave(self, buffer: LogBuffer) -> None:
        """Nobody keeps this log any more."""
        if buffer in self._buffers:
            self._buffers.remove(buffer)
            self.held -= buffer.held

    def grew(self, by: int) -> None:
        """A buffer takes more, or less."""
        self.held += by
        while by > 0 and self.held > self.budget:
            longest = max(self._buffers, key=lambda buffer: buffer.held)
            if not longest.drop_oldest():
                return


class LogBuffer:
    """Keeps about `budget` bytes, and at most `size` lines where that is given.

    `first` and `end` are line numbers; `version` rises on every change. What is no longer kept is
    not forgotten: `first` says how many lines that is. `file` is the inode of the newest lines.
    """

    def __init__(
        self, size: int | None = None, budget: int = BUDGET, pool: LogPool | None = None
    ) -> None:
        self._chunks: list[LogChunk] = []
        self._firsts: list[int] = []  # number of the first line of each chunk
        self._files: list[int] = []  # inode of each chunk
        self._last: LogChunk | None = None  # the chunk that still grows
        self._open: LogLine | None = None  # the last line, unfinished
        self._size = size
        self._budget = budget
        self._chunk = max(1, min(CHUNK, budget // 16))
        self._pool = pool
        self._same_from = 0  # the first chunk of the newest file
        self._whole = 0  # number of the line after the last finished one
        self._dropped = 0  # number of the oldest line that is shown
        self._next: int | None = None  # byte where the line after the last finished one begins
        self.file = 0
        self.from_start = True  # line 0 is the first line of its file, as far as is known
        self.held = 0
        self.version = 0
        if pool is not None:
            pool.join(self)

    @property
    def first(self) -> int:
        """Number of the oldest line still kept."""
        return self._dropped

    @property
    def end(self) -> int:
        """Number of the line after the last one."""
        return self._whole + (self._open is not None)

    @property
    def open(self) -> bool:
        """The last line is unfinished: what comes next replaces it."""
        return self._open is not None

    @property
    def start(self) -> int | None:
        """The byte of its file where line `first` begins; None where that is not known."""
        if not self._chunks:
            return self._next
        return self._chunks[0].start if self._firsts[0] == self._dropped else None

    @property
    def start_file(self) -> int:
        """The inode of the file that line `first` stands in."""
        return self._files[0] if self._files else self.file

    @property
    def upto(self) -> int | None:
        """The byte behind the last finished line; None where that is not known."""
        return self._next

    def leave(self) -> None:
        """Nobody keeps this log any more."""
        if self._pool is not None:
            self._pool.leave(self)
            self._pool = None

    def opened(self, file: int, offset: int, *, resumed: bool) -> None:
        """What comes now is read from byte `offset` of this file."""
        if resumed and file == self.file:
            return
        if self._open is not None:
            self._append([line := replace(self._open, open=False)], [(0, line)])
        self._seal()
        if not self._whole:
            self.from_start = offset == 0
        self.file, self._next = file, offset
        self._same_from = len(self._chunks)

    def extend(self, lines: Iterable[LogLine], upto: int | None = None) -> None:
        """Append lines; a line after an open one replaces it. `upto` is the byte where an open last
        line begins, or the next one will.
        """
        if isinstance(lines, LogBlock):
            self._append(lines.items, lines.told)
        else:
            kept = _unreplaced(list(lines))
            self._append(kept, list(enumerate(kept)))
        self._next = upto
        self._trim()
        self.version += 1

    def judge(self, number: int, line: LogLine) -> None:
        """Line `number` came unread, as all that came with it, and was read meanwhile."""
        if self._dropped <= number < self._whole:
            chunk, place = self._at(number)
            chunk.judge(place, line)

    def _append(self, items: Sequence[Item], told: Sequence[tuple[int, LogLine]]) -> None:
        if not items:
            return
        last, self._open = items[-1], None
        if isinstance(last, LogLine) and last.open:
            self._open = last
            items, told = items[:-1], told[:-1]
        if not items:
            return
        if self._last is None:
            self._last = LogChunk(self._next)
            self._chunks.append(self._last)
            self._firsts.append(self._whole)
            self._files.append(self.file)
        before = self._last.cost
        self._last.add(items, told)
        self._whole += len(items)
        self._grow(self._last.cost - before)
        if self._last.cost >= self._chunk:
            self._seal()

    def _seal(self) -> None:
        if self._last is not None:
            self._last.seal()
            self._last = None

    def _grow(self, by: int) -> None:
        self.held += by
        if self._pool is not None:
            self._pool.grew(by)

    def _trim(self) -> None:
        if self._size is not None:
            self._dropped = max(self._dropped, self.end - self._size)
            while len(self._firsts) > 1 and self._firsts[1] <= self._dropped:
                self.drop_oldest()
        while self.held > self._budget and self.drop_oldest():
            pass

    def drop_oldest(self) -> bool:
        """Give up the oldest chunk; False where there is only the newest."""
        if len(self._chunks) < 2:
            return False
        gone = self._chunks.pop(0)
        del self._firsts[0], self._files[0]
        self._same_from = max(0, self._same_from - 1)
        self._dropped = max(self._dropped, self._firsts[0])
        self._grow(-gone.cost)
        self.version += 1
        return True

    def __getitem__(self, number: int) -> LogLine:
        """Line `number`; IndexError if it was never there or is no longer kept."""
        if self._open is not None and number == self._whole:
            return self._open
        from gpu_tui.parse.log_reader import read_line  # not before the first frame

        chunk, place = self._at(number)
        return chunk.line(place, read_line)

    def text(self, number: int) -> str:
        """The text of line `number`, for who needs no more: nothing is judged."""
        if self._open is not None and number == self._whole:
            return self._open.text
        from gpu_tui.parse.log_reader import show_line  # not before the first frame

        chunk, place = self._at(number)
        return chunk.text(place, show_line)

    def _at(self, number: int) -> tuple[LogChunk, int]:
        if not self._dropped <= number < self._whole:
            raise IndexError(number)
        at = bisect_right(self._firsts, number) - 1
        return self._chunks[at], number - self._firsts[at]

    def alarms(self, number: int) -> bool:
        """Line `number` is an alarm. A line that was never read is none."""
        return self.next_alarm(number - 1, 1) == number

    def next_alarm(self, here: int, step: int) -> int | None:
        """The nearest alarm behind line `here` (step 1) or before it (-1). A line never read is none."""
        if step > 0:
            for at in range(max(0, bisect_right(self._firsts, here) - 1), len(self._chunks)):
                alarms, first = self._chunks[at].alarms, self._firsts[at]
                found = bisect_right(alarms, here - first)
                while found < len(alarms):
                    if first + alarms[found] >= self._dropped:
                        return first + alarms[found]
                    found += 1
            last = self._open
            alarmed = last is not None and last.mark.alarm and here < self._whole
            return self._whole if alarmed else None
        if self._open is not None and self._open.mark.alarm and here > self._whole:
            return self._whole
        for at in range(min(bisect_left(self._firsts, here), len(self._chunks)) - 1, -1, -1):
            alarms, first = self._chunks[at].alarms, self._firsts[at]
            found = bisect_left(alarms, here - first)
            if found and first + alarms[found - 1] >= self._dropped:
                return first + alarms[found - 1]
        return None

    def pick(self, start: int, stop: int, keeps: Callable[[str], bool], word: bytes) -> list[int]:
        """The numbers within [start, stop) whose texts `keeps`. `word`, in small ASCII letters, stands
        in every such line: what surely lacks it is not read.
        """
        from gpu_tui.parse.log_reader import show_line  # not before the first frame

        kept: list[int] = []
        number, stop = max(start, self._dropped), min(stop, self.end)
        while number < min(stop, self._whole):
            chunk, place = self._at(number)
            until = min(stop, number - place + len(chunk))
            if not (word and chunk.lacks(word)):
                base = number - place
                kept += [
                    base + at
                    for at in range(place, until - base)
                    if keeps(chunk.text(at, show_line))
                ]
            number = until
        if self._open is not None and start <= self._whole < stop and keeps(self._open.text):
            kept.append(self._whole)
        return kept

    def byte_of(self, number: int) -> int | None:
        """The byte of the file near which line `number` begins; None where that is not known."""
        if self._open is not None and number == self._whole:
            return self._next
        chunk, place = self._at(number)
        return None if chunk.start is None else chunk.start + chunk.offset(place)

    def near(self, byte: int) -> int | None:
        """A line near `byte` of the newest file; None where that byte is not kept."""
        if self._open is not None and byte == self._next:
            return self._whole
        low, chunks = self._same_from, self._chunks
        at = bisect_right(chunks, byte, lo=low, key=lambda chunk: chunk.start or 0) - 1
        if at < low or (self._next is not None and byte >= self._next):
            return None
        start = chunks[at].start
        return None if start is None else self._firsts[at] + chunks[at].place(byte - start)

    def slice(self, start: int, stop: int) -> list[LogLine]:
        """The kept lines of [start, stop)."""
        return [self[number] for number in range(max(start, self.first), min(stop, self.end))]

    def __len__(self) -> int:
        return self.end - self._dropped


def _unreplaced(lines: list[LogLine]) -> list[LogLine]:
    """Without open lines that the next one replaces."""
    last = len(lines) - 1
    return [line for n, line in enumerate(lines) if n == last or not line.open]
