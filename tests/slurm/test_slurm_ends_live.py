"""One story on a real Slurm: jobs that their user cancels or requeues, that another job displaces, that cannot start."""

from __future__ import annotations

from pathlib import Path

import pytest
from boxes import Sshd
from slurm_lab import Slurm
from test_slurm_live import rows, until

from gpu_tui.core.findings import Finding, Severity
from gpu_tui.core.fleet import Fleet
from gpu_tui.core.sweep import CellState
from gpu_tui.state.views import InstanceView
from gpu_tui.wiring import open_fleet

pytestmark = pytest.mark.usefixtures("hurried")

TRAIN = """
for n in $(seq 7); do echo "Epoch $n/60 loss: 0.$n"; done
exec sleep 300
"""


def of(view: InstanceView, job: str) -> list[Finding]:
    cell = rows(view).get(job)
    # Clocks have a part of their own: they tell of a deadline, not of an end.
    return [one for one in view.findings if cell and one.cell == cell.name and one.part is None]


async def test_who_ended_a_job_is_the_schedulers_word(
    slurm: Slurm, login_node: Sshd, tmp_path: Path
) -> None:
    out = ("-o", f"{tmp_path}/%j.out", "--open-mode=append")
    dropped = slurm.submit(TRAIN, *out, name="dropped")
    again = slurm.submit(TRAIN, *out, "-n", "2", name="again")
    spot = slurm.submit(TRAIN, *out, "-p", "spot", name="spot")
    lost = slurm.submit(TRAIN, "-o", f"{tmp_path}/nowhere/%j.out", name="lost")
    jobs = (dropped, again, spot)

    def all_train(view: InstanceView) -> bool:
        seen = rows(view)
        return all(job in seen and seen[job].epoch == 7 for job in jobs)

    fleet = Fleet(None, (login_node.instance("login", platform="slurm", scheduler="slurm"),))
    async with open_fleet(fleet, read_only=True, state=tmp_path / "state") as (room, tap):
        await until(room, tap, all_train)
        slurm.run("scancel", dropped)
        # Only without `spot` is there room for it, and then there is none for `spot`.
        first = slurm.submit("sleep 300", "-n", "6", name="first")

        def displaced(view: InstanceView) -> bool:
            seen = rows(view)
            return first in seen and seen[first].state is CellState.RUNNING

        await until(room, tap, displaced)
        # It takes the place of `again` before one of the two that were put back can.
        second = slurm.submit("sleep 300", "-n", "2", "--priority=TOP", name="second")
        slurm.run("scontrol", "requeue", again)

        def told(view: InstanceView) -> bool:
            seen = rows(view)
            return (
                seen[dropped].state is CellState.SKIPPED
                and (seen[again].restarts, seen[spot].restarts) == (1, 1)
                and {one.kind for one in of(view, spot)} == {"preempted"}
                and second in seen
                and seen[second].state is CellState.RUNNING
            )

        view = await until(room, tap, told)
        seen = rows(view)
        assert of(view, dropped) == of(view, again) == []
        (preempted,) = of(view, spot)
        assert preempted.evidence.startswith(
            "preempted after epoch 7, back in the queue, restart 1"
        )
        assert preempted.severity is Severity.WARN
        assert (seen[spot].state, seen[spot].epoch) == (CellState.PENDING, 7)
        assert "requeued after epoch 7, back in the queue" in (seen[again].why or "")
        (unstarted,) = of(view, lost)
        assert (unstarted.kind, seen[lost].finding) == ("missing_cell", "missing_cell")
        assert "it could not be started" in unstarted.evidence
        slurm.run("scancel", again, spot, first, second)
