"""A run that a signal or a debugger stops is reported at once, whatever other runs do; one that computes is no stall."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_tui.core.events import LinkChanged, LogArrived, LogOpened, Sampled
from gpu_tui.core.fleet import Fleet, Instance, LinkState, QueueFiles, SshAccess
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.logs import LogSource
from gpu_tui.core.metrics import DETACHED, FILES, GPUS, HOST, PROCESSES, ROSTER, TMUX, Metric
from gpu_tui.core.readings import FileStat, FileTable, GpuTable, Host, Process
from gpu_tui.core.sample import Reading
from gpu_tui.core.sweep import CellState
from gpu_tui.core.verdict import Verdict
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.parse.queue_file import parse_roster
from gpu_tui.state.store import Store
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.text.sweep import state_of
from screenshots.builders import gpu

T0 = 1_795_000_000.0
STALL = 60.0
LOG = "/root/{}.log"


def row(pid: int, *argv: str, state: str = "S", ppid: int = 1, cpu: float | None = None) -> Process:
    return Process(pid, ppid, argv[0].rpartition("/")[2], argv, state, 5_000.0, cpu)


ONE, TWO = row(11, "python", "fit.py", "--lr", "1"), row(12, "python", "fit.py", "--lr", "2")


class Box:
    """Two detached programs with their output in files; the cards are idle."""

    def __init__(self, busy: float | None = 0.0, **box: Any) -> None:
        instance = Instance("box", SshAccess("box"), stall_after=STALL, **box)
        self.store = Store(Fleet("s", (instance,)), {})
        self.at, self.busy, self.reader = T0, busy, LogReader()
        self.panes: tuple[Job, ...] = ()
        self.jobs = {"one": 11, "two": 12}
        self.store.apply(LinkChanged("box", T0, LinkState("live", since=T0 - 3600)))
        for job in self.jobs:
            source = LogSource(LOG.format(job), job)
            self.store.apply(LogOpened("box", T0, source, 7, 0, 0, resumed=False))

    def write(self, job: str) -> None:
        source = LogSource(LOG.format(job), job)
        lines = self.reader.feed(b"step 3/90 loss 0.5\n")
        self.store.apply(LogArrived("box", self.at, source, lines, False))

    def say(self, metric: Metric[Any], value: object) -> None:
        self.store.apply(Sampled("box", self.at, metric.name, Reading(value, self.at, 10.0)))

    def look(self, *processes: Process, after: float = 0.0) -> InstanceView:
        self.at += after
        jobs = tuple(
            Job(
                str(pid), name, CellState.RUNNING, "running", stdout=LOG.format(name), pids=(pid, 1)
            )
            for name, pid in self.jobs.items()
        )
        self.say(HOST, Host(self.at, 9e6, "boot", None, 0))
        self.say(PROCESSES, processes)
        self.say(DETACHED, JobTable("nohup", jobs))
        if self.panes:
            self.say(TMUX, JobTable("tmux", self.panes))
        if self.busy is not None:
            self.say(GPUS, GpuTable((gpu(self.busy, 10),)))
        return self.store.view(self.at)["box"]


def halts(view: InstanceView) -> list[tuple[str, str | None, str]]:
    return [(f.severity.value, f.cell, f.evidence) for f in view.findings if f.kind == "stalled"]


WORDS = "PID {} is stopped by a signal (SIGSTOP or Ctrl-Z): python fit.py --lr 2"


def test_one_of_two_runs_is_stopped_while_the_other_goes_on() -> None:
    box = Box(busy=0.97)
    for _ in range(30):  # each look of five minutes gives the same
        box.write("one")
        seen = box.look(replace(ONE, state="R"), replace(TWO, state="T"), after=10.0)
        assert halts(seen) == [("serious", "two", WORDS.format(12))]
        assert seen.verdict is Verdict.RUNNING
    (cell,) = [cell for cell in seen.queue.cells if cell.name == "two"]
    assert WORDS.format(12) in (cell.why or "")
    words = [state_of(cell)[1] for cell in seen.queue.cells]
    assert words == ["running", "halted"]
    box.write("two")
    assert halts(box.look(ONE, TWO, after=10.0)) == []


def test_if_all_runs_are_stopped_each_is_reported_once_and_the_box_stalls() -> None:
    box = Box()
    for _ in range(30):
        seen = box.look(replace(ONE, state="T"), replace(TWO, state="T"), after=10.0)
        assert [cell for _, cell, _ in halts(seen)] == ["one", "two"]
        assert seen.verdict is Verdict.STALLED
    assert any("kill -CONT" in why for why in seen.because)


@pytest.mark.parametrize(
    ("rows", "pid"),
    [
        # The ranks of a launcher that waits for them, and a worker of the loader.
        ([row(12, "python", "-m", "torch.distributed.run", "fit.py"), row(20, "python", "fit.py", state="T", ppid=12)], 20),
        ([TWO, row(21, "python", "fit.py", "--lr", "2", state="T", ppid=12)], 21),
        # Its own children are stopped with it: one finding.
        ([replace(TWO, state="T"), row(21, "python", "fit.py", state="T", ppid=12)], 12),
    ],
)  # fmt: skip
def test_a_stopped_process_is_reported_for_its_cell(rows: list[Process], pid: int) -> None:
    ((severity, cell, words),) = halts(Box().look(ONE, *rows))
    assert (severity, cell) == ("serious", "two")
    assert words.startswith(f"PID {pid} is stopped by a signal")


@pytest.mark.parametrize(
    "row_beside",
    [
        row(30, "vim", "fit.py", state="T", ppid=29),
        row(30, "python", "-m", "http.server", state="T", ppid=29),
        row(30, "ipython", state="T", ppid=29),
        row(30, "python", "/usr/bin/jupyter-lab", state="T", ppid=29),
        row(30, "less", "+F", "one.log", state="T", ppid=29),
        row(30, "python", "fit.py", state="Z", ppid=29),
        row(31, "python", "other.py", state="T", ppid=1),  # of no job
    ],
)
def test_a_suspended_program_that_is_no_run_is_ignored(row_beside: Process) -> None:
    box = Box()
    box.panes = (Job("%1", "main", CellState.RUNNING, "running", pids=(29, 1)),)
    assert halts(box.look(ONE, TWO, row(29, "bash"), row_beside)) == []


def test_a_stopped_queue_shell_is_reported() -> None:
    box = Box(queue=QueueFiles("/root/q.txt", "/root/q.log"))
    box.jobs = {}
    box.say(ROSTER, parse_roster("a.yaml task 20\n"))
    shell = row(40, "bash", "run_queue.sh", "/root/q.txt", state="T")
    trainer = row(41, "python", "train.py", "--config", "a.yaml", ppid=40)
    ((severity, _, words),) = halts(box.look(shell, trainer))
    assert (severity, words) == (
        "serious",
        "PID 40 is stopped by a signal (SIGSTOP or Ctrl-Z): bash run_queue.sh q.txt",
    )
    assert halts(box.look(replace(shell, state="S"), trainer)) == []


def test_a_debugger_is_reported_only_if_it_holds_the_process() -> None:
    box, held = Box(), replace(TWO, state="t")
    assert halts(box.look(ONE, TWO)) == []
    assert halts(box.look(ONE, held, after=5.0)) == []
    assert halts(box.look(ONE, TWO, after=5.0)) == []
    assert halts(box.look(ONE, held, after=5.0)) == []
    ((severity, cell, words),) = halts(box.look(ONE, held, after=15.0))
    assert (severity, cell) == ("serious", "two")
    assert words == "PID 12 is held by a debugger (gdb, strace, py-spy): python fit.py --lr 2"
    # A single look cannot distinguish the two.
    assert [found[0] for found in halts(Box().look(ONE, held))] == ["warn"]


# --- what computes is not silent ------------------------------------------------------------------------


def still(view: InstanceView, name: str) -> tuple[bool, bool | None]:
    (cell,) = [cell for cell in view.queue.cells if cell.name == name]
    return cell.still_seconds is not None, cell.computes


def silent(box: Box, cores: float, looks: int = 20) -> InstanceView:
    """Both are silent for longer than a stall takes, and the second one uses so many cores."""
    for n in range(looks):
        child = row(22, "python", "fit.py", ppid=12, cpu=500.0 + 10 * n * cores)
        seen = box.look(
            replace(ONE, cpu_seconds=90.0), replace(TWO, cpu_seconds=3.0), child, after=10.0
        )
    return seen


@pytest.mark.parametrize("busy", [0.0, None])
def test_of_two_silent_runs_only_the_one_that_does_not_compute_stalls(
    busy: float | None,
) -> None:
    seen = silent(Box(busy=busy), cores=0.9)
    assert (still(seen, "one")[0], still(seen, "two")) == (True, (True, True))
    assert [cell for _, cell, _ in halts(seen)] == ["one"]
    assert seen.verdict is Verdict.RUNNING
    polls = silent(Box(busy=busy), cores=0.005)  # for its peers
    assert {cell for _, cell, _ in halts(polls)} in ({"one", "two"}, {None})
    if busy is not None:
        assert polls.verdict is Verdict.STALLED


def test_bursts_of_work_do_not_make_the_verdict_flip() -> None:
    box, verdicts = Box(), set()
    for n in range(60):  # it computes in bursts: half of each look finds it asleep
        cpu = 5.0 * (n // 2)
        seen = box.look(ONE, replace(TWO, cpu_seconds=cpu, state="SR"[n % 2]), after=5.0)
        if n > 30:
            verdicts.add(seen.verdict)
    assert verdicts == {Verdict.RUNNING}


def test_the_time_of_the_log_file_shows_a_stall_on_a_new_connection() -> None:
    box = Box()
    box.store.apply(LinkChanged("box", T0, LinkState("live", since=T0 - 1)))
    stats = {
        LOG.format(name): FileStat(LOG.format(name), 7, 90, T0 - age)
        for name, age in (("one", 5.0), ("two", 300.0))
    }
    box.say(FILES, FileTable(stats))
    seen = box.look(ONE, TWO)
    assert [still(seen, name)[0] for name in ("one", "two")] == [False, True]
    assert [cell for _, cell, _ in halts(seen)] == ["two"]
