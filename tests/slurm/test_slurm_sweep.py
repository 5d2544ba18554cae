"""An array whose every log is read at the first look, as the only jobs of a user that the fleet file names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from boxes import Sshd
from slurm_lab import Slurm
from test_slurm_live import rows, until

from gpu_tui.core.fleet import Fleet, SchedulerScope
from gpu_tui.core.sweep import CellState
from gpu_tui.state.settled import settled
from gpu_tui.wiring import open_fleet

TRAIN = """
for epoch in 1 2 3; do
    loss=0.5
    case $SLURM_ARRAY_TASK_ID:$epoch in 0:3) loss=nan ;; esac
    echo "Epoch $epoch/20 loss: $loss"
done
sleep 300
"""


@pytest.mark.usefixtures("hurried")
async def test_every_task_of_the_array_is_read_and_nothing_else_is_a_cell(
    slurm: Slurm, login_node: Sshd, tmp_path: Path
) -> None:
    other = slurm.submit("exit 3", name="test")
    shell = slurm.run("sh", "-c", "srun -J shell sh -c 'echo $SLURM_JOB_ID'")
    array = slurm.submit(TRAIN, "--array=0-6", "-o", f"{tmp_path}/%A_%a.out", name="sweep-a")
    scope = SchedulerScope(name=("sweep-*",))
    box = login_node.instance("login", platform="slurm", scheduler="slurm", scheduler_scope=scope)
    async with open_fleet(Fleet(None, (box,)), state=tmp_path / "state") as (room, tap):
        view = await until(
            room,
            tap,
            lambda view: (
                settled(view)
                and len(rows(view)) == 7
                and not view.settling
                and all(cell.state is CellState.RUNNING for cell in rows(view).values())
            ),
        )
        cells = rows(view)
        assert {id.partition("_")[0] for id in cells} == {array}
        assert {cell.epoch for cell in cells.values()} == {3}
        assert [finding.cell for finding in view.findings] == [cells[f"{array}_0"].name]
        assert view.findings[0].kind == "nan"
        assert view.queue.unread_logs == 0
        assert view.queue.not_counted["interactive"] >= 1
        assert view.queue.not_counted["outside the filter"] >= 1
        assert {other, shell}.isdisjoint(cells)
    # A mistyped name is no sweep that is over.
    typo = replace(box, scheduler_scope=SchedulerScope(name=("swep-*",)))
    async with open_fleet(Fleet(None, (typo,)), state=tmp_path / "typo") as (room, tap):
        view = await until(room, tap, lambda view: "no job matches" in view.because[0])
        assert view.queue.cells == ()
    slurm.run("scancel", array)
