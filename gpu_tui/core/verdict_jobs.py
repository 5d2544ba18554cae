"""What lists of jobs answer to the verdict's questions: a scheduler's, of jobs on other machines, and those of
other runners on this one. Each answer is a reason, or None where the question is not answered.
"""

from __future__ import annotations

from gpu_tui.core import units
from gpu_tui.core.facts import Evidence
from gpu_tui.core.job_scope import NO_MATCH
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.core.vanished import ENDS_WITH, SAYS_ABOVE

# Kinds of finding of a job that runs: a part of it failed, and the job goes on without it.
FAILED_INSIDE = frozenset({"crashed", "host_oom", "time_limit", "hardware"})
UNENDED = frozenset({CellState.RUNNING, CellState.PENDING, CellState.CANNOT_TELL})


def _elsewhere(seen: Evidence) -> bool:
    """A scheduler runs the jobs on other machines, and no queue of our own is watched on this one."""
    return seen.scheduler is not None and not seen.has_queue


def jobs_unread(seen: Evidence) -> str | None:
    """Nobody says what runs."""
    if not _elsewhere(seen) or seen.jobs is not None:
        return None
    if seen.jobs_why is not None and seen.jobs_why.startswith(NO_MATCH):
        return seen.jobs_why
    return f"{seen.scheduler} does not say what runs: {seen.jobs_why or 'not read yet'}"


def jobs_run(seen: Evidence) -> str | None:
    """At least one job of the scheduler runs."""
    runs, waits = _in_state(seen, CellState.RUNNING), _in_state(seen, CellState.PENDING)
    if not _elsewhere(seen) or not runs:
        return None
    return f"{_jobs(runs)} run{'s' if runs == 1 else ''} and {waits or 'none'} wait"


def jobs_failed_inside(seen: Evidence) -> str | None:
    """The remark for jobs that run though a part of them failed."""
    hurt = [
        job
        for job in seen.jobs or ()
        if job.state is CellState.RUNNING and job.finding in FAILED_INSIDE and not job.again
    ]
    if not _elsewhere(seen) or not hurt:
        return None
    more = f" (and {len(hurt) - 1} more)" if len(hurt) > 1 else ""
    return f"{hurt[-1].name}: {hurt[-1].why}{more}"


def jobs_silent(seen: Evidence) -> str | None:
    """The reason if the logs of all running jobs are silent for far longer than usual."""
    rows = _running_rows(seen)
    if not rows or any(cell.still_seconds is None for cell in rows):
        return None
    if len(rows) == 1:
        return f"{rows[0].name} is silent; {rows[0].why}"
    shortest = min(cell.still_seconds or 0.0 for cell in rows)
    return f"none of the {len(rows)} running jobs wrote a line for {units.words(shortest)}"


def some_silent(seen: Evidence) -> str | None:
    """The remark if the logs of some running jobs are silent for far longer than usual."""
    silent = [cell for cell in _running_rows(seen) if cell.still_seconds is not None]
    if len(silent) == 1:
        return f"{silent[0].name} is silent; {silent[0].why}"
    return f"{len(silent)} of them are silent for far longer than usual" if silent else None


def _running_rows(seen: Evidence) -> list[Cell]:
    """The rows of the scheduler's running jobs."""
    if not _elsewhere(seen) or seen.queue is None:
        return []
    return [cell for cell in seen.queue.cells if cell.state is CellState.RUNNING and cell.job]


def jobs_wait(seen: Evidence) -> str | None:
    """None runs, some wait."""
    waiting = [job for job in seen.jobs or () if job.state is CellState.PENDING]
    if not _elsewhere(seen) or not waiting:
        return None
    because = f" ({waiting[0].why})" if waiting[0].why else ""
    return f"no job runs; {_jobs(len(waiting))} in the queue{because}"


def jobs_unclear(seen: Evidence) -> str | None:
    """None runs or waits as far as is known, and nothing says whether one of them still runs."""
    if not _elsewhere(seen):
        return None
    unsure = [
        job
        for job in seen.jobs or ()
        if job.state is CellState.CANNOT_TELL and job.finished_at is None
    ]
    if not unsure:
        return None
    more = f" (and {len(unsure) - 1} more)" if len(unsure) > 1 else ""
    return f"nothing says whether {unsure[0].name} still runs: {unsure[0].why}{more}"


def jobs_preempted(seen: Evidence) -> str | None:
    """The last that ended was preempted, and nothing follows it."""
    ended = [job for job in seen.jobs or () if job.finished_at is not None]
    last = max(ended, key=lambda job: job.finished_at or 0.0, default=None)
    if not _elsewhere(seen) or last is None or not last.preempted:
        return None
    return f"{last.name} was preempted, and no job runs or waits"


def jobs_over(seen: Evidence) -> str | None:
    """All have ended."""
    if not _elsewhere(seen) or not seen.jobs:
        return None
    failed = _in_state(seen, CellState.FAILED, CellState.SYNC_FAILED)
    unknown = _in_state(seen, CellState.CANNOT_TELL)
    more = f"; nothing says how {unknown} ended" if unknown else ""
    return f"no job runs or waits; {failed} of {len(seen.jobs)} failed{more}"


def no_jobs(seen: Evidence) -> str | None:
    """It lists none."""
    if _elsewhere(seen) and (seen.jobs_why or "").startswith(NO_MATCH):
        return seen.jobs_why
    return f"{seen.scheduler} lists no job" if _elsewhere(seen) else None


def _in_state(seen: Evidence, *states: CellState) -> int:
    return sum(job.state in states for job in seen.jobs or ())


def _jobs(count: int) -> str:
    return f"{count} job{'' if count == 1 else 's'}"


def listed_run(seen: Evidence) -> str | None:
    """Whoever runs them knows better than a table of processes what they are."""
    runs = sum(cell.state is CellState.RUNNING for cell in seen.listed)
    if not runs:
        return None
    if runs == 1:
        return "1 job runs by the list of what runs it"
    return f"{runs} jobs run by the list of what runs it"


def listed_still(seen: Evidence) -> str | None:
    """The reason if listed jobs run and nothing moves. A computing card or process may be a training with buffered stdout."""
    runs = listed_run(seen)
    if not runs or not seen.listed_still or seen.works or seen.cpu_works:
        return None
    return f"{runs}, yet nothing moved for {units.words(seen.listed_quiet)}"


def listed_busy_and_still(seen: Evidence) -> str | None:
    """The remark where only the card tells of work."""
    if not (listed_run(seen) and seen.listed_still and seen.works):
        return None
    return (
        f"nothing moved for {units.words(seen.listed_quiet)}, though the GPU shows {seen.busy:.0%}: a collective "
        "that hangs looks like this, and so does buffered stdout (python -u)"
    )


def listed_wait(seen: Evidence) -> str | None:
    """By a runner's list none runs, some wait."""
    waits = sum(cell.state is CellState.PENDING for cell in seen.listed)
    return f"no job runs; {_jobs(waits)} in the queue" if waits else None


def last_failed(seen: Evidence) -> bool | None:
    """Whether the log of the last that ended says what failed; None where none is known to have ended."""
    over = [cell for cell in seen.listed if cell.finished_at is not None]
    last = max(over, key=lambda cell: cell.finished_at or 0.0, default=None)
    if last is None:
        return None
    why = last.why or ""
    return last.state is CellState.FAILED and (ENDS_WITH in why or SAYS_ABOVE in why)


def listed_over(seen: Evidence) -> str | None:
    """By a runner's list all have ended."""
    states = [cell.state for cell in seen.listed]
    if not states or any(state in UNENDED for state in states):
        return None
    return f"no job runs or waits; {states.count(CellState.FAILED)} of {len(states)} failed"
