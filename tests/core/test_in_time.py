"""Whether a job ends before its limit: said early, in words, and not where it fits or nothing is known."""

from __future__ import annotations

import pytest

from gpu_tui.core.in_time import Pace, falls_short, pace_of
from gpu_tui.core.sweep import Cell, CellState

HOUR = 3600.0


def cell(**more: object) -> Cell:
    row: dict[str, object] = {"epoch": 100, "epochs": 400, "eta_seconds": 30 * HOUR}
    row |= {"eta_range": (28 * HOUR, 33 * HOUR), **more}
    return Cell("a", 1, "gpu", CellState.RUNNING, **row)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("more", "left", "words"),
    [
        ({}, 8 * HOUR, "at this pace it reaches epoch 180 of 400 by its limit"),
        ({"epoch": 400, "eta_seconds": HOUR}, HOUR / 2, "epoch 399 of 400"),
        ({"epoch": None, "epochs": None, "step": 25, "steps": 100}, 10 * HOUR, "50% done"),
        ({"epoch": None, "epochs": None, "part": 0.1}, 10 * HOUR, "it is 40% done"),
        ({"epoch": None, "epochs": None}, 10 * HOUR, "it needs 20 h more than its limit leaves"),
    ],
)
def test_a_job_that_falls_short_has_the_epoch_it_reaches(
    more: dict[str, object], left: float, words: str
) -> None:
    more.setdefault(
        "eta_range", (1 * HOUR, 1 * HOUR) if "eta_seconds" in more else (28 * HOUR, 33 * HOUR)
    )
    assert words in (falls_short(pace_of(cell(**more)), left) or "")


@pytest.mark.parametrize("left", [31 * HOUR, 29 * HOUR, 0.0, -HOUR])
def test_a_job_that_may_end_in_time_or_is_over_has_no_words(left: float) -> None:
    assert falls_short(pace_of(cell()), left) is None


@pytest.mark.parametrize(
    "more",
    [
        {"eta_seconds": None},
        {"still_seconds": 600.0},
        {"halted": True},
    ],
)
def test_an_unknown_speed_has_no_words(more: dict[str, object]) -> None:
    assert pace_of(cell(**more)) is None
    assert falls_short(None, HOUR) is None


def test_only_running_cells_have_a_speed() -> None:
    assert pace_of(Cell("a", 1, None, CellState.CANNOT_TELL, eta_seconds=HOUR)) is None


def test_a_speed_that_wavers_around_the_limit_stays_one_finding() -> None:
    wavers = Pace(30 * HOUR, 28 * HOUR, 0.25, 400)
    assert falls_short(wavers, 29 * HOUR) is None
    assert falls_short(wavers, 29 * HOUR, before=True)
    assert falls_short(wavers, 30 * HOUR, before=True) is None
