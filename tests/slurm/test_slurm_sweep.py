"""An array whose every log is read at the first look, as the only jobs of a user that the fleet file names."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from boxes import Sshd
from slurm_lab import CONF, Slurm, pause, started
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
async def test_every_task_of_the_array_is_read_and_no_other_job_is_a_cell(
    slurm: Slurm, login_node: Sshd, tmp_path: Path
) -> None:
    other = slurm.submit("exit 3", name="test")
    shell = slurm.run("sh", "-c", "srun -J shell sh -c 'echo $SLURM_JOB_ID'")
    array = slurm.submit(TRAIN, "--array=0-6", "-o", f"{tmp_path}/%A_%a.out", name="sweep-a")
    logs = [tmp_path / f"{array}_{task}.out" for task in range(7)]
    while not all(log.exists() and "Epoch 3/20" in log.read_text() for log in logs):
        await asyncio.to_thread(pause)
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


@pytest.fixture
def large(tmp_path: Path) -> Iterator[Slurm]:
    """A node on which a hundred tasks run at once."""
    conf = CONF.replace("CPUs=8", "CPUs=128").replace("RealMemory=8000", "RealMemory=64000")
    yield from started(Slurm(tmp_path / "large", conf))


@pytest.mark.nightly
@pytest.mark.timeout(180)
@pytest.mark.skipif(
    not os.environ.get("GPU_TUI_NIGHTLY"), reason="only in the nightly run (GPU_TUI_NIGHTLY=1)"
)
@pytest.mark.usefixtures("hurried")
async def test_an_array_of_a_hundred_tasks_is_read_whole_and_a_nan_of_any_task_is_reported(
    large: Slurm, make_box: Callable[..., Sshd], tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    words = ("-o", f"{logs}/%A_%a.out", "-e", f"{logs}/%A_%a.err")
    array = large.submit(TRAIN, "--array=0-99", *words, name="sweep")
    single = [large.submit(TRAIN, "-o", f"{logs}/%j.out", name=f"one-{n}") for n in range(15)]
    box = make_box("login", env=large.env).instance("login", platform="slurm", scheduler="slurm")
    async with open_fleet(Fleet(None, (box,)), state=tmp_path / "state") as (room, tap):
        view = await until(
            room,
            tap,
            lambda view: (
                settled(view)
                and len(rows(view)) == 115
                and {cell.epoch for cell in rows(view).values()} == {3}
            ),
        )
        assert set(single) <= set(rows(view))
        assert view.queue.unread_logs == 0
        assert {finding.cell for finding in view.findings} == {f"{array}_0·sweep"}
        with (logs / f"{array}_57.out").open("a") as log:
            log.write("Epoch 4/20 loss: nan\n")
        with (logs / f"{array}_98.err").open("a") as log:
            log.write("RuntimeError: CUDA error: device-side assert triggered\n")
        alarmed = {f"{array}_{task}·sweep" for task in (0, 57, 98)}
        await until(room, tap, lambda view: {finding.cell for finding in view.findings} == alarmed)
    large.run("scancel", array, *single)
