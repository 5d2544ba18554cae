"""A job whose speed does not bring it to its end before its limit: hours before, and the same in every place."""

from __future__ import annotations

import pytest

from gpu_tui.core.events import LinkChanged, LogArrived, LogOpened, Sampled
from gpu_tui.core.findings import Finding, Severity
from gpu_tui.core.fleet import Fleet, Instance, LinkState, SshAccess
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.logs import LogSource
from gpu_tui.core.readings import Host
from gpu_tui.core.sample import Reading
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.state.contract import check_json
from gpu_tui.state.history import NoHistory
from gpu_tui.state.patrol import patrol_report
from gpu_tui.state.store import Store
from gpu_tui.state.views import FleetView
from gpu_tui.ui.text.deadlines import clocks

T0, HOUR = 1_795_000_000.0, 3600.0
SLURM, KUBERNETES = "slurm", "kubernetes"


class Cluster:
    """One job of a scheduler that logs an epoch of 400 every `pace` seconds, `watched` times."""

    def __init__(
        self, kind: str, limit: float | None, pace: float = 120.0, *, watched: int = 30
    ) -> None:
        self.kind, self.limit, self.at, self.started = kind, limit, T0, T0
        self.history = NoHistory()
        self.begin(watched, pace)

    def begin(self, watched: int, pace: float) -> None:
        """A new run of gpu-tui, with the history of the ones before."""
        fleet = Fleet(None, (Instance("login", SshAccess("login"), scheduler=self.kind),))
        self.store = Store(fleet, {}, self.history)
        self.reader, self.source = LogReader(), LogSource("/out/7.log", "7·train")
        self.store.apply(LinkChanged("login", self.at, LinkState("live", since=self.at)))
        self.listed()
        self.store.apply(LogOpened("login", self.at, self.source, 7, 0, 0, resumed=False))
        for epoch in range(1, watched + 1):
            self.line(f"Epoch {epoch}/400 loss: 0.5")
            self.at += pace
        self.listed()

    def check(self, at: float, epoch: int) -> list[Finding]:
        """The view of one `check` at T0 + `at`, which reads the end of the log once."""
        self.at = T0 + at
        self.begin(0, 0.0)
        self.line(f"Epoch {epoch}/400 loss: 0.5")
        return self.findings()

    def line(self, text: str) -> None:
        lines = self.reader.whole(f"{text}\n".encode())
        assert lines is not None
        self.store.apply(LogArrived("login", self.at, self.source, self.reader.judge(lines), False))

    def listed(self) -> None:
        host = Reading(Host(self.at, 1.0, "b"), self.at, 60.0)
        self.store.apply(Sampled("login", self.at, "host", host))
        row = Job("7", "7·train", CellState.RUNNING, "RUNNING", started_at=self.started, stdout="/out/7.log",
                  ends_by=None if self.limit is None else T0 + self.limit)  # fmt: skip
        table = JobTable("Slurm", (row,))
        self.store.apply(Sampled("login", self.at, self.kind, Reading(table, self.at, 60.0)))

    def view(self) -> FleetView:
        return self.store.view(self.at)

    def findings(self) -> list[Finding]:
        return [found for found in self.view()["login"].findings if found.kind == "time_limit"]


@pytest.mark.parametrize("kind", [SLURM, KUBERNETES])
def test_a_job_that_falls_short_is_reported_hours_before_and_everywhere(kind: str) -> None:
    cluster = Cluster(kind, limit=7 * HOUR)
    (found,) = cluster.findings()
    assert found.severity is Severity.WARN
    assert found.evidence == "7·train: at this pace it reaches epoch 210 of 400 by its limit"
    assert "scontrol update TimeLimit" in found.remedy
    assert "activeDeadlineSeconds" in found.remedy
    view = cluster.view()
    (clock,) = view.clocks
    words = "at this pace it reaches epoch 210 of 400 by its limit"
    assert (clock.why, clock.stage) == (words, "pace")
    assert words in "".join(line.plain for line in clocks(view, view["login"], 150))
    assert words in str(check_json(view)["clocks"])
    assert check_json(view)["verdict"] == "healthy"  # a warning does not change the verdict
    assert f"  warn: time limit: 7·train: {words}" in patrol_report(view, {})


@pytest.mark.parametrize(
    "limit",
    [
        pytest.param(14 * HOUR, id="it fits"),
        pytest.param(None, id="it has no limit"),
    ],
)
def test_a_job_that_ends_in_time_or_has_no_limit_has_no_finding(limit: float | None) -> None:
    assert Cluster(SLURM, limit).findings() == []


def test_nearer_to_the_limit_the_words_of_the_clock_say_it_too() -> None:
    cluster = Cluster(SLURM, limit=1.2 * HOUR)
    (found,) = cluster.findings()
    assert found.evidence.startswith("less than 25% of its 1 h 12 min left: loses 7·train's work")
    assert found.evidence.endswith("; at this pace it reaches epoch 36 of 400 by its limit")
    assert found.severity is Severity.SERIOUS


def test_a_stalled_log_has_no_pace() -> None:
    cluster = Cluster(SLURM, limit=7 * HOUR)
    cluster.at += 1800
    cluster.listed()
    assert cluster.findings() == []
    (clock,) = cluster.view().clocks
    assert (clock.why, clock.short) == (None, None)


def test_a_job_with_more_time_is_no_finding_any_more() -> None:
    cluster = Cluster(SLURM, limit=7 * HOUR)
    assert cluster.findings()
    cluster.limit = 24 * HOUR  # scontrol update TimeLimit
    cluster.listed()
    assert not [found for found in cluster.findings() if found.standing]


# --- by cron: one look each time ------------------------------------------------------------------


def test_checks_that_look_once_know_the_pace_from_the_looks_before() -> None:
    cluster = Cluster(SLURM, 24 * HOUR, watched=0)
    assert cluster.check(HOUR, 12) == []  # one place is no pace
    assert cluster.check(1.1 * HOUR, 13) == []  # nor are two that are six minutes apart
    (found,) = cluster.check(3 * HOUR, 36)
    assert "7·train: at this pace it reaches epoch 287 of 400 by its limit" in found.evidence
    assert found.severity is Severity.WARN


@pytest.mark.parametrize(
    "looks",
    [
        pytest.param([(HOUR, 30), (2 * HOUR, 60), (3 * HOUR, 90)], id="it fits"),
        pytest.param([(HOUR, 30), (2 * HOUR, 30), (3 * HOUR, 30)], id="it shows no epoch more"),
        pytest.param(
            [(HOUR, 300), (2 * HOUR, 5), (2.1 * HOUR, 6)], id="another run in the same job"
        ),
        pytest.param([(HOUR, 17), (2 * HOUR, 33)], id="one epoch more would do"),
    ],
)
def test_checks_say_nothing_where_it_fits_or_may_fit(looks: list[tuple[float, int]]) -> None:
    cluster = Cluster(SLURM, 24 * HOUR, watched=0)
    assert [found for at, epoch in looks for found in cluster.check(at, epoch)] == []


def test_a_job_that_was_put_back_and_begins_again_has_no_pace() -> None:
    cluster = Cluster(SLURM, 24 * HOUR, watched=0)
    cluster.check(HOUR, 12)
    cluster.started = T0 + 1.5 * HOUR
    assert cluster.check(3 * HOUR, 36) == []


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '["login", 7]', '["login", {"7·train": [1, 2]}]', "[[[" * 9_000]
)
def test_a_malformed_history_has_no_pace(text: str) -> None:
    cluster = Cluster(SLURM, 24 * HOUR, watched=0)
    cluster.history.set_counter("login", "paces", text, T0)
    assert cluster.check(3 * HOUR, 36) == []


def test_the_time_of_the_runs_before_is_not_taken_for_that_of_the_last_one() -> None:
    """A job that trains one model after the other: ten hours were not for 200 epochs."""
    cluster = Cluster(SLURM, 14 * HOUR, watched=0)
    cluster.at = T0 + 10 * HOUR
    cluster.begin(0, 0.0)
    for epoch in (*range(1, 401), *range(1, 201)):
        cluster.line(f"Epoch {epoch}/400 loss: 0.5")
    assert cluster.findings() == []
    assert [cell.eta_seconds for cell in cluster.view()["login"].queue.cells] == [None]
