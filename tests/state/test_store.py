"""The store: events in, the right view out."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from gpu_tui.core.events import LinkChanged, LogArrived, LogOpened, ProviderRead, Sampled
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import (
    Fleet,
    Instance,
    LinkState,
    Money,
    ProviderState,
    QueueFiles,
    Results,
    SshAccess,
)
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.logs import LogLine, LogSource, Mark, Progress
from gpu_tui.core.profile import Sign
from gpu_tui.core.queue_history import CellFinished, CellStarted, QueueDone, QueueEvent, QueueOpened
from gpu_tui.core.readings import (
    CpuCounters,
    FileStat,
    FileTable,
    Gpu,
    GpuTable,
    Host,
    Memory,
    Mount,
    Process,
)
from gpu_tui.core.sample import Failure, FailureKind, Reading
from gpu_tui.core.sweep import CELLS_KEPT, CellState, Roster, RosterCell
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.state.cost import STORAGE
from gpu_tui.state.followed import LOGS_KEPT
from gpu_tui.state.history import NoHistory, SqliteHistory
from gpu_tui.state.store import Store
from gpu_tui.state.views import InstanceView, cpu_rates

T0 = 1_795_000_000.0
QUEUE = LogSource("~/q.log")
CELL = LogSource("~/logs/a.log", "a")
OK = Mark("benign", Severity.NONE, False)
ROSTER = Roster((RosterCell(1, "a", "a.yaml", "t", 4), RosterCell(2, "b", "b.yaml", "t", 4)))
RUNNER = Process(7, 1, "bash", ("bash", "run_queue.sh", "/root/q.txt"), "S")

BOX = Instance(
    "box",
    SshAccess("box"),
    price=Money(2.0, "USD"),
    queue=QueueFiles("~/q.txt", "~/q.log"),
    results=Results("~/out", "out"),
)


class Bench:
    """A store with one box, and short words for what happens to it."""

    def __init__(self, instance: Instance = BOX, history: NoHistory | None = None) -> None:
        self.history = history or NoHistory()
        self.store = Store(Fleet("sweep", (instance,)), {}, self.history)
        self.at = T0

    def link(self, state: str = "live", error: str | None = None) -> None:
        link = LinkState(state, since=self.at, error=error)
        self.store.apply(LinkChanged("box", self.at, link))

    def sample(self, metric: str, value: object, period: float = 1.0) -> None:
        self.store.apply(Sampled("box", self.at, metric, Reading(value, self.at, period)))

    def alive(self, *processes: Process) -> None:
        self.sample("processes", processes)
        self.sample("host", Host(self.at, 5000.0, "boot-1"))

    def lines(self, source: LogSource, *lines: LogLine, backfill: bool = False) -> None:
        self.store.apply(LogArrived("box", self.at, source, lines, backfill))

    def queue(self, *events: QueueEvent, backfill: bool = False) -> None:
        self.lines(QUEUE, *(LogLine("q", OK, queue=e) for e in events), backfill=backfill)

    def view(self) -> InstanceView:
        return self.store.view(self.at)["box"]

    def kinds(self) -> list[str]:
        return [finding.kind for finding in self.view().findings]


def alarm(label: str, text: str, severity: Severity = Severity.FATAL) -> LogLine:
    return LogLine(text, Mark(label, severity, True))


def running_bench() -> Bench:
    bench = Bench()
    bench.link()
    bench.alive(RUNNER)
    bench.sample("roster", ROSTER)
    bench.queue(
        QueueOpened("q.txt", 2, 1, "box"), CellStarted(T0 - 60, 1, 2, "a", "t", 4), backfill=True
    )
    return bench


def test_an_unread_box_is_unknown_not_zero() -> None:
    view = Bench().view()
    assert view.verdict == "cannot-tell"
    assert view.uptime is None
    assert view.last_contact is None
    assert view.findings == ()


def test_the_cells_that_the_fleet_file_names_are_held_against_the_results_on_the_box() -> None:
    bench = Bench(replace(BOX, results=Results("~/out", "out", cells=("a", "b"))))
    bench.link()
    bench.alive()
    assert bench.view().delivered == {"a": None, "b": None}
    there = {path: FileStat(path, 1, 9, T0) for path in ("~/out/a/best.pth",)}
    bench.sample("files", FileTable(there), period=10.0)
    assert bench.view().delivered == {"a": True, "b": False}
    bench.at += 120
    assert bench.view().delivered == {"a": None, "b": None}
    assert Bench().view().delivered == {}


def test_a_running_cell_with_progress() -> None:
    bench = running_bench()
    bench.lines(CELL, LogLine("e", OK, Progress(epoch=2, epochs=4, loss=0.5)))
    view = bench.view()
    assert view.verdict == "running"
    cell = view.queue.running
    assert cell is not None
    assert (cell.name, cell.epoch, cell.loss, cell.state) == ("a", 2, 0.5, "running")
    assert bench.store.drain() == {"box"}
    assert bench.store.drain() == frozenset()


def test_a_nan_loss_is_one_finding_with_a_count() -> None:
    bench = running_bench()
    for _ in range(3):
        line = LogLine(
            "loss: nan", Mark("nan", Severity.SERIOUS, True), Progress(epoch=2, loss=math.nan)
        )
        bench.lines(CELL, line)
    (finding,) = bench.view().findings
    assert (finding.kind, finding.cell, finding.count) == ("nan", "a", 3)
    assert finding.source == "log:~/logs/a.log:1"


def test_the_same_line_in_the_queue_log_and_the_cell_log_counts_once() -> None:
    bench = running_bench()
    oom = alarm("gpu_oom", "CUDA out of memory")
    bench.lines(QUEUE, oom)
    bench.lines(CELL, oom)
    (finding,) = bench.view().findings
    assert (finding.kind, finding.count) == ("gpu_oom", 1)


def test_a_traceback_and_its_last_line_are_one_finding() -> None:
    bench = running_bench()
    bench.lines(
        CELL, alarm("traceback", "Traceback (most recent call last):"), alarm("gpu_oom", "OOM")
    )
    assert bench.kinds() == ["gpu_oom"]


def test_a_new_attempt_forgets_what_the_last_one_logged() -> None:
    bench = running_bench()
    bench.lines(CELL, alarm("nan", "loss: nan", Severity.SERIOUS))
    assert bench.kinds() == ["nan"]
    bench.queue(
        CellFinished(T0, 1, 2, "a", 1), CellStarted(T0 + 1, 1, 2, "a", "t", 4), backfill=False
    )
    assert bench.kinds() == []


def test_an_open_line_is_replaced_and_alarms_once() -> None:
    bench = running_bench()
    half = LogLine("loss=nan", Mark("nan", Severity.SERIOUS, True), open=True)
    for _ in range(3):
        bench.lines(CELL, half)
    (finding,) = bench.view().findings
    assert (finding.kind, finding.count) == ("nan", 1)
    bench.lines(CELL, replace(half, text="loss=nan 100%", open=False))
    (finding,) = bench.view().findings
    assert finding.count == 1
    bench.lines(CELL, half)
    assert bench.view().findings[0].count == 2
    buffer = bench.store.log("box", CELL)
    assert buffer is not None
    assert [line.text for line in buffer.slice(0, 9)] == ["loss=nan 100%", "loss=nan"]


def test_an_oom_kill_is_a_delta_to_the_first_look() -> None:
    bench = running_bench()
    bench.sample("memory", Memory("cgroup2", 50, 100, oom_kill=3))
    assert bench.kinds() == []
    bench.sample("memory", Memory("cgroup2", 50, 100, oom_kill=4))
    assert bench.kinds() == ["host_oom"]


def test_the_delta_survives_a_restart_of_the_program() -> None:
    history = NoHistory()
    first = Bench(history=history)
    first.link()
    first.sample("memory", Memory("cgroup2", 50, 100, oom_kill=0))
    second = Bench(history=history)
    second.link()
    second.sample("memory", Memory("cgroup2", 50, 100, oom_kill=1))
    assert second.kinds() == ["host_oom"]


def test_a_killed_cell_is_explained_by_the_cgroup_not_told_twice() -> None:
    bench = running_bench()
    bench.sample("memory", Memory("cgroup2", 50, 100, oom_kill=0))
    bench.lines(QUEUE, alarm("killed", "12%|## Killed"))
    bench.queue(CellFinished(T0, 1, 2, "a", 137))
    bench.sample("memory", Memory("cgroup2", 50, 100, oom_kill=1))
    findings = bench.view().findings
    assert [(f.kind, f.cell) for f in findings] == [("host_oom", "a")]


def test_of_several_that_run_none_is_named_as_killed_for_memory() -> None:
    """A queue keeps no time of the job that the kernel killed: the one that happens to be last runs on."""
    bench = Bench()
    bench.link()
    bench.alive(RUNNER)
    runs = [
        Job(name, name, CellState.RUNNING, "running", started_at=T0 - 60)
        for name in ("lr3", "loop")
    ]
    dead = Job("x", "oomy", CellState.FAILED, "finished", "a signal ended it")
    bench.sample("task-spooler", JobTable("task-spooler", (*runs, dead)))
    bench.sample("memory", Memory("cgroup2", 50, 100, oom_kill=0))
    bench.sample("memory", Memory("cgroup2", 50, 100, oom_kill=1))
    (found,) = [f for f in bench.view().findings if f.kind == "host_oom"]
    assert found.cell is None


def test_inodes_fill_before_bytes() -> None:
    bench = running_bench()
    bench.sample("mounts", (Mount("~/fs", "nfs4", 34, 100, 99, 100),), period=5.0)
    (finding,) = bench.view().findings
    assert finding.kind == "inode_full"
    assert "34%" in finding.evidence


def _disk(share: float) -> tuple[Mount, ...]:
    return (Mount("/d", "ext4", int(share * 1000), 1000, 1, 100),)


def _inodes(share: float) -> tuple[Mount, ...]:
    return (Mount("/d", "ext4", 1, 100, int(share * 1000), 1000),)


def _cgroup(share: float) -> Memory:
    return Memory("cgroup2", int(share * 1000), 1000)


def _card(at: float, clock: float = 0.6) -> GpuTable:
    heat = {"temperature": at, "sm_clock_hz": int(clock * 1000), "sm_clock_max_hz": 1000}
    return GpuTable((Gpu(0, "H100", "GPU-0", 0.9, **heat),))


@pytest.mark.parametrize(
    ("metric", "kind", "looks"),
    [
        ("mounts", "disk_full", [(_disk, 0.949, 0), (_disk, 0.951, 1), (_disk, 0.949, 1), (_disk, 0.95, 1), (_disk, 0.935, 0), (_disk, 0.949, 0)]),
        ("mounts", "inode_full", [(_inodes, 0.949, 0), (_inodes, 0.951, 1), (_inodes, 0.945, 1), (_inodes, 0.9, 0)]),
        ("memory", "mem_pressure", [(_cgroup, 0.9, 1), (_cgroup, 0.88, 1), (_cgroup, 0.86, 0), (_cgroup, 0.89, 0)]),
        ("gpus", "throttle", [(_card, 82.0, 0), (_card, 83.0, 1), (_card, 81.0, 1), (_card, 79.0, 0), (_card, 82.0, 0)]),
    ],
)  # fmt: skip
def test_a_number_that_wavers_about_its_threshold_is_one_finding(
    metric: str, kind: str, looks: list[tuple[Callable[[float], object], float, int]]
) -> None:
    bench, told = running_bench(), []
    for value, number, _ in looks:
        bench.at += 5
        bench.sample(metric, value(number), period=60.0)
        told.append(bench.kinds().count(kind))
    assert told == [shown for *_, shown in looks]


def test_stale_readings_are_no_grounds_for_a_finding() -> None:
    bench = running_bench()
    bench.sample("mounts", (Mount("~/fs", "nfs4", 99, 100, 99, 100),))
    bench.at += 60
    assert "inode_full" not in bench.kinds()


def test_a_lost_link_is_a_blip_at_first_and_a_finding_later_and_never_a_death() -> None:
    bench = running_bench()
    bench.link("timeout", "nothing answers")
    assert [f.severity for f in bench.view().findings] == ["warn"]
    bench.at += 20
    view = bench.view()
    assert view.verdict == "unreachable"
    assert [(f.kind, f.severity) for f in view.findings] == [("unreachable", "serious")]
    assert view.queue.cells[0].state == "cannot-tell"


@pytest.mark.parametrize("state", ["refused", "host-key"])
def test_what_to_do_about_a_jump_host_that_failed_speaks_of_it(state: str) -> None:
    bench = running_bench()
    for hop, word in ((None, "provider"), ("hop", "jump host")):
        bench.store.apply(LinkChanged("box", bench.at, LinkState(state, bench.at, "no", hop=hop)))
        [found] = bench.view().findings
        assert word in found.remedy
    assert "provider" not in found.remedy


def test_a_hung_probe_is_one_finding_and_the_old_value_stays_stale() -> None:
    bench = running_bench()
    bench.sample("gpus", GpuTable((Gpu(0, "A100", "u", utilization=0.5),)), period=2.0)
    hung = Failure(FailureKind.HUNG, "nvidia-smi does not return", bench.at)
    bench.store.apply(Sampled("box", bench.at, "gpus", hung))
    view = bench.view()
    assert [f.kind for f in view.findings] == ["probe_hung"]
    from gpu_tui.core.metrics import GPUS

    assert view.freshness(GPUS) == "stale"


def test_a_finished_queue_idles_and_after_ten_minutes_says_what_it_cost() -> None:
    bench = running_bench()
    bench.queue(
        CellFinished(T0, 1, 2, "a", 0),
        CellStarted(T0, 2, 2, "b", "t", 4),
        CellFinished(T0 + 90, 2, 2, "b", 0),
        QueueDone(T0 + 90, "box", 2, None),
    )
    found = {f"~/out/{name}/best.pth": FileStat("", 1, 1, T0) for name in "ab"}
    for _ in range(32):
        bench.alive()
        bench.sample("files", FileTable(found))
        bench.sample("gpus", GpuTable((Gpu(0, "A100", "u", utilization=0.0),)))
        assert bench.view().verdict == "finished"
        bench.at += 20
    bench.at -= 20
    findings = {f.kind: f for f in bench.view().findings}
    assert "idle_billing" in findings
    assert "$0.34" in findings["idle_billing"].evidence


def test_what_a_box_had_cost_stays_also_where_its_end_went_by_a_state_that_nobody_knows() -> None:
    bench = Bench()
    price = Money(2.0, "USD")
    for after, word in ((0, "running"), (3600, "running"), (3660, "unknown"), (3720, "gone")):
        known = {"price": price, "started_at": T0} if word == "running" else {}
        state = ProviderState(word, T0 + after, **known)  # type: ignore[arg-type]
        bench.store.apply(ProviderRead("box", T0 + after, state))
    assert bench.store.view(T0 + 9000)["box"].cost.spent == pytest.approx(2.0)


def test_a_stopped_box_is_off_and_costs_what_its_storage_costs() -> None:
    bench = Bench()
    bench.link("refused", "port closed")
    state = ProviderState("stopped", T0, Money(0.1, "CNY"), stopped_at=T0 - 86400)
    bench.store.apply(ProviderRead("box", T0, state))
    bench.at += 60
    view = bench.view()
    assert view.verdict == "off"
    assert (view.cost.per_hour, view.cost.spent) == (0.1, None)
    assert view.findings == ()
    bench.store.apply(ProviderRead("box", T0, replace(state, price=None)))
    cost = bench.view().cost
    assert (cost.per_hour, cost.why["per_hour"]) == (None, STORAGE)
    bench.store.apply(ProviderRead("box", T0, replace(state, state="gone", price=None)))
    assert bench.view().cost.per_hour == 0.0


def test_a_log_that_began_anew_forgets_the_old_one() -> None:
    bench = running_bench()
    bench.lines(QUEUE, alarm("disk_full", "No space left on device"))
    assert bench.kinds() == ["disk_full"]
    bench.store.apply(LogOpened("box", bench.at, QUEUE, 9, 0, 0, resumed=False))
    assert "disk_full" not in bench.kinds()


def test_an_edited_fleet_keeps_what_is_known_of_unchanged_boxes() -> None:
    bench = running_bench()
    other = Instance("other", SshAccess("other"))
    bench.store.replace_fleet(Fleet("sweep", (BOX, other)))
    assert bench.view().verdict == "running"
    assert bench.store.view(T0)["other"].verdict == "cannot-tell"
    assert "" in bench.store.drain()


def test_an_edited_price_keeps_what_is_known_and_counts_from_now_on() -> None:
    bench = running_bench()
    dearer = replace(BOX, price=Money(9.0, "EUR"), tags=("new",), stall_after=60.0)
    bench.store.replace_fleet(Fleet("sweep", (dearer,)))
    view = bench.view()
    assert view.verdict == "running"
    assert view.instance == dearer
    bench.store.replace_fleet(Fleet("sweep", (replace(dearer, read_only=True),)))
    assert bench.view().verdict == "cannot-tell"


def test_acknowledging_hides_a_finding_from_the_fleet_list() -> None:
    bench = running_bench()
    bench.sample("mounts", (Mount("~/fs", "nfs4", 99, 100, 1, 100),), period=5.0)
    (finding,) = bench.store.view(bench.at).findings
    bench.store.acknowledge(finding.id)
    assert bench.store.view(bench.at).findings == ()


@pytest.mark.parametrize("there", ["noise", "directory", "no journal beside it"])
def test_a_history_that_cannot_be_written_keeps_nobody_from_watching(
    tmp_path: Path, there: str
) -> None:
    path = tmp_path / "history.sqlite"
    kept = {}
    match there:
        case "noise":
            path.write_bytes(bytes(range(256)) * 32)
        case "directory":
            path.mkdir()
        case _:
            with SqliteHistory(path) as history:
                history.set_anchor("box", "stopped_at", 5.0, "manual")
            (tmp_path / "history.sqlite-wal").mkdir()  # no journal can be written beside it
            kept = {"stopped_at": (5.0, "manual")}
    with SqliteHistory(path) as history:
        assert history.trouble is not None
        assert str(path) in history.trouble
        assert history.anchors("box") == kept
        history.set_anchor("box", "first_seen", 6.0, "last-contact")
        assert history.anchors("box") == kept | {"first_seen": (6.0, "last-contact")}


def test_an_anchor_of_another_type_is_none(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with SqliteHistory(path) as history:
        history.set_anchor("box", "a", "soon", "api")  # type: ignore[arg-type]
        history.set_anchor("box", "b", math.inf, "api")
        history.set_anchor("box", "c", 5.0, "api")
        assert history.anchors("box") == {"c": (5.0, "api")}
        assert history.trouble is None


def test_history_in_a_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "history.sqlite"
    with SqliteHistory(path) as history:
        history.set_anchor("box", "stopped_at", 5.0, "manual")
        history.set_counter("box", "oom_kill", "3", 1.0)
    assert path.stat().st_mode & 0o777 == 0o600
    with SqliteHistory(path) as history:
        assert history.anchors("box") == {"stopped_at": (5.0, "manual")}
        assert history.counter("box", "oom_kill") == "3"
        assert history.counter("other", "oom_kill") is None
        history.forget_anchor("box", "stopped_at")
        assert history.anchor("box", "stopped_at") is None


def test_a_run_that_began_after_the_process_table_was_read_is_not_dead() -> None:
    bench = running_bench()
    bench.alive()
    bench.at += 1
    bench.queue(CellFinished(bench.at, 1, 2, "a", 0), CellStarted(bench.at, 2, 2, "b", "t", 4))
    assert bench.view().verdict == "running"
    bench.at += 10
    bench.alive()
    assert bench.view().verdict == "crashed"


def test_a_queue_that_ended_after_the_process_table_was_read_is_not_hung() -> None:
    bench = running_bench()
    bench.queue(CellFinished(T0, 1, 2, "a", 0), CellStarted(T0, 2, 2, "b", "t", 4))
    bench.queue(CellFinished(T0 + 1, 2, 2, "b", 0), QueueDone(T0 + 1, "box", 2, None))
    assert bench.view().verdict == "finished"
    bench.at += 30
    bench.alive(RUNNER)
    assert bench.view().verdict == "finished-but-hung"


def test_an_artifact_is_missing_only_by_a_table_read_after_the_end() -> None:
    bench = running_bench()
    bench.sample("files", FileTable({}), period=60)
    bench.at += 5
    bench.queue(CellFinished(bench.at, 1, 2, "a", 0))
    assert bench.view().queue.cells[0].artifact == "unknown"
    bench.at += 5
    bench.alive(RUNNER)
    bench.sample("files", FileTable({}))
    assert bench.view().queue.cells[0].artifact == "missing"
    assert "artifact_missing" in bench.kinds()


def test_a_failed_end_line_is_the_state_of_its_cell_and_no_second_finding() -> None:
    bench = running_bench()
    end = CellFinished(T0, 1, 2, "a", 1)
    mark = Mark("exception", Severity.FATAL, True)
    bench.lines(QUEUE, LogLine("[1/2] FINISHED a (exit=1)", mark, queue=end))
    assert [(f.kind, f.cell) for f in bench.view().findings] == [("crashed", "a")]


def test_a_locked_history_neither_waits_nor_raises(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "history.sqlite"
    other = sqlite3.connect(path, isolation_level=None)
    with SqliteHistory(path) as history, closing(other):
        other.execute("begin exclusive")
        history.set_anchor("box", "last_contact", 5.0, "last-contact")
        other.execute("rollback")
        assert history.anchors("box") == {}
        history.set_anchor("box", "last_contact", 6.0, "last-contact")
        assert history.anchors("box") == {"last_contact": (6.0, "last-contact")}


def test_a_log_that_names_no_end_of_cells_is_bounded() -> None:
    bench = running_bench()
    for n in range(CELLS_KEPT + 50):
        bench.queue(CellStarted(T0, n, 9, f"cell-{n}", "t", 4))
        bench.lines(LogSource(f"~/{n}", f"cell-{n}"), LogLine("x", OK, Progress(loss=1.0)))
    kept = bench.store._states["box"]
    assert len(kept.queue_history.runs) == CELLS_KEPT + 51
    assert len(kept.cells) <= CELLS_KEPT
    assert bench.view().queue.cells[-1].name == f"cell-{CELLS_KEPT + 49}"


def test_of_ever_new_logs_the_one_that_was_silent_longest_makes_room() -> None:
    bench = running_bench()
    kept = bench.store._states["box"]
    first, silent = LogSource("~/0", "cell-0"), LogSource("~/1", "cell-1")
    for n in range(LOGS_KEPT + 50):
        bench.at += 1.0
        bench.lines(LogSource(f"~/{n}", f"cell-{n}"), LogLine("x", OK))
        bench.lines(first, LogLine("still here", OK))
    assert len(kept.logs.buffers) == len(bench.view().logs) == LOGS_KEPT
    assert {QUEUE, first, LogSource(f"~/{n}", f"cell-{n}")} <= kept.logs.buffers.keys()
    assert silent not in kept.logs.buffers
    assert bench.store._pool.held == sum(buffer.held for buffer in kept.logs.buffers.values())
    bench.lines(silent, LogLine("it speaks again", OK))
    assert [line.text for line in kept.logs.buffers[silent].slice(0, 9)] == ["it speaks again"]


def test_a_run_is_not_called_dead_while_the_end_of_its_log_is_on_the_way() -> None:
    bench = Bench()
    bench.link()
    bench.alive()
    bench.sample("roster", ROSTER)
    bench.sample("files", FileTable({QUEUE.path: FileStat(QUEUE.path, 1, 300, T0 - 60)}))
    bench.store.apply(LogOpened("box", bench.at, QUEUE, 1, 0, 0, resumed=False))
    begun = [QueueOpened("q.txt", 2, 1, "box"), CellStarted(T0 - 90, 1, 2, "a", "t", 4)]
    ended = [CellFinished(T0 - 80, 1, 2, "a", 0), CellStarted(T0 - 80, 2, 2, "b", "t", 4)]
    for events, upto, verdict in ((begun, 200, "cannot-tell"), (ended, 300, "crashed")):
        lines = [LogLine("q", OK, queue=event) for event in events]
        bench.store.apply(LogArrived("box", bench.at, QUEUE, lines, backfill=True, upto=upto))
        assert bench.view().verdict == verdict
        failed = verdict == "crashed"
        assert any(cell.state == "failed" for cell in bench.view().queue.cells) is failed


def test_two_readings_that_come_at_once_tell_no_rate() -> None:
    old, new = (CpuCounters(16.0, used, None, None, 4.0) for used in (100.0, 104.0))
    assert cpu_rates(old, 10.0, new, 12.0).used_cores == pytest.approx(2.0)
    assert cpu_rates(old, 10.0, new, 10.003).used_cores is None  # the link had stood still


def test_the_epochs_that_a_banner_states_are_known_though_a_flood_came_with_it() -> None:
    bench = running_bench()
    rows = [
        f"{{'loss': 1.5, 'learning_rate': 1e-05, 'epoch': {n / 1000:.3f}}}" for n in range(1, 2500)
    ]
    sorts = [f"{'step' * n} of the epoch: {n}" for n in range(1, 20)]
    text = "\n".join(["***** Running training *****", "  Num Epochs = 7", *sorts, *rows, ""])
    lines = LogReader().feed(text.encode())
    bench.store.apply(LogArrived("box", bench.at, LogSource("/l/a.log", "a"), lines, False))
    cell = next(cell for cell in bench.view().queue.cells if cell.name == "a")
    assert (cell.epoch, cell.epochs) == (2, 7)


def test_a_box_that_shows_its_platform_and_is_watched_as_a_bare_one_is_told() -> None:
    sign = Sign("runpod", "env", "RUNPOD_POD_ID")
    for signs, kinds in (((sign,), ["platform"]), ((), [])):
        store = Store(Fleet(None, (replace(BOX, signs=signs),)), {})
        store.apply(LinkChanged("box", T0, LinkState("live", T0)))
        store.apply(Sampled("box", T0, "signs", Reading((sign,), T0)))
        findings = store.view(T0).instances[0].findings
        told = [one for one in findings if one.kind == "platform"]
        assert [one.kind for one in told] == kinds
        assert all("runpod (RUNPOD_POD_ID)" in one.evidence for one in told)


def test_results_that_are_too_many_to_be_looked_at_are_not_called_missing() -> None:
    bench = Bench(replace(BOX, results=Results("~/out", "out", cells=("a",))))
    bench.link()
    bench.alive()
    bench.sample("files", FileTable(unseen={"~/out/{cell}/best.pth": 104_223}), period=10.0)
    view = bench.view()
    assert view.delivered == {"a": None}
    assert view.queue.notes == (
        "~/out/{cell}/best.pth names 104223 files: more than can be looked at",
    )
