"""Which panes stand where, by the size of the terminal. Pure."""

from __future__ import annotations

from enum import StrEnum
from textwrap import wrap

from gpu_tui.core.speech import say

PANES = ("instances", "clocks", "vitals", "queue", "log")
WIDE = (140, 40)
FRAMED = 110  # columns from which a pane has a frame, and not only a rule above it
SMALL = (60, 20)
TINY = (30, 8)  # below this no pane says anything that could be trusted at a glance


class Layout(StrEnum):
    """All five panes, two of them, one, or none but a sentence."""

    WIDE = "wide"
    TWO = "two"
    ONE = "one"
    NONE = "none"


class Preset(StrEnum):
    """Which pane gets the room."""

    BALANCED = "balanced"
    LOG = "log-first"
    QUEUE = "queue-first"
    VITALS = "vitals-first"

    @property
    def pane(self) -> str:
        """The pane that stands beside Instances where there is room for two."""
        return "log" if self is Preset.BALANCED else self.removesuffix("-first")

    @property
    def next(self) -> Preset:
        """The one after it, round and round."""
        every = list(Preset)
        return every[(every.index(self) + 1) % len(every)]

    @property
    def share(self) -> float:
        """Of a column that two panes share, how much Instances may take."""
        return 0.45 if self is Preset.BALANCED else 0.3


def preset_named(name: str | None) -> Preset | None:
    """The preset of that name; None where there is none."""
    return Preset(name) if name in list(Preset) else None


def layout_for(width: int, height: int) -> Layout:
    """The layout of a terminal of this many cells."""
    if width >= WIDE[0] and height >= WIDE[1]:
        return Layout.WIDE
    if width < TINY[0] or height < TINY[1]:
        return Layout.NONE
    if width < SMALL[0] or height < SMALL[1]:
        return Layout.ONE
    return Layout.TWO


def panes_in(
    layout: Layout, front: str, second: str, *, zoomed: bool, measured: bool = True
) -> tuple[str, ...]:
    """The panes to show. `front` has the focus; `second` is the last one that was not Instances.

    `measured`: the selected instance has vital signs. If not, the queue has the room of Vitals until it is in front.
    """
    if layout is Layout.NONE:
        return ()
    if zoomed or layout is Layout.ONE:
        return (front,)
    without = not measured and front != "vitals"
    if layout is Layout.WIDE:
        return tuple(name for name in PANES if not (without and name == "vitals"))
    second = "queue" if without and second == "vitals" else second
    return ("instances", second if front == "instances" else front)


def instances_row(room: int, count: int, preset: Preset) -> int | None:
    """Lines of the grid's first row where `count` rows of Instances want more than its share of `room`, and
    nobody asked for another pane's room; None: its share is enough.
    """
    wanted = min(count + 3, int(room * preset.share))
    first, *others = grid_shares(preset)
    balanced = preset is Preset.BALANCED
    return wanted if balanced and wanted * (first + sum(others)) > room * first else None


def grid_shares(preset: Preset) -> tuple[int, int, int]:
    """What the three rows of the grid take of its height."""
    if preset is Preset.BALANCED:
        return (5, 7, 6)
    return (4, 6, 11) if preset is Preset.LOG else (4, 12, 5)


def grid_rows(room: int, count: int, preset: Preset) -> str:
    """The same, as Textual's styles say it."""
    first, *others = (f"{share}fr" for share in grid_shares(preset))
    wanted = instances_row(room, count, preset)
    return " ".join([first if wanted is None else str(wanted), *others])


def too_small(width: int, height: int) -> list[str]:
    """What is said instead of the panes, in lines that fit."""
    text = say(
        "{width}x{height} is too small: gpu-tui needs {tiny}x{tiny2}. Make the window larger, or leave with q and run: gpu-tui check",
        width=width,
        height=height,
        tiny=TINY[0],
        tiny2=TINY[1],
    )
    return wrap(text, max(1, width))
