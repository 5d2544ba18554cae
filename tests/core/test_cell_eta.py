"""Which of its ETAs a running cell shows: its own recent speed, its mean, the typical cell, or none."""

from __future__ import annotations

import pytest

from gpu_tui.core.eta import Eta
from gpu_tui.core.queue_history import CellFinished, CellStarted, QueueHistory, QueueOpened
from gpu_tui.core.queue_join import join_queue
from gpu_tui.core.sweep import Cell, CellEvidence


def running(seen: CellEvidence, *, finished: bool = False) -> Cell:
    """The cell `b`, 100 s old; `a` took 400 s before it, where it is finished."""
    history = QueueHistory().fold(QueueOpened("q.txt", 2, 1, "box"))
    if finished:
        history = history.fold(CellStarted(0, 1, 2, "a", "t", None))
        history = history.fold(CellFinished(400, 1, 2, "a", 0))
    history = history.fold(CellStarted(400, 2, 2, "b", "t", None))
    queue = join_queue(None, history, {"b": seen}, box_now=500)
    cell = queue.running
    assert cell is not None
    return cell


def test_its_recent_speed_comes_first_and_has_a_range() -> None:
    seen = CellEvidence(alive=True, part=0.5, eta=Eta(70, 60, 90), begun=0.0)
    cell = running(seen, finished=True)
    assert (cell.eta_seconds, cell.eta_range) == (70, (60, 90))
    assert cell.share == 0.5


@pytest.mark.parametrize(
    ("seen", "finished", "seconds"),
    [
        (CellEvidence(alive=True, part=0.2, begun=0.0), False, 400),
        (CellEvidence(alive=True, part=0.2, begun=0.0, stalled=True), True, None),
        (CellEvidence(alive=True, part=0.2, begun=0.15), False, None),
        (CellEvidence(alive=True, part=0.2, begun=0.15), True, 300),
        (CellEvidence(alive=True), True, 300),
        (CellEvidence(alive=True), False, None),
    ],
    ids=["mean", "stalled", "resumed", "resumed, typical", "typical", "unknown"],
)
def test_else_its_mean_since_its_start_the_typical_cell_or_nothing(
    seen: CellEvidence, finished: bool, seconds: float | None
) -> None:
    cell = running(seen, finished=finished)
    assert cell.eta_seconds == (None if seconds is None else pytest.approx(seconds))
    assert cell.eta_range is None
