"""Two sources may tell of one program: it is one row."""

from __future__ import annotations

from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.sweep import CellState
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
    gone = Job("120", "vit", GONE, "gone", pids=WRITER.pids)
    assert names((PANE,), (gone,)) == ["main", "vit"]
    assert names((Job("%1", "main", GONE, "gone", pids=(100,)),), (gone,)) == ["vit"]
