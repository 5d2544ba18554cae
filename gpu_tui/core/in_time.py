"""Whether a running job comes to its end before its scheduler ends it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_tui.core import units
from gpu_tui.core.sweep import Cell, CellState

REMEDY = (
    "Save a checkpoint before the limit, and go on from it in a new job. Or ask for more time: scontrol update "
    "TimeLimit where the Slurm site allows it, a longer activeDeadlineSeconds on Kubernetes."
)


@dataclass(frozen=True, slots=True)
class Pace:
    """How far one running cell is, and how long it still takes at its speed. Lengths are seconds.

    `left` is the likely time to its end, `least` the shortest that its speed so far allows. `share` is how far it is,
    0–1, `epoch` and `epochs` the same in epochs; None where its log reports no total.
    """

    left: float
    least: float
    share: float | None = None
    epochs: int | None = None


def pace_of(cell: Cell) -> Pace | None:
    """The pace of a cell; None if it does not run, is stalled, or has no known speed."""
    if cell.state is not CellState.RUNNING or cell.eta_seconds is None:
        return None
    if cell.still_seconds is not None or cell.halted:
        return None
    least = cell.eta_seconds if cell.eta_range is None else cell.eta_range[0]
    return Pace(cell.eta_seconds, least, cell.share, cell.epochs)


def falls_short(pace: Pace | None, left: float, *, before: bool = False) -> str | None:
    """How far it comes in `left` seconds, in words, where that is not its end; None where it fits or is not known.

    A job falls short when even its best speed does not suffice. If it fell short `before`, it does so until its
    likely speed suffices, so that a speed that wavers around the limit is one finding.
    """
    if pace is None or left <= 0 or pace.left <= left or not (before or pace.least > left):
        return None
    if pace.share is None:
        return f"at this pace it needs {units.words(pace.left - left)} more than its limit leaves"
    share = pace.share + (1 - pace.share) * left / pace.left
    if pace.epochs:
        reached = min(int(share * pace.epochs + 1e-9), pace.epochs - 1)
        return f"at this pace it reaches epoch {reached} of {pace.epochs} by its limit"
    return f"at this pace it is {min(share, 0.99):.0%} done by its limit"
