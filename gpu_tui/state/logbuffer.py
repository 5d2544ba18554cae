"""The last lines of one log, bounded, numbered from the first line ever seen."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from gpu_tui.core.logs import LogLine

DEFAULT_LINES = 20_000


class LogBuffer:
    """Keeps at most `size` lines. `first` and `end` are line numbers; `version` rises on every change."""

    def __init__(self, size: int = DEFAULT_LINES) -> None:
        self._lines: deque[LogLine] = deque(maxlen=size)
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
                self._lines[-1] = line
            else:
                self._lines.append(line)
                self.end += 1
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
