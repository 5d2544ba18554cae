"""A real Slurm job that hangs, as the looks of cron's `check` see it: by the date of its log and the pace of its epochs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from boxes import Sshd
from slurm_lab import Slurm

from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Fleet
from gpu_tui.core.verdict import Verdict
from gpu_tui.state import silence
from gpu_tui.state.views import InstanceView
from gpu_tui.wiring import collect_once

EPOCHS = "for epoch in 1 2 3 4 5 6; do echo Epoch $epoch/50 loss: 0.5; done;"
GOES_ON = "while sleep 0.5; do : $((n += 1)); echo Epoch $n/5000 loss: 0.5; done"


def stalled(view: InstanceView) -> dict[str, Severity]:
    return {one.cell or "": one.severity for one in view.findings if one.kind == "stalled"}


async def test_one_look_reports_a_job_that_hangs_and_not_one_that_goes_on(
    slurm: Slurm, login_node: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(silence, "CLOCKS", 0.0)  # all of the cluster is on this machine
    out = f"{tmp_path}/%j.out"
    hangs = slurm.submit(f"{EPOCHS} sleep 300", "-o", out, name="hangs")
    slurm.submit(GOES_ON, "-o", out, name="goes on")
    fleet = Fleet(None, (login_node.instance("login", scheduler="slurm", stall_after=3.0),))
    async with asyncio.timeout(50):
        while not stalled(view := (await collect_once(fleet, 30.0))["login"]):
            pass
    assert stalled(view) == {f"{hangs}·hangs": Severity.WARN}
    assert view.verdict is Verdict.RUNNING
    assert view.because[1].startswith(f"{hangs}·hangs is silent; no line for ")
    assert view.because[1].endswith("times its usual gap")
