"""The ETA of a job at one look alone: its start and how far it is are known, its speed is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_tui.core.eta import Eta
from gpu_tui.core.jobs import Job, JobTable, with_jobs
from gpu_tui.core.sweep import Cell, CellEvidence, CellState, Queue

NOW = 1_795_000_000.0
JOB = Job("3_0", "3_0·sweep", CellState.RUNNING, "RUNNING", started_at=NOW - 91.0)
SEEN = CellEvidence(epoch=31, epochs=40, part=31 / 40, begun=1 / 40)


def cell(job: Job = JOB, seen: CellEvidence | None = SEEN, source: str = "Slurm") -> Cell:
    told = {} if seen is None else {job.name: seen}
    return with_jobs(Queue(), [JobTable(source, (job,))], told, box_now=NOW).cells[0]


def test_the_mean_pace_since_the_start_gives_the_eta() -> None:
    row = cell()
    assert row.eta_seconds == pytest.approx(26.4, abs=0.1)
    assert row.eta_range is not None
    low, high = row.eta_range
    assert low < 26 < high < 40


def test_the_recent_speed_goes_before_the_mean_pace() -> None:
    assert cell(seen=replace(SEEN, eta=Eta(18.0, 17.0, 20.0))).eta_seconds == 18.0


@pytest.mark.parametrize(
    ("job", "seen", "source"),
    [
        (
            JOB,
            replace(SEEN, begun=0.5),
            "Slurm",
        ),  # it went on from a checkpoint, or its log was cut
        (JOB, replace(SEEN, begun=None), "Slurm"),
        (replace(JOB, restarts=1), SEEN, "Slurm"),  # this attempt began later than epoch 0
        (replace(JOB, started_at=None), SEEN, "Slurm"),
        (JOB, replace(SEEN, part=None, epochs=None), "Slurm"),
        (JOB, replace(SEEN, epoch=0, part=0.001), "Slurm"),
        (JOB, replace(SEEN, stalled=True), "Slurm"),
        (replace(JOB, state=CellState.FINISHED, finished_at=NOW), SEEN, "Slurm"),
        (JOB, SEEN, "nohup"),  # its start is not that of the run
        (JOB, None, "Slurm"),
    ],
)
def test_where_the_start_is_not_known_nothing_is_said(
    job: Job, seen: CellEvidence | None, source: str
) -> None:
    assert cell(job, seen, source).eta_seconds is None
