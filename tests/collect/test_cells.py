"""Which logs are tailed: pure, from the events alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_tui.collect.cells import Cells, is_name
from gpu_tui.collect.watched import Watched
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import Event, LogArrived, LogFailed, Sampled
from gpu_tui.core.fleet import Instance, QueueFiles, SshAccess
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.logs import READ_OF_JOBS, LogSource
from gpu_tui.core.readings import FileStat, FileTable
from gpu_tui.core.sample import Reading
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.log_reader import LogReader

STAMP = "[2026-11-21 10:00:00]"
QUEUE = LogSource("/r/logs/q.log")


def instance(queue_log: str | None = QUEUE.path) -> Instance:
    files = QueueFiles("/r/q.txt", queue_log)
    return Instance("a", SshAccess("a"), queue=files, logs="/r/logs/{cell}.log")


def said(text: str) -> LogArrived:
    return LogArrived("a", 0.0, QUEUE, LogReader().feed(text.encode()))


def start(name: str) -> str:
    return f"{STAMP} [1/4] STARTING {name} (t, 20ep)\n"


def finish(name: str) -> str:
    return f"{STAMP} [1/4] FINISHED {name} (exit=0)\n"


def table(**mtimes: float) -> Sampled:
    files = {f"/r/logs/{n}.log": FileStat(f"/r/logs/{n}.log", 1, 1, t) for n, t in mtimes.items()}
    return Sampled("a", 0.0, "files", Reading(FileTable(files), 0.0))


def test_the_running_cell_and_the_last_one_are_wanted() -> None:
    cells = Cells(instance())
    assert cells.wanted(3) == []
    assert cells.queue_said(said(start("one")))
    assert cells.wanted(3) == ["one"]
    assert cells.queue_said(said(finish("one")))
    assert cells.wanted(3) == ["one"]  # its last lines may still come
    cells.queue_said(said(start("two")))
    assert (cells.wanted(3), cells.ended) == (["two"], ["one"])
    assert not cells.queue_said(said("just a line\n"))


def test_a_cell_started_again_runs_again_and_a_new_queue_forgets() -> None:
    cells = Cells(instance())
    cells.queue_said(said(start("one") + finish("one") + start("two") + start("one")))
    assert (cells.wanted(3), cells.ended) == (["one", "two"], [])
    cells.queue_said(said("=== Queue q: 2 ablations, starting from 1 on h ===\n"))
    assert cells.wanted(3) == []


def test_the_selected_cell_comes_first_and_the_rest_is_cut() -> None:
    cells = Cells(instance())
    cells.queue_said(said(start("one") + start("two") + start("three")))
    cells.select("nine")
    assert cells.wanted(3) == ["nine", "three", "two"]
    cells.select(None)
    assert cells.wanted(3) == ["three", "two", "one"]


def test_the_file_table_speaks_only_where_the_queue_log_does_not() -> None:
    cells = Cells(instance())
    assert not cells.sampled(table(old=1.0, new=2.0))
    assert cells.queue_said(LogFailed("a", 0.0, QUEUE, "is not there yet"))
    assert cells.wanted(3) == ["new", "old"]
    cells.queue_said(said(start("one")))
    assert cells.wanted(3) == ["one"]
    alone = Cells(instance(queue_log=None))
    assert alone.sampled(table(new=2.0, q=3.0))
    assert alone.wanted(3) == ["q", "new"]


def test_logs_and_programs_that_were_found_count_while_the_queue_file_gives_no_cell() -> None:
    cells = Cells(instance())
    cells.sampled(table(a=1.0, b=2.0))
    cells.queue_said(said("START a\n"))  # a log of somebody's own form
    assert cells.wanted(6) == []
    cells.find(found=True)
    assert not cells.logged
    assert cells.wanted(6) == ["b", "a"]
    cells.sampled(replace(jobs(job("7", stdout="/root/vit.log")), metric="nohup"))
    assert len(cells.wanted(6)) == 3
    cells.find(found=False)
    assert cells.wanted(6) == []


def test_a_log_that_names_its_cell_twice_is_found() -> None:
    cells = Cells(replace(instance(queue_log=None), logs="/r/logs/{cell}/{cell}.log"))
    cells.sampled(table(**{"new/new": 2.0, "new/old": 1.0}))
    assert cells.wanted(3) == ["new"]
    assert [source.path for source in cells.sources("new")] == ["/r/logs/new/new.log"]


def test_the_queue_log_is_no_cell() -> None:
    cells = Cells(instance())
    cells.queue_said(LogFailed("a", 0.0, QUEUE, "may not be read"))
    cells.sampled(table(q=3.0, one=1.0))
    assert cells.wanted(3) == ["one"]


@pytest.mark.parametrize(
    "name", ["..", ".", "", "a/b", "../x", "a\nb", "a\x00", "$(x)", "a'b", "a" * 201, "a\u202eb"]
)
def test_a_name_that_is_more_than_a_name_is_none(name: str) -> None:
    assert not is_name(name)
    cells = Cells(instance())
    cells.select(name)
    assert cells.wanted(3) == []


@pytest.mark.parametrize("name", ["no_aug", "lr=1e-4,seed 2", "..x", "a.b-c@d+e", "ü", "实验三"])
def test_ordinary_names_are_names(name: str) -> None:
    assert is_name(name)


def job(id: str, state: CellState = CellState.RUNNING, at: float = 1.0, **more: object) -> Job:
    ended = None if state is CellState.RUNNING else at
    return Job(id, f"{id}·a", state, "", started_at=at, finished_at=ended, **more)  # type: ignore[arg-type]


def jobs(*rows: Job) -> Sampled:
    return Sampled("a", 0.0, "slurm", Reading(JobTable("Slurm", rows), 0.0))


def paths(sources: list[LogSource]) -> list[tuple[str, str | None]]:
    return [(source.path, source.cell) for source in sources]


def test_a_job_names_its_own_logs_and_the_newest_is_tailed_first() -> None:
    cells = Cells(Instance("a", SshAccess("a"), scheduler="slurm"))
    table = jobs(
        job("1", at=1.0, stdout="/l/1.out", stderr="/l/1.err"),
        job("2", at=2.0, stdout="/l/2.out", stderr="/l/2.out"),
        job("3", CellState.FAILED, at=3.0, stdout="/l/3.out"),
        job("4", CellState.PENDING),
    )
    assert cells.sampled(table)
    assert not cells.sampled(table)  # nothing new
    assert paths(cells.tails(6)) == [
        *(("/l/2.out", "2·a"), ("/l/1.out", "1·a"), ("/l/1.err", "1·a")),
    ]
    assert len(cells.tails(2)) == 2
    assert cells.ended == ["3·a"]
    cells.select("3·a")
    assert paths(cells.tails(6))[0] == ("/l/3.out", "3·a")
    cells.select("nobody")
    assert len(cells.tails(6)) == 3


def test_all_running_logs_of_a_scheduler_are_read_and_the_newest_that_ended_after_them() -> None:
    cells = Cells(Instance("a", SshAccess("a"), scheduler="slurm"))

    def both(n: int, state: CellState) -> Job:
        return job(str(n), state, at=float(n), stdout=f"/l/{n}.out", stderr=f"/l/{n}.err")

    ended = [both(n, CellState.FAILED) for n in range(1, 31)]
    running = [both(n, CellState.RUNNING) for n in range(31, 131)]
    cells.sampled(jobs(*ended, *running))
    followed = cells.tails(6)
    others = cells.others(followed)
    live = [one.source.path for one in others if not one.over]
    assert {*live, *(source.path for source in followed)} == {
        f"/l/{n}.{end}" for n in range(31, 131) for end in ("out", "err")
    }
    assert [path.endswith(".err") for path in live] == sorted(p.endswith(".err") for p in live)
    assert [one.over for one in others] == sorted(one.over for one in others)
    after = {one.source.path for one in others if one.over}
    assert after == {f"/l/{n}.{end}" for n in range(1, 31) for end in ("out", "err")}
    # Of a sweep that is larger than this, every task has one log read before any has two.
    cells.sampled(jobs(*(both(n, CellState.RUNNING) for n in range(1, 501))))
    read = {*cells.tails(6), *(one.source for one in cells.others(cells.tails(6)))}
    assert len(read) == READ_OF_JOBS
    assert sum(source.path.endswith(".out") for source in read) >= READ_OF_JOBS - 3


def test_all_ended_logs_of_a_scheduler_are_read_and_of_too_many_the_newest() -> None:
    """An array of 100 tasks may be over before the first look: each of them may have ended with NaN."""
    cells = Cells(Instance("a", SshAccess("a"), scheduler="slurm"))
    over = [
        replace(
            job(str(n), CellState.FINISHED, at=float(n), stdout=f"/l/{n}.out"),
            finished_at=1_000.0 + n,
        )
        for n in range(1, READ_OF_JOBS + 51)
    ]
    cells.sampled(jobs(*over[:100]))
    assert {one.source.path for one in cells.others(())} == {f"/l/{n}.out" for n in range(1, 101)}
    cells.sampled(jobs(*over))
    read = [one.source.path for one in cells.others(())]
    assert read == [f"/l/{n}.out" for n in range(READ_OF_JOBS + 50, 50, -1)]


def test_the_log_of_a_suspended_job_is_read_as_far_as_it_came() -> None:
    cells = Cells(Instance("a", SshAccess("a"), scheduler="slurm"))
    cells.sampled(jobs(job("1", CellState.PENDING, at=1.0, stdout="/l/1.out")))
    assert [(one.source.path, one.over) for one in cells.others(())] == [("/l/1.out", True)]


def test_a_log_that_jobs_share_is_tailed_once_for_the_newest_or_the_selected() -> None:
    cells = Cells(Instance("a", SshAccess("a"), scheduler="slurm"))
    cells.sampled(
        jobs(
            job("1", at=1.0, stdout="/l/all.out"),
            job("2", at=2.0, stdout="/l/all.out"),
            job("3", CellState.FINISHED, at=1.5, stdout="/l/all.out"),
        )
    )
    assert paths(cells.tails(6)) == [("/l/all.out", "2·a")]
    assert cells.ended == []  # what stands there now is of the jobs that run
    cells.select("1·a")
    assert paths(cells.tails(6)) == [("/l/all.out", "1·a")]


def test_what_a_program_that_was_watched_left_is_read_on_under_its_own_name() -> None:
    cells = Cells(Instance("a", SshAccess("a")))
    left = job("left", CellState.CANNOT_TELL, stdout="/r/nohup.out")
    cells.sampled(replace(jobs(left), metric="left"))
    assert cells.ended == ["left·a"]
    cells.sampled(replace(jobs(job("41", stdout="/r/nohup.out")), metric="nohup"))
    cells.sampled(replace(jobs(), metric="nohup"))
    cells.sampled(replace(jobs(left), metric="left"))
    assert cells.ended == ["41·a"]  # it may have ended while nobody listened
    assert paths(list(cells.sources("41·a"))) == [("/r/nohup.out", "41·a")]


def test_what_keeps_no_record_leaves_the_logs_of_who_is_gone_to_be_read() -> None:
    cells = Cells(Instance("a", SshAccess("a")))

    def there(*ids: str) -> None:
        rows = (job(id, at=float(id), stdout=f"/r/{id}.log") for id in ids)
        cells.sampled(replace(jobs(*rows), metric="nohup"))

    there("1", "2", "3")
    there("3")
    assert cells.ended == ["1·a", "2·a"]
    assert paths(list(cells.sources("1·a"))) == [("/r/1.log", "1·a")]
    there()
    assert cells.ended == ["1·a", "2·a", "3·a"]
    there("2")  # again
    assert cells.ended == ["1·a", "3·a"]
    assert paths(cells.tails(6)) == [("/r/2.log", "2·a")]
    cells.sampled(replace(jobs(job("4", at=4.0, stdout="/r/3.log")), metric="nohup"))
    assert cells.ended == ["1·a", "2·a"]  # what stands in the log of 3 is of the next one now


@pytest.mark.parametrize("path", ["/r/out.1", "~/out.1"])
def test_what_a_queue_gave_its_job_is_read_under_the_name_of_that_job_alone(path: str) -> None:
    cells = Cells(Instance("a", SshAccess("a")))
    cells.sampled(replace(jobs(job("7", stdout=path)), metric="task-spooler"))
    cells.sampled(replace(jobs(job("41", stdout="/r/out.1")), metric="nohup"))
    cells.sampled(replace(jobs(), metric="nohup"))
    assert cells.ended == []
    over = job("7", CellState.FAILED, stdout=path)
    cells.sampled(replace(jobs(over), metric="task-spooler"))
    assert cells.ended == ["7·a"]


@pytest.mark.parametrize(
    "path",
    [
        "/dev/zero",
        "/proc/1/environ",
        "relative",
        "~",
        "~me/a",
        "/a/../etc/shadow",
        "/a\nb",
        "/" + "a" * 2_000,
    ],
)
def test_a_path_that_is_no_plain_file_is_not_tailed(path: str) -> None:
    cells = Cells(Instance("a", SshAccess("a"), scheduler="slurm"))
    cells.sampled(jobs(job("1", stdout=path)))
    assert cells.tails(6) == []


def test_the_log_of_a_pueue_task_lies_below_the_home_and_is_followed() -> None:
    cells = Cells(instance(None))
    task = Job("1", "a", CellState.RUNNING, "running", stdout="~/.local/share/pueue/1.log")
    wild = Job("2", "b", CellState.RUNNING, "running", stdout="~/../../etc/shadow")
    cells.sampled(Sampled("a", 0.0, "pueue", Reading(JobTable("pueue", (task, wild)), 0.0)))
    writer = Job("9", "1", CellState.RUNNING, "running", stdout="/root/.local/share/pueue/1.log")
    cells.sampled(Sampled("a", 0.0, "nohup", Reading(JobTable("nohup", (writer,)), 0.0)))
    assert paths(cells.tails(4)) == [("~/.local/share/pueue/1.log", "a")]


def test_the_log_of_a_run_that_is_gone_since_an_earlier_watch_is_read_once() -> None:
    cells = Cells(Instance("a", SshAccess("a")))
    there = Job("41", "vit", CellState.RUNNING, "running", stdout="/r/vit.log")
    over = Job("40", "old", CellState.CANNOT_TELL, "gone", finished_at=5.0, stdout="/r/old.log")
    cells.recall("nohup", JobTable("nohup", (there, over)))
    cells.sampled(Sampled("a", 0.0, "nohup", Reading(JobTable("nohup"), 0.0)))
    assert cells.ended == ["old", "vit"]
    assert cells.tails(4) == []


def test_the_log_of_a_job_that_left_its_scheduler_is_read_once() -> None:
    login = Instance("a", SshAccess("a"), scheduler="slurm")
    ran, also = job("1", stdout="/l/1.out", stderr="/l/1.err"), job("2", stdout="/l/2.out")
    cells = Cells(login)
    cells.sampled(jobs(ran, also))
    assert cells.sampled(jobs(also))
    assert [(one.source.path, one.over) for one in cells.others(cells.tails(6))] == [
        ("/l/1.out", True),
        ("/l/1.err", True),
    ]
    # An earlier watch saw both, and one more that the accounts list now without its log.
    ended = replace(job("3", CellState.FAILED), stdout="/l/3.out")
    for seen in (replace(ended, seen_at=1.0), replace(ended, state=CellState.RUNNING, seen_at=1.0)):
        cells = Cells(login)
        before = (replace(ran, seen_at=1.0), replace(also, seen_at=1.0), seen)
        cells.recall("slurm", JobTable("slurm", before))
        assert cells.others([]) == []
        cells.sampled(jobs(also, replace(ended, stdout=None)))
        read = {one.source.path: one.over for one in cells.others([])}
        assert read == {"/l/1.out": True, "/l/1.err": True, "/l/2.out": False, "/l/3.out": True}


def test_of_many_logs_those_of_unknown_ends_are_read_first() -> None:
    cells = Cells(Instance("a", SshAccess("a"), scheduler="slurm"))
    left = job("1", stdout="/l/1.out")
    cells.sampled(jobs(left))
    over = [job(str(n), CellState.FINISHED, at=9.0 + n, stdout=f"/l/{n}.out") for n in range(2, 99)]
    cells.sampled(jobs(*over))
    assert "/l/1.out" in {one.source.path for one in cells.others([])}


def test_the_log_of_each_task_of_an_array_that_ended_is_read() -> None:
    cells = Cells(Instance("a", SshAccess("a"), scheduler="slurm"))
    tasks = [job(f"7_{n}", at=float(n), stdout=f"/l/{n}.out") for n in range(100)]
    cells.sampled(jobs(*tasks))
    cells.sampled(jobs(job("8", at=200.0, stdout="/l/next.out")))
    read = {one.source.path for one in cells.others(cells.tails(6)) if one.over}
    assert read == {f"/l/{n}.out" for n in range(100)}


def test_logs_of_steps_are_read_after_those_of_all_jobs() -> None:
    cells = Cells(Instance("a", SshAccess("a"), scheduler="slurm"))
    steps = tuple(f"/l/step-2-{task}.log" for task in range(5))
    cells.sampled(
        jobs(
            job("1", at=1.0, stdout="/l/1.out", stderr="/l/1.err"),
            job("2", at=2.0, stdout="/l/2.out", logs=("/l/2.out", "/dev/zero", *steps)),
            job("3", CellState.FAILED, at=3.0, logs=("/l/slurm-3.out",)),
        )
    )
    assert [path for path, _ in paths(cells.tails(4))] == [
        *("/l/2.out", "/l/1.out", "/l/1.err", "/l/step-2-0.log"),
    ]
    followed = cells.tails(4)
    polled = [one.source.path for one in cells.others(followed)]
    assert polled == [*steps[1:], "/l/slurm-3.out"]
    assert [cells.is_guess(source) for source in followed] == [False, False, False, True]


def test_the_steps_of_one_ended_job_leave_room_for_the_logs_of_others() -> None:
    cells = Cells(Instance("a", SshAccess("a"), scheduler="slurm"))
    steps = tuple(f"/l/step-99-{task}.log" for task in range(12))
    old = [job(str(n), CellState.FAILED, at=float(n), logs=(f"/l/{n}.out",)) for n in range(30)]
    cells.sampled(jobs(*old, job("99", CellState.FAILED, at=99.0, logs=("/l/99.out", *steps))))
    read = [one.source.path for one in cells.others([])]
    assert {f"/l/{n}.out" for n in (*range(30), 99)} <= set(read)
    assert read[-1] in steps


def test_a_log_that_may_not_exist_is_not_missed() -> None:
    heard: list[Event] = []
    watched = Watched(Instance("a", SshAccess("a"), scheduler="slurm"), heard.append, ManualClock())
    watched._peek(jobs(job("1", at=1.0, stdout="/l/1.out", logs=("/l/step-1-0.log",))))
    for path in ("/l/1.out", "/l/step-1-0.log"):
        source = LogSource(path, "1·a")
        watched._peek(LogFailed("a", 0.0, source, f"{path} is not there yet"))
    assert [one.source.path for one in heard if isinstance(one, LogFailed)] == ["/l/1.out"]
