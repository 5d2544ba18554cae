"""A filtered sweep on screen and in `check`: rows, counts, verdict, findings, and the clocks of what is no cell."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_scheduled import BAD, END, LOGIN, RUN, T0, Node, job

from gpu_tui.core.events import LinkChanged
from gpu_tui.core.fleet import Fleet, LinkState, SchedulerScope
from gpu_tui.core.job_scope import in_scope
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.left_queue import LeftQueue
from gpu_tui.core.readings import Host
from gpu_tui.core.run_memory import remembered
from gpu_tui.core.sample import Reading
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.contract import fleet_verdict, instance_json
from gpu_tui.state.history import NoHistory
from gpu_tui.state.patrol import patrol_report
from gpu_tui.state.resume_words import resume_lines
from gpu_tui.state.settled import settled
from gpu_tui.state.store import Store

DAY = 86_400.0


class Scoped(Node):
    """A login node of which the fleet file names the sweep."""

    def __init__(self, **filters: object) -> None:
        scope = SchedulerScope(**filters)  # type: ignore[arg-type]
        login = replace(LOGIN, scheduler_scope=scope)
        self.store = Store(Fleet(None, (login,)), {}, NoHistory())
        self.at = T0
        self.store.apply(LinkChanged("login", T0, LinkState("live", since=T0)))
        self.sample("host", Host(T0, 5000.0, "boot-1"))

    def text(self) -> str:
        return "\n".join(patrol_report(self.store.view(self.at), {}))

    def exit_word(self) -> str:
        return fleet_verdict(self.store.view(self.at))


def named(id: str, name: str, state=RUN, **more: object) -> Job:  # type: ignore[no-untyped-def]
    row = {"submitted_at": T0 - 600, "started_at": T0 - 500, "node": "n1", **more}
    return replace(job(id, state, **row), name=f"{id}·{name}")


def test_other_jobs_are_counted_and_neither_rows_nor_findings() -> None:
    node = Scoped(name=("sweep-*",))
    view = node.jobs(
        named("1", "sweep-a"),
        named("2", "sweep-b", END),
        named("3", "test", BAD, finding="host_oom"),
        named("4", "bash", interactive=True),
    )
    assert [cell.job for cell in view.queue.cells] == ["1", "2"]
    assert view.queue.total == 2
    assert view.findings == ()
    assert view.because[0] == "1 job runs and none wait"
    told = instance_json(view)["queue"]
    assert told["not_counted"] == {"interactive": 1, "outside the filter": 1}  # type: ignore[index]
    assert "not counted: 1 interactive, 1 outside the filter" in node.text()
    assert node.exit_word() == "healthy"


def test_a_filter_that_matches_nothing_is_no_sweep_that_is_over() -> None:
    node = Scoped(name=("swep-*",))
    view = node.jobs(named("1", "sweep-a"), named("2", "sweep-b", END))
    assert view.verdict is Verdict.CANNOT_TELL
    assert view.because[0] == "no job matches name: swep-*; 2 other jobs"
    assert "no job matches name: swep-*; 2 other jobs" in node.text()
    assert "not counted: 2 outside the filter" in node.text()
    assert instance_json(view)["queue"]["not_counted"] == {"outside the filter": 2}  # type: ignore[index]
    assert node.exit_word() != "healthy"
    # An empty queue is another matter: nothing is there to be mistaken for something else.
    assert Scoped(name=("swep-*",)).jobs().verdict is Verdict.IDLE


def test_a_failure_from_before_the_sweep_does_not_escalate() -> None:
    node = Scoped()
    old = named("1", "test", BAD, submitted_at=T0 - 2 * DAY)
    old = replace(old, finished_at=T0 - 1.9 * DAY)
    view = node.jobs(old, named("2", "sweep"))
    assert view.findings == ()
    assert "not counted: 1 older" in node.text()
    fresh = replace(old, finished_at=T0 - 0.9 * DAY)
    view = node.jobs(fresh, named("2", "sweep"))
    assert [finding.kind for finding in view.findings] == ["crashed"]


@pytest.mark.parametrize("filters", [{}, {"name": ("sweep-*",)}])
def test_an_interactive_session_keeps_its_clock(filters: dict[str, object]) -> None:
    node = Scoped(**filters)
    view = node.jobs(
        named("1", "sweep-a", ends_by=T0 + 86_400),
        named("2", "bash", interactive=True, ends_by=T0 + 240),
        named("3", "other", ends_by=T0 + 240),
    )
    clocks = [str(clock) for clock in view.clocks]
    assert any("2·bash" in clock for clock in clocks), clocks
    assert any("3·other" in clock for clock in clocks) is not bool(filters)


def test_an_interactive_job_that_left_the_queue_does_not_become_a_cell() -> None:
    shell = named("2", "bash", interactive=True)
    sweep = named("1", "sweep-a", stdout="/l/1.out")
    first, second = LeftQueue(), LeftQueue()
    first.follow(Reading(JobTable("Slurm", (sweep, shell)), T0))
    memory = remembered(first.memory("box", T0), "box")
    assert memory is not None
    second.recall((*memory.live, *memory.gone))
    second.follow(Reading(JobTable("Slurm"), T0 + 60))
    login = replace(LOGIN, scheduler_scope=SchedulerScope())
    left, aside = in_scope(second.complete(JobTable("Slurm"), {}, T0 + 60), login, T0 + 60)
    assert [job.id for job in left.jobs] == ["1"]
    assert aside == {"interactive": 1}
    # The accounts alone, without its steps and its submit line, do not make it a batch job again.
    bare = replace(shell, interactive=False, state=BAD, finished_at=T0 + 30)
    second.follow(Reading(JobTable("Slurm", (bare,)), T0 + 80))
    listed = second.complete(JobTable("Slurm", (bare,)), {}, T0 + 80)
    assert {job.id: job.interactive for job in listed.jobs} == {"1": False, "2": True}


def test_the_hand_over_names_no_job_outside_the_sweep() -> None:
    node = Scoped(name=("sweep-*",))
    view = node.jobs(
        named("1", "sweep-a"), named("2", "sweep-b", BAD), named("3", "test", BAD), named("4", "x")
    )
    told = "\n".join(resume_lines(view))
    assert "**Slurm**: 1 running, 1 failed" in told
    assert "`2` 2·sweep-b" in told
    assert "3·test" not in told
    assert "- not counted: 2 outside the filter" in told


@pytest.mark.parametrize("filters", [{}, {"name": ("sweep-*",)}])
def test_the_log_of_a_job_outside_the_sweep_is_not_waited_for(filters: dict[str, object]) -> None:
    node = Scoped(**filters)
    for metric in ("gpus", "memory", "cpu", "mounts", "processes", "files"):
        node.sample(metric, None)
    view = node.jobs(named("1", "sweep-a", END), named("2", "other", stdout="/l/2.out"))
    assert settled(view) is bool(filters)
