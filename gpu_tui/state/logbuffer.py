"""The last lines of one log, bounded, numbered from the first line ever seen."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from gpu_tui.core.logs import LogLine

DEFAULT_LINES = 20_000
BUDGET = 16_000_000  # bytes of one log, roughly: long lines and many colours count for more
LINE_COST, SPAN_COST = 250, 150


class LogBuffer:
    """Keeps at most `size` lines and about `budget` bytes.

    `first` and `end` are line numbers; `version` rises on every change.
    """

    def __init__(self, size: int = DEFAULT_LINES, budget: int = BUDGET) -> None:
        self._lines: deque[LogLine] = deque()
        self._size = size
        self._budget = budget
        self._held = 0
        self.end = 0
        self.version = 0

    @property
    def first(self) -> int:
        """Number of the oldest line still kept."""
        return self.end - len(self._lines)

    def extend(self, lines: Iterable[LogLine]) -> None:
        """Append lines; a line after an open one replaces it."""
        for line in lines:
            if self._lines and self._lines[-1].open:
                self._held -= _cost(self._lines.pop())
            else:
                self.end += 1
            self._lines.append(line)
            self._held += _cost(line)
        while len(self._lines) > self._size or (self._held > self._budget and len(self._lines) > 1):
            self._held -= _cost(self._lines.popleft())
        self.version += 1

    def __getitem__(self, number: int) -> LogLine:
        """Line `number`; IndexError if it was never there or is no longer kept."""
        if not self.first <= number < self.end:
            raise IndexError(number)
        return self._lines[number - self.first]

    def slice(self, start: int, stop: int) -> list[LogLine]:
        """The kept lines of [start, stop)."""
        return [self[number] for number in range(max(start, self.first), min(stop, self.end))]

    def __len__(self) -> int:
        return len(self._lines)


def _cost(line: LogLine) -> int:
    """About how many bytes a kept line takes."""
    return LINE_COST + len(line.text) + SPAN_COST * len(line.spans)
