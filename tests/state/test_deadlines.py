"""Danger clocks of a watched box: over restarts, zones, wrong clocks, rates, jobs and marks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpu_tui.core.account import Account
from gpu_tui.core.clocks import DangerClock
from gpu_tui.core.events import AccountRead, LinkChanged, ProviderRead, Sampled
from gpu_tui.core.findings import Finding, Severity
from gpu_tui.core.fleet import (
    Fleet,
    Instance,
    LinkState,
    Money,
    ProviderAccess,
    ProviderState,
    Results,
    SshAccess,
)
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.profile import ClockFact, Profile, Tier
from gpu_tui.core.queue_history import QueueDone
from gpu_tui.core.readings import FileStat, FileTable, Host, Memory, Mount, Process
from gpu_tui.core.sample import Reading
from gpu_tui.core.sweep import CellState
from gpu_tui.state.history import History, NoHistory, SqliteHistory
from gpu_tui.state.store import Store
from gpu_tui.state.views import InstanceView

HOUR, DAY, GIB = 3600.0, 86400.0, 2**30
NOW = datetime(
    2026, 10, 24, 12, 0, tzinfo=UTC
).timestamp()  # half a day before Europe's clocks go back


def fact(id: str, when: str, anchor: str, after: float | None, **more: object) -> ClockFact:
    row = ClockFact(id, when, anchor, after, "destroys", ("data",), "critical", "Pull.", "docs",
                    "2026-08", "high")  # fmt: skip
    return replace(row, **more)  # type: ignore[arg-type]


PROFILE = Profile(
    "p", "P", "ssh-rental", storage=(Tier("data", "/data", True, False, "data disk"),),
    clocks=(
        fact("p-release", "stopped", "stopped_at", 15 * DAY),
        fact("p-wipe", "stopped", "stopped_at", DAY),
        fact("p-session", "running", "created_at", 12 * HOUR),
        fact("p-end", "running", "rental_end", None),
        fact("p-arrears", "account", "balance", 15 * DAY),
        fact("p-balance", "account", "balance", None),
        fact("p-date", "account", "manual", None),
        fact("p-spot", "running", "signal", None, applies_to=("spot",), effect="stops", loses=()),
    ),
)  # fmt: skip
BOX = Instance("box", SshAccess("box"), "p", results=Results("/data/out", None))


class Bench:
    """A store with one box, and short words for what happens to it."""

    def __init__(
        self, history: History | None = None, *, now: float = NOW, variant: str | None = "plain",
        profile: Profile | None = PROFILE,
    ) -> None:  # fmt: skip
        self.history = history or NoHistory()
        box = replace(BOX, provider=ProviderAccess(id="i-1", variant=variant))
        profiles = {} if profile is None else {"p": profile}
        self.store = Store(Fleet(None, (box,)), profiles, self.history)
        self.now = now

    def link(self, state: str = "live") -> None:
        self.store.apply(LinkChanged("box", self.now, LinkState(state, since=self.now)))

    def api(self, state: str, **more: float) -> None:
        read = ProviderState(state, read_at=self.now, **more)  # type: ignore[arg-type]
        self.store.apply(ProviderRead("box", self.now, read))

    def account(self, balance: float, spend: float | None = None) -> None:
        money = None if spend is None else Money(spend, "USD")
        account = Account("k", "p", serves=("box",), read_at=self.now,
                          balance=Money(balance, "USD"), spend_per_hour=money)  # fmt: skip
        self.store.apply(AccountRead(self.now, account))

    def sample(self, metric: str, value: object, period: float = 60.0) -> None:
        self.store.apply(Sampled("box", self.now, metric, Reading(value, self.now, period)))

    def view(self) -> InstanceView:
        return self.store.view(self.now)["box"]

    def clock(self, key: str) -> DangerClock:
        return {clock.key: clock for clock in self.view().clocks}[key]

    def has(self, key: str) -> bool:
        return key in {clock.key for clock in self.view().clocks}

    def findings(self, *kinds: str) -> list[Finding]:
        wanted = kinds or ("clock", "disk_soon", "time_limit", "mem_pressure")
        return [found for found in self.view().findings if found.kind in wanted]


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Sets this machine's zone; puts it back."""
    yield monkeypatch
    monkeypatch.undo()
    time.tzset()


# --- nothing moves a deadline ------------------------------------------------------------------


def test_a_restart_goes_on_from_what_was_seen(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with SqliteHistory(path) as history:
        first = Bench(history)
        first.link()
        first.sample("host", Host(NOW, 5000.0, "b"))
    with SqliteHistory(path) as history:
        later = Bench(history, now=NOW + 5 * HOUR)
        later.api("stopped")
        clock = later.clock("p-release")
        assert (clock.started_basis, clock.bound) == ("last-contact", "earliest")
        assert clock.earliest_fires_at == NOW + 15 * DAY
        later.now += 9 * DAY
        assert later.clock("p-release").earliest_fires_at == NOW + 15 * DAY


@pytest.mark.parametrize("name", ["UTC", "EST5EDT,M3.2.0,M11.1.0", "CET-1CEST,M3.5.0,M10.5.0/3"])
def test_no_zone_and_no_change_of_the_clocks_moves_a_deadline(
    name: str, zone: pytest.MonkeyPatch
) -> None:
    zone.setenv("TZ", name)
    time.tzset()
    bench = Bench()
    bench.api("stopped", stopped_at=NOW)
    seen = set()
    for hours in (0, 6, 12, 13, 14, 18):  # the night in which Europe's clocks go back
        bench.now = NOW + hours * HOUR
        seen.add(bench.clock("p-wipe").fires_at)
        left = (bench.clock("p-wipe").deadline or 0) - bench.now
        assert left == DAY - hours * HOUR
    assert seen == {NOW + DAY}


@pytest.mark.parametrize("skew", [0.0, 3 * HOUR, -2 * DAY])
def test_a_box_whose_clock_is_wrong_moves_no_deadline(skew: float) -> None:
    bench = Bench()
    bench.link()
    job = Job("17", "train", CellState.RUNNING, "R", started_at=NOW + skew - HOUR,
              ends_by=NOW + skew + 4 * HOUR)  # fmt: skip
    seen = []
    for second in range(40):
        bench.now = NOW + second * 15 + 0.13 * (second % 7)
        # The box's clock, cut to seconds and answering a little late, as `date +%s` over a slow line.
        bench.sample("host", Host(float(int(bench.now - 0.4 * (second % 3) + skew)), 9e3, "b"), 15)
        bench.sample("slurm", JobTable("Slurm", (job,)), 15)
        seen.append(bench.clock("job-time-limit:train").fires_at)
    assert len(set(seen)) == 1
    assert seen[0] == pytest.approx(NOW + 4 * HOUR, abs=1.5)


@pytest.mark.parametrize("skew", [0.0, -60.0])
def test_an_answer_that_comes_late_moves_no_clock_on_the_screen(skew: float) -> None:
    bench = Bench()
    bench.link()
    shown = []
    for late in (0.0, 0.1, 9.0, 3.0, 0.0, 7.0):
        bench.now += 15
        bench.sample("host", Host(bench.now - late + skew + 0.01, 9e3, "b"), 15)
        shown.append(bench.view().clock_skew)
    assert shown[1:] == pytest.approx([skew] * 5, abs=0.2)
    for _ in range(3):  # set back in earnest
        bench.now += 15
        bench.sample("host", Host(bench.now + skew - 600.01, 9e3, "b"), 15)
    assert bench.view().clock_skew == pytest.approx(skew - 600, abs=0.2)


def test_a_box_whose_clock_is_set_right_is_believed_anew() -> None:
    bench = Bench()
    bench.link()
    job = Job("1", "t", CellState.RUNNING, "R", ends_by=NOW + 2 * HOUR)
    bench.sample("host", Host(NOW + 600.25, 9e3, "b"))
    bench.sample("slurm", JobTable("Slurm", (job,)))
    assert bench.clock("job-time-limit:t").fires_at == pytest.approx(NOW + 2 * HOUR - 600, abs=1)
    bench.sample("host", Host(NOW + 0.25, 9e3, "b"))
    assert bench.clock("job-time-limit:t").fires_at == pytest.approx(NOW + 2 * HOUR, abs=1)


def test_a_session_counts_from_its_first_process_whatever_jitters(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    deadlines = set()
    for run in range(3):  # three runs of gpu-tui
        with SqliteHistory(path) as history:
            bench = Bench(history, now=NOW + run * HOUR)
            bench.link()
            for beat in range(3):
                bench.now += 15
                age = bench.now - (NOW - 2 * HOUR) + 0.7 * beat
                bench.sample("processes", (Process(1, 0, "init", ("init",), "S", age),))
                clock = bench.clock("p-session")
                deadlines.add(clock.latest_fires_at)
    assert (clock.started_basis, clock.bound, clock.fires_at) == ("reading", "latest", None)
    assert deadlines == {NOW + 10 * HOUR}


def test_a_container_that_began_anew_counts_anew() -> None:
    bench = Bench()
    bench.link()
    bench.sample("processes", (Process(1, 0, "init", ("init",), "S", 11 * HOUR),))
    assert bench.clock("p-session").latest_fires_at == NOW + HOUR
    bench.now += 600
    bench.sample("processes", (Process(1, 0, "init", ("init",), "S", 60.0),))
    assert bench.clock("p-session").latest_fires_at == NOW + 540 + 12 * HOUR


# --- what is said of whom ------------------------------------------------------------------------


def test_a_box_that_does_not_answer_may_be_off_since_the_last_contact() -> None:
    bench = Bench()
    bench.link()
    bench.sample("host", Host(NOW, 1.0, "b"))
    bench.now += 20 * HOUR
    bench.link("connecting")
    assert bench.clock("p-wipe").state == "armed"  # we only just begin to ask
    bench.link("timeout")
    clock = bench.clock("p-wipe")
    assert (clock.state, clock.fires_at, clock.earliest_fires_at) == ("running", None, NOW + DAY)
    assert clock.why == "if it is off; nobody knows"
    bench.link("connecting")  # a retry is no news
    assert bench.clock("p-wipe").state == "running"
    bench.link("live")
    assert bench.clock("p-wipe").state == "armed"


def test_where_our_own_clock_is_set_back_what_was_seen_before_does_not_lie_ahead() -> None:
    """As where a laptop took the zone of its clock for another one, until it asked a time server."""
    bench = Bench(now=NOW + 8 * HOUR)
    for at in (NOW + 8 * HOUR, NOW):
        bench.now = at
        bench.link()
        bench.api("running")
        bench.sample("host", Host(NOW, 1.0, "b"))
    kept = bench.history.anchors("box")
    assert {kind: kept[kind][0] for kind in ("first_seen", "last_contact", "last_running")} == {
        "first_seen": NOW, "last_contact": NOW, "last_running": NOW,
    }  # fmt: skip
    bench.now += HOUR
    bench.api("stopped")
    assert bench.clock("p-wipe").earliest_fires_at == NOW + DAY


def test_the_provider_that_saw_it_run_later_moves_the_bound() -> None:
    bench = Bench()
    bench.link()
    bench.sample("host", Host(NOW, 1.0, "b"))
    bench.link("timeout")
    bench.now += 5 * HOUR
    bench.api("running")
    bench.now += HOUR
    bench.api("stopped")
    assert bench.clock("p-release").earliest_fires_at == NOW + 5 * HOUR + 15 * DAY


def test_a_mark_that_the_box_has_outlived_is_no_mark() -> None:
    bench = Bench()
    bench.history.set_anchor("box", "stopped_at", NOW - HOUR, "manual")
    bench.link("timeout")
    assert bench.clock("p-release").fires_at == NOW - HOUR + 15 * DAY
    bench.link()
    bench.sample("host", Host(NOW, 1.0, "b"))
    bench.link("timeout")
    bench.now += DAY
    assert bench.clock("p-release").started_basis == "last-contact"
    assert bench.clock("p-release").earliest_fires_at == NOW + 15 * DAY


def test_a_mark_that_the_box_has_outlived_hides_no_box_that_does_not_answer() -> None:
    bench = Bench()
    bench.history.set_anchor("box", "stopped_at", NOW - DAY, "manual")
    bench.link("refused")
    assert bench.view().verdict == "off"
    bench.link()
    bench.sample("host", Host(NOW, 5000.0, "b"))
    bench.now += HOUR
    bench.link("refused")
    assert bench.view().verdict == "unreachable"


def test_an_end_that_a_running_box_has_outlived_is_not_in_force() -> None:
    bench = Bench()
    bench.api("running", started_at=NOW - 13 * HOUR)
    clock = bench.clock("p-session")
    assert (clock.state, clock.stage) == ("armed", None)
    assert "not in force" in (clock.why or "")


def test_the_providers_end_counts_to_the_second_and_a_persons_goes_before_it() -> None:
    bench = Bench()
    bench.api("running", ends_at=NOW + 5 * HOUR)
    assert bench.clock("p-end").fires_at == NOW + 5 * HOUR
    bench.history.set_anchor("box", "rental_end", NOW + 2 * HOUR, "manual")
    assert bench.clock("p-end").fires_at == NOW + 2 * HOUR


def test_the_balance_is_a_rate_and_an_empty_one_counts_from_first_sight(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with SqliteHistory(path) as history:
        bench = Bench(history)
        bench.account(10, 2)
        assert bench.clock("p-balance").bound == "rate"
        assert bench.clock("p-balance").fires_at == NOW + 5 * HOUR
        bench.account(-1)
        assert bench.clock("p-arrears").latest_fires_at == NOW + 15 * DAY
    with SqliteHistory(path) as history:
        later = Bench(history, now=NOW + 3 * DAY)
        later.account(-4)
        assert later.clock("p-arrears").latest_fires_at == NOW + 15 * DAY
        assert later.clock("p-arrears").fires_at is None
        later.account(20)
        assert later.clock("p-arrears").state == "armed"  # what is spent is not known
        later.account(-1)
        assert later.clock("p-arrears").latest_fires_at == NOW + 18 * DAY


def test_a_date_that_no_clock_of_the_platform_takes_is_a_clock_of_its_own() -> None:
    bench = Bench(profile=None)
    bench.history.set_anchor("box", "deadline:date", NOW + HOUR / 2, "manual")
    clock = bench.clock("date")
    assert (clock.fires_at, clock.note) == (NOW + HOUR / 2, "a date that you set")
    assert clock.stage == "1h"


# --- each threshold tells once -----------------------------------------------------------------


def test_every_threshold_makes_one_finding_and_only_one() -> None:
    bench = Bench()
    bench.api("stopped", stopped_at=NOW)
    told: list[tuple[str, str | None, Severity]] = []
    last = range(int(15 * DAY - 2 * HOUR), int(15 * DAY + HOUR), 120)
    for step in (*range(0, int(15 * DAY - 2 * HOUR), 7200), *last):
        bench.now = NOW + step
        for found in bench.findings():
            if (found.part or "").startswith("p-release@") and found.id not in [
                i for i, _, _ in told
            ]:
                told.append((found.id, found.part, found.severity))
    assert [(part, severity) for _, part, severity in told] == [
        ("p-release@25%", Severity.SERIOUS),
        ("p-release@10%", Severity.SERIOUS),
        ("p-release@1h", Severity.FATAL),
        ("p-release@5m", Severity.FATAL),
        ("p-release@fired", Severity.SERIOUS),
    ]


def test_the_words_of_a_finding_stand_still_between_two_thresholds() -> None:
    bench = Bench()
    bench.api("stopped", stopped_at=NOW - 12 * DAY)
    first = {found.evidence for found in bench.findings() if "release" in (found.part or "")}
    bench.now += 6 * HOUR
    assert first == {
        found.evidence for found in bench.findings() if "release" in (found.part or "")
    }
    assert first == {"less than 25% of its 15 days left: loses data disk"}
    assert {found.remedy for found in bench.findings() if "release" in (found.part or "")} == {
        "Pull."
    }


def test_a_rate_that_wavers_around_a_threshold_tells_once() -> None:
    bench = Bench()
    bench.link()
    stages = []
    for at, used in (
        (0, 0.0),
        (3570, 33.0),
        (7140, 66.0),
        (7200, 66.8),
        (7260, 66.9),
        (7320, 66.5),
        (9000, 60.0),
    ):
        bench.now = NOW + at
        bench.sample("mounts", (mount(used),))
        if at > HOUR:
            stages.append(bench.clock("disk-full:/data").stage)
    # 61, 60, 60 and 61 minutes left; then plainly more.
    assert stages == ["10%", "1h", "1h", "1h", "10%"]


# --- readings -----------------------------------------------------------------------------------


def mount(used: float, total: float = 100.0, inodes: int = 10) -> Mount:
    return Mount("/data", "ext4", int(used * GIB), int(total * GIB), inodes, 1000)


def test_a_disk_that_fills_is_told_with_its_hours() -> None:
    bench = Bench()
    bench.link()
    for used in (50.0, 55.0, 60.0):
        bench.sample("mounts", (mount(used),))
        bench.now += HOUR / 4
    bench.now -= HOUR / 4
    clock = bench.clock("disk-full:/data")
    assert (clock.bound, clock.kind) == ("rate", "disk_soon")
    assert clock.fires_at == pytest.approx(bench.now + 2 * HOUR)
    (found,) = bench.findings("disk_soon")
    assert found.part == "disk-full:/data@10%"
    assert found.evidence.startswith("less than 9 h 36 min left at the present rate: /data is full")
    assert found.severity is Severity.WARN
    bench.now += 1.5 * HOUR  # nothing more was read: the deadline stands where it stood
    assert not bench.has("disk-full:/data")  # until the rate is too old to say anything


def test_a_disk_is_full_since_it_was_first_seen_so() -> None:
    bench = Bench()
    bench.link()
    fired = []
    for used in (50.0, 100.0, 100.0, 100.0):
        bench.sample("mounts", (mount(used),))
        if used == 100.0:
            fired.append(bench.clock("disk-full:/data").fires_at)
        bench.now += HOUR / 2
    assert fired == [NOW + HOUR / 2] * 3


def test_a_burst_says_nothing_of_tomorrow() -> None:
    bench = Bench()
    bench.link()
    for used in (50.0, 50.4):
        bench.sample("mounts", (mount(used),))
        bench.now += 120
    bench.now -= 120
    assert not bench.has("disk-full:/data")  # two minutes of a checkpoint being written


def test_inodes_fill_on_their_own() -> None:
    bench = Bench()
    bench.link()
    for inodes in (500, 550, 600):
        bench.sample("mounts", (mount(50, inodes=inodes),))
        bench.now += HOUR / 4
    bench.now -= HOUR / 4
    assert bench.clock("inodes-full:/data").fires_at == pytest.approx(bench.now + 2 * HOUR)
    assert not bench.has("disk-full:/data")


@pytest.mark.parametrize(
    ("done", "last", "ticks"), [(True, 600, False), (True, 605, True), (False, 600, True)]
)
def test_where_the_queue_has_ended_and_nothing_grows_no_disk_fills(
    done: bool, last: int, ticks: bool
) -> None:
    bench = Bench()
    bench.link()
    for inodes in (500, 540, 570, 600, last):
        bench.sample("mounts", (mount(50, inodes=inodes),))
        bench.now += HOUR / 2
    bench.now -= HOUR / 2
    kept = bench.store._states[BOX.name]
    kept.queue_history = replace(
        kept.queue_history, done=QueueDone(bench.now, "box", 1, None) if done else None
    )
    assert bench.has("inodes-full:/data") is ticks


@pytest.mark.parametrize(
    ("points", "leaks"),
    [
        ((10, 14, 18, 22, 26), True),
        ((10, 26, 26, 26, 26), False),  # it was loaded, and then it stayed
        ((10, 14, 18, 22, 22), False),
        ((*[10] * 16, *[18] * 2), False),  # another run began
        ((*[10] * 14, *[18] * 4), False),
    ],
)
def test_memory_that_goes_on_rising_is_told_one_that_was_loaded_is_not(
    points: tuple[int, ...], leaks: bool
) -> None:
    bench = Bench()
    bench.link()
    for used in points:
        bench.now += 150
        # Page cache fills whatever limit there is, and kills nobody.
        memory = Memory("cgroup2", (used + 20) * GIB, 50 * GIB, cache=20 * GIB)
        bench.sample("memory", memory)
    assert bench.has("memory-full") is leaks
    if leaks:
        assert bench.clock("memory-full").fires_at == pytest.approx(bench.now + 24 / 4 * 150)
        assert [found.kind for found in bench.findings("mem_pressure")] == ["mem_pressure"]


# --- jobs ---------------------------------------------------------------------------------------


def job(name: str, **more: float) -> Job:
    row = Job(name, name, CellState.RUNNING, "R", started_at=NOW - 20 * HOUR)
    return replace(row, **more)  # type: ignore[arg-type]


def test_every_job_has_its_own_limit() -> None:
    bench = Bench()
    bench.link()
    bench.sample("host", Host(NOW + 0.5, 1.0, "b"))
    jobs = (job("long", ends_by=NOW + 30 * HOUR), job("short", ends_by=NOW + HOUR / 2))
    bench.sample("slurm", JobTable("Slurm", jobs))
    assert bench.clock("job-time-limit:long").stage is None
    (found,) = bench.findings("time_limit")
    assert found.part == "job-time-limit:short@1h"
    assert "short's work since its last checkpoint" in found.evidence
    assert found.severity is Severity.SERIOUS


def test_a_job_that_is_over_has_no_limit_but_its_logs_have() -> None:
    bench = Bench()
    bench.link()
    done = replace(
        job("done", ends_by=NOW + HOUR, removed_at=NOW + HOUR / 2, finished_at=NOW - HOUR / 2),
        state=CellState.FINISHED,
    )
    bench.sample("kubernetes", JobTable("Kubernetes", (done,)))
    assert not bench.has("job-time-limit:done")
    assert bench.clock("job-removal:done").loses == "done, its pods and their logs"


def test_no_end_of_jobs_floods_the_clocks() -> None:
    bench = Bench()
    bench.link()
    jobs = tuple(job(f"j{n}", ends_by=NOW + HOUR + n) for n in range(5000))
    bench.sample("slurm", JobTable("Slurm", jobs))
    own = [clock for clock in bench.view().clocks if clock.id == "job-time-limit"]
    assert [clock.subject for clock in own] == [f"j{n}" for n in range(20)]


def test_a_fact_is_as_old_as_it_is_today_not_at_the_end_of_the_job() -> None:
    limit = fact("p-walltime", "running", "reading", None, verified="2026-05")
    bench = Bench(profile=replace(PROFILE, kind="slurm", clocks=(limit,)))
    bench.link()
    bench.sample("host", Host(NOW, 5000.0, "b"))
    job = Job("17", "train", CellState.RUNNING, "RUNNING", started_at=NOW, ends_by=NOW + 40 * DAY)
    bench.sample("slurm", JobTable("slurm", (job,)))
    assert not bench.clock("p-walltime:train").stale_fact


# --- checkpoints --------------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "limit"), [("plain", 2 * 4447.0), ("spot", 2 * 907.7)])
def test_a_checkpoint_is_too_old_at_twice_the_young_daly_interval(
    variant: str, limit: float
) -> None:
    bench = Bench(variant=variant)
    bench.link()
    saved = FileStat("/data/out/a/best.pth", 7, 8_000_000_000, NOW)

    def look() -> DangerClock:
        bench.sample("host", Host(bench.now + 0.5, 1e5, "b"))
        bench.sample("files", FileTable({saved.path: saved}))
        trainer = Process(9, 1, "python", ("python", "train.py"), "R", bench.now - NOW + 60)
        bench.sample("processes", (Process(1, 0, "init", ("init",), "S", 1e5), trainer))
        return bench.clock("checkpoint-age")

    bench.now = NOW + limit - 60
    assert (look().state, bench.findings("clock")) == ("armed", [])
    assert "38 s (7.5 GiB at 200.0 MiB/s)" in (look().why or "")
    bench.now = NOW + limit + 60
    clock = look()
    assert (clock.state, clock.severity) == ("fired", "medium")
    (found,) = bench.findings("clock")
    assert "the newest checkpoint is" in found.evidence
    assert found.severity is Severity.WARN
