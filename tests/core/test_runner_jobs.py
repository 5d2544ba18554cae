"""Jobs of those who keep no record: what vanished, what only a log tells, what a plain list plans."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from gpu_tui.core.commands import NOBODY, UNREAD, as_table, words_of
from gpu_tui.core.job_names import unique
from gpu_tui.core.jobs import Job, JobTable, with_jobs
from gpu_tui.core.log_cells import LogLives, table_of_logs
from gpu_tui.core.readings import FileStat, FileTable, Process
from gpu_tui.core.sample import Absent, Failure, FailureKind, Reading
from gpu_tui.core.sweep import Cell, CellEvidence, CellState, Queue
from gpu_tui.core.vanished import GONE_KEPT, Ending, Vanished
from gpu_tui.parse.command_list import parse_commands

NOW = 10_000.0


def running(*names: str) -> JobTable:
    return JobTable("tmux", tuple(Job(name, name, CellState.RUNNING, "running") for name in names))


def states(table: JobTable) -> dict[str, CellState]:
    return {job.name: job.state for job in table.jobs}


def test_who_is_gone_stays_and_says_so() -> None:
    seen = Vanished()
    seen.follow(Reading(running("a", "b"), NOW))
    seen.follow(Failure(FailureKind.HUNG, "tmux hangs", NOW + 1))
    assert not seen.any  # a failed look tells of nobody
    seen.follow(Reading(running("b"), NOW + 2))
    table = seen.complete(running("b"), {})
    assert states(table) == {"a": CellState.CANNOT_TELL, "b": CellState.RUNNING}
    assert table.jobs[0].finished_at == NOW + 2
    seen.follow(Absent("no tmux session", NOW + 3))
    endings = {"a": Ending(failure="CUDA out of memory"), "b": Ending(complete=True)}
    table = seen.complete(running(), endings)
    assert states(table) == {"a": CellState.FAILED, "b": CellState.FINISHED}
    assert "CUDA out of memory" in (table.jobs[0].why or "")
    seen.follow(Reading(running("a"), NOW + 4))
    assert states(seen.complete(running("a"), {})) == {
        "b": CellState.CANNOT_TELL,
        "a": CellState.RUNNING,
    }


def test_a_second_pane_beside_it_is_no_end_of_the_first() -> None:
    """Two of one name get their ids behind it, and lose them again: the program is the same."""
    alone = (Job("%1", "train", CellState.RUNNING, "running"),)
    pair = unique((*alone, Job("%2", "train", CellState.RUNNING, "running")))
    seen = Vanished()
    seen.follow(Reading(JobTable("tmux", alone), NOW))
    seen.follow(Reading(JobTable("tmux", pair), NOW + 1))
    assert not seen.any
    seen.follow(Reading(JobTable("tmux", alone), NOW + 2))
    table = seen.complete(JobTable("tmux", alone), {})
    assert states(table) == {"train·%2": CellState.CANNOT_TELL, "train": CellState.RUNNING}


def test_a_box_that_starts_no_end_of_jobs_fills_no_memory() -> None:
    seen = Vanished()
    for number in range(3 * GONE_KEPT):
        seen.follow(Reading(running(f"job{number}"), NOW + number))
    assert len(seen.complete(running(), {}).jobs) == GONE_KEPT


PATTERN = "/runs/{cell}/train.log"


def logs(**ages: float) -> FileTable:
    paths = {f"/runs/{name}/train.log": age for name, age in ages.items()}
    return FileTable({path: FileStat(path, 1, 1, NOW - age) for path, age in paths.items()})


@pytest.mark.parametrize(
    ("age", "alive", "ending", "state"),
    [
        (5.0, True, Ending(), CellState.RUNNING),
        (5.0, None, Ending(), CellState.CANNOT_TELL),
        (5.0, False, Ending(), CellState.CANNOT_TELL),
        (5.0, True, Ending(failure="Killed"), CellState.FAILED),
        (5_000.0, True, Ending(), CellState.CANNOT_TELL),
        (5_000.0, False, Ending(complete=True), CellState.FINISHED),
        (5_000.0, False, Ending(failure="Killed", complete=True), CellState.FAILED),
        (-30.0, True, Ending(), CellState.RUNNING),  # a file server's clock is a little ahead
        (-8 * 3_600.0, True, Ending(), CellState.CANNOT_TELL),  # or wrong
        (-8 * 3_600.0, True, Ending(complete=True), CellState.FINISHED),
    ],
)
def test_what_a_log_alone_tells(
    age: float, alive: bool | None, ending: Ending, state: CellState
) -> None:
    table = table_of_logs(
        logs(a=age), PATTERN, taken=frozenset(), box_now=NOW, stall_after=900.0, alive=alive,
        endings={"a": ending},
    )  # fmt: skip
    assert states(table) == {"a": state}
    assert table.jobs[0].why is not None or state is CellState.RUNNING


@pytest.mark.parametrize(
    ("age", "ending", "state"),
    [
        (4.0, Ending(), CellState.RUNNING),  # the table was read 10 s ago
        (9.0, Ending(), CellState.CANNOT_TELL),
        (20.0, Ending(), CellState.CANNOT_TELL),
        (-600.0, Ending(), CellState.CANNOT_TELL),  # another clock's time
        (4.0, Ending(failure="Killed"), CellState.FAILED),
    ],
)
def test_a_log_that_is_newer_than_the_process_table_has_just_started(
    age: float, ending: Ending, state: CellState
) -> None:
    table = table_of_logs(
        logs(a=age), PATTERN, taken=frozenset(), box_now=NOW, stall_after=900.0, alive=False,
        endings={"a": ending}, seen_at=NOW - 10,
    )  # fmt: skip
    assert states(table) == {"a": state}


def test_a_log_whose_writer_is_not_known_to_train_does_not_start_again_at_each_look() -> None:
    lives = LogLives()
    told: set[CellState] = set()
    for second in range(90):
        looked = NOW + second // 10 * 10  # and the processes each 15 s
        seen_at = NOW + (second - 3) // 15 * 15 + 3
        files = FileTable({"/runs/a/train.log": FileStat("/runs/a/train.log", 1, 1, looked)})
        lives.look(files, PATTERN, looked, alive=False, seen_at=seen_at)
        table = table_of_logs(
            files, PATTERN, taken=frozenset(), box_now=NOW + second, stall_after=900.0,
            alive=False, endings={}, seen_at=seen_at, before=lives.before,
        )  # fmt: skip
        if second > 15:
            told |= set(states(table).values())
    assert told == {CellState.CANNOT_TELL}


def test_a_log_that_somebody_else_tells_of_is_no_second_row() -> None:
    table = table_of_logs(
        logs(a=5.0, b=6.0), PATTERN, taken=frozenset({"/runs/a/train.log"}), box_now=NOW,
        stall_after=900.0, alive=True, endings={},
    )  # fmt: skip
    assert states(table) == {"b": CellState.RUNNING}


def test_a_pattern_that_names_the_cell_twice_means_one_cell() -> None:
    files = ("/runs/a/a.log", "/runs/a/b.log", "/runs/a1/a1.log")
    found = FileTable({path: FileStat(path, 1, 1, NOW - 5.0) for path in files})
    table = table_of_logs(
        found, "/runs/{cell}/{cell}.log", taken=frozenset(), box_now=NOW, stall_after=900.0,
        alive=True, endings={},
    )  # fmt: skip
    assert states(table) == dict.fromkeys(("a", "a1"), CellState.RUNNING)


LIST = """\
# nightly
CUDA_VISIBLE_DEVICES=0 python train.py --config cfg/a.yaml > a.log 2>&1
python train.py --name second

python train.py 'unclosed
python train.py --name third &
"""


def process(*argv: str) -> Process:
    return Process(7, 1, "python", argv, "S", 3.0)


def test_a_plain_list_claims_no_end() -> None:
    planned = parse_commands(LIST)
    assert [job.name for job in planned.table.jobs] == ["a", "second", "third"]
    assert planned.table.why == "not a command: line 5"
    assert not planned.table.complete
    rows = as_table(planned, (process("/usr/bin/python", "train.py", "--name", "second"),), {})
    assert [job.state for job in rows.jobs] == [
        CellState.CANNOT_TELL,
        CellState.RUNNING,
        CellState.PENDING,
    ]
    for processes, why in ((None, UNREAD), ((), NOBODY)):
        rows = as_table(planned, processes, {})
        assert {(job.state, job.why) for job in rows.jobs} == {(CellState.CANNOT_TELL, why)}


def test_of_a_list_only_the_logs_tell_how_what_may_have_run_ended() -> None:
    planned = parse_commands("".join(f"python t.py --name {name}\n" for name in "abcd"))
    endings = {
        "a": Ending("RuntimeError: x"),
        "c": Ending(complete=True),
        "d": Ending(complete=True),
    }
    rows = as_table(planned, (process("python", "t.py", "--name", "c"),), endings)
    assert states(rows) == {
        "a": CellState.FAILED,
        "b": CellState.CANNOT_TELL,
        "c": CellState.RUNNING,  # whatever an older log of it says
        "d": CellState.PENDING,
    }
    assert rows.jobs[0].why == "its log ends with: RuntimeError: x"
    over = as_table(planned, (), endings)
    assert [job.state for job in over.jobs[2:]] == [CellState.FINISHED] * 2
    assert {job.state for job in as_table(planned, None, endings).jobs} == {CellState.CANNOT_TELL}


def test_a_command_over_several_lines_is_one() -> None:
    text = "python train.py \\\r\n  --name first \\\n  --lr 3\r\n# a note \\\npython train.py --name a\x0cb\n"
    planned = parse_commands(text + "'open \\\n still open\npython last.py \\")
    assert [(job.id, job.name) for job in planned.table.jobs] == [
        ("1", "first"),
        ("5", "a"),
        ("8", "last"),
    ]
    assert planned.argvs[0] == ("python", "train.py", "--name", "first", "--lr", "3")
    assert planned.table.why == "not a command: line 6"


def test_words_of_a_command_leave_out_what_no_process_shows() -> None:
    assert words_of("A=1 B=2 python x.py --lr=3 > out 2>&1 &") == ("python", "x.py", "--lr=3")
    assert words_of("python 'a b'.py") == ("python", "a b.py")
    assert words_of("python 'a b.py") == ()


def test_jobs_stand_behind_the_queue_and_never_twice() -> None:
    queue = Queue(cells=(Cell("a", 1, None, CellState.FINISHED),), total=1)
    tables = [
        JobTable("tmux", (Job("1", "a", CellState.RUNNING, "running"),)),
        JobTable(
            "feed", (Job("2", "b", CellState.RUNNING, "running"),), 3, "job 2: it has no name"
        ),
    ]
    joined = with_jobs(queue, tables, {}, box_now=None)
    assert [(cell.name, cell.state) for cell in joined.cells] == [
        ("a", CellState.FINISHED),
        ("b", CellState.RUNNING),
    ]
    assert joined.total == 5  # those that are not shown are there all the same
    assert joined.notes == ("feed: job 2: it has no name", "feed: 3 more jobs are not shown")


def test_a_job_that_ended_well_with_a_lost_loss_is_suspicious() -> None:
    def shown(job: Job, seen: CellEvidence) -> tuple[CellState, str | None]:
        queue = with_jobs(Queue(), [JobTable("t", (job,))], {job.name: seen}, box_now=None)
        return queue.cells[0].state, queue.cells[0].why

    well = Job("1", "a", CellState.FINISHED, "COMPLETED")
    lost = CellEvidence(loss=math.nan, diverged=True)
    assert shown(well, CellEvidence(loss=0.1)) == (CellState.FINISHED, None)
    assert shown(well, lost) == (
        CellState.SUSPICIOUS,
        "its loss was NaN or Inf at the end",
    )
    by_log = replace(well, word="log", why="by its log alone: its counters came to their end")
    assert shown(by_log, lost)[1] == (
        "log: by its log alone: its counters came to their end; its loss was NaN or Inf at the end"
    )
    running = replace(well, state=CellState.RUNNING, word="RUNNING")
    assert shown(running, lost)[0] is CellState.RUNNING


def test_a_job_that_its_list_calls_finished_and_that_failed_says_its_exit_code() -> None:
    """task-spooler calls every end `finished`."""
    jobs = (
        Job("2", "drop2", CellState.FAILED, "finished", exit_code=1),
        Job("3", "drop3", CellState.FINISHED, "finished", exit_code=0),
    )
    cells = with_jobs(Queue(), [JobTable("task-spooler", jobs)], {}, box_now=None).cells
    assert [cell.why for cell in cells] == ["finished: exit 1", None]
