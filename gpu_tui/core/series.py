"""A bounded history of one number, with gaps kept as gaps."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

Point = tuple[float, float | None]


@dataclass(slots=True)
class Series:
    """The last `size` points (epoch seconds, value); a value of None is a gap."""

    size: int = 3600
    _points: deque[Point] = field(init=False)

    def __post_init__(self) -> None:
        self._points = deque(maxlen=self.size)

    def add(self, at: float, value: float | None) -> None:
        """Append a point; one that is older than the newest is dropped."""
        if not self._points or at >= self._points[-1][0]:
            self._points.append((at, value))

    def begin_with(self, older: Sequence[Point], gap: float) -> float | None:
        """Put points that somebody else recorded, oldest first, before our own; a gap of more than `gap`
        seconds between two of them stays one, and so does the step to ours. The last time that was
        taken, or None where all of them are as young as ours.
        """
        first = self._points[0][0] if self._points else None
        known = [point for point in older if first is None or point[0] < first]
        filled: list[Point] = []
        for at, value in known:
            if filled and at - filled[-1][0] > gap:
                filled.append((filled[-1][0], None))
            filled.append((at, value))
        if not known:
            return None
        own = list(self._points)
        self._points.clear()
        self._points.extend([*filled, (known[-1][0], None), *own])
        return known[-1][0]

    def __iter__(self) -> Iterator[Point]:
        return iter(tuple(self._points))

    def __len__(self) -> int:
        return len(self._points)

    def last(self, count: int) -> tuple[float | None, ...]:
        """The newest `count` values, oldest first."""
        return tuple(value for _, value in list(self._points)[-count:])

    def rate(self, share: float = 1.0) -> float | None:
        """Value per second from the first to the last known point, or None below two points.

        With a `share`, of the newest part of the time alone.
        """
        known = [(at, value) for at, value in self._points if value is not None]
        if share < 1.0 and known:
            begins = known[-1][0] - share * (known[-1][0] - known[0][0])
            known = [(at, value) for at, value in known if at >= begins]
        if len(known) < 2 or known[-1][0] <= known[0][0]:
            return None
        return (known[-1][1] - known[0][1]) / (known[-1][0] - known[0][0])
