"""Roster, queue log and evidence joined: every trap of the queue grammar."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_tui.core.queue_history import (
    CellFinished,
    CellStarted,
    QueueDone,
    QueueHistory,
    QueueOpened,
    SyncFailed,
    WrapperRefused,
)
from gpu_tui.core.queue_join import join_queue
from gpu_tui.core.sweep import (
    Cell,
    CellEvidence,
    CellState,
    Queue,
    RejectedLine,
    Roster,
    RosterCell,
)

NAMES = ("a", "b", "c", "d")
ROSTER = Roster(tuple(RosterCell(i, n, f"{n}.yaml", "t", 20) for i, n in enumerate(NAMES, 1)))


def test_what_is_at_work_goes_before_what_nobody_can_tell_of() -> None:
    rows = [Cell(n, i, "t", CellState.CANNOT_TELL) for i, n in enumerate(NAMES)]
    assert Queue(tuple(rows)).running is rows[0]
    rows[2] = replace(rows[2], state=CellState.RUNNING)
    assert Queue(tuple(rows)).running is rows[2]


def opened(start: int = 1, total: int = 4) -> QueueOpened:
    return QueueOpened("q.txt", total, start, "box")


def started(name: str, at: float, index: int = 1) -> CellStarted:
    return CellStarted(at, index, 4, name, "t", 20)


def finished(name: str, at: float | None, code: int = 0, index: int = 1) -> CellFinished:
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
    both = CellEvidence(artifact=False, artifact_why="it was put into quarantine", diverged=True)
    assert cells_of(history, a=both).cells[0].why == (
        "exit 0, but its artifact is missing (it was put into quarantine)"
        " and its loss was NaN or Inf at the end"
    )


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


def test_cells_of_a_few_seconds_are_never_too_fast() -> None:
    events = [opened()]
    for index, (name, seconds) in enumerate(zip("abc", (4, 4, 1), strict=True), 1):
        events += [
            started(name, index * 10, index),
            finished(name, index * 10 + seconds, index=index),
        ]
    assert states(fold(*events))[:3] == ["finished"] * 3


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


def cells_of(history: QueueHistory, roster: Roster | None = ROSTER, **seen: CellEvidence) -> Queue:
    return join_queue(roster, history, seen, box_now=1e4)


def closed(code_of_b: int, failed: str | None, count: int = 4) -> Queue:
    events = [opened(), started("a", 0), finished("a", 90), started("b", 90, 2)]
    events += [finished("b", 190, code_of_b, 2), QueueDone(200, "box", count, failed)]
    return cells_of(fold(*events))


def test_an_end_line_and_a_closing_line_that_agree_have_no_doubts() -> None:
    assert closed(0, None).doubts == ()
    assert closed(1, "b", 1).doubts == ()
    assert closed(2, "b", 1).doubts == ()
    assert closed(2, "b", 1).cells[1].state is CellState.SYNC_FAILED


def test_where_they_disagree_it_is_said() -> None:
    hidden = closed(1, None)
    assert hidden.doubts == ("QUEUE DONE says that all exited 0, but b did not",)
    assert hidden.cells[1].state is CellState.FAILED
    assert hidden.cells[1].why == "exit 1, although QUEUE DONE does not list it"
    blamed = closed(0, "b", 1)
    assert blamed.cells[1].state is CellState.SUSPICIOUS
    assert blamed.cells[1].why == "exit 0, but QUEUE DONE lists it as failed"
    assert blamed.doubts == ("QUEUE DONE lists b as failed, but by its own end line it exited 0",)
    assert closed(1, "b ghost", 2).unplanned == ("ghost",)
    assert closed(1, "b", 3).doubts == ("QUEUE DONE counts 3 failed cell(s) and names 1",)
    assert "started with 4" in closed(0, None, 7).doubts[0]


def test_a_torn_end_line_is_filled_in_by_the_closing_line() -> None:
    def torn(failed: str | None) -> Cell:
        done = QueueDone(200, "box", 4 if failed is None else 1, failed)
        return cells_of(fold(opened(), started("a", 0), done)).cells[0]

    assert (torn("a").state, torn("a").exit_code) == (CellState.FAILED, None)
    assert torn(None).state is CellState.SUSPICIOUS
    assert "its own end line is missing" in (torn(None).why or "")


def test_all_exited_zero_counts_those_that_were_skipped() -> None:
    queue = cells_of(
        fold(
            opened(4), started("d", 0, 4), finished("d", 90, index=4), QueueDone(99, "box", 4, None)
        )
    )
    assert [cell.state.value for cell in queue.cells] == ["skipped"] * 3 + ["finished"]
    assert queue.notes == ('"all 4 cell(s) exited 0" counts 3 that were skipped',)
    assert queue.doubts == ()


def test_names_with_spaces_are_matched_against_the_roster() -> None:
    roster = Roster((RosterCell(1, "no aug", "x", "t", 5), RosterCell(2, "no", "y", "t", 5)))
    history = fold(
        opened(total=2),
        started("no aug", 0),
        started("no", 9, 2),
        QueueDone(20, "box", 2, "no aug no"),
    )
    queue = cells_of(history, roster)
    assert [cell.state for cell in queue.cells] == [CellState.FAILED] * 2
    assert queue.unplanned == ()


def test_the_total_counts_every_line_once() -> None:
    appended = fold(opened(total=10), CellStarted(0, 11, 10, "late", "t", 3))
    assert cells_of(appended, None).total == 11
    assert cells_of(QueueHistory(), None).total is None
    broken = replace(ROSTER, rejected=(RejectedLine(9, 5, "late", "no task"),), dropped=3)
    queue = cells_of(QueueHistory(), broken)
    assert queue.total == 4 + 1 + 3
    assert len(queue.notes) == 2
    # The queue script ran the line that is no cell: it has a row now, and counts once.
    assert cells_of(fold(opened(), started("late", 0, 5)), broken).total == 4 + 1 + 3


def test_a_name_that_stands_twice_is_two_rows_with_ends_of_their_own() -> None:
    twice = Roster(tuple(RosterCell(i, n, n, "t", 5) for i, n in enumerate("aba", 1)), ("a",))
    first = fold(opened(total=3), started("a", 0), finished("a", 90, 1), started("b", 90, 2))
    assert [c.state.value for c in cells_of(first, twice, b=CellEvidence(alive=True)).cells] == [
        "failed", "running", "pending",
    ]  # fmt: skip
    again = first.fold(finished("b", 180, index=2)).fold(started("a", 180, 3))
    rows = cells_of(again, twice, a=CellEvidence(alive=True)).cells
    assert [c.state.value for c in rows] == ["failed", "finished", "running"]
    assert [c.exit_code for c in rows] == [1, 0, None]


def test_a_resumed_queue_comes_again_to_what_had_ended() -> None:
    history = fold(
        opened(), started("a", 0), finished("a", 100), started("b", 100, 2),
        finished("b", 200, index=2), opened(), started("a", 300),
    )  # fmt: skip
    queue = cells_of(history, a=CellEvidence(alive=True, epoch=10, epochs=20))
    assert [c.state.value for c in queue.cells] == ["running", "finished", "pending", "pending"]
    assert [c.again for c in queue.cells] == [False, True, False, False]


def test_a_cell_that_the_wrapper_refused_is_failed_and_the_queue_goes_on() -> None:
    refusal = WrapperRefused("PROJECT_REPO_DIR not found: /x")
    queue = cells_of(fold(opened(), started("a", 0), refusal, finished("a", 2, 1)))
    assert queue.refused is None
    assert queue.cells[0].why == "exit 1, the wrapper refused: PROJECT_REPO_DIR not found: /x"
    assert cells_of(fold(refusal)).refused == refusal.reason
    assert cells_of(fold(refusal, opened())).refused is None


def test_a_log_without_stamps_tells_what_but_not_when() -> None:
    history = fold(
        opened(), CellStarted(None, 1, 4, "a", "t", 20), CellFinished(None, 1, 4, "a", 0),
        CellStarted(None, 2, 4, "b", "t", 20),
    )  # fmt: skip
    queue = cells_of(history, b=CellEvidence(alive=True))
    assert [cell.state.value for cell in queue.cells[:2]] == ["finished", "running"]
    assert queue.cells[0].duration_seconds is queue.cells[1].duration_seconds is None
    assert queue.eta_seconds is None


def test_cells_of_another_task_take_another_time() -> None:
    roster = Roster(
        tuple(
            RosterCell(i, n, n, task, epochs)
            for i, (n, task, epochs) in enumerate(
                [("a", "long", 20), ("b", "short", 20), ("c", "long", 20), ("d", "short", 10), ("e", "odd", 9)], 1
            )
        )
    )  # fmt: skip
    ended = fold(
        opened(total=5), started("a", 0), finished("a", 1000), started("b", 1000, 2),
        finished("b", 1100, index=2),
    )  # fmt: skip
    # c as a; d by the epochs of b; e, of which nothing is known, as the median of all.
    assert cells_of(ended, roster).eta_seconds == pytest.approx(1000 + 50 + 550)


def test_best_metrics_fill_a_finished_cell_only() -> None:
    seen = {n: CellEvidence(alive=True, best={"psnr": 31.0}, metrics={"psnr": 29.0}) for n in "ab"}
    history = fold(opened(), started("a", 0), finished("a", 90), started("b", 90, 2))
    done, running = cells_of(history, **seen).cells[:2]
    assert (done.metrics, running.metrics) == ({"psnr": 31.0}, {"psnr": 29.0})


def test_values_of_two_epochs_do_not_stand_side_by_side() -> None:
    ran = fold(opened(), started("a", 0), finished("a", 90))
    last = {"psnr": 31.12, "ssim": 0.985}

    def shown(best: dict[str, float]) -> object:
        seen = CellEvidence(alive=True, best=best, metrics=last)
        return cells_of(ran, a=seen).cells[0].metrics

    assert shown({"psnr": 28.599}) == {"psnr": 28.599}
    assert shown({"psnr": 31.118}) == {"psnr": 31.118, "ssim": 0.985}
    assert shown({"acc": 0.9}) == {**last, "acc": 0.9}
    assert shown({}) == last


EVENTS = st.one_of(
    st.builds(opened, st.integers(1, 4)),
    st.builds(started, st.sampled_from(NAMES), st.floats(0, 1e4)),
    st.builds(finished, st.sampled_from(NAMES), st.floats(0, 1e4), st.sampled_from([0, 1, 2, 137])),
    st.builds(
        QueueDone, st.floats(0, 1e4), st.just("box"), st.integers(0, 9),
        st.sampled_from([None, "a", "b ghost", ""]),
    ),
    st.builds(finished, st.just("ghost"), st.just(None), st.integers(-1, 3), st.integers(1, 9)),
    st.builds(WrapperRefused, st.just("PROFILE SETUP FAILED: x")),
    st.builds(SyncFailed, st.sampled_from(NAMES), st.just("x")),
)  # fmt: skip
ENDED = {CellState.FINISHED, CellState.SYNC_FAILED, CellState.FAILED, CellState.SUSPICIOUS}


@settings(deadline=None)
@given(st.lists(EVENTS, max_size=30), st.sampled_from([True, False, None]))
def test_every_history_gives_one_row_per_planned_cell(
    events: list[object], alive: bool | None
) -> None:
    evidence = {n: CellEvidence(alive=alive) for n in NAMES}
    queue = join_queue(ROSTER, fold(*events), evidence, box_now=2e4)
    assert [cell.name for cell in queue.cells][: len(NAMES)] == list(NAMES)
    assert queue.total == len(queue.cells)
    assert sum(queue.count(state) for state in CellState) == queue.total
    for cell in queue.cells:
        assert cell.eta_seconds is None or cell.eta_seconds >= 0
        assert cell.state in ENDED or cell.exit_code is None
        assert not (cell.never_run and cell.logged)
        if alive is None:
            assert cell.state is not CellState.RUNNING


@settings(deadline=None)
@given(st.lists(EVENTS, max_size=20), st.lists(EVENTS, max_size=20), st.integers(1, 4))
def test_only_what_follows_the_last_header_describes_now(
    before: list[object], after: list[object], start: int
) -> None:
    """What ran since the header has the same state whatever stood before it."""
    header = opened(start)
    after = [event for event in after if not isinstance(event, QueueOpened)]
    alone, behind = fold(header, *after), fold(*before, header, *after)
    since = {name for name, run in alone.runs.items() if run.begun}
    evidence = {n: CellEvidence(alive=True) for n in NAMES}
    one = join_queue(ROSTER, alone, evidence, box_now=None)
    two = join_queue(ROSTER, behind, evidence, box_now=None)
    assert (one.claimed_done, one.doubts) == (two.claimed_done, two.doubts)
    for name in since:
        assert _of(one, name).exit_code == _of(two, name).exit_code
        assert _of(one, name).started_at == _of(two, name).started_at


def _of(queue: Queue, name: str) -> Cell:
    return next(cell for cell in queue.cells if cell.name == name)
