"""What stands where nothing is wrong: that all is well is said only where everything was looked at."""

from __future__ import annotations

from rich.text import Text

from gpu_tui.core.speech import say
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.settled import is_reading
from gpu_tui.state.views import FleetView
from gpu_tui.ui.text.marks import line, wrap


def no_findings(fleet: FleetView, width: int) -> list[Text]:
    """There is no finding; of boxes that were not read that is not known."""
    if not fleet.instances:
        return wrap(no_boxes(), width, "muted")
    if missing := unread(fleet):
        words = say(
            "? no finding is known, but {unread} of {all} boxes were not read so far",
            unread=missing,
            all=len(fleet.instances),
        )
        return wrap(words, width, "unknown")
    if reading(fleet):
        return wrap(say("reading…: no finding so far"), width, "muted")
    return [line((say("✓ nothing to see: no findings"), "level-ok"))]


def no_clocks(fleet: FleetView, width: int) -> list[Text]:
    """No clock ticks; as above."""
    if not fleet.instances:
        return wrap(no_boxes(), width, "muted")
    if missing := unread(fleet):
        words = say(
            "? no clock is known to tick, but {unread} of {all} boxes were not read so far",
            unread=missing,
            all=len(fleet.instances),
        )
        return wrap(words, width, "unknown")
    if reading(fleet):
        return wrap(say("reading…: no clock is known to tick so far"), width, "muted")
    return [line((say("✓ no clock is ticking"), "level-ok"))]


def no_boxes() -> str:
    """The fleet is empty, and what to do."""
    return say(
        "No boxes yet. Name yours: gpu-tui init writes a fleet file; gpu-tui watch HOST needs none; gpu-tui demo shows simulated ones."
    )


def reading(fleet: FleetView) -> bool:
    """Whether a box is still being read, so that findings and clocks may still appear."""
    return any(is_reading(view) for view in fleet.instances)


def unread(fleet: FleetView) -> int:
    """How many boxes were not read since the start, of those that are not off."""
    return sum(
        view.last_contact is None and view.verdict is not Verdict.OFF for view in fleet.instances
    )
