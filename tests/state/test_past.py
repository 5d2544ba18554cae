"""What a monitor on the box wrote before we came stands before our own readings."""

from __future__ import annotations

from dataclasses import replace

from test_store import BOX, T0, Bench

from gpu_tui.core.fleet import Results
from gpu_tui.core.queue_history import CellFinished, CellStarted, QueueOpened
from gpu_tui.core.readings import (
    FileStat,
    FileTable,
    Gpu,
    GpuTable,
    Host,
    Memory,
    MemoryLog,
    MemoryPoint,
    Scores,
)
from gpu_tui.core.series import Series
from gpu_tui.core.sweep import Roster, RosterCell

ZONE, SKEW = 28_800.0, 40.0  # the box is in China, and its clock is ahead


def log(*ago: float, zoned: bool = False) -> MemoryLog:
    """Rows that were written so many seconds before T0."""
    ahead = SKEW + (0.0 if zoned else ZONE)
    return MemoryLog(
        "/root/logs/mem_monitor.tsv",
        tuple(MemoryPoint(T0 - one + ahead, 300, 0.5) for one in ago),
        zoned,
    )


def bench(past: MemoryLog, *, host_first: bool = True) -> Bench:
    made = Bench()
    made.link()
    steps = [
        lambda: made.sample("host", Host(T0 + SKEW, 5000.0, "boot", utc_offset_seconds=int(ZONE))),
        lambda: made.sample("past", past),
    ]
    made.sample("memory", Memory("cgroup2", 600, 1000))
    made.sample("gpus", GpuTable((Gpu(0, "L40S", "GPU-1", utilization=0.9),)))
    for step in steps if host_first else steps[::-1]:
        step()
    return made


def test_the_past_comes_first_with_a_gap_before_our_own_readings() -> None:
    for host_first in (True, False):
        view = bench(log(20, 15, 10), host_first=host_first).view()
        assert view.series["memory"] == (
            (T0 - 20, 0.3), (T0 - 15, 0.3), (T0 - 10, 0.3), (T0 - 10, None), (T0, 0.6),
        )  # fmt: skip
        assert [value for _, value in view.series["gpu"]] == [0.5, 0.5, 0.5, None, 0.9]
        assert view.series_basis["memory"].endswith(
            "read from /root/logs/mem_monitor.tsv, not seen by us"
        )


def test_stamps_with_a_zone_need_none_of_ours() -> None:
    view = bench(log(10, zoned=True)).view()
    assert view.series["memory"][0] == (T0 - 10, 0.3)


def test_a_hole_in_the_log_stays_a_hole_and_it_is_taken_once() -> None:
    made = bench(log(4000, 20))
    assert [value for _, value in made.view().series["memory"]] == [0.3, None, 0.3, None, 0.6]
    made.at += 10
    made.sample("past", log(4000, 20, 15))
    made.sample("memory", Memory("cgroup2", 700, 1000))
    assert [value for _, value in made.view().series["memory"]][-3:] == [None, 0.6, 0.7]
    assert len(made.view().series["memory"]) == 6


def test_without_a_log_or_a_limit_nothing_is_made_up() -> None:
    assert bench(log()).view().series_basis == {}
    made = Bench()
    made.link()
    made.sample("host", Host(T0 + SKEW, 5000.0, "boot", utc_offset_seconds=int(ZONE)))
    made.sample("memory", Memory("host", 600, None))
    made.sample("past", log(10))
    assert "memory" not in made.view().series_basis
    assert "gpu" in made.view().series_basis


def test_rows_of_the_future_are_not_the_past() -> None:
    assert bench(log(-5, -3600)).view().series["memory"] == ((T0, 0.6),)


def test_once_its_rows_are_gone_nothing_is_said_of_it() -> None:
    made = bench(log(20, 10))
    for _ in range(1_000):
        made.at += 1
        made.sample("memory", Memory("cgroup2", 600, 1000))
    assert list(made.view().series_basis) == ["gpu"]


def test_a_seeded_history_keeps_its_bound() -> None:
    series = Series(4)
    series.add(10.0, 1.0)
    assert series.begin_with([(float(n), 0.0) for n in range(20)], 5.0) == 9.0
    assert list(series) == [(8.0, 0.0), (9.0, 0.0), (9.0, None), (10.0, 1.0)]


def test_the_sealed_layout_and_its_metrics_reach_the_cells() -> None:
    made = Bench(replace(BOX, results=Results("/proj/export", "out")))
    made.link()
    names = ("done", "aside", "torn")
    made.sample(
        "roster", Roster(tuple(RosterCell(i, n, n, "t", 4) for i, n in enumerate(names, 1)))
    )
    made.alive()
    made.queue(QueueOpened("q.txt", 3, 1, "box"), backfill=True)
    for index, name in enumerate(names, 1):
        at = T0 - 900 + 100 * index
        made.queue(
            CellStarted(at, index, 3, name, "t", 4),
            CellFinished(at + 99, index, 3, name, 0),
            backfill=True,
        )
    made.sample("scores", Scores({"done-20260103": {"clean.acc": 0.9}}))
    paths = (
        "/proj/export/done-20260103/best.pth",
        "/proj/quarantine/aside",
        "/proj/export/.partial/torn",
    )
    made.sample("files", FileTable({p: FileStat(p, 1, 1, T0 - 500) for p in paths}))
    done, aside, torn = made.view().queue.cells
    assert (done.state, done.artifact, done.metrics) == ("finished", "present", {"clean.acc": 0.9})
    assert (aside.state, aside.artifact) == ("suspicious", "missing")
    assert "it was put into quarantine: /proj/quarantine/aside" in (aside.why or "")
    assert "its export is not complete" in (torn.why or "")
