"""Two sources may tell of one program: it is one row."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_store import BOX, CELL, OK, RUNNER, T0, Bench

from gpu_tui.core.events import LogFailed, LogOpened, Sampled
from gpu_tui.core.fleet import QueueFiles
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.logs import READ_MOST, LogLine, LogSource, Progress
from gpu_tui.core.readings import FileStat, FileTable, Host, Process
from gpu_tui.core.sample import Failure, FailureKind
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.parse.tmux import parse_tmux
from gpu_tui.state import job_tables
from gpu_tui.state.followed import NO_PLACE
from gpu_tui.state.job_tables import apart, told_once

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


def test_two_programs_of_one_shell_are_two_rows() -> None:
    # In one pane: `python vit.py > vit.log &`, then `python eval.py` with its output on the terminal.
    other = Job("130", "eval", CellState.RUNNING, "running", pids=(130, 100, 1))
    assert names((PANE,), (WRITER, other)) == ["vit", "eval"]
    assert names((PANE,), (other,)) == ["main"]


def test_two_programs_that_two_lists_call_alike_are_two_rows() -> None:
    pane, writer = replace(PANE, name="vit"), replace(WRITER, pids=(120, 1))
    tables = apart(told_once([JobTable("tmux", (pane,)), JobTable("nohup", (writer,))]))
    assert [job.name for table in tables for job in table.jobs] == ["vit·%1", "vit"]
    planned = Job("1", "vit", CellState.PENDING, "planned")  # whose program may be the one
    assert [t.jobs for t in apart([JobTable("list", (planned,)), tables[1]])] == [
        (planned,),
        (writer,),
    ]


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


SHELL_PANE = parse_tmux(b"%1:100:0:::1795000000:main:bash:")
OWN_PANE = parse_tmux(b"%2:200:0:::1795000000:own:python:")
IN_IT = Process(101, 100, "python", ("python", "train.py"), "S", age_seconds=600.0)
SHELL = Process(100, 1, "bash", ("bash",), "S", age_seconds=700.0)


def test_what_only_an_old_process_table_says_of_a_pane_is_not_told_as_now() -> None:
    bench = Bench()
    bench.link()
    bench.sample("processes", (SHELL, IN_IT), 15.0)
    panes = JobTable("tmux", SHELL_PANE.jobs + OWN_PANE.jobs)

    def rows() -> dict[str, tuple[CellState, str | None]]:
        bench.sample("tmux", panes, 15.0)
        return {cell.name: (cell.state, cell.why) for cell in bench.view().queue.cells}

    for _ in range(4):  # up to 45 s
        assert {state for state, _ in rows().values()} == {CellState.RUNNING}
        bench.at += 15.0
    bench.store.apply(
        Sampled("box", bench.at, "processes", Failure(FailureKind.HUNG, "x", bench.at))
    )
    bench.at += 600.0
    found = rows()
    assert found["own"][0] is CellState.RUNNING  # tmux itself says what runs in it
    state, why = found["main"]
    assert state is CellState.CANNOT_TELL
    assert (
        why
        == "running: the processes were last read 11 min ago: nothing tells whether it still runs"
    )
    # It is gone at the next look: seen at work until then, and told of.
    bench.sample("processes", (SHELL,), 15.0)
    rows()
    bench.at += 15.0
    bench.sample("processes", (SHELL,), 15.0)
    assert "nothing says how it ended" in (rows()["main"][1] or "")
    # And one that is there all the same runs again.
    bench.sample("processes", (SHELL, IN_IT), 15.0)
    assert rows()["main"][0] is CellState.RUNNING


@pytest.mark.parametrize(
    ("ended", "verdict", "cause"), [(False, "crashed", "reboot"), (True, "idle", None)]
)
def test_runs_that_a_reboot_took_are_told_so_though_nobody_named_their_files(
    ended: bool, verdict: str, cause: str | None
) -> None:
    """A container that is made anew has the host's uptime: its first process tells."""
    bench = Bench(replace(BOX, queue=QueueFiles(), logs=None))
    bench.link()
    trainer = Process(50, 1, "python", ("python", "train.py"), "S", age_seconds=100.0)
    runs = Job("50", "r2", CellState.RUNNING, "running", stdout="/r2.log", pids=(50,), command="t")

    def look(age: float, *living: Process) -> None:
        bench.at += 15
        init = Process(1, 0, "init.sh", ("init.sh",), "S", age_seconds=age)
        bench.sample("processes", (init, *living), 15.0)
        bench.sample("host", Host(bench.at, 50_000.0 + age, "boot-1"), 15.0)
        bench.sample("nohup", JobTable("nohup", (runs,) if living else ()), 15.0)
        bench.view()

    for age in (1000.0, 1015.0):
        look(age, trainer)
    if ended:
        look(1030.0)
    for age in (6.0, 21.0):
        look(age)
    assert (bench.view().verdict, bench.view().cause) == (verdict, cause)


MASTER = b"""=== Queue queue_1.txt: 3 ablations, starting from 1 on box ===
================================================================
[2026-01-02 10:00:00] [1/3] STARTING no_aug (recon, 400ep)
./run_queue.sh: line 12:  1186 Killed                  python -u train.py --name $n > $LOGS/$n.log 2>&1
[2026-01-02 10:05:00] [1/3] FINISHED no_aug (exit=137)
[2026-01-02 10:05:00] [2/3] STARTING seed3 (recon, 12ep)
[2026-01-02 10:06:00] [2/3] FINISHED seed3 (exit=0)
[2026-01-02 10:06:00] [3/3] STARTING big_lr (recon, 12ep)
"""


def test_the_log_of_a_queue_that_nobody_named_is_no_cell_and_tells_the_ends_of_its_cells() -> None:
    """The shell says Killed of the cell that it is at, while the queue goes on."""
    bench = Bench(replace(BOX, queue=QueueFiles(), logs="/r/{cell}.log"))
    bench.link()
    bench.alive(RUNNER)
    cells = ("no_aug", "seed3", "big_lr")
    jobs = {
        name: Job(f"{n}", name, CellState.RUNNING, "running", stdout=f"/r/{name}.log", pids=(n,))
        for n, name in enumerate(cells, 40)
    }
    for name in cells:
        bench.sample("nohup", JobTable("nohup", (jobs[name],)))
        bench.view()
        bench.at += 30
        bench.alive(RUNNER)
    bench.sample("nohup", JobTable("nohup", (jobs["big_lr"],)))
    stats = {f"/r/{name}.log": FileStat(name, 1, 9, T0) for name in (*cells, "q1_master")}
    bench.sample("files", FileTable(stats))
    bench.lines(LogSource("/r/q1_master.log", "q1_master"), *LogReader().feed(MASTER))
    view = bench.view()
    rows = {cell.name: (cell.state.value, cell.exit_code) for cell in view.queue.cells}
    assert rows == {
        "no_aug": ("failed", 137),
        "seed3": ("finished", 0),
        "big_lr": ("running", None),
    }
    assert {found.cell for found in view.findings if found.kind == "crashed"} == {"no_aug"}


def test_a_run_whose_log_has_no_place_says_so_and_not_that_it_makes_no_progress() -> None:
    bench = Bench()
    bench.link()
    most = READ_MOST
    jobs = tuple(
        Job(f"{n}", f"run{n}", CellState.RUNNING, "running", stdout=f"/r/{n}.log")
        for n in range(most + 3)
    )
    bench.sample("nohup", JobTable("nohup", jobs), 15.0)
    for n in range(most):
        source = LogSource(f"/r/{n}.log", f"run{n}")
        bench.store.apply(LogOpened("box", bench.at, source, n + 1, 0, 0, resumed=False))
    bench.lines(LogSource("/r/0.log", "run0"), LogLine("x", OK, Progress(epoch=2, epochs=4)))
    failed = LogSource(f"/r/{most}.log", f"run{most}")
    bench.store.apply(LogFailed("box", bench.at, failed, "it may not be read"))
    why = {cell.name: cell.why for cell in bench.view().queue.cells}
    assert [why[f"run{n}"] for n in range(most)] == [None] * most
    assert why[f"run{most}"] == "it may not be read"
    assert why[f"run{most + 1}"] == why[f"run{most + 2}"] == NO_PLACE


def test_the_log_of_another_program_tells_no_end_of_a_pane_that_is_called_alike() -> None:
    bench = Bench(replace(BOX, queue=QueueFiles(), logs=None))
    bench.link()
    bench.sample("tmux", JobTable("tmux", (replace(PANE, name="vit"),)), 15.0)
    bench.sample("nohup", JobTable("nohup", (replace(WRITER, pids=(120, 1)),)), 15.0)
    bench.lines(LogSource("/vit.log", "vit"), LogLine("Training complete", OK))
    bench.at += 20
    bench.sample("tmux", JobTable("tmux"), 15.0)
    bench.sample("nohup", JobTable("nohup"), 15.0)
    bench.alive()
    states = {cell.name: cell.state for cell in bench.view().queue.cells}
    assert states == {"vit·%1": CellState.CANNOT_TELL, "vit": CellState.FINISHED}
