"""A queue file that gives no cell: runs found on the box count, and the next step is named."""

from __future__ import annotations

import pytest

from gpu_tui.core.events import LinkChanged, LogArrived, LogOpened, Sampled
from gpu_tui.core.fleet import Fleet, Instance, LinkState, QueueFiles, SshAccess
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.logs import LogSource
from gpu_tui.core.metrics import DETACHED, ROSTER
from gpu_tui.core.sample import Absent, Failure, FailureKind, Reading
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.parse.queue_file import parse_roster
from gpu_tui.state.patrol import patrol_lines
from gpu_tui.state.store import Store
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.text.sweep import queue_note

T0 = 1_795_000_000.0
FOUND = JobTable(
    "nohup", (Job("7", "lr1", CellState.RUNNING, "running", stdout="/root/lr1.log", pids=(7, 1)),)
)


def box(**queue: str) -> Store:
    files = QueueFiles(**{"file": "/root/q.txt", "log": "/root/q.log", **queue})
    store = Store(Fleet(None, (Instance("a", SshAccess("a"), queue=files),)), {})
    store.apply(LinkChanged("a", T0, LinkState("live", T0)))
    return store


def tell(store: Store, metric: str, sample: object) -> InstanceView:
    store.apply(Sampled("a", T0, metric, sample))  # type: ignore[arg-type]
    return store.view(T0 + 1)["a"]


UNREADABLE = {
    "a list of names and options": Reading(parse_roster("lr1e-3_bs64 --lr 1e-3\nlr3e-3_bs64 --lr 3e-3\n"), T0),
    "commands": Reading(parse_roster("python train.py --lr 1\npython train.py --lr 2\n"), T0),
    "names and an option with a whole number": Reading(parse_roster("lr1 --lr 1\nlr2 --lr 2\n"), T0),
    "one word a line": Reading(parse_roster("a\nb\n"), T0),
    "empty": Reading(parse_roster("# nothing\n"), T0),
    "missing": Absent("there is no queue file /root/q.txt", T0),
    "denied": Failure(FailureKind.DENIED, "the queue file /root/q.txt cannot be read", T0),
}  # fmt: skip


@pytest.mark.parametrize("sample", UNREADABLE.values(), ids=UNREADABLE)
def test_found_runs_count_and_the_next_step_is_named(sample: object) -> None:
    store = box()
    view = tell(store, ROSTER.name, sample)
    assert not view.queue.cells
    assert "gpu-tui help runners" in queue_note(view).plain
    view = tell(store, DETACHED.name, Reading(FOUND, T0, 15.0))
    assert [cell.name for cell in view.queue.cells] == ["lr1"]
    assert "by the list" in view.because[0]
    (found,) = [one for one in view.findings if one.kind == "missing_cell"]
    assert found.severity == "warn"
    assert "help runners" in found.remedy
    assert any("help runners" in note for note in view.queue.notes)
    assert "help runners" in patrol_lines(view, T0)[1]


def test_a_corrected_queue_file_counts_again() -> None:
    store = box()
    tell(store, ROSTER.name, UNREADABLE["one word a line"])
    tell(store, DETACHED.name, Reading(FOUND, T0, 15.0))
    view = tell(store, ROSTER.name, Reading(parse_roster("cfg/a.yaml rec 20\n"), T0))
    assert [(cell.name, cell.state) for cell in view.queue.cells] == [("a", CellState.PENDING)]
    assert not [one for one in view.findings if one.kind == "missing_cell"]
    assert not view.instance.queue.useless


def test_a_log_that_names_the_cells_is_enough() -> None:
    store = box()
    source = LogSource("/root/q.log")
    store.apply(LogOpened("a", T0, source, 1, 0, 0, resumed=False))
    lines = LogReader().feed(b"[2026-11-18 11:00:00] [1/2] STARTING a (rec, 20ep)\n")
    store.apply(LogArrived("a", T0, source, lines, backfill=True, upto=60))
    view = tell(store, ROSTER.name, UNREADABLE["missing"])
    assert not view.instance.queue.useless
    assert [cell.name for cell in view.queue.cells] == ["a"]
