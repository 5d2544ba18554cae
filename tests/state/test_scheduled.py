"""An instance whose jobs a scheduler runs elsewhere: what the box itself does says nothing of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_tui.core.events import LinkChanged, LogArrived, LogOpened, ProviderRead, Sampled
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Fleet, Instance, LinkState, Money, ProviderState, SshAccess
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.logs import LogSource
from gpu_tui.core.readings import Gpu, GpuTable, Host, Process
from gpu_tui.core.sample import Failure, FailureKind, Reading
from gpu_tui.core.sweep import CellState
from gpu_tui.core.verdict import Verdict
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.state.history import NoHistory
from gpu_tui.state.store import Store
from gpu_tui.state.views import InstanceView

T0 = 1_795_000_000.0
LOGIN = Instance("login", SshAccess("login"), price=Money(2.0, "USD"), scheduler="slurm")
RUN, WAIT, END = CellState.RUNNING, CellState.PENDING, CellState.FINISHED
BAD, NEVER = CellState.FAILED, CellState.SKIPPED


def job(id: str, state: CellState, word: str = "", **more: object) -> Job:
    over = state in (END, BAD)
    at = T0 - 60 if over else None
    return Job(id, f"{id}·a", state, word or state.value.upper(), finished_at=at, **more)  # type: ignore[arg-type]


class Node:
    """A store with one login node, on which a process of nobody's idles."""

    def __init__(self) -> None:
        self.store = Store(Fleet(None, (LOGIN,)), {}, NoHistory())
        self.at = T0
        self.store.apply(LinkChanged("login", T0, LinkState("live", since=T0)))
        self.sample("processes", (Process(1, 0, "init", ("/sbin/init",), "S"),))
        self.sample("host", Host(T0, 5000.0, "boot-1"))

    def sample(self, metric: str, value: object, period: float = 3_600.0) -> None:
        self.store.apply(Sampled("login", self.at, metric, Reading(value, self.at, period)))

    def jobs(self, *rows: Job, period: float = 3_600.0) -> InstanceView:
        self.sample("slurm", JobTable("Slurm", rows), period)
        return self.view()

    def view(self) -> InstanceView:
        return self.store.view(self.at)["login"]


@pytest.mark.parametrize(
    ("rows", "verdict", "because"),
    [
        ((job("1", RUN), job("2", WAIT)), Verdict.RUNNING, "1 job runs and 1 wait"),
        ((job("1", RUN), job("2", RUN)), Verdict.RUNNING, "2 jobs run and none wait"),
        ((job("2", WAIT, why="Priority"),), Verdict.IDLE, "no job runs; 1 job in the queue"),
        ((job("1", END), job("2", BAD)), Verdict.FINISHED, "1 of 2 failed"),
        ((job("1", BAD, preempted=True),), Verdict.PREEMPTED, "was preempted"),
        ((), Verdict.IDLE, "Slurm lists no job"),
    ],
)
def test_the_jobs_are_the_verdict(rows: tuple[Job, ...], verdict: Verdict, because: str) -> None:
    view = Node().jobs(*rows)
    assert view.verdict is verdict
    assert because in view.because[0]


def test_nobody_pays_for_a_login_node_that_rests() -> None:
    node = Node()
    for _ in range(40):  # 800 seconds, looked at often enough to count
        node.sample("gpus", GpuTable((Gpu(0, "T4", "GPU-1", utilization=0.0),)), 60.0)
        view = node.jobs(job("1", END), period=60.0)
        node.at += 20
    assert "idle_billing" not in {finding.kind for finding in view.findings}


def test_an_ended_job_does_not_switch_its_login_node_off() -> None:
    node = Node()
    node.store.apply(ProviderRead("login", T0, ProviderState("gone", read_at=T0)))
    assert node.jobs(job("2", RUN)).verdict is Verdict.RUNNING


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (job("1", BAD, "TIMEOUT", finding="time_limit"), "time_limit"),
        (job("1", BAD, "NODE_FAIL", finding="hardware"), "hardware"),
        (job("1", BAD, "FAILED"), "crashed"),
        (job("1", CellState.SUSPICIOUS, "COMPLETED", finding="host_oom"), "host_oom"),
        (job("1", NEVER, "PENDING", finding="missing_cell"), "missing_cell"),
    ],
)
def test_a_bad_end_is_one_finding_of_its_own_kind(row: Job, kind: str) -> None:
    view = Node().jobs(row)
    (finding,) = view.findings
    assert (finding.kind, finding.cell, finding.source) == (kind, "1·a", "job:1")


def test_a_scheduler_that_falls_silent_takes_its_claims_with_it() -> None:
    node = Node()
    node.jobs(job("1", RUN), job("2", END))
    why = "the controller does not answer"
    failure = Failure(FailureKind.UNREACHABLE, why, T0)
    node.store.apply(Sampled("login", T0, "slurm", failure))
    view = node.view()
    assert view.verdict is Verdict.CANNOT_TELL
    assert why in view.because[0]
    states = {cell.job: (cell.state, cell.why) for cell in view.queue.cells}
    assert states["1"][0] is CellState.CANNOT_TELL
    assert why in (states["1"][1] or "")
    assert states["2"][0] is END  # what ended stays ended
    assert node.jobs(job("1", RUN)).verdict is Verdict.RUNNING


def test_a_list_that_is_old_is_no_list() -> None:
    node = Node()
    assert node.jobs(job("1", RUN), period=20.0).verdict is Verdict.RUNNING
    node.at += 61
    assert node.view().verdict is Verdict.CANNOT_TELL


def test_two_jobs_of_one_name_are_two_rows() -> None:
    view = Node().jobs(job("1", RUN), job("2", RUN))
    assert [cell.name for cell in view.queue.cells] == ["1·a", "2·a"]


EXIT = "srun: error: vm: task 1: Exited with exit code 1\n"
TRACED = "Epoch 2/10 loss: 0.5\nRuntimeError: shape mismatch\n"


def logged(node: Node, text: str) -> InstanceView:
    """The view once the log of job 1 holds this text."""
    source = LogSource("/logs/1.out", "1·a")
    lines = tuple(LogReader().feed(text.encode()))
    node.store.apply(LogOpened("login", node.at, source, 7, 0, 0, resumed=False))
    node.store.apply(LogArrived("login", node.at, source, lines, True, len(text)))
    return node.view()


@pytest.mark.parametrize(
    ("text", "more", "state"),
    [
        (TRACED + EXIT, {}, CellState.SUSPICIOUS),
        (EXIT, {}, CellState.SUSPICIOUS),
        ("Epoch 10/10 loss: 0.1\n", {}, END),
        # The steps say what became of the work: another one did it.
        (TRACED + EXIT, {"steps_read": True}, END),
        # Started again in the same log.
        (EXIT.replace("1:", "0:") + "".join(f"Epoch {n}/9\n" for n in range(1, 10)), {}, END),
    ],
)
def test_without_accounts_srun_says_in_the_log_that_a_task_failed(
    text: str, more: dict[str, object], state: CellState
) -> None:
    node = Node()
    node.jobs(job("1", END, "COMPLETED", exit_code=0, stdout="/logs/1.out", **more))
    view = logged(node, text)
    (cell,) = view.queue.cells
    assert cell.state is state
    if state is CellState.SUSPICIOUS:
        assert cell.why == f"its log says: {EXIT.strip()}"
        assert cell.epoch == (2 if "Epoch" in text else None)
        assert {found.severity for found in view.findings} <= {Severity.FATAL, Severity.SERIOUS}
        assert view.findings


def test_a_job_that_runs_on_after_its_step_failed_is_not_healthy() -> None:
    why = "step 0 FAILED exit 1, and no step runs"
    view = Node().jobs(job("1", RUN, why=why, finding="crashed"), job("2", RUN))
    (finding,) = view.findings
    assert (finding.kind, finding.severity, finding.cell) == ("crashed", Severity.SERIOUS, "1·a")
    assert why in finding.evidence
    assert view.verdict is Verdict.RUNNING
    assert f"1·a: {why}" in view.because
    assert view.queue.cells[0].state is RUN


BY_STEPS = "srun: Job step aborted: Waiting up to 4 seconds for job step to finish.\n"


@pytest.mark.parametrize(
    ("text", "grave"),
    [
        # Done again by another step in the same log.
        (TRACED + EXIT + "".join(f"Epoch {n}/9 loss: 0.{n}\n" for n in range(1, 10)), False),
        # Another step did the work, and wrote elsewhere.
        (EXIT, False),
        (TRACED + EXIT, False),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n" + EXIT, False),
        # A helper that ended with the script.
        (BY_STEPS + EXIT.replace("Exited with exit code 1", "Killed"), False),
        # The script itself ran the program, so there is no step of it.
        (TRACED, True),
        (EXIT + TRACED, True),
    ],
)
def test_a_line_of_a_step_in_a_job_that_ended_well_is_no_finding(text: str, *, grave: bool) -> None:
    node = Node()
    more = {"exit_code": 0, "stdout": "/logs/1.out", "steps_read": True}
    node.jobs(job("1", END, "COMPLETED", **more))
    view = logged(node, text)
    assert view.queue.cells[0].state is END
    assert any(found.severity.rank <= Severity.SERIOUS.rank for found in view.findings) is grave
    assert bool(view.findings) is grave
    node.jobs(job("1", END, "COMPLETED", **more | {"logs": ("/logs/1.out",)}))
    assert not node.view().findings  # only a step wrote that log


def test_the_accounts_have_the_last_word_on_a_step_that_was_done_again() -> None:
    """They are read less often than the queue: until then the log is all there is."""
    node = Node()
    row = job("1", END, "COMPLETED", exit_code=0, stdout="/logs/1.out")
    node.jobs(row)
    assert logged(node, EXIT).queue.cells[0].state is CellState.SUSPICIOUS
    view = node.jobs(replace(row, steps_read=True))
    assert view.queue.cells[0].state is END
    assert not view.findings
    why = "step 0 FAILED exit 1, and the script went on to exit 0"
    view = node.jobs(replace(row, state=CellState.SUSPICIOUS, why=why, steps_read=True))
    assert view.queue.cells[0].state is CellState.SUSPICIOUS
    assert why in (view.queue.cells[0].why or "")
