"""A job that nobody named in the fleet file can hang as well: its followed log tells that nothing moves."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_tui.core.events import LinkChanged, LogArrived, LogFailed, LogOpened, Sampled
from gpu_tui.core.fleet import Fleet, Instance, LinkState, SshAccess
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.logs import LogSource
from gpu_tui.core.metrics import DETACHED, GPUS, PROCESSES, Metric
from gpu_tui.core.readings import FileStat, FileTable, GpuTable
from gpu_tui.core.sample import Reading
from gpu_tui.core.sweep import CellState
from gpu_tui.core.verdict import Verdict
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.state import signs
from gpu_tui.state.store import Store
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.text.sweep import cell_row
from screenshots.builders import gpu

T0 = 1_795_000_000.0
STALL = 60.0
LATER = T0 + 100


class Box:
    """A box of which only its jobs are known, each with its output in a file."""

    def __init__(self, *jobs: str, scheduler: str | None = None) -> None:
        self.jobs = jobs
        box = Instance("box", SshAccess("box"), stall_after=STALL, scheduler=scheduler)
        self.store = Store(Fleet("s", (box,)), {})
        self.reader = LogReader()
        self.store.apply(LinkChanged("box", T0, LinkState("live")))
        for job in jobs:
            self.store.apply(LogOpened("box", T0, self.source(job), 7, 0, 0, resumed=False))

    @staticmethod
    def source(job: str) -> LogSource:
        return LogSource(f"/root/{job}.log", job)

    def line(self, job: str, at: float) -> None:
        lines = self.reader.whole(b"[ep 001/040] it 0/200 loss=0.5\n")
        assert lines is not None
        arrived = LogArrived("box", at, self.source(job), self.reader.judge(lines), False)
        self.store.apply(arrived)

    def at(self, now: float, busy: float | None = 0.0) -> InstanceView:
        jobs = tuple(
            Job(str(n), name, CellState.RUNNING, "running", stdout=self.source(name).path)
            for n, name in enumerate(self.jobs)
        )
        tables: dict[Metric[Any], object] = {
            DETACHED: JobTable("nohup", jobs),
            PROCESSES: (),
        }
        if busy is not None:
            tables[GPUS] = GpuTable((gpu(busy, 10),))
        for metric, table in tables.items():
            self.store.apply(Sampled("box", now, metric.name, Reading(table, now, 1.0)))
        return self.store.view(now)["box"]


def test_a_listed_job_whose_log_stands_still_is_stalled() -> None:
    box = Box("a")
    box.line("a", T0 + 10)
    assert box.at(T0 + 60).verdict is Verdict.RUNNING
    seen = box.at(LATER)
    assert seen.verdict is Verdict.STALLED
    assert "nothing moved for 1 min 30 s" in seen.because[0]


def test_one_that_moves_answers_for_the_box() -> None:
    box = Box("a", "b")
    box.line("a", T0 + 10)
    box.line("b", T0 + 80)
    assert box.at(LATER).verdict is Verdict.RUNNING


def test_the_row_of_one_that_hangs_says_so_whatever_moves_beside_it() -> None:
    box = Box("a", "b")
    box.line("a", T0 + 10)
    box.line("b", T0 + 80)
    for width in (40, 90):
        hung, moving = (
            cell_row(seen, cell, width).plain
            for seen in [box.at(LATER)]
            for cell in seen.queue.cells
        )
        assert ("▲" in hung, "▲" in moving, "running" in hung) == (True, False, False)
    assert ("silent 1m" in hung, "running" in moving) == (True, True)
    box.line("a", LATER + 1)
    seen = box.at(LATER + 2)
    assert "silent" not in cell_row(seen, seen.queue.cells[0], 90).plain


@pytest.mark.parametrize(
    ("scheduler", "written", "silent"),
    [
        (None, None, True),
        (None, "/p/active/a-20260103T101500Z/latest.pth", False),
        (None, "/p/active/b/latest.pth", True),
        ("slurm", None, False),  # its cards are elsewhere
    ],
)
def test_a_silent_log_is_weighed_by_what_else_is_seen_of_its_cell(
    scheduler: str | None, written: str | None, silent: bool
) -> None:
    box = Box("a", "b", scheduler=scheduler)
    box.line("a", T0 + 10)
    box.line("b", T0 + 80)
    stats = {written: FileStat(written, 1, 1, LATER - 5)} if written else {}
    box.store.apply(Sampled("box", LATER, "files", Reading(FileTable(stats), LATER, 10.0)))
    assert (box.at(LATER).queue.cells[0].still_seconds is not None) is silent


def test_files_are_looked_through_once_for_a_table_however_often_a_silent_cell_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A sweep has tens of thousands of them, and the screen asks each second."""
    asked: list[str] = []
    monkeypatch.setattr(signs, "names_of", lambda part: asked.append(part) or [part])
    box = Box("a", "b")
    box.line("b", T0 + 80)
    stats = {path: FileStat(path, 1, 1, LATER - 5) for path in ("/r/b/1.pth", "/r/b/2.pth")}
    box.store.apply(Sampled("box", LATER, "files", Reading(FileTable(stats), LATER, 10.0)))
    for later in range(3):
        assert box.at(LATER + later).queue.cells[0].still_seconds is not None
    assert sorted(asked) == ["", "1.pth", "2.pth", "b", "r"]


def test_a_log_that_may_lie_behind_a_connection_that_is_new_proves_no_stall() -> None:
    box = Box("a", "b")
    box.line("b", T0 + 80)
    box.store.apply(LinkChanged("box", LATER - 5, LinkState("live", since=LATER - 5)))
    assert [cell.still_seconds for cell in box.at(LATER).queue.cells] == [None, None]


def test_a_card_that_computes_may_hide_a_buffered_training() -> None:
    seen = Box("a").at(LATER, busy=0.97)
    assert seen.verdict is Verdict.RUNNING
    assert any("python -u" in why for why in seen.because)


def test_nothing_is_said_before_the_cards_were_looked_at() -> None:
    assert Box("a").at(LATER, busy=None).verdict is Verdict.RUNNING


def test_a_log_that_is_not_followed_proves_no_stall() -> None:
    box = Box("a")
    box.store.apply(LogFailed("box", T0 + 1, box.source("a"), "permission denied"))
    assert box.at(LATER).verdict is Verdict.RUNNING


@pytest.mark.parametrize(("pause", "verdict"), [(40.0, Verdict.RUNNING), (31.0, Verdict.STALLED)])
def test_one_that_is_slow_by_nature_is_given_three_of_its_pauses(
    pause: float, verdict: Verdict
) -> None:
    box = Box("a")
    times = [T0 + n * pause for n in range(5)]
    for at in times:
        box.line("a", at)
    assert box.at(times[-1] + 100).verdict is verdict


def test_a_new_connection_does_not_forget_the_pauses_of_a_log() -> None:
    box = Box("a", "b")
    for at in range(0, 201, 50):
        box.line("a", T0 + at)
    live = LinkState("live", since=T0 + 2_000)
    box.store.apply(LinkChanged("box", T0 + 2_000, live))
    for job in ("a", "b"):
        box.store.apply(LogOpened("box", T0 + 2_000, box.source(job), 7, 0, 0, resumed=True))
    box.line("a", T0 + 2_010)
    box.line("b", T0 + 2_140)
    assert box.at(T0 + 2_150).queue.cells[0].still_seconds is None
    box.line("b", T0 + 2_165)
    assert box.at(T0 + 2_170).queue.cells[0].still_seconds == 160


def test_a_log_whose_file_grows_is_not_silent_because_its_lines_do_not_come() -> None:
    box = Box("a", "b")
    box.line("a", T0 + 10)
    box.line("b", T0 + 90)
    stats = {"/root/a.log": FileStat("/root/a.log", 1, 1, T0 + 95)}
    box.store.apply(Sampled("box", LATER, "files", Reading(FileTable(stats), LATER, 10.0)))
    assert box.at(LATER).queue.cells[0].still_seconds is None
