"""A job that its scheduler no longer lists keeps its row, and its end is read from its log."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_tui.core.events import LinkChanged, LogArrived, LogFailed, LogOpened, Sampled
from gpu_tui.core.fleet import Fleet, Instance, LinkState, SchedulerScope, SshAccess
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.left_queue import NOT_QUEUED
from gpu_tui.core.logs import LogSource
from gpu_tui.core.readings import Host
from gpu_tui.core.run_memory import GONE_FOR
from gpu_tui.core.sample import Failure, FailureKind, Reading
from gpu_tui.core.scheduler_end import End
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.state.contract import fleet_verdict
from gpu_tui.state.headline import headline
from gpu_tui.state.history import NoHistory
from gpu_tui.state.store import Store

T0 = 1_795_000_000.0
DAY = 86_400.0
LOGIN = Instance("login", SshAccess("login"), scheduler="slurm")
RUN, WAIT, OVER, BAD = (
    CellState.RUNNING,
    CellState.PENDING,
    CellState.FINISHED,
    CellState.FAILED,
)
LOST, DROPPED = CellState.CANNOT_TELL, CellState.SKIPPED
RAISED = "Epoch 12/40 loss: 0.5\nTraceback (most recent call last):\nRuntimeError: boom\n"
EPOCHS = "".join(f"Epoch {n}/5 loss: 0.5\n" for n in range(1, 6))
NANS = "".join(f"Epoch {n}/5 loss: nan\n" for n in range(1, 6))


def job(id: str, state: CellState = RUN, word: str = "", **more: object) -> Job:
    log = f"/w/{id}.out" if state is not WAIT else None
    made = Job(id, f"{id}·van", state, word or state.value.upper(), stdout=log)
    return replace(made, **more)  # type: ignore[arg-type]


class Watch:
    """One process that watches a login node: a `check`, or a cockpit."""

    def __init__(self, history: NoHistory, box: Instance = LOGIN) -> None:
        self.store = Store(Fleet("s", (box,)), {}, history)
        self.name, self.metric = box.name, box.scheduler or ""

    def look(self, at: float, *rows: Job, **more: object) -> Watch:
        """The scheduler's list at `at`."""
        self.store.apply(LinkChanged(self.name, at, LinkState("live", since=at)))
        self._sample(at, "host", Host(at, 5_000.0, "boot-1"))
        self._sample(at, self.metric, JobTable("Slurm", rows, **more))  # type: ignore[arg-type]
        return self

    def _sample(self, at: float, metric: str, value: object) -> None:
        self.store.apply(Sampled(self.name, at, metric, Reading(value, at, 60.0)))

    def log(self, at: float, id: str, text: str) -> Watch:
        """The log of a job is read to its end."""
        source = LogSource(f"/w/{id}.out", f"{id}·van")
        self.store.apply(LogOpened(self.name, at, source, 7, 0, 0, resumed=False))
        lines = LogReader().feed(text.encode())
        self.store.apply(LogArrived(self.name, at, source, lines, backfill=True))
        return self

    def cells(self, at: float) -> dict[str, Cell]:
        return {cell.job or "": cell for cell in self.store.view(at)[self.name].queue.cells}

    def kinds(self, at: float) -> set[tuple[str, str | None]]:
        return {(one.kind, one.cell) for one in self.store.view(at).findings}

    def verdict(self, at: float) -> str:
        return fleet_verdict(self.store.view(at))


@pytest.mark.parametrize("open_all_the_time", [False, True])
@pytest.mark.parametrize(
    ("text", "state", "why", "found", "verdict"),
    [
        (RAISED, BAD, "its log ends with: RuntimeError: boom", "crashed", "escalate"),
        ("Epoch 2/9 loss: 1\nKilled\n", BAD, "its log ends with: Killed", "crashed", "escalate"),
        (EPOCHS, OVER, "counters came to their end; nothing says its exit code", None, "healthy"),
        (NANS, CellState.SUSPICIOUS, "NaN or Inf at the end", "nan", "escalate"),
        ("Epoch 30/40 loss: 1\n", LOST, "nothing says how it ended", "suspicious_end", "cannot-tell"),
        ("Epoch 3/40 loss: 1\n", LOST, "nothing says how it ended", "suspicious_end", "escalate"),
        ("hello\n", LOST, "nothing says how it ended", "suspicious_end", "cannot-tell"),
        ("Epoch 3/40 loss: 1\nTraining finished\n", OVER, "Training finished", None, "healthy"),
    ],
)  # fmt: skip
def test_the_end_of_a_job_that_left_is_read_from_its_log(
    text: str,
    state: CellState,
    why: str,
    found: str | None,
    verdict: str,
    *,
    open_all_the_time: bool,
) -> None:
    history = NoHistory()
    watch = Watch(history).look(T0, job("51"), job("52"))
    watch = watch if open_all_the_time else Watch(history)
    watch.look(T0 + 600, job("52")).log(T0 + 601, "51", text)
    at = T0 + 602
    cell = watch.cells(at)["51"]
    assert cell.state is state
    assert (cell.why or "").startswith("left the queue between two checks")
    assert why in (cell.why or "")
    assert cell.started_at is None
    assert watch.kinds(at) == ({(found, "51·van")} if found else set()) | (
        {("suspicious_end", "51·van")} if found == "nan" else set()
    )
    assert watch.verdict(at) == verdict
    assert watch.cells(at)["52"].state is RUN
    # The next `check` says the same, as does the hand-over.
    again = Watch(history).look(T0 + 1_200, job("52")).log(T0 + 1_201, "51", text)
    assert (again.cells(T0 + 1_202)["51"].state, again.verdict(T0 + 1_202)) == (state, verdict)


def test_a_row_whose_log_was_not_read_says_so() -> None:
    own, shared = job("50"), replace(job("52"), stdout="/w/51.out")
    watch = Watch(NoHistory()).look(T0, own, job("51"), shared).look(T0 + 600)
    watch.log(T0 + 601, "51", "Epoch 30/40 loss: 1\n")
    cells = watch.cells(T0 + 602)
    assert ("suspicious_end", "52·van") in watch.kinds(T0 + 602)
    assert (cells["50"].why or "").endswith("; its log was not read")
    assert (cells["51"].why or "").endswith("2026-11-18 11:06 UTC")
    assert (cells["52"].why or "").endswith("; other jobs write into its log")


def test_the_evidence_names_the_epoch_and_when_it_was_last_listed() -> None:
    history = NoHistory()
    Watch(history).look(T0, job("51"))
    watch = Watch(history).look(T0 + 600).log(T0 + 601, "51", "Epoch 30/40 loss: 1\n")
    (found,) = watch.store.view(T0 + 602).findings
    assert found.evidence == (
        "left the queue between two checks at epoch 30 of 40: nothing says how it ended; it ran when it "
        "was last listed at 2026-11-18 11:06 UTC"
    )
    assert headline(watch.store.view(T0 + 602)) == "login: cell 51·van suspicious end"
    view = watch.store.view(T0 + 602)["login"]
    assert view.because[0] == "no job runs or waits; 0 of 1 failed; nothing says how 1 ended"


def test_a_log_that_cannot_be_read_is_named_and_the_end_is_a_finding() -> None:
    history = NoHistory()
    Watch(history).look(T0, job("51"), job("52", stdout=None))
    watch = Watch(history).look(T0 + 600)
    assert watch.kinds(T0 + 601) == {("suspicious_end", "52·van")}  # the other is still being read
    source = LogSource("/w/51.out", "51·van")
    watch.store.apply(LogFailed("login", T0 + 602, source, "/w/51.out is not there"))
    cells = watch.cells(T0 + 603)
    assert "/w/51.out is not there" in (cells["51"].why or "")
    assert "its log is not known" in (cells["52"].why or "")
    assert watch.kinds(T0 + 603) == {("suspicious_end", "51·van"), ("suspicious_end", "52·van")}
    # A log without any line does not hold back the finding.
    late = Watch(history).look(T0 + 1_200)
    assert ("suspicious_end", "51·van") in late.kinds(T0 + 1_206)


def test_a_job_that_waited_is_no_alarm_when_it_left() -> None:
    history = NoHistory()
    waits = job("51", WAIT, will_write=("/w/51.out",)), job("53", WAIT)
    Watch(history).look(T0, *waits, job("52"))
    watch = Watch(history).look(T0 + 600, job("52"))
    source = LogSource("/w/51.out", "51·van")
    watch.store.apply(LogFailed("login", T0 + 602, source, "/w/51.out is not there"))
    cells = watch.cells(T0 + 620)
    # Slurm makes the log of a job when that begins; where it would be is not known of the other.
    assert (cells["51"].state, cells["51"].why) == (DROPPED, "left the queue before it ran")
    assert (cells["53"].state, cells["53"].why) == (
        LOST,
        "left the queue before it was seen to run",
    )
    assert (watch.kinds(T0 + 620), watch.verdict(T0 + 620)) == (set(), "healthy")
    counts = watch.store.view(T0 + 620)["login"].queue.not_counted
    assert not counts


def test_the_log_of_a_job_that_began_and_ended_between_two_checks_is_known() -> None:
    """Also where the accounts list it; and of one that runs now, until its own record was read."""
    history = NoHistory()
    waits = (job(id, WAIT, will_write=(f"/w/{id}.out", f"/w/{id}.err")) for id in ("51", "52"))
    Watch(history).look(T0, *waits)
    failed = job("51", BAD, "FAILED", stdout=None, exit_code=1, why="exit 1")
    runs = job("52", stdout=None, unread="its log is not read yet")
    watch = Watch(history).look(T0 + 600, failed, runs).log(T0 + 601, "51", RAISED)
    watch.log(T0 + 601, "52", "Epoch 1/9 loss: 1\n")
    cells = watch.cells(T0 + 602)
    assert (cells["51"].epoch, cells["52"].epoch) == (12, 1)
    assert watch.store.view(T0 + 602)["login"].queue.unread_logs == 0


@pytest.mark.parametrize(
    ("more", "other", "state"),
    [
        ({}, "/w/52.out", BAD),
        ({"restarts": 2}, "/w/52.out", LOST),  # an earlier attempt may have written it
        ({}, "/w/51.out", LOST),  # another job may have
    ],
)
def test_a_job_that_came_to_run_and_died_between_two_checks_is_known_by_its_log(
    more: dict[str, object], other: str, state: CellState
) -> None:
    history = NoHistory()
    Watch(history).look(
        T0, job("51", WAIT, will_write=("/w/51.out",), **more), job("52", stdout=other)
    )
    watch = Watch(history).look(T0 + 600, job("52", stdout=other)).log(T0 + 601, "51", RAISED)
    assert watch.cells(T0 + 602)["51"].state is state
    history = NoHistory()
    Watch(history).look(
        T0, job("51", WAIT, will_write=("/w/51.out",), **more), job("52", stdout=other)
    )
    watch = Watch(history).look(T0 + 600, job("52", stdout=other)).log(T0 + 601, "51", "hello\n")
    said = "nothing says how it ended; it has run since it was last listed at 2026-11-18 11:06 UTC"
    assert (said in (watch.cells(T0 + 602)["51"].why or "")) is (state is BAD)


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        (job("51", OVER, "COMPLETED", finished_at=T0 - 60, exit_code=0), None),
        (job("51", BAD, "FAILED", finished_at=T0 - 60, exit_code=9, why="exit 9"), "crashed"),
        (job("51", BAD, "TIMEOUT", finished_at=T0 - 60, finding="time_limit", why="x"), "time_limit"),
        (job("51", DROPPED, "CANCELLED", finished_at=T0 - 60, why="by user 1000"), None),
        (job("51", CellState.SUSPICIOUS, "COMPLETED", finished_at=T0 - 60, finding="host_oom", why="x"), "host_oom"),
    ],
)  # fmt: skip
def test_a_job_that_had_ended_stays_as_it_was_last_listed_for_three_days(
    last: Job, kind: str | None
) -> None:
    history = NoHistory()
    Watch(history).look(T0, last, job("52"))
    for after in (600.0, 1_200.0, 3 * DAY - 120):
        watch = Watch(history).look(T0 + after, job("52"))
        cell = watch.cells(T0 + after + 9)["51"]
        assert (cell.state, cell.exit_code) == (last.state, last.exit_code)
        assert (cell.why or "").startswith(last.word)
        assert "as last listed at 2026-11-18 11:06 UTC" in (cell.why or "")
        assert watch.kinds(T0 + after + 9) == ({(kind, "51·van")} if kind else set())
    watch = Watch(history).look(T0 + 3 * DAY, job("52"))
    assert "51" not in watch.cells(T0 + 3 * DAY + 9)
    assert watch.kinds(T0 + 3 * DAY + 9) == set()


def test_an_unknown_end_is_a_finding_for_a_day_and_a_row_for_three() -> None:
    history = NoHistory()
    Watch(history).look(T0, job("51"), job("52"))
    for after, found in ((600.0, 1), (GONE_FOR, 1), (GONE_FOR + 700, 0), (3 * DAY, 0)):
        watch = Watch(history).look(T0 + after, job("52"))
        assert len(watch.kinds(T0 + after + 9)) == found, after
        assert watch.cells(T0 + after + 9)["51"].state is LOST
    watch = Watch(history).look(T0 + 3 * DAY + 601, job("52"))
    assert "51" not in watch.cells(T0 + 3 * DAY + 609)


def test_a_job_that_left_is_reported_after_a_week_and_not_after_two_months() -> None:
    for after, there in ((7 * DAY, True), (60 * DAY, False)):
        history = NoHistory()
        Watch(history).look(T0, job("51"))
        watch = Watch(history).look(T0 + after).log(T0 + after + 1, "51", RAISED)
        assert ("51" in watch.cells(T0 + after + 2)) is there


def test_the_accounts_have_the_last_word_and_the_log_is_remembered() -> None:
    """A job that the controller forgot and the accounts list: StdOut is that of the last look."""
    history = NoHistory()
    steps = ("/w/step-70.out",)
    Watch(history).look(T0, job("70", restarts=1, logs=steps), job("72"), recorded=True)
    failed = job("70", BAD, "FAILED", finished_at=T0 + 60, exit_code=1, why="exit 1", stdout=None)
    well = job("72", OVER, "COMPLETED", finished_at=T0 + 60, exit_code=0, stdout=None)
    watch = Watch(history).look(T0 + 600, failed, well, recorded=True)
    watch.log(T0 + 601, "70", RAISED).log(T0 + 601, "72", NANS)
    cells = watch.cells(T0 + 602)
    assert (cells["70"].state, cells["70"].epoch, cells["70"].epochs) == (BAD, 12, 40)
    assert cells["72"].state is CellState.SUSPICIOUS
    found = {one.cell: one.evidence for one in watch.store.view(T0 + 602).findings}
    assert "RuntimeError: boom" in found["70·van"]
    assert watch.verdict(T0 + 602) == "escalate"
    logs = watch.store.runs_before(LOGIN)["slurm"].jobs
    assert {one.id: (one.stdout, one.logs, one.restarts) for one in logs} == {
        "70": ("/w/70.out", steps, 1),
        "72": ("/w/72.out", (), None),
    }


def test_an_end_that_the_accounts_do_not_have_yet_is_no_alarm() -> None:
    watch = Watch(NoHistory()).look(T0, job("51", stdout=None), recorded=True)
    watch.look(T0 + 20, recorded=True)
    cell = watch.cells(T0 + 30)["51"]
    assert (cell.state, watch.kinds(T0 + 30)) == (LOST, set())
    assert "the accounts do not have its end yet" in (cell.why or "")
    watch.look(T0 + 240, recorded=True)
    assert watch.kinds(T0 + 241) == {("suspicious_end", "51·van")}
    watch.look(T0 + 260, job("51", OVER, "COMPLETED", exit_code=0), recorded=True)
    assert (watch.cells(T0 + 261)["51"].state, watch.kinds(T0 + 261)) == (OVER, set())


def test_accounts_that_break_down_take_no_row_along() -> None:
    watch = Watch(NoHistory()).look(T0, job("1", OVER, "COMPLETED"), job("2"), recorded=True)
    watch.look(T0 + 20, job("2"), why="sacct does not return")
    cells = watch.cells(T0 + 21)
    assert (cells["1"].state, cells["2"].state) == (OVER, RUN)
    assert cells["1"].why == "COMPLETED: as last listed at 2026-11-18 11:06 UTC"


def test_a_job_that_the_accounts_alone_call_running_has_left() -> None:
    """So it is for a while after each end, and for ever after a crash of the controller (`sacctmgr show runaway`)."""
    lost = job("1", LOST, "RUNNING", why=f"the accounts say RUNNING, {NOT_QUEUED}", stdout=None)
    watch = Watch(NoHistory()).look(T0, job("1"), recorded=True).look(T0 + 20, lost, recorded=True)
    assert "the accounts do not have its end yet" in (watch.cells(T0 + 40)["1"].why or "")
    assert watch.kinds(T0 + 40) == set()
    watch.look(T0 + 240, lost, recorded=True)
    assert watch.kinds(T0 + 240) == {("suspicious_end", "1·van")}
    watch.log(T0 + 241, "1", RAISED)
    assert watch.cells(T0 + 242)["1"].state is BAD
    # Without an earlier look it is as the accounts have it.
    first = Watch(NoHistory())
    for at in (T0, T0 + 20):
        assert first.look(at, lost).cells(at + 1)["1"].why == f"RUNNING: {lost.why}"


def test_a_number_that_is_given_again_is_another_job() -> None:
    history = NoHistory()
    Watch(history).look(T0, job("1", submitted_at=T0 - 60))
    new = job("1", BAD, "FAILED", submitted_at=T0 + 60, stdout=None, finished_at=T0 + 70)
    watch = Watch(history).look(T0 + 600, new)
    assert watch.store.runs_before(LOGIN)["slurm"].jobs[0].stdout is None


def test_a_job_that_is_listed_again_is_as_it_is_listed() -> None:
    watch = Watch(NoHistory()).look(T0, job("1")).look(T0 + 20)
    assert watch.cells(T0 + 21)["1"].state is LOST
    watch.look(T0 + 40, job("1"))
    assert (watch.cells(T0 + 41)["1"].state, watch.kinds(T0 + 41)) == (RUN, set())


@pytest.mark.parametrize(
    "rows", [(job("35_[8-299]", WAIT),), (job("35_8", WAIT), job("35_9", WAIT))]
)
def test_a_waiting_task_without_a_row_of_its_own_has_not_left(rows: tuple[Job, ...]) -> None:
    """The tasks of a waiting array are one row, or more than have a row."""
    watch = Watch(NoHistory()).look(T0, job("35_7", WAIT), job("35_6"))
    watch.look(T0 + 20, *rows, dropped=90)
    assert "35_7" not in watch.cells(T0 + 21)
    assert watch.cells(T0 + 21)["35_6"].state is LOST


def test_a_list_that_is_not_complete_ends_no_job() -> None:
    watch = Watch(NoHistory()).look(T0, job("1"), job("2"))
    watch.look(T0 + 20, job("2"), complete=False)
    cell = watch.cells(T0 + 40)["1"]
    assert (cell.state, watch.kinds(T0 + 40)) == (LOST, set())
    assert "the list is not complete" in (cell.why or "")


def test_a_list_that_was_not_read_forgets_no_job() -> None:
    history = NoHistory()
    watch = Watch(history).look(T0, job("1"))
    failure = Failure(FailureKind.UNREACHABLE, "the controller does not answer", T0 + 20)
    watch.store.apply(Sampled("login", T0 + 20, "slurm", failure))
    assert "not heard of since" in (watch.cells(T0 + 21)["1"].why or "")
    assert Watch(history).look(T0 + 600).cells(T0 + 620)["1"].state is LOST


def test_another_list_of_jobs_has_other_jobs() -> None:
    history = NoHistory()
    Watch(history).look(T0, job("1"))
    other = replace(LOGIN, scheduler_scope=SchedulerScope(user="eve"))
    assert Watch(history, other).look(T0 + 600).cells(T0 + 620) == {}


def test_a_cluster_with_two_login_nodes_is_one_cluster() -> None:
    history = NoHistory()
    watch = Watch(history).look(T0, job("1"))
    other = Watch(history)
    for one, key in ((watch, "SHA256:a"), (other, "SHA256:b")):
        one.store.apply(LinkChanged("login", T0, LinkState("live", host_key=key)))
    watch.look(T0 + 20, job("1", BAD, "FAILED", why="exit 1"))
    assert other.look(T0 + 600).cells(T0 + 620)["1"].state is BAD


def test_jobs_that_another_process_saw_meanwhile_are_kept() -> None:
    """A cockpit whose link was down for an hour, and cron's `check`."""
    history = NoHistory()
    cockpit = Watch(history).look(T0, job("1"), job("2"))
    Watch(history).look(T0 + 600, job("1", BAD, "FAILED", why="exit 1"), job("2"), job("3"))
    cockpit.look(T0 + 3_600, job("2"))
    cells = cockpit.cells(T0 + 3_620)
    assert {id: cell.state for id, cell in cells.items()} == {"1": BAD, "2": RUN, "3": LOST}
    cells = Watch(history).look(T0 + 4_200).cells(T0 + 4_220)
    assert {id: cell.state for id, cell in cells.items()} == {"1": BAD, "2": LOST, "3": LOST}


def test_kept_jobs_are_bounded_and_the_others_counted() -> None:
    watch = Watch(NoHistory())
    rows = [job(str(n), OVER, "COMPLETED", finished_at=T0 + n) for n in range(1_200)]
    watch.look(T0, job("9999"), *rows)
    watch.look(T0 + 20)
    cells = watch.cells(T0 + 21)
    assert len(cells) == 1_000
    assert {"9999", "1199"} <= cells.keys()
    assert "0" not in cells
    notes = watch.store.view(T0 + 21)["login"].queue.notes
    assert any("201 more jobs are not shown" in note for note in notes)


def test_a_job_of_kubernetes_that_was_deleted_says_that_its_log_went_too() -> None:
    box = replace(LOGIN, scheduler="kubernetes")
    history = NoHistory()
    row = Job("job/train", "train", RUN, "Running")
    done = Job("job/done", "done", OVER, "Complete", exit_code=0, removed_at=T0 + 60)
    Watch(history, box).look(T0, row, done)
    watch = Watch(history, box).look(T0 + 600)
    cells = watch.cells(T0 + 620)
    assert (cells["job/train"].state, cells["job/done"].state) == (LOST, OVER)
    assert "its log was deleted with it" in (cells["job/train"].why or "")
    assert watch.kinds(T0 + 620) == {("suspicious_end", "train")}
    # A job that is created again under the same name is a new one.
    again = Watch(history, box).look(T0 + 900, row).cells(T0 + 920)
    assert again["job/train"].state is RUN


def test_pods_that_come_back_under_other_names_or_were_being_deleted_are_no_alarm() -> None:
    box = replace(LOGIN, scheduler="kubernetes")
    watch = Watch(NoHistory(), box).look(
        T0,
        Job("pod/web-7d9f-x", "web-7d9f-x", RUN, "Running", task="ReplicaSet/web-7d9f"),
        Job("pod/mine", "mine", RUN, "Terminating"),
        Job("pod/taken", "taken", RUN, "Terminating", finding="preempted"),
    )
    watch.look(T0 + 20, Job("pod/web-7d9f-y", "web-7d9f-y", RUN, "Running"))
    cells = watch.cells(T0 + 30)
    assert {id: cell.state for id, cell in cells.items()} == {
        "pod/web-7d9f-y": RUN,
        "pod/mine": DROPPED,
        "pod/taken": LOST,
    }
    assert "being deleted" in (cells["pod/mine"].why or "")
    assert watch.kinds(T0 + 30) == {("suspicious_end", "taken")}


@pytest.mark.parametrize(
    "row",
    [
        "7", "{}", '{"id": "1"}', '{"id": "1", "name": 3, "state": "running"}',
        '{"id": "1", "name": "a", "state": "odd"}', '{"id": "1", "name": "a", "state": []}',
        '{"id": "1", "name": "a", "state": "running", "logs": {"a": 1}, "will_write": [3, null, "/x"]}',
        '{"id": "1", "name": "a", "state": "failed", "exit_code": true, "limit": "x", "seen": NaN}',
        '{"id": "1", "name": "\\u001b[2J", "state": "failed", "why": "\\u0007", "word": 9}',
    ],
)  # fmt: skip
def test_an_odd_memory_breaks_nothing(row: str) -> None:
    history = NoHistory()
    Watch(history).look(T0, job("51"))
    text = history.counter("login", "runs:slurm") or ""
    head, _, _ = text.partition('"live"')
    for part in ('"live": [%s], "gone": []}', '"live": [], "gone": [%s]}', '"live": %s}'):
        history.set_counter("login", "runs:slurm", head + part % row, T0)
        watch = Watch(history).look(T0 + 600, job("52"))
        cells = watch.cells(T0 + 620)
        assert cells["52"].state is RUN
        assert all(cell.name.isprintable() for cell in cells.values())


def test_the_stored_text_is_bounded_and_keeps_live_jobs() -> None:
    watch = Watch(NoHistory())
    path = "/w/" + "x" * 1_000
    over = [
        job(str(n), OVER, "COMPLETED", finished_at=T0 + n, stdout=path) for n in range(900)
    ]  # fmt: skip
    live = job("9999")
    watch.look(T0, live, *over).look(T0 + 20, live)
    kept = watch.store.runs_before(LOGIN)["slurm"].jobs
    assert kept[-1].id == "9999"
    assert 500 < len(kept) < 900
    assert kept[-2].id == "899"


def test_a_requeue_or_an_earlier_preemption_is_not_how_a_job_that_left_ended() -> None:
    line = "slurmstepd-n1: error: *** JOB 51 ON n1 CANCELLED AT 2026-11-28T15:12:16 DUE TO JOB REQUEUE ***"
    again = job("52", ended_by=End.PREEMPTED, restarts=1)
    watch = Watch(NoHistory()).look(T0, job("51"), again).look(T0 + 20)
    watch.log(T0 + 21, "51", f"Epoch 3/40 loss: 1\n{line}\n")
    watch.log(T0 + 21, "52", "Epoch 3/40 loss: 1\n")
    cells = watch.cells(T0 + 22)
    assert {id: cell.state for id, cell in cells.items()} == {"51": LOST, "52": LOST}
    assert watch.kinds(T0 + 22) == {("suspicious_end", "51·van"), ("suspicious_end", "52·van")}
