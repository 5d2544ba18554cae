"""Slurm's lists as jobs. The rows are as a 22.05.8 printed them, with names that somebody shaped."""

from __future__ import annotations

import pytest

from gpu_tui.core.jobs import JOBS_KEPT, Job
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.slurm import (
    ACCOUNT_FIELDS,
    MORE_FIELDS,
    STEPS_MOST,
    TASKS_MOST,
    Accounts,
    job_of,
    job_table,
    parse_accounts,
    parse_details,
    parse_marked,
    parse_queue,
    task_ids,
)
from gpu_tui.parse.slurm_job import Detail, Listed
from gpu_tui.parse.slurm_words import STATES

MARK = "@5f1c"
D = "@d"  # between two fields of sacct
QUEUE = f"""\
{MARK}|2_[5-9%2]|PENDING|N/A|N/A|1795276827|JobArrayTaskLimit|gpu||(null)|arr
{MARK}|3|PENDING|N/A|N/A|1795276827|Dependency|gpu||afterok:1(unfulfilled)|dep
{MARK}|12|PENDING|N/A|N/A|1795276827|DependencyNeverSatisfied|gpu||afterok:6(failed)|never
{MARK}|1|RUNNING|1795276827|1795277427|1795276827|None|gpu|vm|(null)|train a|b ü
{MARK}|5|RUNNING|1795276827|1795277127|1795276827|None|gpu|vm|(null)|new
line|99|RUNNING|1|2|3|None|gpu|vm|(null)|forged
{MARK}|6|FAILED|1795276827|1795276830|1795276827|NonZeroExitCode|gpu|vm|(null)|fail
"""
RECORD = (
    "JobId={id} {array}JobName={name} UserId=root(0) GroupId=root(0) MCS_label=N/A Account=(null) "
    "JobState={state} Reason=None Dependency=(null) Requeue=1 Restarts={restarts} BatchFlag=1 Reboot=0 "
    "ExitCode={exit} RunTime=00:00:02 TimeLimit=00:10:00 SubmitTime=1795276827 StartTime=1795276827 "
    "EndTime=1795277427 Partition=gpu NodeList=vm Command=/tmp/a.sh WorkDir=/tmp {comment}"
    "StdErr={err} StdIn=/dev/null StdOut={out} Power= \n"
)


def record(**changed: str) -> str:
    parts = {
        "id": "1",
        "array": "",
        "name": "train",
        "state": "RUNNING",
        "restarts": "0",
        "exit": "0:0",
        "comment": "",
        "err": "/scratch/l/1.err",
        "out": "/scratch/l/1.out",
    }
    return RECORD.format(**{**parts, **changed})


def by_id(text: str = QUEUE, accounts: Accounts | None = None) -> dict[str, Job]:
    return {job.id: job for job in job_table(parse_queue(text, MARK), (), accounts).jobs}


def test_the_queue_is_read_row_by_row_whatever_the_names_hold() -> None:
    jobs = by_id()
    assert list(jobs) == ["1", "2_5", "2_6", "2_7", "2_8", "2_9", "3", "5", "6", "12"]
    assert jobs["1"].name == "1·train a|b ü"
    assert (jobs["1"].state, jobs["1"].ends_by) == (CellState.RUNNING, 1795277427.0)
    assert "forged" in jobs["5"].name
    assert "\n" not in jobs["5"].name
    assert jobs["5"].ends_by == 1795277127.0  # its own row's, not that of the line in its name
    assert jobs["6"].finished_at == 1795276830.0
    assert jobs["6"].ends_by is None
    assert "(afterok:1(unfulfilled))" in (jobs["3"].why or "")
    assert jobs["3"].started_at is None  # what squeue shows for it is a guess at best
    assert (jobs["12"].state, jobs["12"].finding) == (CellState.SKIPPED, "missing_cell")


@pytest.mark.parametrize("cut", range(0, len(QUEUE), 37))
def test_a_list_that_is_cut_off_anywhere_loses_rows_and_invents_none(cut: int) -> None:
    whole = by_id()
    for id, job in by_id(QUEUE[:cut]).items():
        assert id in whole
        assert job.state is whole[id].state


def test_every_state_is_judged_and_a_new_one_is_never_taken_for_waiting() -> None:
    for word, means in STATES.items():
        job = job_of(Listed("1", word, "a"))
        assert job.state is means.state
        assert job.live == (means.state is CellState.RUNNING)
    assert job_of(Listed("1", "TELEPORTING", "a")).state is CellState.CANNOT_TELL
    assert job_of(Listed("1", "", "a")).state is CellState.CANNOT_TELL


@pytest.mark.parametrize(
    ("word", "finding", "says"),
    [
        ("TIMEOUT", "time_limit", "time limit"),
        ("DEADLINE", "time_limit", "deadline"),
        ("OUT_OF_MEMORY", "host_oom", "memory"),
        ("NODE_FAIL", "hardware", "node failed"),
        ("PREEMPTED", "preempted", "priority"),
        ("FAILED", None, ""),
    ],
)
def test_a_bad_end_is_the_finding_that_it_is(word: str, finding: str | None, says: str) -> None:
    job = job_of(Listed("1", word, "a", ends_at=9.0))
    assert (job.state, job.finding, job.finished_at) == (CellState.FAILED, finding, 9.0)
    assert says in (job.why or "")
    assert job.preempted == (word == "PREEMPTED")


def test_an_exit_is_one_of_the_program_or_of_a_signal() -> None:
    failed = job_of(Listed("6", "FAILED", "a"), Detail("6", "FAILED", exit_code=3, signal=0))
    assert (failed.exit_code, failed.signal, failed.why) == (3, None, "exit 3")
    killed = job_of(Listed("6", "FAILED", "a"), Detail("6", "FAILED", exit_code=0, signal=9))
    assert (killed.exit_code, killed.signal) == (None, 9)
    assert "stderr says which" in (killed.why or "")
    # An end that nobody waited for stands there as 0:0, too.
    timed = job_of(Listed("6", "TIMEOUT", "a"), Detail("6", "TIMEOUT", exit_code=0, signal=0))
    assert timed.exit_code is None


def accounts_text(rows: list[str], columns: str = ACCOUNT_FIELDS) -> str:
    """These rows, their fields parted by `|`, as sacct prints them."""
    return "\n".join([columns.replace(",", "|"), *rows, ""]).replace("|", D)


def accounts_of(rows: list[str]) -> Accounts:
    return parse_accounts(accounts_text(rows), D)


def test_a_step_without_memory_spoils_a_job_that_says_it_is_well() -> None:
    rows = [
        "7|eats|0:0|10|11|20|gpu|n1||COMPLETED",
        "7.batch|batch|0:0|10|11|20||n1|1|COMPLETED",
        "7.0|python|0:125|10|11|15||n1|1|OUT_OF_MEMORY",
        "8|gone|0:0|10|11|20|gpu|n1||CANCELLED by 1007",
        "9|two\nlines|1:0|10|11|20|gpu|n1||FAILED",
        "11_[3-4]|waits|0:0|10|Unknown|Unknown|gpu|||PENDING",
        "10|lost|0:0|10|11|Unknown|gpu|n1||RUNNING",
    ]
    jobs = by_id("", accounts_of(rows))
    assert list(jobs) == ["7", "8", "9", "10"]
    assert (jobs["7"].state, jobs["7"].finding) == (CellState.SUSPICIOUS, "host_oom")
    assert "step 0 ran out of memory" in (jobs["7"].why or "")
    assert (jobs["8"].state, jobs["8"].why) == (CellState.SKIPPED, "by user 1007")
    assert (jobs["9"].exit_code, jobs["9"].finding) == (1, None)
    # The queue does not have it: accounts that say RUNNING prove nothing.
    assert jobs["10"].state is CellState.CANNOT_TELL
    assert jobs["10"].ends_by is None


def test_the_queue_goes_before_the_accounts_until_a_job_has_ended() -> None:
    rows = [
        "1|a|0:0|1|2|Unknown|gpu|n||PENDING",
        "6|fail|3:0|1|2|1795276830|gpu|n||FAILED",
    ]
    jobs = by_id(QUEUE, accounts_of(rows))
    assert jobs["1"].state is CellState.RUNNING
    assert (jobs["6"].exit_code, jobs["6"].why) == (3, "exit 3")


@pytest.mark.parametrize("cut", range(len(MORE_FIELDS) + 1))
def test_the_accounts_of_every_release_are_read(cut: int) -> None:
    """StdOut is of 24.05, SubmitLine of 21.08: the header says which columns are there."""
    row = {
        "JobID": "6_2.0",
        "JobName": "train",
        "ExitCode": "1:0",
        "Start": "11",
        "End": "15",
        "NodeList": "vm",
        "NTasks": "2",
        "State": "CANCELLED by 1007",
        "SubmitLine": "srun -o a-%t.out python3 -c print(1)\nprint(2)",
    }
    job = {"JobID": "6_2", "WorkDir": "/scratch/two\nlines", "StdOut": "%x.out", "State": "FAILED"}
    columns = ",".join([*MORE_FIELDS[cut:], ACCOUNT_FIELDS])
    lines = ["|".join(one.get(name, "") for name in columns.split(",")) for one in (job, row)]
    accounts = parse_accounts("sacct: error: x\n" + accounts_text(lines, columns), D)
    ((step,),) = accounts.steps.values()
    assert (step.id, step.name, step.word, step.by) == ("0", "train", "CANCELLED", "1007")
    assert (step.exit_code, step.signal, step.tasks, step.node) == (1, 0, 2, "vm")
    assert (step.started_at, step.ends_at) == (11.0, 15.0)
    assert step.submit_line == (row["SubmitLine"] if cut < 2 else None)
    (listed,) = accounts.rows
    assert (listed.id, listed.word) == ("6_2", "FAILED")
    assert listed.workdir == (job["WorkDir"] if cut < 3 else None)
    assert listed.stdout == (job["StdOut"] if cut < 1 else None)


@pytest.mark.parametrize(
    ("id", "job", "step"),
    [
        ("12.batch", "12", "batch"),
        ("12.extern", "12", "extern"),
        ("12_3.0", "12_3", "0"),
        ("12+0.0", "12+0", "0"),
        ("12.0+1", "12", "0+1"),
        ("12.interactive", "12", "interactive"),
    ],
)
def test_a_step_belongs_to_its_job(id: str, job: str, step: str) -> None:
    accounts = accounts_of([f"{id}|x|0:0|1|2|3||n|1|COMPLETED"])
    assert {id: [one.id for one in of] for id, of in accounts.steps.items()} == {job: [step]}


def test_of_endless_steps_the_newest_are_kept() -> None:
    rows = [f"1.{n}|x|0:0|1|2|3||n|1|COMPLETED" for n in range(STEPS_MOST + 50)]
    kept = accounts_of(rows).steps["1"]
    assert (len(kept), kept[-1].id) == (STEPS_MOST, str(STEPS_MOST + 49))


@pytest.mark.parametrize("text", ["", "sacct: error: no", f"JobID{D}State", f"JobID{D}State\n1"])
def test_text_without_a_header_of_accounts_has_no_rows(text: str) -> None:
    assert parse_accounts(text, D) == Accounts()


def test_details_name_the_logs_and_refuse_what_is_no_file() -> None:
    (detail,) = parse_details(record())
    assert (detail.id, detail.word, detail.restarts) == ("1", "RUNNING", 0)
    assert (detail.stdout, detail.stderr) == ("/scratch/l/1.out", "/scratch/l/1.err")
    assert (detail.user, detail.ends_at) == ("root", 1795277427.0)
    for path in (
        *(
            "/dev/zero",
            "/proc/self/mem",
            "relative.out",
            "(null)",
            "/a/../../etc/shadow",
            "/a\x1b[2J",
        ),
        *("/two\nlines", "", "/" + "a" * 2_000),
    ):
        assert parse_details(record(out=path))[0].stdout is None, path


def test_a_record_speaks_for_its_own_job_alone() -> None:
    name = "x JobState=COMPLETED UserId=you(1) StdOut=/etc/shadow"
    (detail,) = parse_details(record(name=name, comment="Comment= StdOut=/etc/passwd "))
    assert (detail.word, detail.stdout, detail.user) == ("RUNNING", "/scratch/l/1.out", "root")
    forged = record(name="x\n" + record(id="30", out="/etc/passwd").strip() + "\n")
    text = f"{MARK} 30\n{record(id='30')}{MARK} 1\n{forged}"
    found = {detail.id: detail.stdout for detail in parse_marked(text, MARK)[0]}
    assert found["30"] == "/scratch/l/1.out"


def test_a_task_of_an_array_is_known_by_its_number() -> None:
    text = record(id="7", array="ArrayJobId=2 ArrayTaskId=3 ArrayTaskThrottle=2 ", restarts="2")
    (detail,) = parse_details(text)
    assert detail.id == "2_3"
    job = job_of(Listed("2_3", "PENDING", "a", reason="BeginTime"), detail)
    assert "restarted 2 times" in (job.why or "")
    assert job.stdout == "/scratch/l/1.out"  # of the attempts before
    fresh = parse_details(text.replace("Restarts=2", "Restarts=0"))[0]
    assert job_of(Listed("2_3", "PENDING", "a"), fresh).stdout is None  # nothing writes there yet


@pytest.mark.parametrize("word", ["²", "٣", "-1", "9999999"])
def test_what_is_no_plain_number_of_restarts_is_not_known(word: str) -> None:
    (detail,) = parse_details(record(id="7", restarts=word))
    assert detail.restarts is None


@pytest.mark.parametrize(
    ("packed", "ids"),
    [
        ("3-9%2", [3, 4, 5, 6, 7, 8, 9]),
        ("1,4-10:3", [1, 4, 7, 10]),
        ("1,3,...", [1, 3]),
        ("9-1", []),
        ("x", []),
        ("0-4:0", [0, 1, 2, 3, 4]),
    ],
)
def test_packed_task_numbers(packed: str, ids: list[int]) -> None:
    assert list(task_ids(packed)) == ids


def test_no_array_and_no_queue_is_long_enough_to_matter() -> None:
    array = f"{MARK}|1_[0-99999999]|PENDING|N/A|N/A|1|Priority|gpu||(null)|huge\n"
    table = job_table(parse_queue(array, MARK))
    assert len(table.jobs) == TASKS_MOST
    assert table.dropped == JOBS_KEPT - TASKS_MOST
    rows = "".join(
        f"{MARK}|{id}|{'RUNNING' if id < 10 else 'COMPLETED'}|1|2|1|None|gpu|n|(null)|a\n"
        for id in range(1, JOBS_KEPT + 500)
    )
    table = job_table(parse_queue(rows, MARK))
    assert (len(table.jobs), table.dropped) == (JOBS_KEPT, 499)
    assert sum(job.live for job in table.jobs) == 9  # what runs is never what is left out


def test_times_with_a_zone_that_nobody_told_are_no_times() -> None:
    row = f"{MARK}|1|RUNNING|2026-11-20T10:00:00|2026-11-20T20:00:00|N/A|None|gpu|n|(null)|a\n"
    job = by_id(row)["1"]
    assert (job.started_at, job.ends_by, job.submitted_at) == (None, None, None)


def test_the_records_of_an_array_are_its_tasks_and_no_name_forges_one() -> None:
    def task(number: int, name: str = "sweep") -> str:
        array = f"ArrayJobId=40 ArrayTaskId={number} "
        return record(id=str(41 + number), array=array, name=name, out=f"/l/{number}.out")

    broken = task(2, "two lines\nof a name")
    text = f"{MARK} 40\n{task(0)}{task(1)}{broken}"
    found, _ = parse_marked(text, MARK)
    assert {one.id: one.stdout for one in found} == {f"40_{n}": f"/l/{n}.out" for n in (0, 1, 2)}
    # A name that looks like the record of another task, of another array, of a single job.
    names = ["x\n" + task(0).strip(), "x\n" + record(id="7").strip()]
    forged = task(0) + task(1, names[0]) + task(2, names[1])
    found, _ = parse_marked(f"{MARK} 40\n{forged}{MARK} 7\n{record(id='7', out='/l/7')}", MARK)
    assert {one.id: one.stdout for one in found} == {"7": "/l/7"}


def test_a_part_of_a_heterogeneous_job_has_the_id_that_squeue_shows() -> None:
    parts = [
        record(id=str(50 + n), array=f"HetJobId=50 HetJobOffset={n} ", out=f"/l/{n}")
        for n in (0, 1)
    ]
    found, _ = parse_marked(f"{MARK} 50\n{''.join(parts)}", MARK)
    assert {one.id: one.stdout for one in found} == {"50+0": "/l/0", "50+1": "/l/1"}
    # The provider asks for a job by the id that sbatch printed.
    assert [one.id for one in parse_details("".join(parts))] == ["50", "51"]


def test_a_running_job_without_details_says_why_its_log_is_not_known() -> None:
    rows = "".join(
        f"{MARK}|{id}|RUNNING|1795276827|1795277427|1795276827|None|gpu|vm|(null)|a\n"
        for id in ("1", "2_0", "3", "4")
    )
    text = f"{MARK} 1\n{record()}{MARK} 2\n\n{MARK} 3\ntoo-much\n"
    details, unknown = parse_marked(text, MARK)
    told = {
        job.id: job.unread
        for job in job_table(parse_queue(rows, MARK), details, None, None, unknown).jobs
    }
    assert told["1"] is None
    assert "no record" in (told["2_0"] or "")
    assert "more records than are read" in (told["3"] or "")
    assert told["4"] == "its log is not read yet"


def test_the_log_of_a_job_that_waits_is_known_before_it_runs() -> None:
    """scontrol has one record for all tasks of an array that wait, with 4294967294 in place of %a."""
    listed = [
        Listed("1", "PENDING", "a"), Listed("3", "RUNNING", "a", started_at=9.0),
        Listed("7_[2-3]", "PENDING", "a"), Listed("7_1", "RUNNING", "a", started_at=9.0),
        Listed("8_[1-2]", "PENDING", "a"), Listed("9", "PENDING", "a"),
    ]  # fmt: skip
    text = "".join(
        [
            record(id="1", state="PENDING", out="/l/1.out", err="/l/1.out"),
            record(id="3", out="/l/3.out"),
            record(id="7", array="ArrayJobId=7 ArrayTaskId=2-3 ", state="PENDING", out="/l/7-4294967294", err="/l/4294967294.err"),
            record(id="8", array="ArrayJobId=8 ArrayTaskId=1-2 ", state="PENDING", out="/l/8.out"),
            record(id="9", state="PENDING", out="/l/%N.out", err="/l/9.err"),
        ]
    )  # fmt: skip
    jobs = {job.id: job for job in job_table(listed, parse_details(text)).jobs}
    assert {id: (job.stdout, job.will_write) for id, job in jobs.items()} == {
        "1": (None, ("/l/1.out",)),
        "3": ("/l/3.out", ()),
        "7_1": (None, ()),
        "7_2": (None, ("/l/7-2", "/l/2.err")),
        "7_3": (None, ("/l/7-3", "/l/3.err")),
        "8_1": (None, ()),  # which task writes it is not known
        "8_2": (None, ()),
        "9": (None, ("/l/9.err",)),
    }


@pytest.mark.parametrize("word", ["SUSPENDED", "STOPPED", "PENDING"])
def test_a_suspended_job_keeps_its_start_and_its_log(word: str) -> None:
    (detail,) = parse_details(record())
    (job,) = job_table([Listed(detail.id, word, "train", started_at=9.0)], [detail]).jobs
    ran = word != "PENDING"
    assert job.state is CellState.PENDING
    assert (job.started_at, job.expected_at) == ((9.0, None) if ran else (None, 9.0))
    assert (job.stdout is not None, job.has_stopped) == (ran, ran)


def test_a_job_that_was_suspended_says_when_it_went_on() -> None:
    row = Listed("1", "RUNNING", "train")
    (detail,) = parse_details(record(comment="SuspendTime=1795276900 SecsPreSuspend=60 "))
    assert job_of(row, detail).resumed_at == 1795276900.0
    assert job_of(Listed("1", "SUSPENDED", "train"), detail).resumed_at is None
    (detail,) = parse_details(record(comment="SuspendTime=None SecsPreSuspend=0 "))
    assert job_of(row, detail).resumed_at is None
