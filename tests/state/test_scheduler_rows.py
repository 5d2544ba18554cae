"""The fields of a scheduler's jobs, in the rows of the queue, in JSON and in the sweep's table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_tui.core.cell_table import rows_of
from gpu_tui.core.events import LinkChanged, Sampled
from gpu_tui.core.findings import Finding, Severity
from gpu_tui.core.fleet import Fleet, Instance, LinkState, SshAccess
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.mask import Mask
from gpu_tui.core.readings import Host
from gpu_tui.core.sample import Reading
from gpu_tui.core.sweep import CellState
from gpu_tui.state.contract import check_json
from gpu_tui.state.patrol import patrol_report
from gpu_tui.state.report import _cells, handover
from gpu_tui.state.store import Store
from gpu_tui.state.sweep_contract import sweep_json
from gpu_tui.state.sweep_outlook import sweep_outlook
from gpu_tui.state.views import FleetView

T0, HOUR = 1_795_000_000.0, 3600.0


def seen(*jobs: Job, kind: str = "slurm", skew: float = 0.0) -> FleetView:
    """The fleet at T0 with these jobs. `skew`: seconds that the box's clock is ahead."""
    store = Store(Fleet(None, (Instance("login", SshAccess("login"), scheduler=kind),)), {})
    store.apply(LinkChanged("login", T0, LinkState("live", since=T0)))
    store.apply(Sampled("login", T0, "host", Reading(Host(T0 + skew, 1.0, "b"), T0, 60.0)))
    store.apply(Sampled("login", T0, kind, Reading(JobTable("Slurm", jobs), T0, 60.0)))
    return store.view(T0)


WAITS = Job("4", "4·a", CellState.PENDING, "PENDING", "Resources: waits", "gpu", submitted_at=T0 - 9 * HOUR,
            reason="Resources", limit=86_400.0, gpus=8, expected_at=T0 + HOUR)  # fmt: skip
RUNS = Job("5", "5·a", CellState.RUNNING, "RUNNING", None, "gpu", submitted_at=T0 - HOUR, restarts=2,
           started_at=T0 - HOUR, ends_by=T0 + 2 * HOUR, node="gpu01", limit=3 * HOUR)  # fmt: skip


def test_the_json_of_a_row_has_what_the_scheduler_says() -> None:
    made = check_json(seen(WAITS, RUNS))
    waits, runs = made["instances"][0]["queue"]["cells"]  # type: ignore[index]
    said = {
        "status": "PENDING",
        "reason": "Resources",
        "gpus": 8,
        "limit_seconds": 86_400,
        "age_seconds": 32_400,
    }
    assert said.items() <= waits.items()
    assert (waits["node"], waits["ends_by"], waits["restarts"]) == (None, None, None)
    assert waits["submitted_at"] == "2026-11-18T02:06:40Z"
    assert waits["expected_start_at"] == "2026-11-18T12:06:40Z"
    said = {
        "status": "RUNNING",
        "reason": None,
        "node": "gpu01",
        "restarts": 2,
        "ends_by": "2026-11-18T13:06:40Z",
    }
    assert said.items() <= runs.items()


def test_the_sweep_has_it_too() -> None:
    view = seen(WAITS, RUNS)
    outlook = sweep_outlook(view)
    rows = rows_of(one.lane for one in outlook.lanes)
    made = sweep_json(None, T0, outlook, None, rows)["rows"]
    assert [row["node"] for row in made] == [None, "gpu01"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("skew", [0.0, 300.0, -300.0])
def test_the_rest_of_a_limit_is_by_the_clock_that_set_it(skew: float) -> None:
    job = Job(
        "5",
        "5·a",
        CellState.RUNNING,
        "RUNNING",
        ends_by=T0 + skew + HOUR,
        submitted_at=T0 + skew - 100,
    )
    (cell,) = seen(job, skew=skew)["login"].queue.cells
    assert cell.limit_left_seconds == pytest.approx(HOUR, abs=1)
    assert cell.age_seconds == pytest.approx(100, abs=1)


def test_a_row_that_waits_is_not_another_one_each_second() -> None:
    cells = [seen(WAITS, skew=skew)["login"].queue.cells for skew in (1.0, 2.0, 31.0)]
    assert cells[0] == cells[1] == cells[2]


def test_a_hand_over_counts_a_job_that_was_cancelled_as_no_open_one() -> None:
    gone = Job("6", "6·a", CellState.SKIPPED, "CANCELLED", "by its own user", finished_at=T0 - 60)
    untold = Job("7", "7·a", CellState.CANNOT_TELL, "left the queue", finished_at=T0 - 60)
    view = seen(gone, untold, RUNS, WAITS)
    assert "3 open" in handover(view, {}, Mask(), version="0", fleet=None)


def test_a_queue_whose_last_end_is_not_known_has_ended_and_shows_no_time_left() -> None:
    untold = Job("7", "7·a", CellState.CANNOT_TELL, "left the queue", finished_at=T0 - 60)
    view = seen(untold)
    (lane,) = sweep_outlook(view).lanes
    assert lane.over
    assert lane.why == "nothing says how 7·a ended"
    assert "0/1 done · ended" in "\n".join(patrol_report(view, {}))
    (lane,) = sweep_outlook(seen(replace(untold, finished_at=None))).lanes
    assert not lane.over  # it may still run
    assert not sweep_outlook(seen(untold, WAITS)).over


# --- nodes out of service -----------------------------------------------------------------------


def on(node_state: str | None, id: str = "5", state: CellState = CellState.RUNNING) -> Job:
    return Job(id, f"{id}·a", state, state.value.upper(), node="gpu03", node_state=node_state)


def hardware(*jobs: Job) -> list[Finding]:
    return [found for found in seen(*jobs)["login"].findings if found.kind == "hardware"]


def test_a_node_that_is_out_of_service_is_one_warning_for_all_jobs_on_it() -> None:
    (found,) = hardware(on("gpu03 draining: bad ECC"), on("gpu03 draining: bad ECC", "6"))
    assert found.evidence == "out of service: gpu03 draining: bad ECC; 5·a and 1 more run there"
    assert (found.severity, found.cell) == (Severity.WARN, None)
    assert "save a checkpoint" in found.remedy
    view = seen(on("gpu03 draining: bad ECC"))
    assert check_json(view)["verdict"] == "healthy"  # the job goes on
    assert (
        "  warn: hardware: out of service: gpu03 draining: bad ECC; 5·a runs there"
        in patrol_report(view, {})
    )


def test_one_job_is_named_alone_and_an_end_takes_the_warning_away() -> None:
    (found,) = hardware(on("gpu03 down: Not responding"))
    assert found.evidence.endswith("; 5·a runs there")
    assert hardware(on(None)) == []
    assert hardware(on("gpu03 down", state=CellState.FINISHED)) == []


def test_a_hundred_nodes_are_no_hundred_findings() -> None:
    jobs = [on(f"gpu{n} drained", str(n)) for n in range(100)]
    assert len(hardware(*jobs)) == 20


# --- waiting --------------------------------------------------------------------------------------


def test_check_says_what_jobs_wait_for_and_for_how_long() -> None:
    other = replace(WAITS, id="6", name="6·a", submitted_at=T0 - 600)
    kube = Job(
        "job/x",
        "x",
        CellState.PENDING,
        "Pending",
        "Unschedulable: 0/4 nodes",
        submitted_at=T0 - 9 * HOUR,
    )
    text = "\n".join(patrol_report(seen(WAITS, other, RUNS, kube), {}))
    assert "waiting: 2 for Resources (9 h), 1 for Unschedulable (9 h)" in text
    drained = replace(WAITS, node_state="gpu03 drained: bad ECC")
    text = "\n".join(patrol_report(seen(drained, RUNS), {}))
    assert "waiting: 1 for Resources (9 h; gpu03 drained: bad ECC)" in text
    assert "waiting" not in "\n".join(patrol_report(seen(RUNS), {}))


def test_an_odd_list_has_no_line_without_end() -> None:
    jobs = [replace(WAITS, id=str(n), name=f"{n}", reason=f"r{n}" * 20) for n in range(90)]
    assert max(map(len, patrol_report(seen(*jobs), {}))) <= 240


def test_the_hand_over_names_an_array_that_waits_once() -> None:
    tasks = [replace(WAITS, id=f"7_{n}", name=f"7_{n}·a", at_once=2) for n in range(300)]
    (line,) = _cells(seen(*tasks)["login"])
    assert line.replace("\\", "") == "pending: 1 7_[0-299%2]·a"
