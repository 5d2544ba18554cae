"""A bounded history of a whole run: it grows coarser, and never loses its beginning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

Point = tuple[float, float | None]


@dataclass(slots=True)
class Thinned:
    """At most `size` points (x, value) in the order of x; a value of None is a gap and stays one."""

    size: int = 600
    _points: list[Point] = field(default_factory=list)
    _every: int = 1  # how many points that were added stand behind one that is kept
    _held: int = 0

    def add(self, x: float, value: float | None) -> None:
        """Append a point; one that lies behind the newest is dropped."""
        if self._points and x < self._points[-1][0]:
            return
        self._held += 1
        if self._held >= self._every or value is None:
            self._points.append((x, value))
            self._held = 0
        if len(self._points) > self.size:
            self._halve()

    def _halve(self) -> None:
        pairs = zip(self._points[::2], self._points[1::2], strict=False)
        rest = self._points[-1:] if len(self._points) % 2 else []
        self._points = [first if first[1] is None else second for first, second in pairs] + rest
        self._every *= 2

    def __iter__(self) -> Iterator[Point]:
        return iter(tuple(self._points))

    def __len__(self) -> int:
        return len(self._points)
