"""Steps that fail under a script that goes on, on a real Slurm that keeps no accounts: their logs say it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from boxes import Sshd
from slurm_lab import Slurm

from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Fleet
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.state.views import InstanceView
from gpu_tui.wiring import open_fleet

pytestmark = pytest.mark.usefixtures("hurried")

DIES = """srun -n1 sh -c 'echo Epoch 1/10; echo Epoch 2/10; echo RuntimeError: shape mismatch; exit 1'"""
GOES_ON = f"{DIES}\necho done"
RETRIED = f"""{DIES}
srun -n1 sh -c 'for n in $(seq 1 10); do echo "Epoch $n/10 loss: 0.$n"; done'"""
TWO_TASKS = r"""
srun -n2 sh -c '
    echo "Epoch 1/60 loss: 2.3"
    if [ "$SLURM_PROCID" = 1 ]; then echo "RuntimeError: shape mismatch"; exit 1; fi
    for n in $(seq 2 50); do sleep 0.2; echo "Epoch $n/60 loss: 2.$n"; done
    sleep 300'
"""


async def test_a_failed_task_is_found_in_the_log_of_its_job(
    slurm: Slurm, login_node: Sshd, tmp_path: Path
) -> None:
    out = f"{tmp_path}/%x.%N.%3t.out"  # scontrol leaves the node and the task as they are
    ids = {
        name: slurm.submit(script, "-t", "10", "-o", out, *more, name=name)
        for name, script, *more in (
            ("goeson", GOES_ON),
            ("retried", RETRIED),
            ("two", TWO_TASKS, "-n", "2"),
        )
    }

    def cell(view: InstanceView, name: str) -> Cell | None:
        return next((one for one in view.queue.cells if one.job == ids[name]), None)

    def grave(view: InstanceView, name: str) -> list[str]:
        row = cell(view, name)
        found = [one for one in view.findings if row is not None and one.cell == row.name]
        return [one.evidence for one in found if one.severity.rank <= Severity.SERIOUS.rank]

    def is_told(view: InstanceView) -> bool:
        goeson, retried, two = (cell(view, name) for name in ids)
        return (
            goeson is not None
            and goeson.state is CellState.SUSPICIOUS
            and retried is not None
            and (retried.state, retried.epoch) == (CellState.FINISHED, 10)
            and two is not None
            and (two.epoch or 0) > 10
        )

    box = login_node.instance("login", platform="slurm", scheduler="slurm")
    async with open_fleet(Fleet(None, (box,)), state=tmp_path / "state") as (room, tap):
        view = await until(lambda: room.store.view(room.clock.now())["login"], tap.next, is_told)
    goeson = cell(view, "goeson")
    assert goeson is not None
    assert (goeson.epoch, goeson.epochs, goeson.exit_code) == (2, 10, 0)
    assert f"srun: error: {slurm.host}: task 0: Exited with exit code 1" in (goeson.why or "")
    assert grave(view, "goeson")
    assert grave(view, "retried") == []
    assert grave(view, "two") == ["RuntimeError: shape mismatch"]
    slurm.run("scancel", ids["two"])


async def until(
    look: Callable[[], InstanceView],
    wait: Callable[[float], object],
    fits: Callable[[InstanceView], bool],
) -> InstanceView:
    """The first view that fits."""
    try:
        async with asyncio.timeout(60):
            while not fits(view := look()):
                await wait(1.0)  # type: ignore[misc]
    except TimeoutError:
        cells = [f"{one.name} {one.state} {one.epoch} {one.why}" for one in view.queue.cells]
        raise AssertionError(f"{cells} {[str(log) for log in view.logs]}") from None
    return view
