"""A Job that tries again in another pod: the end of the try before is said, until it is got over."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kube_objects import at, condition, ended, job, pod

from gpu_tui.core.jobs import Job
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.instants import epoch_of
from gpu_tui.parse.kubernetes import parse_jobs

NOON = epoch_of(at("12:00:00")) or 0.0
REFUSED = {
    **condition("PodScheduled", "Unschedulable", "0/3 nodes are available", "11:27:00"),
    "status": "False",
}


def rows(*items: Any, now: float = NOON) -> tuple[Job, ...]:
    return parse_jobs(json.dumps({"items": items}).encode(), now).table.jobs


def dead(name: str = "a-1", code: int = 1, reason: str = "Error", **more: Any) -> Any:
    return pod(name, of="a", phase="Failed", state=ended(code, reason, "11:27:00"), **more)


def runs(since: str = "11:58:00", **more: Any) -> Any:
    state = {"running": {"startedAt": at(since)}}
    return pod("a-2", of="a", created="11:27:10", state=state, **more)


def test_a_retry_that_waits_for_cards_says_why_the_first_try_ended() -> None:
    waits = pod("a-2", of="a", phase="Pending", created="11:27:00", conditions=[REFUSED])
    spec = {"backoffLimit": 2}
    (row,) = rows(job("a", failed=1, active=1, spec=spec), dead(), waits)
    assert (row.state, row.finding) == (CellState.PENDING, "missing_cell")
    assert row.waits_since == NOON - 33 * 60  # and not since the Job was made
    assert row.why == (
        "Unschedulable for 33 min: 0/3 nodes are available; the pod before ended 33 min ago: exit 1; "
        "1 of 2 retries used"
    )


@pytest.mark.parametrize(
    ("first", "finding", "words"),
    [
        (dead(), "crashed", "the pod before ended 33 min ago: exit 1"),
        (dead(code=137, reason="OOMKilled"), "host_oom", "the pod before ended 33 min ago: OOMKilled, exit 137"),
        (
            dead(reason="Error", conditions=[condition("DisruptionTarget", "EvictionByEvictionAPI")]),
            "preempted",
            "the pod before ended 33 min ago: EvictionByEvictionAPI: its node is drained; exit 1",
        ),
    ],
)  # fmt: skip
def test_a_retry_that_runs_is_marked_until_it_is_well_beyond(
    first: Any, finding: str, words: str
) -> None:
    made = job("a", failed=1, active=1)
    (row,) = rows(made, first, runs())
    assert (row.state, row.finding, row.again) == (CellState.RUNNING, finding, True)
    assert row.why is not None
    assert row.why.startswith(words)
    (row,) = rows(made, first, runs(), now=NOON + 4 * 3_600)  # the first had run for 87 minutes
    assert (row.state, row.finding) == (CellState.RUNNING, None)


def test_a_job_that_went_well_says_nothing_of_a_failed_try() -> None:
    done = pod("a-2", of="a", phase="Succeeded", created="11:27:10", state=ended(0, "Completed"))
    (row,) = rows(job("a", failed=1, succeeded=1, conditions=[condition("Complete")]), dead(), done)
    assert (row.state, row.finding, row.why) == (CellState.FINISHED, None, None)


def test_each_index_has_tries_of_its_own() -> None:
    spec = {"completions": 2, "parallelism": 2, "completionMode": "Indexed"}
    first, second = rows(
        job("a", failed=1, active=2, spec=spec),
        dead(index=0),
        runs(index=0),
        pod("a-3", of="a", index=1, created="11:00:00"),
    )
    assert (first.finding, second.finding) == ("crashed", None)
    assert (first.again, second.why) == (True, None)


def test_a_pod_that_failed_after_this_one_was_made_is_no_try_before() -> None:
    late = dead(created="11:40:00")
    (row,) = rows(job("a", failed=1, active=1), late, runs())
    assert row.finding is None
