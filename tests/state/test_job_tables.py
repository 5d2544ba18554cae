"""Two sources may tell of one program: it is one row."""

from __future__ import annotations

import pytest
from test_store import CELL, OK, RUNNER, Bench

from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.logs import LogLine
from gpu_tui.core.sweep import CellState
from gpu_tui.state import job_tables
from gpu_tui.state.job_tables import told_once

PANE = Job("%1", "main", CellState.RUNNING, "running", pids=(100,))
OTHER = Job("%2", "other", CellState.RUNNING, "running", pids=(300,))
WRITER = Job("120", "vit", CellState.RUNNING, "running", stdout="/vit.log", pids=(120, 101, 100, 1))
GONE = CellState.CANNOT_TELL


def names(panes: tuple[Job, ...], writers: tuple[Job, ...]) -> list[str]:
    tables = told_once([JobTable("tmux", panes), JobTable("nohup", writers)])
    return [job.name for table in tables for job in table.jobs]


def test_a_pane_whose_program_writes_to_a_file_is_told_of_by_the_file() -> None:
    assert names((PANE, OTHER), (WRITER,)) == ["other", "vit"]
    assert names((PANE, OTHER), ()) == ["main", "other"]


def test_the_next_program_of_a_pane_is_not_the_one_that_is_gone() -> None:
    gone = Job("120", "vit", GONE, "gone", stdout="/vit.log", pids=WRITER.pids)
    assert names((PANE,), (gone,)) == ["main", "vit"]
    assert names((Job("%1", "main", GONE, "gone", pids=(100,)),), (gone,)) == ["vit"]


def test_a_program_that_a_queue_started_is_the_job_of_that_queue() -> None:
    gone = Job("7", "ts-out", GONE, "gone", stdout="/tmp/ts-out.1")
    queued = (
        Job("0", "drop0", CellState.FINISHED, "finished", stdout="/tmp/ts-out.1"),
        Job("1", "drop1", CellState.RUNNING, "running", stdout="~/.local/share/pueue/1.log"),
        Job("2", "drop2", CellState.PENDING, "queued"),
    )
    pueued = Job("8", "1", CellState.RUNNING, "running", stdout="/root/.local/share/pueue/1.log")
    tables = told_once(
        [JobTable("task-spooler", queued), JobTable("nohup", (gone, pueued, WRITER))]
    )
    assert [job.name for table in tables for job in table.jobs] == [
        "drop0",
        "drop1",
        "drop2",
        "vit",
    ]


def test_a_job_of_a_queue_that_tells_no_time_began_when_its_program_did() -> None:
    queued = Job("1", "drop1", CellState.RUNNING, "running", stdout="/tmp/ts-out.1")
    program = Job(
        "8",
        "ts-out",
        CellState.RUNNING,
        "running",
        started_at=7.0,
        stdout="/tmp/ts-out.1",
        pids=(8, 2),
    )
    (job,) = told_once([JobTable("task-spooler", (queued,)), JobTable("nohup", (program,))])[0].jobs
    assert (job.name, job.started_at, job.pids) == ("drop1", 7.0, (8, 2))


def test_a_program_is_told_of_by_itself_and_not_by_the_file_that_an_earlier_one_left() -> None:
    left = Job("/vit.log", "root/nohup.out", GONE, "left", stdout="/vit.log")
    for writer in (WRITER, Job("120", "vit", GONE, "gone", stdout="/vit.log")):
        tables = told_once([JobTable("nohup", (writer,)), JobTable("nohup.out", (left,))])
        assert "vit" in [job.name for table in tables for job in table.jobs]


def test_the_last_words_of_who_still_runs_are_looked_for_by_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    look = job_tables.last_word
    monkeypatch.setattr(job_tables, "last_word", lambda lines: asked.append(1) or look(lines))
    bench = Bench()
    bench.link()
    bench.alive(RUNNER)
    runs = Job("40", "a", CellState.RUNNING, "running", stdout="/a.log", pids=(40,), command="t")
    bench.sample("nohup", JobTable("nohup", (runs,)))
    for _ in range(3):
        bench.at += 1
        bench.lines(CELL, LogLine("Training completed.", OK))
        bench.view()
    assert asked == []
    bench.at += 1
    bench.sample("nohup", JobTable("nohup"))
    bench.view()
    assert asked == [1]


def test_a_program_in_a_pane_that_writes_to_no_file_is_the_pane() -> None:
    pane = Job("%1", "exp", CellState.RUNNING, "running", pids=(40,))
    inside = Job("41", "train", CellState.RUNNING, "running", pids=(41, 40, 1))
    outside = Job("51", "other", CellState.RUNNING, "running", pids=(51, 1))
    panes, programs = told_once([JobTable("tmux", (pane,)), JobTable("nohup", (inside, outside))])
    assert (panes.jobs, programs.jobs) == ((pane,), (outside,))
