"""Times of what a first look finds: never that of the look, but a stamp, a file's date, an earlier look, or a bound."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest

from gpu_tui.core import metrics
from gpu_tui.core.events import LinkChanged, LogArrived, LogOpened, Sampled
from gpu_tui.core.findings import Finding
from gpu_tui.core.fleet import Fleet, Instance, LinkState, QueueFiles, SshAccess
from gpu_tui.core.logs import LogSource
from gpu_tui.core.readings import FileStat, FileTable, Host, Mount
from gpu_tui.core.sample import Reading
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.state.book import FIRST_SECONDS
from gpu_tui.state.contract import finding_json
from gpu_tui.state.history import History, NoHistory, SqliteHistory
from gpu_tui.state.seen_before import KEPT, NAME, SETTLED, WEEK
from gpu_tui.state.store import Store
from gpu_tui.ui.text.findings import age_of, finding_text

NOW = 1_795_000_000.25  # 18 Nov 2026, 11:06:40 UTC; with a fraction, as `date` may have none
NIGHT = NOW - 6 * 3_600.0
OOM = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
TRACE = f'Traceback (most recent call last):\n  File "t.py", line 3, in <module>\n{OOM}\n'
RAN = "epoch 1/20 loss 0.5\nepoch 2/20 loss 0.4\n"
LOG = LogSource("/r/x.log", "x")
QUEUE = LogSource("/r/q.log")
BOX = Instance("a", SshAccess("a.example"), logs="/r/{cell}.log")
QUEUED = Instance(
    "a", SshAccess("a.example"), logs="/r/{cell}.log", queue=QueueFiles("/r/q.txt", "/r/q.log")
)


class Start:
    """One start of gpu-tui, with a history that outlives it."""

    def __init__(
        self, history: History | None = None, at: float = NOW, box: Instance = BOX
    ) -> None:
        self.at = at
        self.store = Store(Fleet("s", (box,)), {}, history or NoHistory())
        self.store.apply(LinkChanged("a", at, LinkState("live", since=at)))
        self.reader = LogReader()

    def host(self, skew: float = 0.0) -> None:
        self.sample("host", Host(self.at + skew, 9e6, "boot", 0))

    def sample(self, metric: str, value: object) -> None:
        reading: Reading[object] = Reading(value, self.at, 1e6)
        self.store.apply(Sampled("a", self.at, metric, reading))

    def files(self, mtime: float, path: str = LOG.path, size: int = 10_000) -> None:
        self.sample(metrics.FILES.name, FileTable({path: FileStat(path, 7, size, mtime)}))

    def full(self) -> None:
        mount = Mount("/", "ext4", 99, 100, 1, 100)
        self.sample(metrics.MOUNTS.name, (mount,))

    def log(
        self, text: str, source: LogSource = LOG, *, backfill: bool = True, opened: bool = True
    ) -> None:
        if backfill and opened:
            self.store.apply(LogOpened("a", self.at, source, 7, 0, 0, resumed=False))
        lines = self.reader.feed(text.encode())
        upto = len(text.encode())
        self.store.apply(LogArrived("a", self.at, source, lines, backfill, upto))

    def found(self, kind: str) -> Finding:
        (one,) = (one for one in self.store.view(self.at).findings if one.kind == kind)
        return one

    def kinds(self) -> list[str]:
        return [one.kind for one in self.store.view(self.at).findings]

    def end(self) -> None:
        self.store.keep(self.at)


def seen(one: Finding) -> str:
    return next(
        line for line in finding_text(one, UTC).splitlines() if line.startswith("seen")
    ).removeprefix("seen: ")


def test_a_death_of_last_night_is_as_old_as_its_log() -> None:
    start = Start()
    start.log(RAN + TRACE)
    one = start.found("gpu_oom")
    assert (one.last_basis, age_of(one, NOW), seen(one)) == (
        "first-look", "≥0s", "before 18 Nov 11:06:40",
    )  # fmt: skip
    start.host()
    start.at += 5
    start.files(NIGHT)
    one = start.found("gpu_oom")
    assert (one.first_seen, one.first_basis, one.last_seen, one.last_basis) == (
        NIGHT, "log-date", NIGHT, "log-date",
    )  # fmt: skip
    assert (age_of(one, start.at), seen(one)) == ("≥6h", "≤ 18 Nov 05:06:40")
    json = finding_json(one)
    assert (json["first_seen"], json["first_seen_basis"], json["last_seen_basis"]) == (
        "2026-11-18T05:06:40Z", "log-date", "log-date",
    )  # fmt: skip


@pytest.mark.parametrize("skew", [-7_200.0, 3_600.0 * 8])
def test_the_date_of_a_log_is_brought_to_our_clock(skew: float) -> None:
    start = Start()
    start.files(NIGHT + skew)
    start.log(RAN + TRACE)
    assert start.found("gpu_oom").last_basis == "first-look"  # the box's clock is not known yet
    start.host(skew)
    one = start.found("gpu_oom")
    assert (one.last_basis, abs(one.last_seen - NIGHT) < 1) == ("log-date", True)


def test_a_date_from_before_the_log_was_read_counts_only_where_all_of_it_was_there() -> None:
    for size, basis in ((10_000, "log-date"), (40, "first-look")):
        start = Start()
        start.host()
        start.files(NIGHT, size=size)
        start.at += 30
        start.log(RAN + TRACE)
        assert start.found("gpu_oom").last_basis == basis


@pytest.mark.parametrize("mtime", [0.0, 315_532_800.0])
def test_a_file_without_a_date_gives_no_time(mtime: float) -> None:
    start = Start()
    start.host()
    start.log(RAN + TRACE)
    start.files(mtime)
    assert start.found("gpu_oom").last_basis == "first-look"


def test_no_text_of_a_log_is_kept() -> None:
    history = NoHistory()
    start = Start(history)
    start.log(RAN + TRACE + "epoch 3/20 loss 0.3\nepoch 9/20 loss 0.3\n")
    start.store.view(start.at)
    start.end()
    kept = history.counter("a", NAME) or ""
    assert ("first-look" in kept, "CUDA" in kept, "memory" in kept) == (True, False, False)


def test_a_line_that_came_while_we_looked_has_its_time() -> None:
    start = Start()
    start.log(RAN)
    start.host()
    start.at += 100
    start.log(TRACE, backfill=False)
    start.at += 50
    start.files(start.at - 50)
    one = start.found("gpu_oom")
    assert (one.first_seen, one.first_basis, one.last_basis) == (NOW + 100, "seen", "seen")
    assert (age_of(one, start.at), seen(one)) == ("50s", "18 Nov 11:08:20")


def test_later_lines_of_the_same_log_do_not_make_its_backlog_younger() -> None:
    start = Start()
    start.host()
    start.log(RAN + TRACE)
    start.files(NIGHT)
    start.at += 600
    start.log("step 9 loss 0.1\n", backfill=False)
    start.files(start.at)
    assert start.found("gpu_oom").first_seen == NIGHT


def test_lines_logged_during_a_cut_are_bounded_by_the_date_after_it() -> None:
    start = Start()
    start.log(RAN)
    start.host()
    start.files(NOW, size=len(RAN))
    start.at += 3_600
    start.log(RAN + TRACE, opened=False)
    start.at += 5
    assert start.found("gpu_oom").last_basis == "first-look"
    start.files(NOW + 1_800)
    one = start.found("gpu_oom")
    assert (one.last_seen, one.last_basis) == (NOW + 1_800, "log-date")


def test_the_queues_own_stamp_says_when_a_cell_died() -> None:
    start = Start(box=QUEUED)
    start.host()
    start.log(
        "=== Queue q.txt: 2 ablations, starting from 1 on lab ===\n" + "=" * 64 + "\n"
        "[2026-11-18 05:00:00] [1/2] STARTING x (t, 20ep)\n"
        "[2026-11-18 05:03:20] [1/2] FINISHED x (exit=1)\n"
        "[2026-11-18 05:03:21] [2/2] STARTING y (t, 20ep)\n",
        QUEUE,
    )
    crashed = start.found("crashed")
    assert (finding_json(crashed)["first_seen"], crashed.first_basis) == (
        "2026-11-18T05:03:20Z", "queue-log",
    )  # fmt: skip
    assert (age_of(crashed, NOW), seen(crashed)) == ("6h", "since 18 Nov 05:03:20")
    start.log(RAN + TRACE)
    one = start.found("gpu_oom")
    assert (finding_json(one)["last_seen"], one.last_basis) == ("2026-11-18T05:03:20Z", "queue-log")
    start.files(NIGHT)  # 05:06:40: something wrote after it
    assert start.found("gpu_oom").last_basis == "queue-log"


@pytest.mark.parametrize("drift", [-2.0, 2.0])
def test_the_date_of_one_log_is_one_time_at_every_look(drift: float, tmp_path: Path) -> None:
    """The offset between two clocks is measured over a link and differs each time."""
    times = []
    for at, skew in ((NOW - 600, 0.0), (NOW, drift)):
        with SqliteHistory(tmp_path / "h") as history:
            start = Start(history, at)
            start.log(RAN + TRACE)
            start.host(skew)
            start.files(NIGHT)
            one = start.found("gpu_oom")
            times.append((one.first_seen, one.first_basis, one.last_seen, one.last_basis))
            start.end()
    assert times[0] == times[1]
    assert times[0][:2] == (NIGHT, "log-date")


@pytest.mark.parametrize("live", [True, False])
def test_an_age_does_not_begin_again_with_a_restart(live: bool, tmp_path: Path) -> None:
    with SqliteHistory(tmp_path / "h") as history:
        night = Start(history, NIGHT)
        night.host()
        night.log(RAN)
        night.log(TRACE, backfill=not live)
        night.files(NIGHT - 3)
        first = night.found("gpu_oom")
        night.full()
        night.store.view(night.at)
        night.end()
    with SqliteHistory(tmp_path / "h") as history:
        morning = Start(history)
        morning.log(RAN + TRACE)
        morning.host()
        morning.files(NIGHT - 3)
        morning.full()
        one = morning.found("gpu_oom")
        assert (one.first_seen, one.first_basis, one.last_seen, one.last_basis) == (
            first.first_seen, first.first_basis, first.last_seen, first.last_basis,
        )  # fmt: skip
        assert age_of(one, NOW) == ("6h" if live else "≥6h")
        full = morning.found("disk_full")
        assert (full.first_seen, full.first_basis) == (NIGHT, "first-look")


def test_the_same_failure_of_a_later_attempt_has_its_own_last_time(tmp_path: Path) -> None:
    """The same words in a log written long after they were first seen: the date of the log bounds the new failure."""
    history = NoHistory()
    night = Start(history, NIGHT)
    night.log(RAN)
    night.log(TRACE, backfill=False)
    night.store.view(night.at)
    night.end()
    morning = Start(history)
    morning.host()
    morning.log(RAN + TRACE)
    morning.files(NOW - 300)
    one = morning.found("gpu_oom")
    assert (one.last_seen, one.last_basis, age_of(one, NOW)) == (NOW - 300, "log-date", "≥5m")


def test_another_failure_of_the_same_kind_is_not_the_one_of_last_night() -> None:
    history = NoHistory()
    night = Start(history, NIGHT)
    night.log(TRACE, backfill=False)
    night.store.view(night.at)
    night.end()
    morning = Start(history)
    morning.host()
    morning.log(RAN + TRACE.replace("2.00 GiB", "512 MiB"))
    morning.files(NOW - 300)
    assert morning.found("gpu_oom").first_seen == NOW - 300


@pytest.mark.parametrize(("at", "looked"), [(NOW, True), (NIGHT + WEEK + 1, False)])
def test_a_condition_that_ended_meanwhile_or_is_long_ago_is_new(at: float, looked: bool) -> None:
    history = NoHistory()
    first = Start(history, NIGHT)
    first.full()
    first.store.view(first.at)
    first.end()
    if looked:  # and the disk was not full
        second = Start(history, NIGHT + 60)
        for _ in range(2):
            second.store.view(second.at)
            second.at += SETTLED
        second.end()
    third = Start(history, at)
    third.full()
    assert third.found("disk_full").first_seen == at


@pytest.mark.parametrize(("away", "since"), [(30.0, NIGHT), (3_600.0, NIGHT + 3_600)])
def test_a_short_cut_does_not_make_a_condition_younger(away: float, since: float) -> None:
    """After a long one the condition may have been absent meanwhile."""
    start = Start(at=NIGHT)
    start.full()
    start.store.view(start.at)
    start.store.apply(LinkChanged("a", start.at, LinkState("timeout", since=start.at)))
    start.at += away / 2
    start.store.view(start.at)
    start.at += away / 2
    start.store.apply(LinkChanged("a", start.at, LinkState("live", since=start.at)))
    start.full()
    one = start.found("disk_full")
    assert (one.first_seen, one.first_basis) == (since, "first-look")


def test_a_condition_that_begins_while_we_look_has_its_exact_time() -> None:
    start = Start()
    start.store.view(start.at)
    start.at += FIRST_SECONDS + 1
    start.full()
    one = start.found("disk_full")
    start.at += 20
    one = start.found("disk_full")
    assert (one.first_seen, one.first_basis, age_of(one, start.at)) == (
        NOW + FIRST_SECONDS + 1, "seen", "20s",
    )  # fmt: skip


@pytest.mark.parametrize(
    "kept",
    ["", "nonsense", "[" * 5_000, '{"x": 1}', "[]", '{"x": ["", "a", 1, 2, 3, 4]}',
     '{"x": ["", NaN, "seen", 1.0, "seen", 2.0]}', '{"x": ["", 1.0, "made up", 1.0, "seen", 2.0]}'],
)  # fmt: skip
def test_an_invalid_history_is_ignored(kept: str) -> None:
    history = NoHistory()
    history.set_counter("a", NAME, kept, NIGHT)
    start = Start(history)
    start.full()
    assert start.found("disk_full").first_seen == NOW
    start.end()


def test_records_are_bounded_and_two_programs_keep_each_others() -> None:
    history = NoHistory()
    one, other = Start(history), Start(history)
    for start, names in ((one, range(400)), (other, range(400, 420))):
        for n in names:
            start.log(TRACE, LogSource(f"/r/{n}.log", str(n)))
        start.store.view(start.at)
    one.end()
    other.end()
    one.end()
    kept = (history.counter("a", NAME) or "").count('"first-look"') // 2
    assert KEPT - 20 <= kept <= KEPT
