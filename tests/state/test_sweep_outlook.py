"""From views of boxes to the outlook of their sweep, and to its JSON."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from gpu_tui.core import metrics
from gpu_tui.core.account import Account
from gpu_tui.core.campaign import Trust
from gpu_tui.core.cell_table import rows_of
from gpu_tui.core.clocks import DangerClock
from gpu_tui.core.findings import Finding, Severity
from gpu_tui.core.fleet import LinkState, Money, ProviderState, QueueFiles
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.logs import Progress
from gpu_tui.core.rebalance import suggest
from gpu_tui.core.sample import Absent, Reading, Track
from gpu_tui.core.sweep import CellState, Queue, Roster
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.sweep_contract import sweep_json
from gpu_tui.state.sweep_outlook import sweep_outlook
from gpu_tui.state.traces import CellTrace
from gpu_tui.state.views import InstanceView
from screenshots.builders import NOW, fleet
from screenshots.scene_ablation import ablation


def box(**changes: object) -> InstanceView:
    """The scene's second box: one cell runs, four wait."""
    return replace(ablation().fleet["autodl-2"], **changes)  # type: ignore[arg-type]


def roster(age: float) -> dict[str, Track[object]]:
    reading = Reading(Roster(), NOW - age, 30.0)
    return {metrics.ROSTER.name: Track(reading, reading)}


@pytest.mark.parametrize(
    ("changes", "trust"),
    [
        ({}, Trust.LIVE),
        ({"tracks": roster(10)}, Trust.LIVE),
        ({"tracks": roster(3000)}, Trust.STALE),
        ({"link": LinkState("timeout", NOW - 5)}, Trust.UNREACHABLE),
        ({"verdict": Verdict.OFF, "link": LinkState("off", NOW)}, Trust.OFF),
        ({"queue": Queue()}, Trust.UNREAD),
        ({"queue": Queue(), "verdict": Verdict.OFF}, Trust.UNREAD),
        ({"queue": Queue(), "link": LinkState("timeout", NOW)}, Trust.UNREAD),
    ],
)
def test_what_a_queue_is_worth(changes: dict[str, object], trust: Trust) -> None:
    (one,) = sweep_outlook(fleet(box(**changes))).lanes
    assert one.lane.trust is trust
    assert one.left.known is (trust is Trust.LIVE)


def test_a_queue_file_that_is_not_there_is_not_one_that_was_never_read() -> None:
    gone = Absent("no such file", NOW)
    view = box(queue=Queue(), tracks={metrics.ROSTER.name: Track(gone, None)})
    (one,) = sweep_outlook(fleet(view)).lanes
    assert one.lane.trust is Trust.LIVE
    assert one.tally.total == 0


def test_a_cluster_without_jobs_was_read_all_the_same() -> None:
    plain = box(queue=Queue())
    login = replace(plain, instance=replace(plain.instance, queue=QueueFiles(), scheduler="slurm"))
    (one,) = sweep_outlook(fleet(login)).lanes
    assert one.lane.trust is Trust.UNREAD
    for age, trust in ((10, Trust.LIVE), (3_000, Trust.STALE)):
        table = Reading(JobTable("Slurm"), NOW - age, 20.0)
        read = replace(login, tracks={metrics.SLURM.name: Track(table, table)})
        (one,) = sweep_outlook(fleet(read)).lanes
        assert one.lane.trust is trust


def test_where_cells_are_known_only_because_they_began_the_end_is_a_lower_bound() -> None:
    view = box()
    runs = tuple(
        replace(cell, job="7") for cell in view.queue.cells if cell.state is CellState.RUNNING
    )
    plain = replace(view.instance, queue=QueueFiles(), logs="/runs/{cell}.log")
    loop = replace(view, instance=plain, queue=Queue(runs, total=len(runs)))
    (one,) = sweep_outlook(fleet(loop)).lanes
    assert (one.left.known, one.why) == (False, "no list names what begins next")
    assert 0 < one.left.low <= (runs[0].eta_seconds or 0.0)
    jobs = tuple(Job("7", cell.name, CellState.RUNNING, "running") for cell in runs)
    table = Reading(JobTable("task-spooler", jobs), NOW, 20.0)
    spooled = replace(loop, tracks={metrics.SPOOLER.name: Track(table, table)})
    assert sweep_outlook(fleet(spooled)).lanes[0].left.known


def test_a_box_without_a_queue_takes_no_part() -> None:
    view = box(queue=Queue())
    plain = replace(view, instance=replace(view.instance, queue=QueueFiles()))
    assert sweep_outlook(fleet(plain)).lanes == ()


def test_what_is_spent_is_sure_only_since_the_provider_told_the_start() -> None:
    first = sweep_outlook(fleet(box())).lanes[0].lane
    told = sweep_outlook(fleet(box(provider=ProviderState("running", started_at=NOW - 60)))).lanes[
        0
    ]
    assert (first.spent_exact, told.lane.spent_exact) == (False, True)


def test_the_json_is_the_outlook_and_has_no_nan() -> None:
    view = ablation().fleet
    outlook = sweep_outlook(view)
    rows = rows_of(one.lane for one in outlook.lanes)
    text = json.dumps(sweep_json("s", NOW, outlook, suggest(outlook), rows), allow_nan=False)
    seen = json.loads(text)
    assert seen["cells"]["total"] == 15 == len(seen["rows"])
    assert seen["ends_at"] is None
    assert seen["earliest_ends_at"] < seen["known_queues"]["ends_at"]
    assert seen["cannot_tell"] == ["runpod-h100"]
    assert {bill["currency"] for bill in seen["money"]} == {"CNY", "USD"}
    (lost,) = [queue for queue in seen["queues"] if queue["instance"] == "runpod-h100"]
    assert lost["trust"] == "unreachable"
    assert lost["cost"]["to_come"]["estimate"] is None
    moves = [(move["cell"], move["from"], move["to"]) for move in seen["suggestion"]["moves"]]
    assert moves == [(name, "autodl-2", "autodl-1") for name in ("seed_2", "big_lr", "lr_3e4")]
    assert seen["suggestion"]["would_end_at"] < seen["suggestion"]["ends_at"]


def test_losses_are_kept_by_how_far_the_run_had_come() -> None:
    trace = CellTrace()
    for epoch, loss in ((1, 0.9), (2, math.nan), (3, 0.5)):
        trace._progress(Progress(epoch=epoch, epochs=5, loss=loss), float(epoch), live=True)
    assert [value for _, value in trace.by_step] == [0.9, None, 0.5]
    assert [x for x, _ in trace.by_step] == sorted(x for x, _ in trace.by_step)
    trace._progress(Progress(epoch=1, epochs=5, loss=0.8), 9.0, live=True)
    assert [value for _, value in trace.by_step] == [0.8]


def trouble(severity: Severity) -> Finding:
    return Finding("disk_full", severity, "autodl-2", "full", "df:/", "prune", NOW, NOW)


def empty(key: str) -> Finding:
    """The balance of one account ends."""
    return Finding(
        "low_balance", Severity.FATAL, "autodl:account", "left", "api", "pay", NOW, NOW, part=f"{key}@1"
    )  # fmt: skip


def deadline(**changes: object) -> DangerClock:
    """One that fires in ten minutes."""
    made = DangerClock(
        "rent", "autodl-2", "running", "running", NOW, "api", NOW + 600, NOW + 600, "all", None, "high", "renew",
        "docs", "2026-11", "high", stale_fact=False,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def account(**changes: object) -> Account:
    made = Account(
        "acc",
        "autodl",
        serves=("autodl-2",),
        balance=Money(1.0, "CNY"),
        spend_per_hour=Money(2.0, "CNY"),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("view", "accounts", "findings", "unfit", "ends_in"),
    [
        ({}, (), (), None, None),
        ({"findings": (trouble(Severity.SERIOUS),)}, (), (), "disk_full", None),
        ({"findings": (trouble(Severity.WARN),)}, (), (), None, None),
        ({}, (account(serves=()),), (empty("acc"),), None, None),
        ({}, (account(balance=None),), (empty("acc"),), "low_balance", None),
        ({}, (account(balance=None),), (empty("other"),), None, None),
        ({}, (account(),), (), None, 1800.0),
        ({"full_in": {"/": 900.0, "/data": 700.0}}, (account(),), (), None, 700.0),
        ({"clocks": (deadline(),)}, (), (), None, 600.0),
        ({"clocks": (deadline(fires_at=None, earliest_fires_at=NOW + 300),)}, (), (), None, 300.0),
        ({"clocks": (deadline(state="armed"), deadline(effect="bills"))}, (), (), None, None),
        ({"clocks": (deadline(fires_at=None, earliest_fires_at=None),)}, (), (), None, None),
    ],
)
def test_boxes_that_are_unfit_for_more_cells(
    view: dict[str, object], accounts: tuple[Account, ...], findings: tuple[Finding, ...],
    unfit: str | None, ends_in: float | None,
) -> None:  # fmt: skip
    plain = {"findings": (), "clocks": (), "full_in": {}}
    seen = replace(fleet(box(**{**plain, **view})), accounts=accounts, findings=findings)
    (one,) = sweep_outlook(seen).lanes
    assert (one.lane.unfit, one.lane.ends_in) == (unfit, ends_in)
