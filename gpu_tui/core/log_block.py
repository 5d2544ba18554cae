"""Many lines of one feed, most of them still as they came: they are read when somebody looks at them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import overload

from gpu_tui.core.logs import LogLine

Item = bytes | LogLine  # a finished line of one segment as it came, or one that was read


class LogBlock(Sequence[LogLine]):
    """A sequence of lines like any other, and no dearer than its bytes.

    `items` are the lines, `told` those that were read at once, with their places: every line that
    is more than progress or nothing, and what the policy of the reader says of the rest. `read` makes
    a line of an item.
    """

    __slots__ = ("items", "read", "told")

    def __init__(
        self,
        items: list[Item],
        read: Callable[[bytes], LogLine],
        told: Iterable[tuple[int, LogLine]] | None = None,
    ) -> None:
        """`told` is found where it is not given."""
        self.items = items
        if told is None:
            told = [(place, item) for place, item in enumerate(items) if isinstance(item, LogLine)]
        self.told = tuple(told)
        self.read = read

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, place: int) -> LogLine: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[LogLine]: ...
    def __getitem__(self, place: int | slice) -> LogLine | Sequence[LogLine]:
        if isinstance(place, slice):
            return LogBlock(self.items[place], self.read)
        item = self.items[place]
        return self.read(item) if isinstance(item, bytes) else item

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(map(LogLine.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]


def stands_before(byte: int, lines: Sequence[LogLine], place: int, begin: int | None) -> bool:
    """Line `place` of what begins at byte `begin` of its file begins before `byte`; False where nobody knows."""
    at = begin
    rows = lines.items if isinstance(lines, LogBlock) else lines
    for row in islice(rows, place):
        if at is None or at >= byte:
            break
        size = len(row) if isinstance(row, bytes) else row.size
        at = None if size is None else at + size + 1
    return at is not None and at < byte


def telling(lines: Sequence[LogLine]) -> Iterable[tuple[int, LogLine]]:
    """The lines that say more than their text, with their places; all of a few."""
    return lines.told if isinstance(lines, LogBlock) else enumerate(lines)
