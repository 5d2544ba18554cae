"""Jobs that a real Slurm without accounts forgets between two checks, and inside an open cockpit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from boxes import Sshd
from slurm_lab import CONF, Slurm, pause, started

from gpu_tui.core.fleet import Fleet
from gpu_tui.core.left_queue import UNRUN
from gpu_tui.core.sweep import CellState
from gpu_tui.state.contract import fleet_verdict
from gpu_tui.state.views import InstanceView
from gpu_tui.wiring import open_fleet
from gpu_tui.wiring.once import collect_once

pytestmark = pytest.mark.usefixtures("hurried")

RUNS = "echo Epoch 12/40 loss: 0.5; while ! [ -e go ]; do sleep 0.1; done"
ENDS = {
    "raises": f"{RUNS}; echo 'RuntimeError: boom'; exit 1",
    "exits": f"{RUNS}; exit 9",
    "well": f"{RUNS}; for n in 13 39 40; do echo Epoch $n/40 loss: 0.4; done",
    "nans": f"{RUNS}; for n in 13 39 40; do echo Epoch $n/40 loss: nan; done",
    "goes-on": "sleep 300",
}


@pytest.fixture
def forgets(tmp_path: Path) -> Iterator[Slurm]:
    """A cluster that keeps no accounts and forgets a job two seconds after its end."""
    yield from started(Slurm(tmp_path / "forgets", CONF.replace("MinJobAge=300", "MinJobAge=2")))


def told(view: InstanceView, ids: dict[str, str]) -> dict[str, tuple[CellState, int | None]]:
    cells = {cell.job: cell for cell in view.queue.cells}
    return {name: (cells[id].state, cells[id].epoch) for name, id in ids.items() if id in cells}


async def test_jobs_that_end_between_two_checks_are_found_by_their_logs(
    forgets: Slurm, make_box: Callable[..., Sshd], tmp_path: Path
) -> None:
    fleet = Fleet(None, (make_box("login", env=forgets.env).instance("login", scheduler="slurm"),))
    state = tmp_path / "state"
    ids = {name: forgets.submit(script, name=name) for name, script in ENDS.items()}
    waits = forgets.submit("true", "--hold", name="waits")
    late = forgets.submit(
        "echo 'ValueError: late' >&2; exit 1",
        "--hold",
        "--array=1-2",
        "-e",
        "%A-%a.err",
        name="late",
    )
    while forgets.run("squeue", "-h", "-t", "R", "-o", "%i").count("\n") < len(ids) - 1:
        await asyncio.to_thread(pause)
    async with open_fleet(fleet, read_only=True, state=tmp_path / "cockpit") as (room, tap):
        view = await collect_once(fleet, state=state)
        assert fleet_verdict(view) == "healthy"
        assert view["login"].queue.count(CellState.RUNNING) == len(ids)
        while len(told(room.store.view(room.clock.now())["login"], ids)) < len(ids):
            await tap.next(1.0)
        (forgets.root / "go").touch()
        forgets.run("scancel", waits)
        forgets.run("scontrol", "release", late)
        while len(forgets.run("squeue", "-h", "-t", "all", "-o", "%i").split()) > 1:
            await asyncio.to_thread(pause)
        view = await collect_once(fleet, state=state)
        ends = {
            "raises": (CellState.FAILED, 12),
            "exits": (CellState.CANNOT_TELL, 12),
            "well": (CellState.FINISHED, 40),
            "nans": (CellState.SUSPICIOUS, 40),
            "goes-on": (CellState.RUNNING, None),
        }
        assert told(view["login"], ids) == ends
        cells = {cell.job: cell for cell in view["login"].queue.cells}
        assert (cells[waits].state, cells[waits].why) == (CellState.SKIPPED, UNRUN)
        # They waited at the check before, ran, and died.
        tasks = [f"{late}_{n}" for n in (1, 2)]
        assert {cells[id].state for id in tasks} == {CellState.FAILED}
        found = {finding.cell for finding in view.findings}
        bad = [*tasks, *(ids[name] for name in ("raises", "exits", "nans"))]
        assert found == {cells[id].name for id in bad}
        assert fleet_verdict(view) == "escalate"
        # A cockpit that was open all the time may have seen that exit code, and keeps every row.
        rows: dict[str, tuple[CellState, int | None]] = {}
        async with asyncio.timeout(60):
            while {**rows, "exits": ends["exits"]} != ends:
                await tap.next(1.0)
                rows = told(room.store.view(room.clock.now())["login"], ids)
        assert rows["exits"] in {(CellState.FAILED, 12), ends["exits"]}
    forgets.run("scancel", ids["goes-on"])
