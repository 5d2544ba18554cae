"""A bounded history of a whole run: it grows coarser everywhere alike, and never loses its beginning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

Point = tuple[float, float | None]


@dataclass(slots=True)
class Thinned:
    """At most `size` points (x, value) in the order of x; a value of None is a gap and stays one.

    They are thinned by x: what was reported seldom, as far as it was read afterwards, is not outnumbered by what
    was watched report by report.
    """

    size: int = 600
    _points: list[Point] = field(default_factory=list)
    _first: float = 0.0
    _apart: float = 0.0  # along x: of those that lie in one such stretch one is kept

    def add(self, x: float, value: float | None) -> None:
        """Append a point; one that lies behind the newest is dropped."""
        if not self._points:
            self._first = x
        if self._points and x < self._points[-1][0]:
            return
        self._put(x, value)
        if len(self._points) > self.size:
            self._thin()

    def _put(self, x: float, value: float | None) -> None:
        last = self._points[-1] if self._points else None
        if last is None or not self._apart or self._stretch(x) != self._stretch(last[0]):
            self._points.append((x, value))
        elif last[1] is not None:
            self._points[-1] = (x, value)

    def _stretch(self, x: float) -> int:
        return int((x - self._first) / self._apart)

    def _thin(self) -> None:
        points, self._points = self._points, []
        span = points[-1][0] - self._first
        if not span > 0:  # all at one place: the last one, and a gap before it
            gone = any(value is None for _, value in points[:-1])
            self._points = [(self._first, None)] * gone + points[-1:]
            return
        self._apart = max(2 * self._apart, 2 * span / self.size)
        for x, value in points:
            self._put(x, value)

    def __iter__(self) -> Iterator[Point]:
        return iter(tuple(self._points))

    def __len__(self) -> int:
        return len(self._points)


def even(points: Sequence[Point], width: int) -> list[float | None]:
    """The whole history in `width` values, each the last one of a stretch of x; a gap stays one.

    In a stretch without a point stands what was reported last.
    """
    span = points[-1][0] - points[0][0] if points else 0.0
    if not span > 0:
        return [value for _, value in points[-width:]]
    first = points[0][0]
    values: list[float | None] = [None] * width
    reached, said = 0, points[0][1]
    for x, value in points:
        place = min(width - 1, int((x - first) / span * width))
        for skipped in range(reached + 1, place):
            values[skipped] = said
        values[place] = said = value
        reached = place
    return values
