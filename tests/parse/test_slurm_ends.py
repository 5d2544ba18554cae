"""Who ended a job, and jobs that never began: rows and records as a Slurm 22.05.8 with accounts printed them."""

from __future__ import annotations

import pytest

from gpu_tui.core.jobs import Job
from gpu_tui.core.scheduler_end import End, LastEnd, kind_of, line_end
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.slurm import job_table, parse_accounts, parse_marked, parse_queue

M, D = "@5f1c", "@d"
HEAD = "JobID|JobName|ExitCode|Submit|Start|End|Partition|NodeList|NTasks|State"
SKIPPED, FAILED, PENDING = CellState.SKIPPED, CellState.FAILED, CellState.PENDING


def job(
    queue: str = "", *accounts: str, detail: str = "", own: str | None = "0", id: str | None = None
) -> Job:
    """The only job of a row of squeue, rows of sacct and a record of scontrol, each with `|` in place of the mark."""
    rows = parse_queue(f"{M}|{queue}\n" if queue else "", M)
    told = "\n".join((HEAD, *accounts)).replace("|", D) + "\n"
    details = (
        parse_marked(f"{M} {id or queue.partition('|')[0]}\n{detail}\n", M)[0] if detail else ()
    )
    known = parse_accounts(told, D) if accounts else None
    (one,) = job_table(rows, details, known, own=own).jobs
    return one


def record(id: str, tail: str) -> str:
    return (
        f"JobId={id} JobName=train UserId=bob(1007) GroupId=bob(1007) {tail} "
        f"StdErr=/w/{id}.out StdIn=/dev/null StdOut=/w/{id}.out Power= "
    )


# --- jobs that never began --------------------------------------------------------------------------

REFUSED = "20|FAILED|1795877581|1795877581|1795877581|BadConstraints|gpu||(null)|train"
REFUSED_BEFORE = "20|train|1:0|1795877581|1795877581|1795877581|gpu|None assigned||FAILED"
NO_LOG = "1|FAILED|1795877551|1795877551|1795877551|JobLaunchFailure|gpu|vm|(null)|train"
NO_LOG_BEFORE = "1|train|0:53|1795877551|1795877551|1795877551|gpu|vm||FAILED"
NO_LOG_BATCH = "1.batch|batch|0:53|1795877551|1795877551|1795877551||vm|1|CANCELLED"
# The launch failed a second later: on a busy node, or across the turn of a second.
NO_LOG_SLOW = NO_LOG.replace("1795877551|1795877551|", "1795877551|1795877552|", 1)
NO_LOG_BEFORE_SLOW = NO_LOG_BEFORE.replace("1795877551|gpu", "1795877552|gpu")
DEADLINE = "34|train|1:0|1795877645|None|1795877663|gpu|None assigned||DEADLINE"
# `kill -9 $$` as the first line of a script: the same reason (22.05.8), with its signal in the exit code.
KILLED_BEFORE = NO_LOG_BEFORE.replace("0:53", "0:9")
EXIT = "15|FAILED|1795877582|1795877582|1795877581|NonZeroExitCode|gpu|vm|(null)|train"
EXIT_BEFORE = "15|train|1:0|1795877581|1795877582|1795877582|gpu|vm||FAILED"


@pytest.mark.parametrize(
    ("queue", "accounts", "state", "says"),
    [
        (REFUSED, (), SKIPPED, "the cluster refused it, and it never started (BadConstraints)"),
        (REFUSED, (REFUSED_BEFORE,), SKIPPED, "the cluster refused it"),
        ("", (REFUSED_BEFORE,), SKIPPED, "the cluster refused it, and it never started"),
        (
            *(NO_LOG, (NO_LOG_BEFORE, NO_LOG_BATCH), FAILED),
            "it could not be started: see that the directory of its log exists",
        ),
        ("", (NO_LOG_BEFORE, NO_LOG_BATCH), FAILED, "it could not be started"),
        (NO_LOG_SLOW, (NO_LOG_BEFORE_SLOW,), FAILED, "it could not be started"),
        ("", (NO_LOG_BEFORE_SLOW,), FAILED, "it could not be started"),
        ("", (DEADLINE,), SKIPPED, "its deadline passed before it could start"),
    ],
)
def test_a_job_that_never_began_is_no_crash(
    queue: str, accounts: tuple[str, ...], state: CellState, says: str
) -> None:
    one = job(queue, *accounts)
    assert (one.state, one.finding) == (state, "missing_cell")
    assert says in (one.why or "")
    assert (one.started_at, one.exit_code, one.signal, one.stdout) == (None, None, None, None)
    assert one.finished_at is not None


@pytest.mark.parametrize(
    ("queue", "accounts"), [(EXIT, ()), (EXIT, (EXIT_BEFORE,)), ("", (EXIT_BEFORE,))]
)
def test_a_script_that_fails_at_once_did_begin(queue: str, accounts: tuple[str, ...]) -> None:
    one = job(queue, *accounts)
    assert (one.state, one.finding, one.exit_code, one.why) == (
        *(FAILED, None),
        *((1, "exit 1") if accounts else (None, None)),  # squeue has no exit code
    )
    assert one.started_at == 1795877582


def test_the_reason_of_a_failed_launch_alone_does_not_say_that_a_script_never_began() -> None:
    killed, unknown = job(NO_LOG, KILLED_BEFORE), job(NO_LOG)
    late = job("", NO_LOG_BEFORE.replace("1795877551|gpu", "1795877951|gpu"))
    assert (late.finding, late.signal, late.started_at) == (None, 53, 1795877551)
    assert (killed.state, killed.finding, killed.signal) == (FAILED, None, 9)
    assert "ended by signal 9" in (killed.why or "")
    assert (unknown.state, unknown.finding) == (FAILED, None)
    assert unknown.started_at == 1795877551


@pytest.mark.parametrize(
    "why",
    ["launch failed requeued held", "launch_failed_requeued_held", "JobHoldMaxRequeue"],
)
def test_a_job_that_the_cluster_holds_after_its_own_fault_needs_a_person(why: str) -> None:
    one = job(f"9|PENDING|N/A|N/A|1795877581|{why}|gpu||(null)|train")
    assert (one.state, one.finding) == (PENDING, "missing_cell")
    assert "held" in (one.why or "")


@pytest.mark.parametrize(
    "why", ["JobHeldUser", "BeginTime", "Resources", "job requeued in held state"]
)
def test_a_job_that_waits_for_its_user_or_its_turn_is_no_finding(why: str) -> None:
    assert job(f"9|PENDING|N/A|N/A|1795877581|{why}|gpu||(null)|train").finding is None


@pytest.mark.parametrize("word", ["LAUNCH_FAILED", "RECONFIG_FAIL", "BOOT_FAIL"])
def test_a_node_that_cannot_start_the_job_is_no_crash_of_it(word: str) -> None:
    one = job(f"9|{word}|1|1|1|None|gpu|vm|(null)|train")
    assert (one.state, one.finding in ("missing_cell", "hardware")) == (FAILED, True)


# --- cancelled --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "own", "end", "state", "says"),
    [
        ("1007", "1007", End.CANCELLED, SKIPPED, "by user 1007, its own"),
        ("1007", None, End.CANCELLED, SKIPPED, "by user 1007"),
        ("0", "1007", End.REMOVED, FAILED, "by user 0 (root), not by its own user"),
        ("0", "0", End.CANCELLED, SKIPPED, "by user 0 (root), its own"),
        ("1008", "1007", End.REMOVED, FAILED, "by user 1008, not by its own user"),
    ],
)
def test_who_cancelled_a_job(
    by: str, own: str | None, end: End, state: CellState, says: str
) -> None:
    row = f"32|train|0:0|1795877644|1795877645|1795877649|gpu|vm||CANCELLED by {by}"
    one = job("", row, own=own)
    assert (one.state, one.ended_by, one.why) == (state, end, says)
    assert one.finding == ("crashed" if end is End.REMOVED else None)
    # The record of scontrol names the user of this very job.
    queue = "32|CANCELLED|1795877645|1795877649|1795877644|None|gpu|vm|(null)|train"
    told = record("32", "JobState=CANCELLED Reason=None Restarts=0 ExitCode=0:15")
    known = job(queue, row, detail=told, own="4")
    assert known.ended_by is (End.CANCELLED if by == "1007" else End.REMOVED)


def test_a_waiting_job_that_another_user_cancelled_will_not_run() -> None:
    row = "33|train|0:0|1795877645|None|1795877649|gpu|None assigned||CANCELLED by 0"
    one = job("", row, own="1007")
    assert (one.state, one.finding) == (SKIPPED, "missing_cell")
    assert job("", row, own="0").finding is None


def test_who_cancelled_is_not_known_without_accounts() -> None:
    one = job("10|CANCELLED|1795877582|1795877591|1795877581|None|gpu|vm|(null)|train")
    assert (one.state, one.ended_by, one.finding) == (SKIPPED, End.CANCELLED, None)


# --- several attempts -------------------------------------------------------------------------------

FIRST = "27|train|0:0|1795877616|1795877616|1795877639|spot|vm||PREEMPTED"
FIRST_BATCH = "27.batch|batch|0:15|1795877616|1795877616|1795877639||vm|1|CANCELLED"
SECOND = "27|train|0:0|1795877639|1795877760|Unknown|spot|vm||RUNNING"
SECOND_BATCH = "27.batch|batch|0:0|1795877760|1795877760|Unknown||vm|1|RUNNING"
RUNS = "27|RUNNING|1795877760|1795964160|1795877639|None|spot|vm|(null)|train"
WAITS = "27|PENDING|1795877760|1795964160|1795877639|BeginTime|spot||(null)|train"


@pytest.mark.parametrize(
    "rows", [(FIRST, FIRST_BATCH, SECOND, SECOND_BATCH), (SECOND, SECOND_BATCH, FIRST, FIRST_BATCH)]
)
def test_the_newest_record_of_a_job_counts_and_names_the_end_before_it(
    rows: tuple[str, ...],
) -> None:
    told = parse_accounts("\n".join((HEAD, *rows)).replace("|", D) + "\n", D)
    (row,) = told.rows
    assert (row.word, row.before) == ("RUNNING", "PREEMPTED")
    assert [step.word for step in told.steps["27"]] == ["RUNNING"]
    one = job(RUNS, *rows)
    assert (one.state, one.ended_by) == (CellState.RUNNING, End.PREEMPTED)


def test_the_accounts_still_have_the_attempt_that_ended() -> None:
    waits = job(WAITS, FIRST, FIRST_BATCH)
    assert (waits.state, waits.ended_by) == (PENDING, End.PREEMPTED)
    assert job(WAITS, FIRST.replace("PREEMPTED", "REQUEUED")).ended_by is End.REQUEUED
    assert job(WAITS, FIRST.replace("PREEMPTED", "NODE_FAIL")).ended_by is End.NODE
    assert job(WAITS).ended_by is None


def test_a_job_that_waits_again_has_a_log() -> None:
    told = record("27", "JobState=PENDING Reason=BeginTime Restarts=1 ExitCode=0:0")
    one = job(WAITS, detail=told)
    assert (one.restarts, one.stdout, one.started_at) == (1, "/w/27.out", None)
    assert job(WAITS, detail=told.replace("Restarts=1", "Restarts=0")).stdout is None


# --- chosen to make room ----------------------------------------------------------------------------

ROOM = "PreemptEligibleTime=1795877616 PreemptTime=1795877625"
WARNED = "28|FAILED|1795877616|1795877626|1795877616|NonZeroExitCode|spot|vm|(null)|train"


def test_a_job_that_ends_in_the_grace_time_was_preempted() -> None:
    told = record("28", f"JobState=FAILED Restarts=0 ExitCode=143:0 EndTime=1795877626 {ROOM}")
    after = "28|train|15:0|1795877616|1795877616|1795877626|spot|vm||FAILED"
    for one in (job(WARNED, detail=told), job(WARNED, after, detail=told)):
        assert (one.state, one.finding, one.preempted) == (FAILED, "preempted", True)
        assert one.ended_by is End.PREEMPTED
    never = told.replace("PreemptTime=1795877625", "PreemptTime=None")
    assert job(WARNED, detail=never).finding is None
    later = told.replace("PreemptTime=1795877625", "PreemptTime=1795877699")
    assert job(WARNED, detail=later).finding is None


# --- the lines of slurmstepd ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "end", "of_step"),
    [
        ("slurmstepd-vm: error: *** JOB 10 ON vm CANCELLED AT 2026-11-28T14:53:12 ***", End.CANCELLED, End.CANCELLED),
        ("slurmstepd: error: *** JOB 14 ON vm CANCELLED AT 2026-11-28T14:53:12 DUE TO JOB REQUEUE ***", End.REQUEUED, End.REQUEUED),
        ("slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026-11-28T14:53:32 DUE TO TIME LIMIT ***", End.LIMIT, End.LIMIT),
        ("slurmstepd: error: *** JOB 27 ON n1 CANCELLED AT 2026-11-28T14:53:59 DUE TO PREEMPTION ***", End.PREEMPTED, End.PREEMPTED),
        ("slurmd[n1]: error: *** JOB 5 CANCELLED AT 2010-01-01T00:00:00 DUE TO TIME LIMIT ***", End.LIMIT, End.LIMIT),
        ("slurmstepd: error: *** JOB 5 ON n1 CANCELLED AT 2026-11-28T14:53:59 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***", End.NODE, End.NODE),
        ("slurmstepd: error: *** STEP 13.0 ON vm CANCELLED AT 2026-11-28T14:53:32 DUE TO TIME LIMIT ***", None, End.LIMIT),
        ("slurmstepd: error: *** STEP 28.0 ON vm CANCELLED AT 2026-11-28T14:53:45 ***", None, End.CANCELLED),
        ("slurmstepd: error: *** STEP 31.0 ON g CANCELLED AT 2031-05-11T09:12:44 DUE TO TASK FAILURE ***", None, None),
        ("srun: Job step aborted: Waiting up to 32 seconds for job step to finish.", None, None),
        ("srun: forcing job termination", None, None),
        ("CANCELLED AT the request of a friend", None, None),
    ],
)  # fmt: skip
def test_the_end_in_a_line_of_slurmstepd(text: str, end: End | None, of_step: End | None) -> None:
    assert (line_end(text), line_end(text, step=True)) == (end, of_step)


def test_only_a_job_that_is_still_there_may_announce_its_preemption() -> None:
    text = "[trainer] preemption notice received, saving"
    assert kind_of(text, LastEnd(None, live=True)) == "preempted"
    assert kind_of(text, LastEnd(None)) == "crashed"
    assert kind_of("srun: Job step aborted: Waiting up to 2 seconds", LastEnd(None)) == "crashed"
