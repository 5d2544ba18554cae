"""A job's end by its scheduler's word, with the log that each end really leaves (recorded from a Slurm 22.05.8)."""

from __future__ import annotations

import pytest

from gpu_tui.core.events import LinkChanged, LogArrived, LogCame, LogOpened, Sampled
from gpu_tui.core.findings import Finding, Severity
from gpu_tui.core.fleet import Fleet, Instance, LinkState, SshAccess
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.logs import LogSource
from gpu_tui.core.readings import Host, Process
from gpu_tui.core.sample import Reading
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.core.verdict import Verdict
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.parse.slurm import Accounts, job_table, parse_accounts, parse_marked, parse_queue
from gpu_tui.state.contract import fleet_verdict
from gpu_tui.state.history import NoHistory
from gpu_tui.state.store import Store
from gpu_tui.state.views import InstanceView

T0 = 1_795_877_581.0
MARK, OWN = "@5f1c", "0"
ROW = "{mark}|{id}|{word}|1795877582|{end}|1795877581|{why}|gpu|{node}|(null)|train\n"
DETAIL = (
    "{mark} {id}\nJobId={id} JobName=train UserId=root(0) GroupId=root(0) JobState={word} Reason=None Requeue=1 "
    "Restarts={restarts} ExitCode={code} SubmitTime=1795877581 StartTime=1795877582 EndTime=1795877591 Deadline=N/A "
    "PreemptEligibleTime=1795877582 PreemptTime={room} NodeList=vm WorkDir=/w "
    "StdErr=/w/{id}.out StdIn=/dev/null StdOut=/w/{id}.out Power= \n"
)
HEAD = "JobID{d}JobName{d}ExitCode{d}Submit{d}Start{d}End{d}Partition{d}NodeList{d}NTasks{d}State\n"


def epochs(first: int, last: int) -> str:
    return "".join(f"Epoch {n}/60 loss: {1 / n:.3f}\n" for n in range(first, last + 1))


STEPD = "slurmstepd-vm: error: *** {what} ON vm CANCELLED AT 2026-11-28T14:53:12{due} ***\n"
TO_JOB = STEPD.format(what="JOB 10", due="")
TO_STEP = (
    "srun: got SIGCONT\n"
    + STEPD.format(what="STEP 10.0", due="")
    + TO_JOB
    + "srun: forcing job termination\nsrun: error: vm: task 0: Terminated\n"
)
ABORTED = (
    STEPD.format(what="STEP 10.0", due="")
    + "srun: Job step aborted: Waiting up to 2 seconds for job step to finish.\n"
)
INTERRUPTED = TO_JOB + (
    "Traceback (most recent call last):\n"
    '  File "/w/train.py", line 4, in <module>\n'
    "    time.sleep(1)\n"
    "KeyboardInterrupt\n"
)
TORCHRUN = TO_JOB + (
    "W1128 14:53:12 api.py:900] Received 15 death signal, shutting down workers\n"
    "W1128 14:53:12 api.py:897] Sending process 4242 closing signal SIGTERM\n"
    "Traceback (most recent call last):\n"
    '  File "/opt/torch/run.py", line 918, in run\n'
    "torch.distributed.elastic.multiprocessing.api.SignalException: Process 4100 got signal: 15\n"
)
RANKS = TO_STEP + (
    "[rank1]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2006, "
    "remote process exited or there was a network error\n"
)
RAISED = (
    "Traceback (most recent call last):\n"
    '  File "/w/train.py", line 9, in fit\n'
    "RuntimeError: shape mismatch\n"
)


def due(words: str) -> str:
    return STEPD.format(what="JOB 10", due=f" DUE TO {words}")


class Login:
    """A login node with jobs named by their ids; each has the log /w/ID.out."""

    def __init__(self, history: NoHistory | None = None, scheduler: str = "slurm") -> None:
        self.history = history or NoHistory()
        box = Instance("login", SshAccess("login"), scheduler=scheduler)
        self.store = Store(Fleet(None, (box,)), {}, self.history)
        self.at, self.readers = T0, dict[str, LogReader]()
        self.store.apply(LinkChanged("login", T0, LinkState("live", since=T0)))
        self.sample("processes", (Process(1, 0, "init", ("/sbin/init",), "S"),))
        self.sample("host", Host(T0, 5000.0, "boot-1"))

    def sample(self, metric: str, value: object) -> None:
        self.store.apply(Sampled("login", self.at, metric, Reading(value, self.at, 3_600.0)))

    def jobs(self, *jobs: Job, source: str = "Slurm", metric: str = "slurm") -> None:
        self.at += 20
        self.sample(metric, JobTable(source, jobs))

    def look(
        self,
        word: str,
        restarts: int = 0,
        *,
        why: str = "None",
        node: str = "vm",
        code: str = "0:0",
        room: str = "None",
        id: str = "10",
        accounts: Accounts | None = None,
        detailed: bool = True,
    ) -> None:
        """The next look of the probe."""
        self.at += 20
        end = 1795964000 if word in ("RUNNING", "PENDING") else 1795877591
        text = ROW.format(mark=MARK, id=id, word=word, why=why, node=node, end=end)
        rows = parse_queue(text, MARK)
        text = DETAIL.format(mark=MARK, id=id, word=word, restarts=restarts, code=code, room=room)
        details = parse_marked(text, MARK)[0] if detailed else ()
        self.sample("slurm", job_table(rows, details, accounts, own=OWN))

    def log(self, text: str, id: str = "10", *, backlog: bool = False) -> None:
        self.at += 1
        source = LogSource(f"/w/{id}.out", f"{id}·train")
        lines = self.readers.setdefault(id, LogReader()).feed(text.encode())
        self.store.apply(LogArrived("login", self.at, source, tuple(lines), backlog))

    def log_begins_anew(self, id: str = "10") -> None:
        self.readers[id] = LogReader()
        source = LogSource(f"/w/{id}.out", f"{id}·train")
        self.store.apply(LogOpened("login", self.at, source, 7, 0, 0, resumed=False))

    def view(self) -> InstanceView:
        return self.store.view(self.at)["login"]

    def cell(self) -> Cell:
        (cell,) = self.view().queue.cells
        return cell

    def findings(self) -> tuple[Finding, ...]:
        return self.view().findings

    @property
    def verdict(self) -> str:
        return fleet_verdict(self.store.view(self.at))


def account(*rows: tuple[str, str, str]) -> Accounts:
    """Records of job 10 by (submitted, state, node)."""
    text = HEAD.format(d="@d")
    for submitted, state, node in rows:
        over = "Unknown" if state in ("PENDING", "RUNNING") else "1795877591"
        row = ["10", "train", "0:0", submitted, "1795877582", over, "gpu", node, "", state]
        text += "@d".join(row) + "\n"
    return parse_accounts(text, "@d")


ENDS = [TO_JOB, TO_STEP, ABORTED, INTERRUPTED, TORCHRUN, RANKS, epochs(1, 1)]


# --- cancelled ------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("by", [None, "CANCELLED by 0"])
def test_a_job_that_its_own_user_cancelled_is_no_finding(end: str, by: str | None) -> None:
    login = Login()
    login.look("RUNNING")
    login.log(epochs(1, 9) + end)
    # The log may be newer than the list of jobs by a whole beat; a step alone may have been cancelled.
    assert {found.severity for found in login.findings()} <= {Severity.WARN}
    assert login.findings() == () or end == ABORTED
    login.look("CANCELLED", accounts=account(("1795877581", by, "vm")) if by else None)
    assert login.findings() == ()
    assert (login.cell().state, login.cell().epoch) == (
        CellState.SKIPPED,
        9 if end != ENDS[-1] else 1,
    )
    assert login.verdict == "healthy"


def test_a_cancelled_array_is_no_finding_at_all() -> None:
    login = Login()
    tasks = [f"10_{n}" for n in range(15)]
    for task in tasks:
        login.log(epochs(1, 3) + TO_STEP, task)
    rows = "".join(
        ROW.format(mark=MARK, id=task, word="CANCELLED", why="None", node="vm", end=1)
        for task in tasks
    )
    login.sample("slurm", job_table(parse_queue(rows, MARK), own=OWN))
    assert len(login.view().queue.cells) == 15
    assert login.findings() == ()


def test_an_error_before_the_cancel_stays_as_a_warning() -> None:
    login = Login()
    login.look("RUNNING")
    login.log(epochs(1, 9) + RAISED + epochs(10, 10) + TO_JOB)
    login.look("CANCELLED")
    (found,) = login.findings()
    assert (found.kind, found.severity) == ("crashed", Severity.WARN)
    assert "shape mismatch" in found.evidence


def test_a_job_that_another_user_cancelled_says_who() -> None:
    login = Login()
    login.look("CANCELLED", accounts=account(("1795877581", "CANCELLED by 1007", "vm")))
    login.log(epochs(1, 9) + TO_JOB)
    (found,) = login.findings()
    assert (found.kind, found.severity, login.cell().state) == (
        "crashed",
        Severity.SERIOUS,
        CellState.FAILED,
    )
    assert "CANCELLED: by user 1007, not by its own user" in found.evidence
    assert "CANCELLED AT" in found.evidence
    assert "Ask that user" in found.remedy


# --- time limit -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "end",
    [
        due("TIME LIMIT"),
        STEPD.format(what="STEP 10.0", due=" DUE TO TIME LIMIT")
        + "srun: got SIGCONT\nsrun: forcing job termination\nsrun: error: vm: task 0: Terminated\n",
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
        + due("TIME LIMIT"),
        due("TIME LIMIT") + INTERRUPTED.partition("\n")[2],
    ],
)
def test_a_time_limit_is_one_finding_with_its_line_as_evidence(end: str) -> None:
    login = Login()
    login.look("RUNNING")
    login.log(epochs(1, 30) + end)
    assert {found.kind for found in login.findings()} <= {"time_limit"}
    login.look("TIMEOUT")
    (found,) = login.findings()
    assert (found.kind, found.severity) == ("time_limit", Severity.SERIOUS)
    assert "DUE TO TIME LIMIT" in found.evidence
    assert "longer limit" in found.remedy


def test_a_failure_long_before_the_time_limit_is_reported_too() -> None:
    login = Login()
    login.log(epochs(1, 30) + RAISED + due("TIME LIMIT"))
    login.look("TIMEOUT")
    assert {found.kind for found in login.findings()} == {"time_limit", "crashed"}


@pytest.mark.parametrize(
    ("end", "state", "kinds", "severity"),
    [
        (TO_JOB, CellState.SKIPPED, [], Severity.NONE),
        (TO_STEP, CellState.SKIPPED, [], Severity.NONE),
        (INTERRUPTED, CellState.SKIPPED, [], Severity.NONE),
        (RAISED + TO_JOB, CellState.FAILED, ["crashed"], Severity.WARN),
        (due("TIME LIMIT"), CellState.FAILED, ["time_limit"], Severity.SERIOUS),
        (due("PREEMPTION"), CellState.FAILED, ["preempted"], Severity.SERIOUS),
        (due("NODE FAILURE"), CellState.FAILED, ["hardware"], Severity.SERIOUS),
        (RAISED, CellState.FAILED, ["crashed"], Severity.FATAL),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_a_job_that_left_its_list_ended_as_slurm_said_in_its_log(
    end: str, state: CellState, kinds: list[str], severity: Severity, late: bool
) -> None:
    login = Login()
    login.look("RUNNING")
    login.log(epochs(1, 30) + ("" if late else end))
    login.view()
    login.jobs()  # MinJobAge is over, and no accounts are kept
    if late:
        login.log(end)
    assert login.cell().state is state
    found = login.findings()
    assert [one.kind for one in found] == kinds
    assert {one.severity for one in found} == ({severity} if kinds else set())
    assert "left the queue between two checks" in (login.cell().why or "")


def test_an_end_that_an_earlier_watch_kept_is_the_same_end() -> None:
    login = Login()
    login.look("TIMEOUT")
    login.log(epochs(1, 30) + due("TIME LIMIT"))
    login.view()
    login = Login(login.history)
    login.jobs()
    login.log(epochs(1, 30) + due("TIME LIMIT"), backlog=True)
    (found,) = login.findings()
    assert (found.kind, found.severity) == ("time_limit", Severity.SERIOUS)
    assert found.evidence.startswith("TIMEOUT: its time limit ran out; as last listed at")
    assert "DUE TO TIME LIMIT" in found.evidence


def test_a_line_is_enough_where_the_list_has_the_job_no_more() -> None:
    gone = Job(
        "10", "10·train", CellState.CANNOT_TELL, "RUNNING", why="left the queue between two checks"
    )
    login = Login()
    login.jobs(gone)
    login.log(epochs(1, 30) + due("TIME LIMIT"))
    (found,) = login.findings()
    assert (found.kind, found.severity) == ("time_limit", Severity.SERIOUS)
    assert found.evidence.startswith("its time limit ran out after epoch 30")
    assert "DUE TO TIME LIMIT" in found.evidence


# --- put back into the queue ----------------------------------------------------------------------


def test_a_preempted_job_that_waits_keeps_its_epoch_its_log_and_its_count() -> None:
    login = Login()
    login.look("PENDING", 1, why="BeginTime", node="")
    login.log(epochs(1, 7) + due("PREEMPTION"), backlog=True)
    cell = login.cell()
    assert (cell.state, cell.epoch, cell.epochs) == (CellState.PENDING, 7, 60)
    assert cell.why == (
        "PENDING: preempted after epoch 7, back in the queue; BeginTime: its start time is not reached; "
        "restarted 1 time"
    )
    (found,) = login.findings()
    assert (found.kind, found.severity) == ("preempted", Severity.WARN)
    assert found.evidence.startswith("preempted after epoch 7, back in the queue, restart 1")
    assert "DUE TO PREEMPTION" in found.evidence


@pytest.mark.parametrize("truncated", [True, False])
@pytest.mark.parametrize(("first", "words"), [
    (1, "preempted after epoch 7; ran again from epoch 1, 7 epochs lost"),
    (6, "preempted after epoch 7; ran again from epoch 6, 2 epochs lost"),
    (8, "preempted after epoch 7; went on from epoch 8"),
])  # fmt: skip
@pytest.mark.parametrize("restarted", [False, True])  # gpu-tui itself, between the looks
def test_a_preempted_job_that_runs_again_says_what_that_cost(
    truncated: bool, first: int, words: str, restarted: bool
) -> None:
    login = Login()
    login.look("RUNNING")
    login.log(epochs(1, 7) + due("PREEMPTION"))
    login.look("PENDING", 1, why="BeginTime", node="")
    (waits,) = login.findings()
    if restarted:
        login = Login(login.history)
        if not truncated:
            login.log(epochs(1, 7) + due("PREEMPTION"), backlog=True)
    login.look("RUNNING", 1)
    if truncated and not restarted:
        login.log_begins_anew()
    login.log(epochs(first, first + 2))
    cell = login.cell()
    assert (cell.state, cell.epoch) == (CellState.RUNNING, first + 2)
    assert cell.why == f"RUNNING: {words}; restarted 1 time"
    (found,) = login.findings()
    assert found.evidence.startswith(f"{words}; restart 1")
    assert (found.severity, found.key) == (Severity.WARN, waits.key)


@pytest.mark.parametrize(("first", "words"), [
    (1, "preempted after epoch 9; ran again from epoch 1, 9 epochs lost"),
    (8, "preempted after epoch 9; ran again from epoch 8, 2 epochs lost"),
])  # fmt: skip
@pytest.mark.parametrize("seen", [True, False])  # between the attempts
def test_what_a_program_writes_after_it_was_told_to_end_is_of_that_attempt(
    first: int, words: str, *, seen: bool
) -> None:
    login = Login()
    login.look("RUNNING")
    login.log(epochs(1, 7) + due("PREEMPTION") + epochs(8, 9))
    if seen:
        login.look("PENDING", 1, why="BeginTime", node="")
        cell = login.cell()
        assert cell.epoch == 9
        assert "preempted after epoch 9, back in the queue" in (cell.why or "")
        assert login.findings()[0].evidence.startswith("preempted after epoch 9")
    login.look("RUNNING", 1)
    login.log(epochs(first, first + 2))
    assert login.cell().why == f"RUNNING: {words}; restarted 1 time"


def test_a_restart_between_two_looks_is_noticed_by_its_count() -> None:
    login = Login()
    login.look("RUNNING")
    login.log(epochs(1, 13))
    login.view()
    login.look("RUNNING", 2)
    login.log_begins_anew()
    login.log(epochs(1, 2))
    assert login.findings() == ()  # the reason is not known
    assert login.cell().why == (
        "RUNNING: put back after epoch 13 or later; ran again from epoch 1, at least 13 epochs lost; restarted 2 times"
    )


def test_a_log_that_was_not_read_to_its_end_gives_a_bound() -> None:
    login = Login()
    login.look("RUNNING")
    login.log(epochs(1, 38))
    login.view()
    login = Login(login.history)  # a check of cron, before it has read any log
    login.look("PENDING", 1, why="BeginTime", node="")
    assert "put back after epoch 38 or later, back in the queue" in (login.cell().why or "")
    login.log(epochs(1, 87) + due("PREEMPTION"), backlog=True)
    assert "preempted after epoch 87, back in the queue" in (login.cell().why or "")


def test_the_epochs_around_an_end_are_those_of_its_neighbours_in_a_flood() -> None:
    """Of many lines that come at once only a few reports are read."""
    login = Login()
    login.look("RUNNING", 1)
    source = LogSource("/w/10.out", "10·train")
    text = epochs(1, 50) + due("JOB REQUEUE") + epochs(1, 59)
    block = LogReader().feed(text.encode())
    login.store.apply(LogOpened("login", login.at, source, 7, 0, 0, resumed=False))
    login.store.apply(LogCame("login", login.at, source, block, len(text)))
    login.store.apply(LogArrived("login", login.at, source, block, True, len(text)))
    words = "requeued after epoch 50; ran again from epoch 1, 50 epochs lost"
    assert words in (login.cell().why or "")


def test_a_log_in_the_middle_of_being_read_leaves_no_trace() -> None:
    login = Login()
    login.look("RUNNING")
    login.log(epochs(1, 38))
    login.view()
    login = Login(login.history)
    login.look("RUNNING", 1)
    login.view()
    for part in (epochs(1, 20), epochs(21, 74), due("JOB REQUEUE") + epochs(1, 3)):
        login.log(part, backlog=True)
        login.view()
    words = "requeued after epoch 74; ran again from epoch 1, 74 epochs lost"
    assert words in (login.cell().why or "")


def test_a_long_log_of_which_the_end_is_read_does_not_say_where_the_attempt_began() -> None:
    login = Login()
    login.look("RUNNING")
    login.log(epochs(1, 7) + due("PREEMPTION"))
    login.look("PENDING", 1, why="BeginTime", node="")
    login.view()
    login = Login(login.history)
    login.look("RUNNING", 1)
    login.log(epochs(30, 35), backlog=True)
    assert "preempted after epoch 7; runs again; restarted 1 time" in (login.cell().why or "")


@pytest.mark.parametrize("truncated", [True, False])
def test_a_job_that_a_person_requeued_is_no_finding_and_says_what_that_cost(
    truncated: bool,
) -> None:
    login = Login()
    login.look("RUNNING")
    login.log(epochs(1, 13) + due("JOB REQUEUE"))
    assert login.findings() == ()
    login.look("PENDING", 1, why="BeginTime", node="")
    assert (login.findings(), login.cell().epoch) == ((), 13)
    assert "requeued after epoch 13, back in the queue" in (login.cell().why or "")
    login.look("RUNNING", 1)
    if truncated:
        login.log_begins_anew()
    login.log(epochs(1, 3))
    assert login.findings() == ()
    words = "requeued after epoch 13; ran again from epoch 1, 13 epochs lost"
    assert words in (login.cell().why or "")


def test_the_accounts_name_the_end_of_an_attempt_whose_log_is_gone() -> None:
    past = account(("1795877581", "PREEMPTED", "vm"), ("1795877600", "RUNNING", "vm"))
    login = Login()
    login.look("RUNNING", 1, accounts=past)
    login.log(epochs(1, 4))
    (found,) = login.findings()
    assert (found.kind, found.severity) == ("preempted", Severity.WARN)
    by_hand = account(("1795877581", "REQUEUED", "vm"), ("1795877600", "RUNNING", "vm"))
    login = Login()
    login.look("RUNNING", 1, accounts=by_hand)
    login.log(epochs(1, 4))
    assert login.findings() == ()


def test_a_node_that_failed_is_hardware_also_for_a_job_that_is_put_back() -> None:
    login = Login()
    login.look("PENDING", 1, why="BeginTime", node="")
    login.log(epochs(1, 7) + due("NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"), backlog=True)
    (found,) = login.findings()
    assert (found.kind, found.severity) == ("hardware", Severity.WARN)
    assert found.evidence.startswith("its node failed after epoch 7, back in the queue, restart 1")


@pytest.mark.parametrize("word", ["PREEMPTION", "JOB REQUEUE"])
@pytest.mark.parametrize("truncated", [True, False])
def test_a_crash_of_the_attempt_that_runs_again_is_as_bad_as_any(
    word: str, truncated: bool
) -> None:
    login = Login()
    login.look("RUNNING")
    login.log(epochs(1, 13) + due(word))
    login.look("PENDING", 1, why="BeginTime", node="")
    login.view()
    login.look("RUNNING", 1)
    if truncated:
        login.log_begins_anew()
    login.log(epochs(1, 4) + RAISED)
    crash = next(found for found in login.findings() if found.kind == "crashed")
    assert (crash.severity, crash.evidence) == (Severity.FATAL, "RuntimeError: shape mismatch")


# --- preempted for good ---------------------------------------------------------------------------


def test_a_preemption_without_a_requeue_is_one_serious_finding() -> None:
    login = Login()
    login.look("PREEMPTED")
    login.log(epochs(1, 7) + due("PREEMPTION"))
    found = [one for one in login.findings() if one.cell is not None]
    assert [one.kind for one in found] == ["preempted"]
    assert "preempted after epoch 7" in found[0].evidence
    assert login.view().verdict is Verdict.PREEMPTED
    assert {one.kind for one in login.findings()} == {"preempted"}


def test_a_job_that_ends_by_itself_while_slurm_waits_for_its_place_was_preempted() -> None:
    warned = (
        STEPD.format(what="STEP 10.0", due="")
        + "srun: error: vm: tasks 0-3: Terminated\nsrun: Force Terminated StepId=10.0\n"
    )
    login = Login()
    login.look("FAILED", code="143:0", why="NonZeroExitCode", room="1795877590")
    login.log(epochs(1, 9) + warned)
    (found,) = [one for one in login.findings() if one.cell is not None]
    assert found.kind == "preempted"
    login = Login()
    login.look("COMPLETED", room="1795877590")
    login.log(epochs(1, 9))
    assert (login.cell().state, login.cell().finding) == (CellState.SUSPICIOUS, "preempted")
    login = Login()
    login.look("COMPLETED", room="1795877590")
    login.log(epochs(1, 60))
    assert (login.cell().state, login.findings()) == (CellState.FINISHED, ())


def test_a_job_that_is_warned_of_its_preemption_still_runs() -> None:
    login = Login()
    login.look("RUNNING", room="1795877590")
    login.log(epochs(1, 9) + INTERRUPTED.partition("\n")[2])
    (found,) = login.findings()
    assert (found.kind, found.severity) == ("preempted", Severity.WARN)
    assert found.evidence == "RUNNING: a job of higher priority takes its place"


# --- an end that is the job's own -----------------------------------------------------------------


def test_a_step_that_srun_ends_after_a_failure_is_a_crash_of_that_name() -> None:
    killed = (
        "srun: error: vm: task 1: Exited with exit code 1\n"
        "srun: Terminating StepId=10.0\n" + STEPD.format(what="STEP 10.0", due="")
    )
    login = Login()
    login.look("FAILED", code="1:0", why="NonZeroExitCode")
    login.log(epochs(1, 9) + killed)
    assert [found.kind for found in login.findings()] == ["crashed"]
    login = Login()
    login.look("FAILED", code="1:0", why="NonZeroExitCode")
    login.log(epochs(1, 9) + ABORTED)
    assert [found.kind for found in login.findings()] == ["crashed"]


def test_a_step_with_a_limit_of_its_own_is_a_time_limit() -> None:
    login = Login()
    login.look("RUNNING")
    login.log(epochs(1, 9) + STEPD.format(what="STEP 10.0", due=" DUE TO TIME LIMIT"))
    assert [found.kind for found in login.findings()] == ["time_limit"]


@pytest.mark.parametrize("code", ["1:0", "0:9"])
def test_a_real_crash_stays_a_crash(code: str) -> None:
    login = Login()
    login.look("FAILED", code=code, why="NonZeroExitCode")
    login.log(epochs(1, 9) + RAISED)
    (found,) = login.findings()
    assert (found.kind, found.severity) == ("crashed", Severity.FATAL)


# --- Kubernetes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "word", "why"),
    [
        (CellState.PENDING, "Suspended", None),
        (CellState.RUNNING, "Terminating", "it is being deleted"),
        (CellState.SKIPPED, "Deleted", "it was deleted: exit 143"),
    ],
)
def test_a_job_that_its_user_suspends_or_deletes_is_no_finding(
    state: CellState, word: str, why: str | None
) -> None:
    login = Login(scheduler="kubernetes")
    login.jobs(
        Job("job/10", "10·train", state, word, why=why), source="Kubernetes", metric="kubernetes"
    )
    login.log(epochs(1, 9) + INTERRUPTED.partition("\n")[2] + TORCHRUN.partition("\n")[2])
    assert login.findings() == ()


def test_an_evicted_pod_explains_what_its_program_printed() -> None:
    login = Login(scheduler="kubernetes")
    evicted = Job(
        "job/10", "10·train", CellState.FAILED, "Evicted", why="exit 143", preempted=True,
        finding="preempted", finished_at=T0,
    )  # fmt: skip
    login.jobs(evicted, source="Kubernetes", metric="kubernetes")
    login.log(epochs(1, 9) + INTERRUPTED.partition("\n")[2])
    assert [one.kind for one in login.findings() if one.cell] == ["preempted"]


def test_a_pod_that_was_evicted_for_its_disk_is_only_that() -> None:
    login = Login(scheduler="kubernetes")
    full = Job(
        "job/10", "10·train", CellState.FAILED, "Evicted", why="The node was low on resource: inodes.",
        finding="disk_full", finished_at=T0,
    )  # fmt: skip
    login.jobs(full, source="Kubernetes", metric="kubernetes")
    login.log(epochs(1, 9) + INTERRUPTED.partition("\n")[2])
    assert [one.kind for one in login.findings() if one.cell] == ["disk_full"]


def test_a_traceback_of_a_pod_that_failed_by_itself_is_kept() -> None:
    login = Login(scheduler="kubernetes")
    failed = Job("job/10", "10·train", CellState.FAILED, "Failed", why="exit 1", finished_at=T0)
    login.jobs(failed, source="Kubernetes", metric="kubernetes")
    login.log(epochs(1, 9) + RAISED)
    (found,) = login.findings()
    assert (found.kind, found.severity) == ("crashed", Severity.FATAL)
