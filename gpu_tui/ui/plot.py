"""The one place that knows plotext: series in, a chart as text out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from gpu_tui.core import units
from gpu_tui.core.speech import say
from gpu_tui.core.units import count, number

Point = tuple[float, float | None]
SMALLEST = (20, 5)
NOW = "now"
TALL = 14  # rows of a chart whose quarters lie about equally far apart
MOST_DIGITS = 8  # decimals of an axis label
TICKS = 5  # beside the one that says now
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
FIRST_COLOUR = 100  # of plotext's numbered colours: which one is replaced by a meaning afterwards
LOG_FROM = 5.0  # times the lowest value of several curves: from there on the axis is logarithmic
FARTHEST = 1e15  # along the axis: beyond it neighbours cannot be told apart
LARGEST = 1e30  # beyond it plotext overflows; NaN and Inf are no smaller


def render_plot(
    series: Sequence[Point],
    width: int,
    height: int,
    *,
    top: float | None = None,
    unit: Callable[[float], str] = number,
) -> Text:
    """A chart of `series` (epoch seconds, value), the newest point at the right edge.

    Only finite values reach plotext; a gap, NaN or Inf breaks the line. `top` fixes
    the upper limit (and 0 the lower one); `unit` writes a value on the axis. Lines are joined by newlines.
    """
    runs = _runs(series)
    if not runs or width < SMALLEST[0] or height < SMALLEST[1]:
        return Text(_no_chart(empty=not runs), "muted")
    import plotext  # type: ignore[import-untyped]  # heavy: loaded with the first chart

    start, end = runs[0][0][0], series[-1][0]
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.limit_size(False, False)
    plotext.plotsize(width, height)
    low, high = _limits([value for run in runs for _, value in run], top)
    for run in runs:
        thin = _thin(run, width * 2)
        # Plotext walks every dot of a line, also those beyond the frame.
        plotext.plot(
            [min(0.0, max(start - end, at - end)) for at, _ in thin],
            [min(high, max(low, value)) for _, value in thin],
            marker="hd", color=FIRST_COLOUR,
        )  # fmt: skip
    plotext.xlim(min(start - end, -1.0), 0)
    plotext.ylim(low, high)
    levels = [low + (high - low) * part for part in _parts(height)]
    plotext.yticks(levels, _labels(levels, unit))
    ticks = time_ticks(end - start)
    plotext.xticks([*ticks, 0], [*(f"-{units.span(-tick)}" for tick in ticks), NOW])
    plotext.xaxes(True, False)
    plotext.yaxes(True, False)
    drawn = _coloured(plotext.build().rstrip("\n"), ["accent"])
    now = say(NOW)  # plotext takes every character for one cell
    axis = drawn[: drawn.plain.rindex(NOW) - cell_len(now) + len(NOW)]
    return axis.append(now)


def _parts(height: int) -> list[float]:
    """Where the upright axis is marked; where it is short only at its ends and middle, for rows are coarse."""
    count = 4 if height >= TALL else 2
    return [part / count for part in range(count + 1)]


def _labels(levels: Sequence[float], unit: Callable[[float], str]) -> list[str]:
    """The labels of an axis; plain numbers get as many decimals as it takes to make them differ."""
    labels = ["0" if unit is number and not level else unit(level) for level in levels]
    digits = 1
    while unit is number and len(set(labels)) < len(labels) and digits < MOST_DIGITS:
        digits += 1
        labels = [_longer(level, digits) for level in levels]
    return labels


def _longer(level: float, digits: int) -> str:
    if level and not 1e-3 <= abs(level) < 1e5:
        return f"{level:.{digits}e}"
    return f"{level:.{digits + 3 if abs(level) < 10 else digits}f}"


def time_ticks(span: float) -> list[float]:
    """Where an axis of `span` seconds up to now is marked: whole steps of a clock, at most TICKS of them."""
    day = STEPS[-1]
    days = (math.floor(span / (TICKS + 1) / day) + 1) * day
    step = next((step for step in STEPS if span < step * (TICKS + 1)), days)
    return [-step * part for part in range(min(TICKS, int(span / step)), 0, -1)]


@dataclass(frozen=True, slots=True)
class Curve:
    """One of several lines: (x, value) in the order of x, and the style it is drawn in."""

    points: Sequence[Point]
    style: str


def render_curves(
    curves: Sequence[Curve], width: int, height: int, *, across: Callable[[float], str] = count
) -> Text:
    """Several lines in one chart, each in its own style; `across` writes an x on the axis.

    Only finite values reach plotext; a gap, NaN or Inf breaks a line.
    """
    drawn = [(curve.style, runs) for curve in curves if (runs := _runs(curve.points))]
    if not drawn or width < SMALLEST[0] or height < SMALLEST[1]:
        return Text(_no_chart(empty=not drawn), "muted")
    import plotext  # heavy: loaded with the first chart

    points = [point for _, runs in drawn for run in runs for point in run]
    first, last = min(x for x, _ in points), max(x for x, _ in points)
    bent, straight = (math.log, math.exp) if logarithmic(curves) else (float, float)
    low, high = _limits([bent(value) for _, value in points], None)
    wide, tall = (last - first) or 1.0, (high - low) or 1.0
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.limit_size(False, False)
    plotext.plotsize(width, height)
    for place, (_, runs) in enumerate(drawn):
        for run in runs:
            thin = _thin(run, width * 2)
            # Both axes run from 0 to 1: plotext divides by their lengths, however small or large.
            plotext.plot(
                [(x - first) / wide for x, _ in thin], [(bent(value) - low) / tall for _, value in thin],
                marker="braille", color=FIRST_COLOUR + place,
            )  # fmt: skip
    plotext.xlim(0, 1)
    plotext.ylim(0, 1)
    parts = _parts(height)
    plotext.yticks(parts, _labels([straight(low + tall * part) for part in parts], number))
    spots = [first + wide * part / 4 for part in range(5)]
    if across is count and wide >= 4:  # whole numbers stand where they are
        spots = [min(last, max(first, float(round(spot)))) for spot in spots]
    plotext.xticks([(spot - first) / wide for spot in spots], [across(spot) for spot in spots])
    plotext.xaxes(True, False)
    plotext.yaxes(True, False)
    return _coloured(plotext.build().rstrip("\n"), [style for style, _ in drawn])


def logarithmic(curves: Sequence[Curve]) -> bool:
    """Whether the values are all positive and so far apart that most of a straight axis would be empty."""
    values = [value for curve in curves for run in _runs(curve.points) for _, value in run]
    return bool(values) and min(values) > 0 and max(values) >= LOG_FROM * min(values)


def _coloured(built: str, styles: Sequence[str]) -> Text:
    """Plotext's colour numbers as our meanings; whatever has none is the frame."""
    out = Text(style="faint")
    plain = Text.from_ansi(built)
    out.append(plain.plain)
    for span in plain.spans:
        colour = span.style.color if isinstance(span.style, Style) else None
        which = -1 if colour is None or colour.number is None else colour.number - FIRST_COLOUR
        if 0 <= which < len(styles):
            out.stylize(styles[which], span.start, span.end)
    return out


def _no_chart(*, empty: bool) -> str:
    if empty:
        return say("no numbers to draw yet")
    wide, tall = SMALLEST
    return say(
        "a chart needs {wide}x{tall}",
        wide=wide,
        tall=tall,
    )


def _limits(values: Sequence[float], top: float | None) -> tuple[float, float]:
    """The lower and upper end of the axis; a line that does not move lies in its middle."""
    if top is not None:
        return 0.0, top
    low, high = min(values), max(values)
    if high - low <= max(abs(low), abs(high)) * 1e-6:
        room = abs(high) * 0.05 or 1.0
        return low - room, high + room
    return low, high


def _runs(series: Sequence[Point]) -> list[list[tuple[float, float]]]:
    """The stretches without a gap."""
    runs: list[list[tuple[float, float]]] = [[]]
    for at, value in series:
        if value is not None and abs(value) <= LARGEST and abs(at) <= FARTHEST:
            runs[-1].append((at, value))
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _thin(run: list[tuple[float, float]], most: int) -> list[tuple[float, float]]:
    """At most about `most` points: the lowest and the highest of each stretch, in order."""
    if len(run) <= most:
        return run
    size = math.ceil(len(run) / (most / 2))
    thin: list[tuple[float, float]] = []
    for start in range(0, len(run), size):
        part = run[start : start + size]
        ends = {min(part, key=lambda p: p[1]), max(part, key=lambda p: p[1])}
        thin += sorted(ends)
    return thin
