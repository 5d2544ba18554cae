"""Decides which jobs of a Slurm user are cells of the watched sweep. Pure.

The fleet file may filter by job name, partition, submission time and array. Three kinds of jobs are never cells:
interactive ones (`srun` or `salloc` without a batch script), jobs that the cluster refused, and, unless the filter names
a time or an array, jobs that ended before the sweep began. They stay in the table, for the clocks of what holds a node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from gpu_tui.core.fleet import Instance, SchedulerScope
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.left_queue import LEFT, UNRUN, UNSEEN
from gpu_tui.core.sweep import CellState

INTERACTIVE, REFUSED, UNMATCHED, OLDER = "interactive", "refused", "outside the filter", "older"
SOURCE = "Slurm"  # of the table
REASONS = (INTERACTIVE, REFUSED, UNMATCHED, OLDER)
NO_MATCH = "no job matches "
# Words for the ends of jobs that the cluster did not refuse, though no node may be known of them.
ENDED_UNSEEN = ("CANCELLED", "DEADLINE", LEFT, UNRUN, UNSEEN)
LATELY = 86_400.0  # seconds since its end: a job counts for a day, whatever was submitted after it
SLACK = 3_600.0  # seconds between the first and the last submission of one sweep
CUT = "…"  # at the end of a name that was cut
_LIVE = frozenset({CellState.RUNNING, CellState.PENDING})


def in_scope(
    table: JobTable, instance: Instance, now: float | None
) -> tuple[JobTable, Mapping[str, int]]:
    """The table without the jobs that are no cells, and how many of them there are for each reason. `now`: epoch seconds
    by the box's clock; None if it is not known.
    """
    if instance.scheduler != "slurm" or table.source != SOURCE:
        return table, {}
    why = not_counted(table.jobs, instance.scheduler_scope, now)
    if not why:
        return table, {}
    counts = Counter(why.values())
    jobs = tuple(job for job in table.jobs if job.id not in why)
    return replace(table, jobs=jobs), {one: counts[one] for one in REASONS if counts[one]}


def not_counted(jobs: Sequence[Job], scope: SchedulerScope, now: float | None) -> Mapping[str, str]:
    """By id, why a job is no cell of the sweep."""
    begin = scope.since.begin(now) if scope.since is not None and now is not None else None
    why: dict[str, str] = {}
    for job in jobs:
        if job.interactive:
            why[job.id] = INTERACTIVE
        elif not _matches(job, scope, begin):
            why[job.id] = UNMATCHED
        elif _is_refused(job):
            why[job.id] = REFUSED
    if scope.since is None and not scope.array and now is not None:
        rest = [job for job in jobs if job.id not in why]
        why.update((job.id, OLDER) for job in _older(rest, now))
    return why


def no_match(scope: SchedulerScope, counts: Mapping[str, int]) -> str | None:
    """Says that the filter matches no job, for a list without a cell; None if it filters nothing, or nothing is listed."""
    others = sum(counts.values())
    if not scope.filters or not counts.get(UNMATCHED):
        return None
    words = "1 other job" if others == 1 else f"{others} other jobs"
    return f"{NO_MATCH}{scope.filters}; {words}"


def _matches(job: Job, scope: SchedulerScope, begin: float | None) -> bool:
    if scope.array and job.id.partition("_")[0] not in scope.array:
        return False
    if begin is not None and job.submitted_at is not None and job.submitted_at < begin:
        return False
    if scope.partition and not {*scope.partition} & {*(job.task or "").split(",")}:
        return False
    name = job.name.removeprefix(f"{job.id}·")
    return not scope.name or any(_fits(name, glob) for glob in scope.name)


def _fits(name: str, glob: str) -> bool:
    """Whether the glob matches. Of a name that was cut, whether it matches as far as the name is known."""
    if not name.endswith(CUT):
        return fnmatchcase(name, glob)
    stem = name.removesuffix(CUT)
    return any(fnmatchcase(stem, glob[:end]) for end in range(1, len(glob) + 1))


def _is_refused(job: Job) -> bool:
    """Whether the job ended without a node and without a second of running, and its user did not cancel it."""
    ended = job.finished_at is not None and job.submitted_at is not None
    ended = ended and job.started_at in (None, job.finished_at)
    bad = job.state in (CellState.FAILED, CellState.SKIPPED)
    return ended and bad and job.node is None and job.word not in ENDED_UNSEEN


def _older(jobs: Sequence[Job], now: float) -> Iterable[Job]:
    """The jobs that ended more than a day ago, before the oldest job that is live was submitted. If none is live, the
    newest end counts as now: a sweep that is over stays whole.
    """
    live = [job for job in jobs if job.state in _LIVE]
    end = now if live else max((job.finished_at or 0.0 for job in jobs), default=0.0)
    since = end - LATELY
    sweep = live or [job for job in jobs if (job.finished_at or end) >= since]
    begin = min((job.submitted_at for job in sweep if job.submitted_at is not None), default=None)
    if begin is None:
        return ()
    return (
        job
        for job in jobs
        if job.finished_at is not None
        and job.finished_at < since
        and job.submitted_at is not None
        and job.submitted_at < begin - SLACK
    )
