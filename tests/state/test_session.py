"""Past events stay on the time line for the session: link cuts, finished cells, replaced logs, ended findings."""

from __future__ import annotations

from datetime import UTC

from gpu_tui.core.events import LinkChanged, LogArrived, LogOpened, Sampled
from gpu_tui.core.fleet import Fleet, Instance, LinkState, QueueFiles, SshAccess
from gpu_tui.core.logs import LogSource
from gpu_tui.core.metrics import MOUNTS
from gpu_tui.core.readings import Mount
from gpu_tui.core.sample import Reading
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.state.session import KEPT, MISSED
from gpu_tui.state.store import Store
from gpu_tui.state.views import FleetView
from gpu_tui.ui.text.timeline import entries, event_row

NOW = 1_795_000_000.0
QUEUE = LogSource("/r/q.log")
BOXES = tuple(
    Instance(name, SshAccess(name), queue=QueueFiles("/r/q.txt", "/r/q.log")) for name in "ab"
)


class Watch:
    def __init__(self) -> None:
        self.store, self.at = Store(Fleet("s", BOXES), {}), NOW
        self.reader = LogReader()
        self.link("live")

    def link(self, state: str, error: str | None = None) -> None:
        link = LinkState(state, since=self.at, error=error)
        self.store.apply(LinkChanged("a", self.at, link))

    def disk(self, used: int) -> None:
        mount = Mount("/", "ext4", used, 100, 1, 100)
        self.store.apply(Sampled("a", self.at, MOUNTS.name, Reading((mount,), self.at, 1e6)))

    def log(self, text: str, *, resumed: bool = True, backfill: bool = False) -> None:
        if not resumed:
            self.store.apply(LogOpened("a", self.at, QUEUE, 7, 0, 0, resumed=False))
        lines = self.reader.feed(text.encode())
        self.store.apply(LogArrived("a", self.at, QUEUE, lines, backfill))

    def look(self, seconds: float = 0.0) -> FleetView:
        self.at += seconds
        return self.store.view(self.at)

    def past(self, seconds: float = 0.0) -> list[tuple[str, str | None, float]]:
        return [(one.finding.kind, one.finding.cell, one.at) for one in self.look(seconds).past]


def test_a_link_cut_stays_with_its_length() -> None:
    watch = Watch()
    watch.at += 100
    watch.link("timeout", "no answer in 15 s")
    watch.look(30)
    watch.link("connecting")
    watch.look(700)
    assert watch.past() == []  # it is not over: a finding says that
    watch.link("live")
    (one,) = watch.look(1).past
    assert (one.finding.kind, one.finding.first_seen, one.finding.last_seen) == (
        "link_cut", NOW + 100, NOW + 830,
    )  # fmt: skip
    assert one.finding.evidence == "no connection for 12 min: no answer in 15 s"
    assert watch.past(MISSED + 1)[0][0] == "link_cut"


def test_a_first_connection_is_no_cut() -> None:
    watch = Watch()
    other = Store(Fleet("s", BOXES), {})
    for at, state in (
        (0, "connecting"),
        (1, "timeout"),
        (2, "connecting"),
        (3, "live"),
        (4, "off"),
    ):
        other.apply(LinkChanged("b", NOW + at, LinkState(state, since=NOW + at)))
    assert (other.view(NOW + 5).past, watch.past()) == ((), [])


def test_an_ended_warning_is_past_until_it_comes_back() -> None:
    watch = Watch()
    watch.disk(99)
    assert watch.past(100) == []
    watch.disk(10)
    gone = watch.at + 2
    assert watch.past(2) == []  # for a moment: a reading may be missing
    (one,) = watch.look(MISSED).past
    assert (one.finding.kind, one.at, one.ended) == ("disk_full", gone, True)
    row = event_row(one.finding, watch.at, 120, UTC, past=one).plain
    assert "✓ over since 11:08" in row
    watch.disk(99)
    assert watch.past() == []
    watch.disk(10)
    watch.look(1)
    assert len(watch.look(MISSED).past) == 1


def test_findings_of_an_unreachable_box_have_not_ended() -> None:
    watch = Watch()
    watch.disk(99)
    watch.look(1)
    watch.link("timeout")
    watch.look(1)
    kinds = [kind for kind, *_ in watch.past(10 * MISSED)]
    assert kinds == []
    watch.link("live")
    watch.disk(99)
    assert [kind for kind, *_ in watch.past(1)] == ["link_cut"]


def test_a_cell_that_finished_while_we_looked_stays() -> None:
    watch = Watch()
    head = "=== Queue q.txt: 2 ablations, starting from 1 on lab ===\n" + "=" * 64 + "\n"
    watch.log(
        head + "[2026-11-18 10:00:00] [1/3] STARTING old (t, 2ep)\n"
        "[2026-11-18 10:30:00] [1/3] FINISHED old (exit=0)\n"
        "[2026-11-18 10:30:01] [2/3] STARTING new (t, 2ep)\n",
        resumed=False, backfill=True,
    )  # fmt: skip
    assert watch.past(1) == []
    watch.log("[2026-11-18 10:40:00] [2/3] FINISHED new (exit=0)\n")  # more of what was there
    assert watch.past(1) == []
    watch.log("[2026-11-18 10:40:00] [2/3] STARTING new (t, 2ep)\n")
    assert watch.past(1) == []
    watch.log("[2026-11-18 11:06:39] [2/3] FINISHED new (exit=0)\n")
    ((kind, cell, at),) = watch.past(5)
    assert (kind, cell) == ("cell_finished", "new")
    assert watch.past(5) == [(kind, cell, at)]


def test_a_replaced_log_is_on_the_time_line() -> None:
    watch = Watch()
    watch.log("one\n", resumed=False, backfill=True)
    assert watch.past() == []
    watch.log("two\n", resumed=False, backfill=True)
    (one,) = watch.look().past
    assert (one.finding.kind, "/r/q.log was truncated or replaced" in one.finding.evidence) == (
        "log_replaced", True,
    )  # fmt: skip


def test_an_acknowledged_finding_stays_dimmed_until_it_ends() -> None:
    watch = Watch()
    watch.disk(99)
    (found,) = (one for one in watch.look(60).findings if one.kind == "disk_full")
    watch.store.acknowledge(found.id)
    view = watch.look(30)
    assert found.id not in {one.id for one in view.findings}
    (one,) = view.past
    assert (one.acknowledged, one.at, one.finding.kind) == (True, NOW + 60, "disk_full")
    ((key, _, past),) = (row for row in entries(view) if row[1].kind == "disk_full")
    assert (key, past) == (found.id, one)
    assert "✓ acknowledged 11:07" in event_row(found, watch.at, 120, UTC, past=one).plain
    watch.disk(1)
    watch.look(1)
    (one,) = watch.look(MISSED).past
    assert (one.ended, one.acknowledged) == (True, False)
    watch.disk(99)  # it happens again
    assert "disk_full" in {one.kind for one in watch.look(1).findings}


def test_the_number_of_past_events_is_bounded() -> None:
    watch = Watch()
    for _ in range(KEPT + 50):
        watch.link("timeout")
        watch.at += 1
        watch.link("live")
    past = watch.look().past
    assert len(past) == KEPT
    assert past[0].at > past[-1].at
    assert len({row[0] for row in entries(watch.look())}) == len(entries(watch.look()))
