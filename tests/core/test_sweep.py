"""Roster, queue log and evidence joined: every trap of the queue grammar."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.core.queue_history import (
    CellFinished,
    CellStarted,
    QueueDone,
    QueueHistory,
    QueueOpened,
    SyncFailed,
)
from gpu_tui.core.queue_join import join_queue
from gpu_tui.core.sweep import CellEvidence, CellState, Roster, RosterCell

NAMES = ("a", "b", "c", "d")
ROSTER = Roster(tuple(RosterCell(i, n, f"{n}.yaml", "t", 20) for i, n in enumerate(NAMES, 1)))


def opened(start: int = 1, total: int = 4) -> QueueOpened:
    return QueueOpened("q.txt", total, start, "box")


def started(name: str, at: float, index: int = 1) -> CellStarted:
    return CellStarted(at, index, 4, name, "t", 20)


def finished(name: str, at: float, code: int = 0, index: int = 1) -> CellFinished:
    return CellFinished(at, index, 4, name, code)


def fold(*events: object) -> QueueHistory:
    history = QueueHistory()
    for event in events:
        history = history.fold(event)  # type: ignore[arg-type]
    return history


def states(
    history: QueueHistory, evidence: dict[str, CellEvidence] | None = None, now: float = 1000.0
) -> list[str]:
    queue = join_queue(ROSTER, history, evidence or {}, box_now=now)
    return [cell.state.value for cell in queue.cells]


def test_nothing_started_is_pending() -> None:
    assert states(QueueHistory()) == ["pending"] * 4


@pytest.mark.parametrize(
    ("alive", "state"), [(True, "running"), (False, "failed"), (None, "cannot-tell")]
)
def test_a_started_cell_is_judged_by_its_process(alive: bool | None, state: str) -> None:
    history = fold(opened(), started("a", 0))
    assert states(history, {"a": CellEvidence(alive=alive)})[0] == state


@pytest.mark.parametrize(
    ("code", "state"), [(0, "finished"), (1, "failed"), (2, "sync-failed"), (137, "failed")]
)
def test_exit_codes(code: int, state: str) -> None:
    assert states(fold(opened(), started("a", 0), finished("a", 90, code)))[0] == state


def test_a_nan_end_and_a_missing_artifact_are_suspicious() -> None:
    history = fold(opened(), started("a", 0), finished("a", 90))
    assert states(history, {"a": CellEvidence(diverged=True)})[0] == "suspicious"
    assert states(history, {"a": CellEvidence(artifact=False)})[0] == "suspicious"
    assert states(history, {"a": CellEvidence(artifact=True)})[0] == "finished"


def test_a_second_header_makes_open_cells_interrupted_and_skips_the_ones_before_start() -> None:
    history = fold(opened(), started("a", 0), opened(start=2), started("b", 50, 2))
    assert states(history, {"b": CellEvidence(alive=True)})[:2] == ["failed", "running"]
    fresh = fold(opened(start=3), started("c", 0, 3))
    assert states(fresh, {"c": CellEvidence(alive=True)}) == [
        "skipped",
        "skipped",
        "running",
        "pending",
    ]


def test_appended_cells_and_cells_the_roster_forgot_are_shown() -> None:
    history = fold(opened(total=4), CellStarted(0, 5, 4, "late", "t", 3))
    queue = join_queue(ROSTER, history, {"late": CellEvidence(alive=True)}, box_now=10)
    assert queue.cells[-1].name == "late"
    assert queue.cells[-1].state is CellState.RUNNING


def test_done_is_a_claim_and_failed_cells_stay_failed() -> None:
    history = fold(opened(), started("a", 0), finished("a", 90, 1), QueueDone(99, "box", 1, "a"))
    queue = join_queue(ROSTER, history, {}, box_now=100)
    assert queue.claimed_done
    assert queue.cells[0].state is CellState.FAILED


def test_a_failed_sync_line_does_not_invent_a_cell() -> None:
    assert QueueHistory().fold(SyncFailed("ghost", "no best.pth")).runs == {}


def test_a_cell_far_faster_than_its_siblings_is_suspicious() -> None:
    history = fold(
        opened(),
        started("a", 0),
        finished("a", 100),
        started("b", 100, 2),
        finished("b", 200, index=2),
        started("c", 200, 3),
        finished("c", 210, index=3),
    )
    assert states(history)[:3] == ["finished", "finished", "suspicious"]


def test_eta_is_the_pace_of_the_cell_and_the_typical_cell_for_the_rest() -> None:
    history = fold(opened(), started("a", 0), finished("a", 100), started("b", 100, 2))
    seen = {"b": CellEvidence(alive=True, epoch=10, epochs=20)}
    queue = join_queue(ROSTER, history, seen, box_now=150)
    running = queue.running
    assert running is not None
    assert running.eta_seconds == pytest.approx(50)
    assert queue.eta_seconds == pytest.approx(50 + 2 * 100)


def test_no_total_is_ever_fabricated() -> None:
    history = fold(opened(), started("a", 0))
    queue = join_queue(ROSTER, history, {"a": CellEvidence(alive=True)}, box_now=50)
    assert queue.cells[0].eta_seconds is None
    assert queue.eta_seconds is None


EVENTS = st.one_of(
    st.builds(opened, st.integers(1, 4)),
    st.builds(started, st.sampled_from(NAMES), st.floats(0, 1e4)),
    st.builds(finished, st.sampled_from(NAMES), st.floats(0, 1e4), st.sampled_from([0, 1, 2, 137])),
    st.builds(QueueDone, st.floats(0, 1e4), st.just("box"), st.integers(0, 9), st.just(None)),
)


@given(st.lists(EVENTS, max_size=30), st.sampled_from([True, False, None]))
def test_every_history_gives_one_row_per_planned_cell(
    events: list[object], alive: bool | None
) -> None:
    queue = join_queue(
        ROSTER, fold(*events), {n: CellEvidence(alive=alive) for n in NAMES}, box_now=2e4
    )
    assert [cell.name for cell in queue.cells] == list(NAMES)
    for cell in queue.cells:
        assert cell.eta_seconds is None or cell.eta_seconds >= 0
        if alive is None:
            assert cell.state is not CellState.RUNNING
