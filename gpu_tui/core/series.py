"""A bounded history of one number, with gaps kept as gaps."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import overload

Point = tuple[float, float | None]
# Seconds: a point that is older than the newest by more came after a clock was set back.
SET_BACK = 300.0


class Points(Sequence[Point]):
    """What a series held at one moment: epoch seconds and values, oldest first; None is a gap."""

    __slots__ = ("_begin", "_end", "_times", "_values")

    def __init__(self, times: array[float], values: array[float], begin: int, end: int) -> None:
        self._times, self._values = times, values
        self._begin, self._end = begin, end

    def __len__(self) -> int:
        return self._end - self._begin

    @overload
    def __getitem__(self, place: int) -> Point: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Point]: ...
    def __getitem__(self, place: int | slice) -> Point | Sequence[Point]:
        places = range(self._begin, self._end)[place]
        if isinstance(places, int):
            return _point(self._times[places], self._values[places])
        if places.step != 1:
            return [_point(self._times[one], self._values[one]) for one in places]
        return Points(self._times, self._values, places.start, max(places.start, places.stop))

    def __iter__(self) -> Iterator[Point]:
        times = islice(self._times, self._begin, self._end)
        return map(_point, times, islice(self._values, self._begin, self._end))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Points({list(self)})"

    def since(self, at: float) -> Points:
        """Those from `at` on."""
        begin = bisect_left(self._times, at, self._begin, self._end)
        return Points(self._times, self._values, begin, self._end)

    def until(self, at: float) -> Points:
        """Those up to `at`."""
        end = bisect_right(self._times, at, self._begin, self._end)
        return Points(self._times, self._values, self._begin, end)

    def known(self) -> tuple[Point, Point] | None:
        """The first and the last that is no gap."""
        held = range(self._begin, self._end)
        first = next((place for place in held if not math.isnan(self._values[place])), None)
        if first is None:
            return None
        last = next(place for place in reversed(held) if not math.isnan(self._values[place]))
        return (
            (self._times[first], self._values[first]),
            (self._times[last], self._values[last]),
        )


def _point(at: float, value: float) -> Point:
    return at, None if math.isnan(value) else value


class Series:
    """The last `size` points (epoch seconds, value); a value of None, or one that is no number, is a gap.

    Sixteen bytes a point. What is handed out as `points` shares them: here they are only added to, and
    begun anew elsewhere once enough of them are too old.
    """

    __slots__ = ("_begin", "_times", "_values", "size")

    def __init__(self, size: int = 3600) -> None:
        self.size = size
        self._times, self._values = array("d"), array("d")
        self._begin = 0

    def add(self, at: float, value: float | None) -> None:
        """Append a point; one that is a little older than the newest is dropped. Where the clock was set
        back, those from then on go: they lie in what is now to come, and would count as the newest for as long.
        """
        if len(self) and at < self._times[-1]:
            if at > self._times[-1] - SET_BACK:
                return
            end = bisect_left(self._times, at, self._begin)
            self._times, self._values = (
                self._times[self._begin : end],
                self._values[self._begin : end],
            )
            self._begin = 0
        self._times.append(at)
        self._values.append(math.nan if value is None else value)
        self._begin = max(self._begin, len(self._times) - self.size)
        if self._begin > self.size // 4:
            self._times, self._values = self._times[self._begin :], self._values[self._begin :]
            self._begin = 0

    def begin_with(self, older: Sequence[Point], gap: float) -> float | None:
        """Put points that somebody else recorded, oldest first, before our own; a gap of more than `gap`
        seconds between two of them stays one, and so does the step to ours. The last time that was
        taken, or None where all of them are as young as ours.
        """
        own = self.points
        first = own[0][0] if own else None
        known = [point for point in older if first is None or point[0] < first]
        if not known:
            return None
        self._times, self._values, self._begin = array("d"), array("d"), 0
        before = known[0][0]
        for at, value in known:
            if at - before > gap:
                self.add(before, None)
            self.add(at, value)
            before = at
        self.add(before, None)
        for at, value in own:
            self.add(at, value)
        return before

    @property
    def points(self) -> Points:
        """All of them, as they are now."""
        return Points(self._times, self._values, self._begin, len(self._times))

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self._times) - self._begin

    def rate(self, share: float = 1.0, until: float = 0.0) -> float | None:
        """Value per second from the first to the last known point, or None below two points.

        With a `share`, of the newest part of the time alone, `until` the newest part of it which is left out.
        """
        ends = self.points.known()
        if ends is not None and share < 1.0:
            (began, _), (ended, _) = ends
            part = self.points.since(ended - share * (ended - began))
            ends = part.until(ended - until * (ended - began)).known()
        if ends is None:
            return None
        (began, first), (ended, last) = ends
        if ended <= began or first is None or last is None:
            return None
        return (last - first) / (ended - began)
