"""The last lines of one log, bounded, numbered from the first line ever seen.

Lines of a flood are kept as they came and read when somebody looks at them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NoReturn

from gpu_tui.core.log_block import Item, LogBlock
from gpu_tui.core.logs import LogLine

DEFAULT_LINES = 20_000
BUDGET = 16_000_000  # bytes of one log, roughly: long lines and many colours count for more
LINE_COST, SPAN_COST, RAW_COST = 250, 150, 50


class LogBuffer:
    """Keeps at most `size` lines and about `budget` bytes.

    `first` and `end` are line numbers; `version` rises on every change. What is no longer kept is
    not forgotten: `first` says how many lines that is.
    """

    def __init__(self, size: int = DEFAULT_LINES, budget: int = BUDGET) -> None:
        self._lines: deque[Item] = deque()
        self._block = LogBlock([], _unread, _unread)  # knows how to read what was not read yet
        self._size = size
        self._budget = budget
        self._held = 0
        self.end = 0
        self.version = 0

    @property
    def first(self) -> int:
        """Number of the oldest line still kept."""
        return self.end - len(self._lines)

    @property
    def open(self) -> bool:
        """The last line is unfinished: what comes next replaces it."""
        last = self._lines[-1] if self._lines else None
        return isinstance(last, LogLine) and last.open

    def extend(self, lines: Iterable[LogLine]) -> None:
        """Append lines; a line after an open one replaces it."""
        if isinstance(lines, LogBlock):
            self._block = LogBlock([], lines.read, lines.show)
            self._append(lines.items)  # only the last line of a block may be open
        else:
            for line in lines:
                self._append([line])
        self._trim()
        self.version += 1

    def _append(self, items: Sequence[Item]) -> None:
        if items and self.open:
            self._held -= _cost(self._lines.pop())
            self.end -= 1
        self.end += len(items)
        kept = items[-self._size :] if len(items) > self._size else items
        if kept is not items:
            self._lines.clear()
            self._held = 0
        self._lines.extend(kept)
        self._held += sum(
            [RAW_COST + len(item) if isinstance(item, bytes) else _cost(item) for item in kept]
        )

    def _trim(self) -> None:
        lines, held = self._lines, self._held
        surplus = len(lines) - self._size
        while surplus > 0 or (held > self._budget and len(lines) > 1):
            item = lines.popleft()
            held -= RAW_COST + len(item) if isinstance(item, bytes) else _cost(item)
            surplus -= 1
        self._held = held

    def __getitem__(self, number: int) -> LogLine:
        """Line `number`; IndexError if it was never there or is no longer kept."""
        item = self._item(number)
        return self._block.read(item) if isinstance(item, bytes) else item

    def text(self, number: int) -> str:
        """The text of line `number`, for who needs no more: nothing is judged."""
        item = self._item(number)
        return self._block.show(item) if isinstance(item, bytes) else item.text

    def alarms(self, number: int) -> bool:
        """Line `number` is an alarm. A line that was never read is none."""
        item = self._item(number)
        return isinstance(item, LogLine) and item.mark.alarm

    def _item(self, number: int) -> Item:
        if not self.first <= number < self.end:
            raise IndexError(number)
        return self._lines[number - self.first]

    def slice(self, start: int, stop: int) -> list[LogLine]:
        """The kept lines of [start, stop)."""
        return [self[number] for number in range(max(start, self.first), min(stop, self.end))]

    def __len__(self) -> int:
        return len(self._lines)


def _unread(raw: bytes) -> NoReturn:
    raise AssertionError("an unread line without the block that it came in")


def _cost(item: Item) -> int:
    """About how many bytes a kept line takes."""
    if isinstance(item, bytes):
        return RAW_COST + len(item)
    return LINE_COST + len(item.text) + SPAN_COST * len(item.spans)
