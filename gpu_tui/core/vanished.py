"""Jobs of those who keep no record: tmux and detached programs are there while they run, and then are not.

What was seen running and is gone stays in the queue, with what is known of its end; a program that
comes back under the same name is a new attempt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.sample import Absent, Reading
from gpu_tui.core.sweep import CellState

GONE_KEPT = 200  # of one source
GONE = "its process is gone, and nothing told how it ended"
UNTOLD = "suspicious_end"  # the kind of finding of one that was seen at work until then


@dataclass(frozen=True, slots=True)
class Ending:
    """What a job's log says of its end: what failed, or that its counters came to their end."""

    failure: str | None = None
    complete: bool = False


@dataclass(slots=True)
class Vanished:
    """Feed it the tables of one source; it remembers who is no longer in them."""

    _last: dict[str, Job] = field(default_factory=dict)
    _gone: dict[str, Job] = field(default_factory=dict)

    def follow(self, sample: object) -> None:
        """The newest answer. One that failed tells of nobody; an absence tells that nobody is there."""
        match sample:
            case Reading(value=JobTable(jobs=jobs), taken_at=at):
                self._take({job.name: job for job in jobs}, at)
            case Absent(taken_at=at):
                self._take({}, at)

    def _take(self, now: dict[str, Job], at: float) -> None:
        there = {job.id for job in now.values()}  # a second one beside it may have changed its name
        for name, job in self._last.items():
            if name not in now and job.id not in there and job.live:
                self._gone[name] = replace(
                    job, state=CellState.CANNOT_TELL, word="gone", why=GONE, finished_at=at
                )
        for name in now:
            self._gone.pop(name, None)
        while len(self._gone) > GONE_KEPT:
            del self._gone[next(iter(self._gone))]
        self._last = now

    @property
    def any(self) -> bool:
        """Somebody is gone."""
        return bool(self._gone)

    def complete(self, table: JobTable, endings: Mapping[str, Ending]) -> JobTable:
        """The table with those who are gone before those who are there, each with what its log says."""
        gone = (ended(job, endings.get(job.name, Ending())) for job in self._gone.values())
        return replace(table, jobs=(*gone, *table.jobs))


def ended(job: Job, ending: Ending) -> Job:
    """What its log says of the end of a job of which nothing else tells."""
    if ending.failure is not None:
        return replace(job, state=CellState.FAILED, why=f"its log ends with: {ending.failure}")
    if ending.complete:
        why = "by its log alone: its counters came to their end"
        return replace(job, state=CellState.FINISHED, why=why)
    return job
