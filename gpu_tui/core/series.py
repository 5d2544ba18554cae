"""A bounded history of one number, with gaps kept as gaps."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class Series:
    """The last `size` points (epoch seconds, value); a value of None is a gap."""

    size: int = 3600
    _points: deque[tuple[float, float | None]] = field(init=False)

    def __post_init__(self) -> None:
        self._points = deque(maxlen=self.size)

    def add(self, at: float, value: float | None) -> None:
        """Append a point; one that is older than the newest is dropped."""
        if not self._points or at >= self._points[-1][0]:
            self._points.append((at, value))

    def __iter__(self) -> Iterator[tuple[float, float | None]]:
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
