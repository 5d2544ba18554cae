"""What the rows of the vitals share: their label, a value's age, and a history behind what is used."""

from __future__ import annotations

from typing import TypeVar

from rich.text import Text

from gpu_tui.core import metrics, units
from gpu_tui.core.sample import Freshness
from gpu_tui.core.speech import say, told
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.text.marks import fit, line, spark

LABEL = 8
AMOUNT = 22  # cells of `300.0 MiB / 24.0 GiB`, where histories stand in one column behind it
LEAST_PAST = 20  # cells of a history; with fewer it is left out
T = TypeVar("T")


def label(word: str) -> Text:
    """The word before a row."""
    return line((fit(line(say(word)), LABEL).plain, "muted"))


def age_note(view: InstanceView, metric: metrics.Metric[T]) -> Text:
    """How old a stale value is, or why there is none."""
    track = view.track(metric)
    fresh = view.freshness(metric)
    age = track.age(view.taken_at)
    if fresh is Freshness.STALE and age is not None:
        why = say(", {why}", why=told(track.why)) if track.why else ""
        return line((say("  {age} old{why}", age=units.age(age), why=why), "stale"))
    if fresh is Freshness.UNKNOWN:
        return line((f"  {told(track.why)}", "muted"))
    if fresh is Freshness.ABSENT:
        return line((f"  {told(track.why)}", "absent"))
    return line()


def history(view: InstanceView, name: str, width: int, style: str, top: float | None) -> Text:
    """The last `width` points of a series, the highest bar at `top`."""
    values = [value for _, value in view.series.get(name, ())[-width:]] if width > 0 else []
    return spark(values, width, style, top) if values else line()


def bar_cells(width: int) -> int:
    """Cells of a bar."""
    return max(6, min(18, (width - LABEL - 5) // 3))


def past_room(width: int) -> int:
    """Cells of the histories that stand behind what is used; none where that would leave too few."""
    room = width - LABEL - 5 - bar_cells(width) - 2 - AMOUNT
    return room if room >= LEAST_PAST else 0


def past(view: InstanceView, name: str, width: int, before: Text) -> Text:
    """The history behind a line of which `before` has been written since its bar."""
    room = past_room(width)
    drawn = history(view, name, room, "history", 1.0)
    return line(" " * max(1, AMOUNT - before.cell_len), drawn) if drawn.plain else line()


def amount_of(text: str, fresh: Freshness) -> Text:
    """An amount, dull where it is old."""
    return line((text, "stale" if fresh is Freshness.STALE else "text"))
