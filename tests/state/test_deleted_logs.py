"""Findings of a cell end when its log and its queue are deleted, and stay while either exists."""

from __future__ import annotations

from dataclasses import replace

from test_store import BOX, T0, Bench, alarm

from gpu_tui.core.events import Sampled
from gpu_tui.core.fleet import QueueFiles, Results
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.logs import LogSource
from gpu_tui.core.queue_history import CellFinished, CellStarted, QueueOpened
from gpu_tui.core.readings import FileStat, FileTable, Process
from gpu_tui.core.sample import Absent
from gpu_tui.core.sweep import CellState

BIG = LogSource("/root/logs/big.log", "big")
OOM = alarm("gpu_oom", "torch.OutOfMemoryError: CUDA out of memory")
FREE = replace(BOX, queue=QueueFiles(), logs="/root/logs/{cell}.log", results=Results())
NAMED = replace(FREE, queue=QueueFiles("/root/q.txt", "/root/q.log"))


def files(bench: Bench, *paths: str, unseen: dict[str, int] | None = None) -> None:
    found = {path: FileStat(path, n, 9, T0) for n, path in enumerate(paths, 1)}
    bench.sample("files", FileTable(found, unseen or {}), period=10.0)


def dead_run() -> Bench:
    """A detached run that was seen, died of CUDA memory, and left its log."""
    bench = Bench(FREE)
    bench.link()
    bench.alive(Process(9, 1, "python", ("python", "train.py"), "S"))
    files(bench, BIG.path)
    job = Job("9", "big", CellState.RUNNING, "running", stdout=BIG.path, pids=(9, 1), command="t")
    bench.sample("nohup", JobTable("nohup", (job,)), period=15.0)
    bench.lines(BIG, OOM)
    bench.at += 20
    bench.alive()
    bench.sample("nohup", JobTable("nohup"), period=15.0)
    files(bench, BIG.path)
    return bench


def test_findings_end_when_the_log_is_deleted() -> None:
    bench = dead_run()
    assert "gpu_oom" in bench.kinds()
    bench.at += 20
    bench.alive()
    files(bench)
    assert bench.view().queue.cells == ()
    assert not [one for one in bench.view().findings if one.cell == "big"]


def test_findings_stay_if_the_log_may_exist() -> None:
    bench = dead_run()
    bench.at += 120  # no table of files is fresh
    assert "gpu_oom" in bench.kinds()
    files(bench, unseen={"/root/logs/{cell}.log": 90_000})
    assert "gpu_oom" in bench.kinds()


def test_findings_stay_while_the_queue_names_the_cell() -> None:
    bench = Bench(NAMED)
    bench.link()
    bench.alive()
    bench.queue(
        QueueOpened("q.txt", 1, 1, "box"),
        CellStarted(T0 - 60, 1, 1, "big", "t", 4),
        CellFinished(T0 - 9, 1, 1, "big", 1),
        backfill=True,
    )
    bench.lines(BIG, OOM)
    files(bench, "/root/q.log")
    assert "gpu_oom" in bench.kinds()
    files(bench)
    absent = Absent("there is no queue file /root/q.txt", bench.at)
    bench.store.apply(Sampled("box", bench.at, "roster", absent))
    assert not [one for one in bench.view().findings if one.cell == "big"]
    # If the disk comes back, so do the findings: nothing was forgotten.
    files(bench, "/root/q.log", BIG.path)
    assert "gpu_oom" in bench.kinds()
