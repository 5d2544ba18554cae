"""Which of a user's jobs are the sweep: by the filter of the fleet file, and by default without what is older."""

from __future__ import annotations

import pytest

from gpu_tui.core.fleet import SchedulerScope, Since
from gpu_tui.core.job_scope import INTERACTIVE, OLDER, REFUSED, UNMATCHED, no_match, not_counted
from gpu_tui.core.jobs import Job
from gpu_tui.core.sweep import CellState

NOW = 1_795_000_000.0
HOUR, DAY = 3_600.0, 86_400.0
RUN, WAIT, END, BAD = (CellState(word) for word in ("running", "pending", "finished", "failed"))


def job(
    id: str,
    name: str = "sweep-a",
    state: CellState = RUN,
    *,
    submitted: float = HOUR,
    ended: float | None = None,
    **more: object,
) -> Job:
    """`submitted` and `ended` are seconds before now."""
    over = state in (END, BAD)
    row: dict[str, object] = {
        "word": state.value.upper(),
        "task": "gpu",
        "node": "n1",
        "submitted_at": NOW - submitted,
        "started_at": None if state is WAIT else NOW - submitted,
        "finished_at": NOW - (submitted - 60 if ended is None else ended) if over else None,
    }
    return Job(id, f"{id}·{name}", state, **{**row, **more})  # type: ignore[arg-type]


def aside(*jobs: Job, **filters: object) -> dict[str, str]:
    return dict(not_counted(jobs, SchedulerScope(**filters), NOW))  # type: ignore[arg-type]


def test_a_name_is_a_glob_and_one_of_several_suffices() -> None:
    rows = (job("1", "sweep-a"), job("2", "test"), job("3_4", "Sweep-a"), job("4", "abl_7"))
    assert aside(*rows) == {}
    assert aside(*rows, name=("sweep-*",)) == {"2": UNMATCHED, "3_4": UNMATCHED, "4": UNMATCHED}
    assert aside(*rows, name=("sweep-?", "abl_[0-9]")) == {"2": UNMATCHED, "3_4": UNMATCHED}
    assert aside(job("1", "a[b"), name=("a[b",)) == {}  # a bracket alone is itself
    assert aside(job("1", "a·b"), name=("a·b",)) == {}


def test_a_name_that_was_cut_matches_as_far_as_it_is_known() -> None:
    long = job("1", "x" * 60 + "…")
    assert aside(long, name=("x*-seed3",)) == {}
    assert aside(long, name=("x" * 60 + "-seed3",)) == {}
    assert aside(long, name=("y*",)) == {"1": UNMATCHED}
    assert aside(long, name=("x" * 50 + "-*",)) == {"1": UNMATCHED}


def test_partition_array_and_time_of_submission() -> None:
    rows = (
        job("40_1"),
        job("40_[2-9]", state=WAIT),
        job("41", task="spot", submitted=3 * DAY),
        job("42", task="cpu,gpu", state=WAIT),
    )
    assert aside(*rows, partition=("gpu",)) == {"41": UNMATCHED}
    assert aside(*rows, array=("40",)) == {"41": UNMATCHED, "42": UNMATCHED}
    assert aside(*rows, since=Since("2d", ago=2 * DAY)) == {"41": UNMATCHED}
    assert aside(*rows, since=Since("x", at=NOW - 4 * DAY)) == {}
    both = aside(*rows, since=Since("2d", ago=2 * DAY), array=("41",))
    assert set(both) == {"40_1", "40_[2-9]", "41", "42"}


def test_interactive_and_refused_jobs_are_no_cells_whatever_the_filter_says() -> None:
    shell = job("1", "bash", interactive=True)
    # As a 22.05.8 keeps a submission that the cluster refused: no node, and no second between start and end.
    refused = job("2", state=BAD, node=None, ended=HOUR)
    never = job("3", state=BAD, node=None, started_at=None, ended=HOUR)
    assert aside(shell, refused, never, job("4")) == {
        "1": INTERACTIVE,
        "2": REFUSED,
        "3": REFUSED,
    }
    assert aside(shell, name=("sweep-*",)) == {"1": INTERACTIVE}
    # Twins: it failed at once on a node; its user cancelled it before it began; it waits for ever.
    at_once = job("5", state=BAD, ended=HOUR)
    dropped = job("6", state=CellState.SKIPPED, word="CANCELLED", node=None, finished_at=NOW)
    never_runs = job("7", state=CellState.SKIPPED, word="PENDING", node=None, started_at=None)
    assert aside(at_once, dropped, never_runs) == {}


def test_failures_that_ended_before_the_sweep_was_submitted_count_for_one_day() -> None:
    tests = job("1", "test", BAD, submitted=50 * HOUR, ended=49 * HOUR)
    yesterday = job("2", "test", BAD, submitted=21 * HOUR, ended=20 * HOUR)
    sweep = [job(f"9_{n}", submitted=3 * HOUR) for n in range(3)]
    assert aside(tests, yesterday, *sweep) == {"1": OLDER}
    assert aside(tests, yesterday, *sweep, since=Since("3d", ago=3 * DAY)) == {}
    assert aside(tests, array=("1",)) == {}


def test_a_job_submitted_with_a_live_one_counts_however_long_ago_it_failed() -> None:
    array = [
        job("9_0", state=BAD, submitted=3 * DAY, ended=2.5 * DAY),
        job("9_1", submitted=3 * DAY),
        job("9_[2-99]", state=WAIT, submitted=3 * DAY),
    ]
    assert aside(*array) == {}
    # Single jobs of one loop over configs: the first one failed, the last one was submitted minutes later.
    loop = [
        job("1", state=BAD, submitted=3 * DAY + 600, ended=2.9 * DAY),
        job("2", submitted=3 * DAY),
    ]
    assert aside(*loop) == {}


def test_a_sweep_that_is_over_stays_whole_until_another_one_begins() -> None:
    over = [
        job("1", state=BAD, submitted=8 * DAY, ended=5 * DAY),
        job("2", state=END, submitted=8 * DAY, ended=3 * DAY),
    ]
    assert aside(*over) == {}
    before = job("0", state=BAD, submitted=12 * DAY, ended=11 * DAY)
    assert aside(before, *over) == {"0": OLDER}
    assert set(aside(*over, job("3", submitted=HOUR))) == {"1", "2"}


@pytest.mark.parametrize("known", [None, NOW])
def test_unknown_fields_exclude_no_job(known: float | None) -> None:
    rows = [
        job("1", state=BAD, submitted_at=None, started_at=None, finished_at=NOW - 9 * DAY),
        job("2", state=CellState.CANNOT_TELL, submitted=9 * DAY),
        job("3"),
    ]
    assert not_counted(rows, SchedulerScope(), known) == {}
    assert not_counted([], SchedulerScope(name=("a",)), known) == {}


def test_a_filter_without_a_match_counts_the_other_jobs() -> None:
    scope = SchedulerScope(name=("swep-*",), since=Since("2d", ago=2 * DAY))
    assert no_match(scope, {UNMATCHED: 13, INTERACTIVE: 1}) == (
        "no job matches name: swep-*, since: 2d; 14 other jobs"
    )
    assert no_match(scope, {UNMATCHED: 1}) == "no job matches name: swep-*, since: 2d; 1 other job"
    assert no_match(scope, {}) is None  # Slurm lists none at all
    assert no_match(scope, {INTERACTIVE: 1}) is None
    assert no_match(SchedulerScope(), {OLDER: 3}) is None
