"""Steps by the accounts of a real Slurm: those that failed, those that were made good, and helpers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from boxes import Sshd
from slurm_accounts import AccountingSlurm
from slurm_lab import pause, started

from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Fleet
from gpu_tui.core.sweep import CellState
from gpu_tui.wiring.once import collect_once

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(
        not os.environ.get("GPU_TUI_NIGHTLY"), reason="only in the nightly run (GPU_TUI_NIGHTLY=1)"
    ),
    pytest.mark.timeout(180),
]
TWO = 'if [ "$SLURM_PROCID" = 1 ]; then exit 1; fi; sleep 60'
MONITOR = "srun --overlap -n1 -J monitor sh -c 'while sleep 1; do echo card; done' &"
WORK = "srun --overlap -n1 sh -c 'sleep 2; echo Epoch 10/10'"
# By name: the script, the state, the words, and whether a finding is grave.
STORIES = {
    "goeson": ("srun -n1 false\necho done", CellState.SUSPICIOUS, "step 0 FAILED exit 1, and the"),
    "kob": (
        f"srun -n2 --kill-on-bad-exit=1 sh -c '{TWO}'\necho $?",
        CellState.SUSPICIOUS,
        "step 0 CANCELLED signal 15, and the script went on to exit 0",
    ),
    "killed": ("srun -n1 sh -c 'kill -9 $$'\ntrue", CellState.SUSPICIOUS, "CANCELLED signal 9"),
    "sleeps": (
        "srun -n1 -o step-%j-%t.log sh -c 'echo Epoch 2/10; exit 7'\nsleep 300",
        CellState.RUNNING,
        "step 0 FAILED exit 7, and no step runs",
    ),
    "retried": ("srun -n1 ./once || srun -n1 ./once --resume", CellState.FINISHED, None),
    "cut-off": (f"{MONITOR}\n{WORK}", CellState.FINISHED, None),
    "ended": (f"{MONITOR}\n{WORK}\nkill $!; wait; sleep 1", CellState.FINISHED, None),
}


@pytest.fixture
def booked(tmp_path: Path) -> Iterator[AccountingSlurm]:
    yield from started(AccountingSlurm(tmp_path / "booked"))  # type: ignore[misc]


async def test_the_steps_of_a_job_show_whether_its_work_failed(
    booked: AccountingSlurm, make_box: Callable[..., Sshd], tmp_path: Path
) -> None:
    once = booked.root / "once"
    once.write_text('#!/bin/sh\n[ "$1" = --resume ] || exit 3\n')
    once.chmod(0o755)
    ids = {
        name: booked.submit(script, "-n", "2", "-t", "10", name=name)
        for name, (script, *_) in STORIES.items()
    }

    def failed(job: str) -> bool:
        return "FAILED" in booked.run("sacct", "-n", "-P", "-o", "State", "-j", f"{job}.0")

    while booked.run("squeue", "-h", "-o", "%i") != ids["sleeps"] or not failed(ids["sleeps"]):
        await asyncio.to_thread(pause)
    box = make_box("login", env=booked.env).instance("login", scheduler="slurm")
    view = (await collect_once(Fleet(None, (box,)), state=tmp_path / "state"))["login"]
    cells = {cell.job: cell for cell in view.queue.cells}
    for name, (_, state, words) in STORIES.items():
        cell = cells[ids[name]]
        grave = [
            found
            for found in view.findings
            if found.cell == cell.name and found.severity.rank <= Severity.SERIOUS.rank
        ]
        assert cell.state is state, (name, cell.why)
        assert (words or "") in (cell.why or ""), name
        assert bool(grave) is (words is not None), (name, grave)
    sleeps = cells[ids["sleeps"]]
    assert (sleeps.epoch, sleeps.epochs) == (2, 10)  # of the log that only its step names
    assert any(f"{sleeps.name}: step 0 FAILED" in reason for reason in view.because)
