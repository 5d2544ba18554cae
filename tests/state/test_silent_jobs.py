"""A job that a scheduler runs elsewhere and that hangs: only its logs tell it, and how often they are usually written."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gpu_tui.core.campaign import running_left
from gpu_tui.core.events import LinkChanged, LogArrived, LogFailed, LogOpened, Sampled
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Fleet, Instance, LinkState, SshAccess
from gpu_tui.core.jobs import NO_STEP_RUNS, Job, JobTable
from gpu_tui.core.logs import LogSource
from gpu_tui.core.readings import FileStat, FileTable, Gpu, Host, PodCards
from gpu_tui.core.sample import Failure, FailureKind, Reading
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.core.typical import typical_of
from gpu_tui.core.verdict import Verdict
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.state.contract import fleet_verdict
from gpu_tui.state.history import History, NoHistory
from gpu_tui.state.store import Store
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.text.sweep import cell_row

NOW = 1_795_000_000.0
STALL = 900.0
HOUR = 3_600.0
EPOCHS = [f"Epoch {n}/50 loss: 0.{90 - n}" for n in range(1, 8)]
RUN = CellState.RUNNING


def stamped(lines: list[str], *, last: float, gap: float) -> list[str]:
    """The lines as `logging` prints them, in an unknown time zone."""
    times = [last - gap * (len(lines) - 1 - n) + 8 * HOUR for n in range(len(lines))]
    return [
        f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S},123 INFO {line}"
        for at, line in zip(times, lines, strict=True)
    ]


class Login:
    """The login node of a cluster, with the logs of its running jobs; `check` by cron makes one for each look."""

    def __init__(
        self,
        kind: str = "slurm",
        history: History | None = None,
        at: float = NOW,
        skew: float = 0.0,
    ) -> None:
        self.kind, self.at, self.rows = kind, at, dict[str, Job]()
        box = Instance("login", SshAccess("login"), scheduler=kind, stall_after=STALL, logs=None)
        self.store = Store(Fleet(None, (box,)), {}, history or NoHistory())
        self.store.apply(LinkChanged("login", at, LinkState("live", since=at)))
        self.sample("host", Host(at + skew, 5000.0, "boot-1"))
        self.skew = skew

    def sample(self, metric: str, value: object) -> None:
        self.store.apply(Sampled("login", self.at, metric, Reading(value, self.at, 3600.0)))

    def job(
        self, name: str = "1·a", *, word: str = "RUNNING", age: float = 2 * HOUR, **more: object
    ) -> None:
        began = self.at + self.skew - age
        row = Job(
            name.partition("·")[0], name, RUN, word, started_at=began, stdout=f"/w/{name}.out"
        )
        self.rows[name] = replace(row, **more)  # type: ignore[arg-type]

    def log(
        self,
        lines: list[str],
        quiet: float = HOUR,
        name: str = "1·a",
        *,
        path: str | None = None,
        stamps: list[float] | None = None,
        skipped: int = 0,
        open_end: str = "",
    ) -> LogReader:
        """The log as it was before we came; it was written last `quiet` seconds ago."""
        source = LogSource(path or f"/w/{name}.out", name)
        data = "".join(f"{line}\n" for line in lines) + open_end
        opened = LogOpened(
            "login", self.at, source, 7, skipped, skipped, resumed=False, size=len(data)
        )
        self.store.apply(opened)
        reader = LogReader()
        written = None if stamps else self.at + self.skew - quiet
        if data:
            made = reader.feed(data.encode())
            event = LogArrived("login", self.at, source, made, True, None, written, stamps or ())
            self.store.apply(event)
        return reader

    def line(self, text: str, name: str = "1·a", path: str | None = None) -> None:
        source = LogSource(path or f"/w/{name}.out", name)
        made = LogReader().feed(f"{text}\n".encode())
        self.store.apply(LogArrived("login", self.at, source, made))

    def view(self, after: float = 0.0) -> InstanceView:
        self.at += after
        self.sample(self.kind, JobTable(self.kind, tuple(self.rows.values())))
        return self.store.view(self.at)["login"]

    def cell(self, name: str = "1·a") -> Cell:
        return next(cell for cell in self.view().queue.cells if cell.name == name)


def hanging(lines: list[str] = EPOCHS, quiet: float = HOUR, **more: object) -> Login:
    """A job that printed an epoch each second and hangs: it began `age` seconds ago and wrote for some of them."""
    login = Login()
    login.job(age=quiet + 60, **more)  # type: ignore[arg-type]
    login.log(lines, quiet)
    return login


def stalls(view: InstanceView) -> list[tuple[str | None, Severity]]:
    return [(one.cell, one.severity) for one in view.findings if one.kind == "stalled"]


def test_a_hang_of_an_hour_is_reported_at_the_first_look() -> None:
    view = hanging().view()
    assert view.verdict is Verdict.STALLED
    assert view.because[0].startswith("1·a is silent; no line for 1 h, ")
    assert "times its usual gap" in view.because[0]
    (finding,) = view.findings
    assert (finding.kind, finding.severity) == ("stalled", Severity.SERIOUS)
    assert "srun --jobid" in finding.remedy
    assert "kill" not in finding.remedy.lower()
    (cell,) = view.queue.cells
    assert (cell.eta_seconds, cell.state) == (None, RUN)
    assert "silent" in cell_row(view, cell, 90).plain


def test_one_of_two_jobs_that_hangs_is_a_warning() -> None:
    login = hanging()
    login.job("2·b")
    login.log(EPOCHS, 5.0, "2·b")
    login.rows["0·c"] = Job("0", "0·c", CellState.FINISHED, "COMPLETED", took=7_000.0)
    view = login.view()
    assert view.verdict is Verdict.RUNNING
    typical = typical_of([("login", view.queue.cells)])
    hung = next(cell for cell in view.queue.cells if cell.still_seconds is not None)
    left = running_left(hung, typical, "login")
    assert not left.known  # though another one took 7000 s
    assert stalls(view) == [("1·a", Severity.WARN)]
    assert view.because[1] == "1·a is silent; no line for 1 h, 360 times its usual gap"
    assert "srun --jobid" in view.findings[0].remedy
    assert fleet_verdict(login.store.view(login.at)) == "healthy"


def test_a_job_on_a_node_that_does_not_answer_is_not_silent_itself() -> None:
    """Nothing of its log can arrive, and its node cannot be asked."""
    login = hanging(finding="network", why="its node does not answer for 16 min")
    view = login.view()
    assert stalls(view) == []
    assert view.verdict is Verdict.RUNNING
    (cell,) = view.queue.cells
    assert (cell.still_seconds, cell.eta_seconds) == (None, None)
    assert cell.why == "RUNNING: its node does not answer for 16 min"


def test_a_hang_after_a_log_of_one_second_is_reported() -> None:
    login = Login()
    login.job(age=HOUR)
    login.log(EPOCHS, HOUR)
    assert login.view().because[0].endswith("over 1000 times its usual gap")


def test_the_finding_ends_when_a_line_comes() -> None:
    login = hanging()
    assert stalls(login.view())
    login.line("Epoch 8/50 loss: 0.8")
    view = login.view(1.0)
    assert (view.verdict, stalls(view)) == (Verdict.RUNNING, [])
    assert view.queue.cells[0].still_seconds is None


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (stamped(EPOCHS, last=NOW - HOUR, gap=9.0), "400 times its usual gap"),
        (["[07:20:10] step 1/900 loss 0.5"], None),
        ([f"step {n}/900 took 00:00:1{n} loss 0.5" for n in range(9)], None),  # no time of day
        ([f"[07:20:{n:02}] step {n}/900 loss 0.5" for n in range(10, 40, 3)], "over 1000 times"),
    ],
)
def test_the_usual_gap_is_read_from_the_times_of_the_lines(
    lines: list[str], told: str | None
) -> None:
    login = Login()
    login.job(age=3 * HOUR)
    login.log(lines, HOUR, skipped=9_000_000)  # only the end of it was read
    view = login.view()
    assert (view.verdict is Verdict.STALLED) is (told is not None)
    assert told is None or told in view.because[0]


def test_the_usual_gap_is_read_from_kubectl_stamps_at_the_first_look() -> None:
    login = Login("kubernetes")
    login.job("train-a", word="Running")
    login.log(EPOCHS, name="train-a", stamps=[NOW - HOUR + 9 * n for n in range(-6, 1)])
    view = login.view()
    assert view.because[0] == "train-a is silent; no line for 1 h, 400 times its usual gap"
    assert "kubectl exec" in view.findings[0].remedy


def cards(read_at: float, *shares: float | None, cell: str = "train-a") -> PodCards:
    gpus = tuple(Gpu(n, "H100", f"GPU-{n}", share) for n, share in enumerate(shares))
    return PodCards("train-a-x1", "main", cell, read_at, gpus)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([cards(NOW, 0.0, 0.97)], "its GPU computes, which is also so in a collective that hangs"),
        ([cards(NOW, 0.0, 0.02)], "none of its GPUs computes"),
        ([cards(NOW, 0.0, None)], None),
        ([cards(NOW, 0.0), cards(0.0)], None),  # one of its ranks was not asked yet
        ([cards(NOW - 300, 0.0)], None),
        ([cards(NOW, 0.9, cell="train-b")], None),
        ([], None),
    ],
)
def test_the_cards_of_its_pods_are_named_and_take_no_alarm_back(
    rows: list[PodCards], words: str | None
) -> None:
    login = Login("kubernetes")
    login.job("train-a", word="Running")
    login.log(EPOCHS, name="train-a", stamps=[NOW - HOUR + 9 * n for n in range(-6, 1)])
    login.sample("pod_cards", tuple(rows))
    view = login.view()
    silent = "train-a is silent; no line for 1 h, 400 times its usual gap"
    assert view.because[0] == ("; ".join((silent, words)) if words else silent)
    assert stalls(view) == [(None, Severity.SERIOUS)]


def test_the_usual_gap_is_measured_from_live_lines_without_stamps() -> None:
    login = Login("kubernetes")
    login.job("p", word="Running")
    login.log([], name="p")
    for n in range(6):
        login.at += 3.0
        login.line(f"step {n}/900 loss 0.5", "p")
    assert stalls(login.view(STALL - 1)) == []
    view = login.view(2.0)
    assert view.because[0] == "p is silent; no line for 15 min, 300 times its usual gap"


def test_a_new_attempt_in_the_same_log_has_no_usual_gap_yet() -> None:
    login = Login()
    login.job()
    login.log([])
    for word in ("step {} of 900, loss 0.5", "loading shard {}"):
        for n in range(8):
            login.at += 2.0
            login.line(word.format(n))
        login.job(age=0.0, restarts=1)
        login.view()
    view = login.view(2 * STALL)
    assert (view.verdict, stalls(view)) == (Verdict.RUNNING, [])
    assert "is not known yet" in (view.queue.cells[0].why or "")


def test_two_looks_of_cron_give_the_pace_of_a_log_whose_end_alone_is_read() -> None:
    history = NoHistory()
    for at, epoch, quiet in ((NOW, 100, 5.0), (NOW + 600, 160, 5.0), (NOW + 2400, 170, 1700.0)):
        login = Login(history=history, at=at)
        login.job(age=9 * HOUR + at - NOW)
        login.view()  # its log is not read yet
        login.job(age=9 * HOUR + at - NOW)
        login.log(
            [f"Epoch {epoch - n}/400 loss: 0.5" for n in (4, 3, 2, 1, 0)], quiet, skipped=9000
        )
        view = login.view()
        assert (view.verdict is Verdict.STALLED) is (quiet > STALL)
    assert view.because[0] == "1·a is silent; no line for 28 min, 169 times its usual gap"


def test_the_rhythm_that_a_cockpit_saw_is_kept_for_the_next_look() -> None:
    history = NoHistory()
    cockpit = Login(history=history)
    cockpit.job(age=9 * HOUR)
    cockpit.log(["weights are read"], skipped=9000)
    for n in range(6):
        cockpit.at += 2.0
        cockpit.line(f"step {n} of 900, loss 0.5")
    cockpit.view()
    login = Login(history=history, at=NOW + 3000)
    login.job(age=9 * HOUR + 3000)
    login.log(["step 6 of 900, loss 0.5"], 2900.0, skipped=9900)
    assert (
        login.view().because[0]
        == "1·a is silent; no line for 48 min, over 1000 times its usual gap"
    )
    login.job(age=2000)  # another attempt, of which nothing is known yet
    assert login.view().verdict is Verdict.RUNNING


def test_the_log_and_the_files_of_another_job_hide_nothing() -> None:
    login = hanging()
    login.job("2·b")
    login.log(EPOCHS, 5.0, "2·b")
    moving = {
        path: FileStat(path, 9, 9, NOW - 5) for path in ("/w/2·b.out", "/w/b/last.ckpt", "/w/c.pt")
    }
    login.sample("files", FileTable(moving))
    assert stalls(login.view()) == [("1·a", Severity.WARN)]


def test_a_job_at_its_last_step_that_does_not_end_says_so() -> None:
    lines = [f"Epoch {n}/7 loss: 0.{90 - n}" for n in range(1, 8)]
    assert hanging(lines).view().verdict is Verdict.RUNNING  # it may evaluate, or save its model
    view = hanging(lines, 2 * HOUR).view()
    assert view.verdict is Verdict.STALLED
    said = "1·a is silent; 1·a reached its last step 2 h ago, and its job does not end"
    assert view.because[0] == said


def test_a_stopped_progress_bar_is_a_stall() -> None:
    login = Login()
    login.job(age=3 * HOUR)
    bar = "\r".join(f" {n}%|##  | {n}0/1000 [20:0{n}<1:00:00, 6.0s/it]" for n in range(5, 10))
    login.log(["loading"], HOUR, open_end=bar, skipped=5000)
    assert login.view().because[0] == "1·a is silent; no line for 1 h, 268 times its usual gap"


def test_a_silence_without_a_known_rhythm_is_only_in_its_row() -> None:
    view = twin_just_begun().view()
    assert (
        view.queue.cells[0].why
        == "no line for 1 h 54 min, and how often it writes is not known yet"
    )


def test_the_finding_of_a_restart_stays_next_to_that_of_a_hang() -> None:
    login = hanging(finding="host_oom")
    login.job("2·b")
    login.log(EPOCHS, 5.0, "2·b")
    assert {one.kind for one in login.view().findings} == {"stalled", "host_oom"}


def test_a_job_whose_step_failed_is_not_also_reported_as_a_hang() -> None:
    why = f"step 0 FAILED exit 1, and {NO_STEP_RUNS}"
    cluster = hanging(why=why, finding="crashed")
    (finding,) = cluster.view().findings
    assert (finding.kind, "no line for" in finding.evidence) == ("crashed", False)
    assert cluster.view().queue.cells[0].why == f"RUNNING: {why}"
    # While another step runs, that one may hang.
    cluster = hanging(why="step 0 FAILED exit 1, and the script goes on", finding="crashed")
    assert "no line for" in (cluster.view().queue.cells[0].why or "")


def test_a_log_that_is_read_again_counts_though_no_line_comes() -> None:
    login = twin_unread()
    source = LogSource("/w/1·a.out", "1·a")
    login.store.apply(LogOpened("login", NOW, source, 7, 0, 0, resumed=True))
    assert stalls(login.view(29.0)) == []  # what came meanwhile may be on its way
    assert stalls(login.view(2.0))


# --- nothing is wrong ------------------------------------------------------------------------------


def twin_buffered() -> Login:
    """Its stdout is buffered, and its checkpoints grow."""
    login = hanging()
    stat = FileStat("/w/a/last.ckpt", 9, 9, NOW - 60)
    login.sample("files", FileTable({"/w/a/last.ckpt": stat}))
    return login


def twin_buffered_in_its_directory() -> Login:
    login = hanging()
    stat = FileStat("/w/step-9.pt", 9, 9, NOW - 60)
    login.sample("files", FileTable({"/w/step-9.pt": stat}))
    return login


def twin_cut_by_a_buffer() -> Login:
    """The log ends within a line: the writer keeps the rest in a buffer."""
    login = Login()
    login.job(age=3 * HOUR)
    login.log(stamped(EPOCHS, last=NOW - HOUR, gap=30.0), HOUR, open_end="2026-11-28 07:")
    return login


def twin_hourly() -> Login:
    login = Login()
    login.job(age=90 * HOUR)
    login.log(stamped(EPOCHS, last=NOW - 1.5 * HOUR, gap=HOUR), 1.5 * HOUR)
    return login


def twin_hourly_without_times() -> Login:
    """Seven epochs in seven hours, and 40 minutes into the next."""
    login = Login()
    login.job(age=7.7 * HOUR)
    login.log(EPOCHS, 0.7 * HOUR)
    return login


def twin_long_validations() -> Login:
    """A line each second, and a silent validation of half an hour after each epoch."""
    rows = []
    for n in range(3):
        last = NOW - 0.6 * HOUR - (2 - n) * 0.5 * HOUR
        rows += stamped([f"epoch {n} step {k}/9 loss 0.5" for k in range(9)], last=last, gap=1.0)
    login = Login()
    login.job(age=4 * HOUR)
    login.log(rows, 0.6 * HOUR, skipped=50_000)
    return login


def twin_just_begun() -> Login:
    """It compiles, or loads its data: it printed much and has not begun to train."""
    login = Login()
    login.job(age=2 * HOUR)
    login.log(
        stamped([f"loading shard {n}" for n in range(60)], last=NOW - 1.9 * HOUR, gap=1.0),
        1.9 * HOUR,
    )
    return login


def twin_requeued_into_the_same_log() -> Login:
    """The first attempt trained; the second one began 20 minutes ago, printed its banner and loads its data."""
    first = stamped(EPOCHS, last=NOW - 5 * HOUR, gap=5.0)
    banner = stamped([f"loading shard {n}" for n in range(60)], last=NOW - 1500, gap=1.0)
    login = Login()
    login.job(age=1600, restarts=1)
    login.log([*first, *banner], 1500)
    return login


def twin_requeued_and_silent() -> Login:
    login = Login()
    login.job(age=1000, restarts=1)
    login.log(stamped(EPOCHS, last=NOW - 5 * HOUR, gap=5.0), 5 * HOUR)
    return login


def twin_resumed() -> Login:
    """It was suspended for an hour, and goes on since ten minutes."""
    return hanging(resumed_at=NOW - 600)


def twin_completing() -> Login:
    return hanging(word="COMPLETING")


def twin_pending() -> Login:
    return hanging(state=CellState.PENDING, word="SUSPENDED")


def twin_second_log() -> Login:
    login = hanging()
    login.log(["step 5"], 20.0, path="/w/1.err")
    return login


def twin_unread() -> Login:
    login = hanging()
    source = LogSource("/w/1·a.out", "1·a")
    login.store.apply(LogFailed("login", NOW, source, "may not be read by this login"))
    return login


def twin_never_read() -> Login:
    login = Login()
    login.job()
    return login


def twin_no_date() -> Login:
    """A box without `stat` has no dates of files."""
    login = Login()
    login.job(age=3 * HOUR)
    source = LogSource("/w/1·a.out", "1·a")
    login.store.apply(LogOpened("login", NOW, source, 7, 0, 0, resumed=False))
    made = LogReader().feed("".join(f"{line}\n" for line in EPOCHS).encode())
    login.store.apply(LogArrived("login", NOW, source, made, True))
    return login


def twin_clock_off_by_minutes() -> Login:
    """The file server's clock is minutes slower than that of the login node, or the login node caches the file's date."""
    return hanging(quiet=STALL + 200)


def twin_server() -> Login:
    return hanging([*EPOCHS, "INFO: Uvicorn running on http://0.0.0.0:8000"])


def twin_scheduler_down() -> Login:
    login = hanging()
    login.view()
    why = "the controller does not answer"
    login.store.apply(Sampled("login", NOW, "slurm", Failure(FailureKind.UNREACHABLE, why, NOW)))
    login.view = lambda after=0.0: login.store.view(login.at)["login"]  # type: ignore[method-assign]
    return login


TWINS = [made for name, made in list(globals().items()) if name.startswith("twin_")]


@pytest.mark.parametrize("twin", TWINS, ids=lambda made: made.__name__[5:])
def test_no_stall_without_evidence(twin: object) -> None:
    view = twin().view()  # type: ignore[operator]
    assert stalls(view) == []
    assert view.verdict is not Verdict.STALLED
    assert [cell.still_seconds for cell in view.queue.cells] == [None]
