"""Which panes stand where, by the size of the terminal. Pure."""

from __future__ import annotations

from enum import StrEnum

PANES = ("instances", "clocks", "vitals", "queue", "log")
WIDE = (140, 40)
SMALL = (60, 20)


class Layout(StrEnum):
    """All five panes, two of them, or one."""

    WIDE = "wide"
    TWO = "two"
    ONE = "one"


def layout_for(width: int, height: int) -> Layout:
    """The layout of a terminal of this many cells."""
    if width >= WIDE[0] and height >= WIDE[1]:
        return Layout.WIDE
    if width < SMALL[0] or height < SMALL[1]:
        return Layout.ONE
    return Layout.TWO


def panes_in(layout: Layout, front: str, second: str, *, zoomed: bool) -> tuple[str, ...]:
    """The panes to show. `front` has the focus; `second` is the last one that was not Instances."""
    if zoomed or layout is Layout.ONE:
        return (front,)
    if layout is Layout.WIDE:
        return PANES
    return ("instances", second if front == "instances" else front)
