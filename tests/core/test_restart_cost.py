"""The cost of a restart by the log, and when it is got over."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_tui.core.course import Course
from gpu_tui.core.events import LinkChanged, Sampled
from gpu_tui.core.fleet import HERE, Fleet, Instance, LinkState
from gpu_tui.core.jobs import Job, JobTable, with_jobs
from gpu_tui.core.logs import Progress
from gpu_tui.core.sample import Reading
from gpu_tui.core.sweep import Cell, CellEvidence, CellState, Queue
from gpu_tui.state.history import NoHistory
from gpu_tui.state.store import Store

CLUSTER = Instance("lab", HERE, "kubernetes", scheduler="kubernetes")

KILLED = Job(
    "pod/p", "p", CellState.RUNNING, "Running", "restarted 2 times", finding="host_oom", again=True
)


def cell(job: Job, **seen: int) -> Cell:
    table = JobTable("kubernetes", (job,))
    queue = with_jobs(Queue(), [table], {"p": CellEvidence(**seen)}, box_now=0.0)  # type: ignore[arg-type]
    return queue.cells[0]


@pytest.mark.parametrize(
    ("epoch", "reached", "words", "finding"),
    [
        (2, 7, "Running: restarted 2 times, back at epoch 2 after epoch 7", "host_oom"),
        (7, 7, "Running: restarted 2 times", "host_oom"),
        (8, 7, "Running: restarted 2 times", "host_oom"),
        (9, 7, "Running: restarted 2 times", None),
        (101, 100, "Running: restarted 2 times", "host_oom"),
        (111, 100, "Running: restarted 2 times", None),
    ],
)
def test_a_restart_costs_epochs_until_the_run_is_well_beyond_it(
    epoch: int, reached: int, words: str, finding: str | None
) -> None:
    row = cell(KILLED, epoch=epoch, reached=reached)
    assert (row.why, row.finding) == (words, finding)


@pytest.mark.parametrize(
    ("kind", "part", "remedy"),
    [("crashed", "restart", "It runs again."), ("host_oom", None, "The cgroup killed it")],
)
def test_a_restart_is_a_warning_of_its_own_part(kind: str, part: str | None, remedy: str) -> None:
    """A `crashed` of the part None would be an end of the run, and its log would be read as that of one."""
    row = replace(KILLED, finding=kind)
    store = Store(Fleet(None, (CLUSTER,)), {}, NoHistory())
    store.apply(LinkChanged("lab", 100.0, LinkState("live", since=100.0)))
    table = JobTable("kubernetes", (row,))
    store.apply(Sampled("lab", 100.0, "kubernetes", Reading(table, 100.0, 60.0)))
    view = store.view(100.0)["lab"]
    (finding,) = view.findings
    assert (finding.kind, finding.part, finding.severity.value) == (kind, part, "warn")
    assert finding.remedy.startswith(remedy)
    assert view.because == ("1 job runs and none wait",)


def test_a_retry_waits_since_its_own_pod_was_made() -> None:
    waits = Job("job/a", "a", CellState.PENDING, "Pending", submitted_at=0.0, waits_since=7_000.0)
    queue = with_jobs(Queue(), [JobTable("kubernetes", (waits,))], {}, box_now=9_000.0)
    assert (queue.cells[0].age_seconds, queue.cells[0].waited) == (9_000.0, 1_980.0)
    first = replace(waits, waits_since=None)
    queue = with_jobs(Queue(), [JobTable("kubernetes", (first,))], {}, box_now=9_000.0)
    assert queue.cells[0].waited == 9_000.0


def test_only_the_finding_of_a_restart_is_got_over() -> None:
    other = Job(
        "pod/p", "p", CellState.RUNNING, "Running", "its node", finding="network", again=True
    )
    assert cell(other, epoch=90, reached=7).finding == "network"
    never = Job("pod/p", "p", CellState.RUNNING, "Running", "x", finding="host_oom")
    assert cell(never, epoch=2, reached=7).why == "Running: x"
    assert cell(KILLED, epoch=2).why == "Running: restarted 2 times"


def test_a_course_keeps_the_furthest_epoch_of_the_attempts_before() -> None:
    course = Course()
    for epoch in (1, 2, 7, 1, 2, 3, 1, 2):
        course.take(Progress(epoch=epoch, epochs=50), float(epoch))
    assert (course.reached, course.progress.epoch, course.restarts) == (7, 2, 2)
    fresh = Course()
    fresh.take(Progress(epoch=1, epochs=50), 1.0)
    assert fresh.reached is None
