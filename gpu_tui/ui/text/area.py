"""A history several lines high, drawn with the blocks of a sparkline: cheap enough for every second. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.text import Text

from gpu_tui.core.units import number
from gpu_tui.ui.text.marks import BLOCKS, fit, line

SCALE = 8  # cells of the numbers beside it
EIGHTHS = len(BLOCKS)


def area(values: Sequence[float | None], width: int, height: int, style: str) -> list[Text]:
    """All of `values` over the whole width, from their lowest to their highest, both written at the left.

    Values that share a column are averaged. What is no number (a gap, NaN, Inf) is a dot on the baseline.
    """
    room = width - SCALE - 1
    known = _finite(values)
    if not known or room < 1 or height < 2:
        return []
    low, high = min(known), max(known)
    steps = [_step(value, low, high, height) for value in _columns(values, room)]
    rows: list[Text] = []
    for row in range(height - 1, -1, -1):
        drawn = "".join(_block(step, row) for step in steps)
        word = number(high) if row == height - 1 else number(low) if row == 0 else ""
        rows.append(line(fit(line((word, "faint")), SCALE, right=True), " ", (drawn, style)))
    return rows


def _finite(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None and math.isfinite(value)]


def _columns(values: Sequence[float | None], count: int) -> list[float | None]:
    """`values` over so many columns, each the mean of what falls into it."""
    columns: list[float | None] = []
    for n in range(count):
        start = n * len(values) // count
        known = _finite(values[start : max(start + 1, (n + 1) * len(values) // count)])
        columns.append(math.fsum(value / len(known) for value in known) if known else None)
    return columns


def _step(value: float | None, low: float, high: float, height: int) -> int | None:
    """Eighths of a line above the baseline, at least one; halves of them first, for their span may be too large."""
    if value is None:
        return None
    span = high / 2 - low / 2
    share = (value / 2 - low / 2) / span if span else 0.5
    return 1 + int(share * (height * EIGHTHS - 1) + 0.5)


def _block(step: int | None, row: int) -> str:
    if step is None:
        return "·" if row == 0 else " "
    filled = min(EIGHTHS, step - row * EIGHTHS)
    return BLOCKS[filled - 1] if filled > 0 else " "
