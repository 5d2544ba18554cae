"""Which steps of a job failed although its batch script went on. The rows are as a 22.05.8 printed them."""

from __future__ import annotations

import pytest

from gpu_tui.core.jobs import Job
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.slurm import STEPS_MOST, job_table, parse_accounts, parse_queue
from gpu_tui.parse.slurm_steps import KEPT, parse_srun

D, MARK = "@d", "@5f1c"
COLUMNS = "SubmitLine|JobID|JobName|ExitCode|Start|End|NTasks|State"
TRAIN = "srun -n1 python3 train.py --lr 1"


def accounts(*steps: str, job: str = "0:0|100|200||COMPLETED") -> str:
    """`sacct` of job 7: its own row, its batch step and these steps, each `line|id|name|exit|start|end|tasks|state`."""
    own = [f"sbatch a.sh|7|a|{job}"]
    if "RUNNING" in job:
        own.append("|7.batch|batch|0:0|100|Unknown|1|RUNNING")
    else:
        own.append("|7.batch|batch|0:0|100|200|1|COMPLETED")
    rows = [*own, *("|".join([*line.rsplit("|", 7)]) for line in steps)]
    return "\n".join([COLUMNS, *rows, ""]).replace("|", D)


def step(state: str, exit: str = "0:0", **changed: str) -> str:
    parts = {
        "line": TRAIN,
        "id": "0",
        "name": "python3",
        "start": "101",
        "end": "150",
        "tasks": "1",
    }
    parts |= changed
    line, id, name, start, end, tasks = parts.values()
    return f"{line}|7.{id}|{name}|{exit}|{start}|{end}|{tasks}|{state}"


def ended(*steps: str) -> Job:
    """Job 7, which its accounts alone know."""
    (job,) = job_table([], (), parse_accounts(accounts(*steps), D)).jobs
    return job


def running(*steps: str, started: int = 100) -> Job:
    row = f"{MARK}|7|RUNNING|{started}|900|90|None|gpu|vm|(null)|a\n"
    told = accounts(*steps, job="0:0|100|Unknown||RUNNING")
    (job,) = job_table(parse_queue(row, MARK), (), parse_accounts(told, D)).jobs
    return job


@pytest.mark.parametrize(
    ("state", "exit", "says", "finding"),
    [
        ("FAILED", "1:0", "step 0 FAILED exit 1", None),
        ("FAILED", "0:11", "step 0 FAILED signal 11", None),
        ("CANCELLED", "0:9", "step 0 CANCELLED signal 9", None),
        ("CANCELLED", "0:15", "step 0 CANCELLED signal 15", None),
        ("CANCELLED by 1007", "0:9", "step 0 CANCELLED by user 1007", None),
        ("TIMEOUT", "0:15", "step 0 TIMEOUT", "time_limit"),
        ("NODE_FAIL", "0:0", "step 0 NODE_FAIL", "hardware"),
        ("OUT_OF_MEMORY", "0:125", "step 0 ran out of memory", "host_oom"),
    ],
)
def test_a_step_that_failed_spoils_a_job_whose_script_went_on(
    state: str, exit: str, says: str, finding: str | None
) -> None:
    job = ended(step(state, exit))
    assert (job.state, job.finding, job.exit_code) == (CellState.SUSPICIOUS, finding, 0)
    assert job.why == f"{says}, and the script went on to exit 0"
    job = running(step(state, exit))
    assert job.state is CellState.RUNNING
    assert job.why == f"{says}, and no step runs"
    by_user = state.startswith("CANCELLED by")
    assert job.finding == (None if by_user else finding or "crashed")


@pytest.mark.parametrize(
    "kob",
    [
        "srun --kill-on-bad-exit=1 -n2 bash",
        "srun -K -n2 bash",
        "srun -K1 -n2 bash",
        "srun -n2 bash",
    ],
)
def test_tasks_that_srun_ended_for_another_one_are_no_clean_end(kob: str) -> None:
    """The script ended in the same second as the step."""
    job = ended(step("CANCELLED", "0:15", line=kob, end="200", tasks="2"))
    assert job.state is CellState.SUSPICIOUS


@pytest.mark.parametrize(
    "later",
    [
        step("COMPLETED", id="1", start="151", end="199"),
        step("COMPLETED", id="1", line=f"{TRAIN} --resume last.pt"),
        step("COMPLETED", id="1", line=f"srun -n1 -o again-%t.out {TRAIN.partition('-n1 ')[2]}"),
    ],
)
def test_work_that_a_later_step_did_is_done(later: str) -> None:
    job = ended(step("FAILED", "1:0"), later)
    assert (job.state, job.why, job.finding) == (CellState.FINISHED, None, None)


def test_work_that_is_done_again_is_not_failed_yet() -> None:
    again = step("RUNNING", id="1", start="160", end="Unknown")
    job = running(step("FAILED", "1:0"), again)
    assert (job.state, job.why, job.finding) == (CellState.RUNNING, None, None)


@pytest.mark.parametrize(
    ("first", "later", "redone"),
    [
        # A name that a person gave says which work it is; that of an interpreter does not.
        ("srun -J train python3 a.py", "srun -J train python3 a.py -b 8", True),
        ("srun -J train python3 a.py -b 16", "srun -J train python3 a.py -b 8", True),
        ("srun python3 a.py --seed 1", "srun python3 a.py --seed 2", False),
        ("srun python3 train.py", "srun python3 eval.py", False),
        ("srun -o a.out ./train", "srun ./train", True),
    ],
)
def test_the_same_work_is_known_by_its_command(first: str, later: str, *, redone: bool) -> None:
    job = ended(step("FAILED", "1:0", line=first), step("COMPLETED", line=later, id="1"))
    assert (job.state is CellState.FINISHED) is redone


@pytest.mark.parametrize(
    ("name", "later", "tasks", "redone"),
    [
        ("train", "train", "1", True),
        ("train", "train", "2", False),
        ("train", "eval", "1", False),
        ("python3", "python3", "1", False),  # it may be anything
    ],
)
def test_before_2108_the_name_has_to_say_which_work_it_is(
    name: str, later: str, tasks: str, *, redone: bool
) -> None:
    job = ended(
        step("FAILED", "1:0", line="", name=name),
        step("COMPLETED", line="", name=later, tasks=tasks, id="1"),
    )
    assert (job.state is CellState.FINISHED) is redone


MONITOR = "srun --overlap -n1 -J mon bash -c nvidia-smi dmon"


@pytest.mark.parametrize(
    "steps",
    [
        # Ended with the script, next to the work and alone.
        (
            step("COMPLETED", end="200"),
            step("CANCELLED", "0:15", line=MONITOR, name="mon", id="1", end="200"),
        ),
        (step("CANCELLED", "0:15", line=MONITOR, name="mon", end="200"),),
        (step("CANCELLED by 0", "0:9", line=MONITOR, name="mon", end="200"),),
        # Ended by the script (kill $!) once the work was done.
        (
            step("CANCELLED by 0", "0:9", line=MONITOR, name="mon", end="171"),
            step("COMPLETED", id="1", end="170"),
        ),
        # On two nodes.
        (
            step("CANCELLED", "0:15", line=MONITOR, name="mon", end="200", tasks="2"),
            step("COMPLETED", id="1", end="199"),
        ),
        # It took the signal at the end of the script for its own end, or no notice of it.
        (
            step("FAILED", "3:0", line=MONITOR, name="mon", end="201"),
            step("COMPLETED", id="1", end="200"),
        ),
        (
            step("CANCELLED", "0:9", line=MONITOR, name="mon", end="208"),
            step("COMPLETED", id="1", end="200"),
        ),
        # A question, and its answer.
        (
            step("FAILED", "1:0", line="srun test -f last.pt", name="test"),
            step("COMPLETED", id="1"),
        ),
        (step("FAILED", "9:0", line="srun nvidia-smi", name="nvidia-smi"),),
        (step("CANCELLED", "0:15", id="extern", name="extern", line=""),),
    ],
)
def test_a_step_that_only_watches_the_work_is_no_failure(steps: tuple[str, ...]) -> None:
    assert ended(*steps).state is CellState.FINISHED


@pytest.mark.parametrize("end", ["150", "200"])
def test_one_of_two_parallel_steps_that_failed_is_not_excused_by_the_other(end: str) -> None:
    one = step("COMPLETED", line="srun ./a", name="a", end=end)
    other = step("FAILED", "1:0", line="srun ./b", name="b", id="1", end=end)
    assert ended(one, other).state is CellState.SUSPICIOUS
    killed = step("CANCELLED", "0:9", line="srun ./b", name="b", id="1", end=end)
    assert ended(one, killed).state is CellState.SUSPICIOUS


def test_a_step_before_the_work_does_not_excuse_it() -> None:
    done = step("COMPLETED", line="srun ./stage", name="stage", start="100", end="101")
    job = ended(done, step("CANCELLED", "0:15", id="1", end="199", tasks="2"))
    assert job.state is CellState.SUSPICIOUS


@pytest.mark.parametrize("word", ["CANCELLED by 0", "TIMEOUT", "FAILED", "NODE_FAIL", "PREEMPTED"])
def test_the_end_of_the_whole_job_goes_before_that_of_a_step(word: str) -> None:
    steps = [step("CANCELLED", "0:15", end="200")]
    told = accounts(*steps, job=f"1:0|100|200||{word}")
    (job,) = job_table([], (), parse_accounts(told, D)).jobs
    assert "step" not in (job.why or "")


def test_of_parallel_steps_those_that_failed_are_counted() -> None:
    lines = [f"srun python3 train.py --seed {seed}" for seed in range(4)]
    parts = [
        step("FAILED", "1:0", id=str(n), line=line)
        if n % 2
        else step("COMPLETED", id=str(n), line=line)
        for n, line in enumerate(lines)
    ]
    why = "step 1 FAILED exit 1 (and 1 more step), and the script went on to exit 0"
    assert ended(*parts).why == why
    parts[0] = step("RUNNING", line=lines[0], end="Unknown")
    assert running(*parts).why == "step 1 FAILED exit 1 (and 1 more step), and the script goes on"


def test_the_steps_of_an_earlier_start_are_not_of_this_one() -> None:
    job = running(step("FAILED", "1:0"), started=180)
    assert (job.why, job.finding) == (None, None)


def test_an_early_failure_is_kept_among_endless_steps() -> None:
    many = [step("COMPLETED", id=str(n), line=f"srun ./part {n}") for n in range(1, 3 * STEPS_MOST)]
    first = step("FAILED", "1:0", line="srun ./part 0")
    assert "step 0 FAILED exit 1, and" in (ended(first, *many).why or "")
    bad = [step("FAILED", "1:0", id=str(n), line=f"srun ./part {n}") for n in range(3 * STEPS_MOST)]
    assert f"(and {KEPT - 1} more steps)" in (ended(*bad).why or "")


@pytest.mark.parametrize(
    ("line", "options", "command"),
    [
        ("srun -n1 python3 -c x", {"n": "1"}, "python3 -c x"),
        (
            "srun -lun 2 -o a-%t.log ./a -o b",
            {"l": "", "u": "", "n": "2", "o": "a-%t.log"},
            "./a -o b",
        ),
        ("srun --output=a.log --label -- ./a", {"output": "a.log", "label": ""}, "./a"),
        ("srun --output a.log --exclusive ./a", {"output": "a.log", "exclusive": ""}, "./a"),
        ("srun -K1 -oa.log ./a", {"K": "", "o": "a.log"}, "./a"),
        ("srun -J a --kill-on-bad-exit=1 x", {"J": "a", "kill-on-bad-exit": "1"}, "x"),
        ("srun -n", {"n": ""}, ""),
        ("srun", {}, ""),
        ("", {}, ""),
    ],
)
def test_a_submit_line_is_read(line: str, options: dict[str, str], command: str) -> None:
    srun = parse_srun(line)
    assert (srun.options, " ".join(srun.command)) == (options, command)
