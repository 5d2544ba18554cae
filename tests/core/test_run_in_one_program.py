"""A program that trains several in turn, each with a log of its own (a pool's worker): one row each, none lost."""

from __future__ import annotations

from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.readings import Process
from gpu_tui.core.sample import Reading
from gpu_tui.core.sweep import CellState
from gpu_tui.core.vanished import UNLISTED, WRITES, Ending, Vanished

WORKER = (Process(7, 1, "python3", ("python3", "pool.py"), "S", 500.0),)


def worker(log: str) -> Job:
    return Job(
        "7", log, CellState.RUNNING, "running", stdout=f"/r/{log}.log", pids=(7, 1), command="x"
    )


def follow(vanished: Vanished, at: float, *jobs: Job) -> JobTable:
    table = JobTable("nohup", jobs)
    vanished.follow(Reading(table, at))
    vanished.saw(WORKER, at + 1)
    return table


def test_what_a_program_left_for_the_next_one_stays_and_is_no_alarm() -> None:
    vanished = Vanished()
    follow(vanished, 10.0, worker("lr1"))
    table = follow(vanished, 40.0, worker("lr3"))
    first, second = vanished.complete(table, {}, 90.0).jobs
    assert (first.name, first.state, first.finding) == ("lr1", CellState.CANNOT_TELL, None)
    assert first.why == f"{WRITES}lr3"
    assert second.live
    told = vanished.complete(table, {"lr1": Ending(complete=True)}, 90.0).jobs[0]
    assert told.state is CellState.FINISHED


def test_one_that_is_called_otherwise_is_the_same_run() -> None:
    vanished = Vanished()
    follow(vanished, 10.0, Job("7", "fit", CellState.RUNNING, "running", pids=(7, 1)))
    table = follow(vanished, 40.0, worker("lr1"))  # it has opened its log
    assert vanished.complete(table, {}, 90.0).jobs == table.jobs


def test_a_run_that_came_to_its_end_does_not_go_on_because_its_worker_waits() -> None:
    vanished = Vanished()
    follow(vanished, 10.0, worker("lr1"))
    table = follow(vanished, 40.0)
    (waits,) = vanished.complete(table, {}, 90.0).jobs
    assert (waits.live, waits.why) == (True, UNLISTED)
    (over,) = vanished.complete(table, {"lr1": Ending(complete=True)}, 90.0).jobs
    assert over.state is CellState.FINISHED
