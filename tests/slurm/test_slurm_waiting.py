"""A real node that is drained while a job runs on it and another one waits for it, and a folded array."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from boxes import Sshd
from slurm_lab import Slurm

from gpu_tui.core.fleet import Fleet
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.state.views import InstanceView
from gpu_tui.wiring import Room, Tap, open_fleet

pytestmark = pytest.mark.usefixtures("hurried")
REASON = "bad ECC on gpu 3 | ask ops"


async def until(room: Room, tap: Tap, fits: Callable[[dict[str, Cell]], bool]) -> InstanceView:
    """The first view whose rows fit."""
    view = room.store.view(room.clock.now())["login"]
    try:
        async with asyncio.timeout(60):
            while not fits(rows(view)):
                await tap.next(1.0)
                view = room.store.view(room.clock.now())["login"]
    except TimeoutError:
        cells = [f"{c.name} {c.state} {c.why} {c.node_state}" for c in view.queue.cells]
        raise AssertionError(f"{view.because} {cells}") from None
    return view


def rows(view: InstanceView) -> dict[str, Cell]:
    return {cell.job or "": cell for cell in view.queue.cells}


async def test_a_drained_node_is_named_with_its_reason_and_limits_are_read(
    slurm: Slurm, login_node: Sshd, tmp_path: Path
) -> None:
    runs = slurm.submit("sleep 300", "-t", "60", name="runs")
    array = slurm.submit("sleep 300", "-t", "1-00:00:00", "--array=0-299%2", "-o", "/dev/null")
    while slurm.run("squeue", "-h", "-j", runs, "-o", "%T") != "RUNNING":
        pass
    slurm.run("scontrol", "update", f"NodeName={slurm.host}", "State=DRAIN", f"Reason={REASON}")
    try:
        waits = slurm.submit("true", "-t", "5", name="waits")

        def told(seen: dict[str, Cell]) -> bool:
            return {runs, waits} <= seen.keys() and REASON in (seen[waits].why or "")

        fleet = Fleet(None, (login_node.instance("login", platform="slurm", scheduler="slurm"),))
        async with open_fleet(fleet, read_only=True, state=tmp_path / "state") as (room, tap):
            view = await until(room, tap, told)
            seen = rows(view)
            assert seen[runs].node_state == f"{slurm.host} draining: {REASON}"
            assert (seen[runs].limit_seconds, seen[runs].node) == (3600, slurm.host)
            assert 3000 < (seen[runs].limit_left_seconds or 0) <= 3600
            (found,) = [found for found in view.findings if found.kind == "hardware"]
            assert REASON in found.evidence
            tasks = [cell for id, cell in seen.items() if id.startswith(f"{array}_")]
            assert len(tasks) == 300
            waiting = [cell for cell in tasks if cell.state is CellState.PENDING]
            assert {cell.at_once for cell in waiting} == {2}
    finally:
        slurm.run("scontrol", "update", f"NodeName={slurm.host}", "State=RESUME")
        slurm.run("scancel", runs, array)
