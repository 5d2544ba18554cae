"""Decides whether a number grows steadily enough for a forecast; bursts, noise and rotated checkpoints do not. Pure."""

from __future__ import annotations

from itertools import pairwise

from gpu_tui.core.series import Points

WATCHED = 300.0  # seconds of points that a forecast needs
PARTS = 6  # into which the time watched is cut
ELSEWHERE = 0.25  # share of the growth that must lie outside the fastest part
LEAST = 0.001  # share of the capacity by which the number must have grown
OF_THE_REST = 0.05  # or this share of the free rest


def steady_rate(points: Points, used: float, capacity: float) -> float | None:
    """Growth in value per second, if it is likely to go on; otherwise None.

    The number must have grown in more than one part of the time watched, by more than it ever fell, and lately.
    """
    ends = points.known()
    if ends is None:
        return None
    (began, first), (ended, last) = ends
    if first is None or last is None or ended - began < WATCHED:
        return None
    growth = last - first
    if growth < min(LEAST * capacity, OF_THE_REST * max(0.0, capacity - used)) or growth <= 0:
        return None
    edges = [began + (ended - began) * part / PARTS for part in range(PARTS + 1)]
    values = [_value(points, edge, first) for edge in edges]
    steps = [after - before for before, after in pairwise(values)]
    pairs = [one + other for one, other in pairwise(steps)]
    if growth - max(*steps, *pairs) < ELSEWHERE * growth or _deepest_fall(values) > growth:
        return None
    middle = values[PARTS // 2]
    lately = (last - middle) / (ended - edges[PARTS // 2])
    return min(growth / (ended - began), lately) if lately > 0 else None


def _value(points: Points, at: float, first: float) -> float:
    """The last known value at `at`; `first` before the first point."""
    known = points.until(at).known()
    return first if known is None or known[1][1] is None else known[1][1]


def _deepest_fall(values: list[float]) -> float:
    highest, deepest = values[0], 0.0
    for value in values:
        highest = max(highest, value)
        deepest = max(deepest, highest - value)
    return deepest
