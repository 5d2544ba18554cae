"""The jobs of an instance as they may be shown at one moment: a list that is old proves nothing of now."""

from __future__ import annotations

from dataclasses import replace

from gpu_tui.core import metrics
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.metrics import Metric
from gpu_tui.core.sample import Track
from gpu_tui.core.sweep import CellState
from gpu_tui.state.instance import InstanceState

SCHEDULERS: dict[str, Metric[JobTable]] = {
    "slurm": metrics.SLURM,
    "kubernetes": metrics.KUBERNETES,
}
TITLES = {"slurm": "Slurm", "kubernetes": "Kubernetes"}


def job_tables(kept: InstanceState, now: float) -> list[JobTable]:
    """What every source listed. Of jobs that ran when a source last answered nobody can tell now."""
    tables = []
    for metric in metrics.JOBS:
        table = kept.value(metric)
        if table is None:
            continue
        if kept.fresh(metric, now) is None:
            why = kept.tracks.get(metric.name, Track()).why
            why = f"not heard of since: {why}" if why else "not heard of for a while"
            table = replace(table, jobs=tuple(_aged(job, why) for job in table.jobs))
        tables.append(table)
    return tables


def scheduled(kept: InstanceState, now: float) -> tuple[str | None, tuple[Job, ...] | None, str]:
    """(the scheduler's name, its jobs as listed now, why there are none); all None for a plain box."""
    metric = SCHEDULERS.get(kept.instance.scheduler or "")
    if metric is None:
        return None, None, ""
    table, track = kept.fresh(metric, now), kept.tracks.get(metric.name, Track())
    why = track.why or "its last answer is old"
    return TITLES[kept.instance.scheduler or ""], table.jobs if table else None, why


def _aged(job: Job, why: str) -> Job:
    live = job.state in (CellState.RUNNING, CellState.PENDING)
    return replace(job, state=CellState.CANNOT_TELL, why=why) if live else job
