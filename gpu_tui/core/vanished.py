"""Jobs of those who keep no record: tmux and detached programs are there while they run, and then are not.

What was seen running and is gone stays in the queue, with what is known of its end; a program that
comes back under the same name is a new attempt, and told as one where its command is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.liveness import trainings_below
from gpu_tui.core.readings import Process
from gpu_tui.core.sample import Absent, Reading
from gpu_tui.core.sweep import CellState

GONE_KEPT = 200  # of one source
GONE = "its process is gone, and nothing told how it ended"
NO_MORE = "it is not listed any more, and the processes were not read since"
UNLISTED = "it is not listed any more, yet its process is there"
UNTOLD = "suspicious_end"  # the kind of finding of one that was seen at work until then
ENDS_WITH = "its log ends with: "
WENT_ON = "what started it went on with "
INIT = 1  # whoever lost its parent is a child of it: that is nobody's loop
A_HABIT = 2  # starts of a wrapper; a person may have started it anew once
ON_THE_WAY = 10.0  # seconds that the last words of a log may take to us


@dataclass(frozen=True, slots=True)
class Ending:
    """What a job's log says of its end: what failed, that its counters came to their end, or in `said` its own
    last word of it, which is a good one where it ended `well`.
    """

    failure: str | None = None
    complete: bool = False
    said: str | None = None
    well: bool = False


@dataclass(slots=True)
class Vanished:
    """Feed it the tables of one source and of processes; it remembers who is no longer in them."""

    _last: dict[str, Job] = field(default_factory=dict)
    _gone: dict[str, Job] = field(default_factory=dict)
    _unlisted: set[str] = field(default_factory=set)  # of those: whose process was seen since
    _looked: float | None = None  # at the processes
    _starts: dict[str, int] = field(default_factory=dict)  # of who was started again

    def follow(self, sample: object) -> None:
        """The newest answer. One that failed tells of nobody; an absence tells that nobody is there."""
        match sample:
            case Reading(value=JobTable(jobs=jobs), taken_at=at):
                self._take({job.name: job for job in jobs}, at)
            case Absent(taken_at=at):
                self._take({}, at)

    def _take(self, now: dict[str, Job], at: float) -> None:
        there = {job.id for job in now.values()}  # a second one beside it may have changed its name
        for name, job in now.items():
            before = self._gone.pop(name, None) or self._last.get(name)
            self._unlisted.discard(name)
            if before is not None and _again(before, job) and before.id not in there:
                self._starts[name] = self._starts.get(name, 0) + 1
        for name, job in self._last.items():
            if name not in now and job.id not in there and job.live:
                self._gone[name] = _gone(job, _next(job, self._last, now), at)
        while len(self._gone) > GONE_KEPT:
            del self._gone[next(iter(self._gone))]
        self._unlisted &= self._gone.keys()
        self._starts = {n: many for n, many in self._starts.items() if n in now or n in self._gone}
        self._last = now

    def saw(self, processes: Sequence[Process], at: float) -> None:
        """Who is there, though a list lost it: tmux whose socket was cleaned away, a log that was deleted."""
        self._looked = at
        if not self._gone:
            return
        programs = trainings_below(processes)
        began = {one.pid: at - one.age_seconds for one in processes if one.age_seconds is not None}
        for name, job in self._gone.items():
            until = job.finished_at or 0.0
            if not job.pids or at <= until:
                continue
            # Its number may have been given to one that began since.
            pid = job.pids[0]
            self._unlisted.discard(name)
            if began.get(pid, at) < until and pid in programs:
                self._unlisted.add(name)
                self._gone[name] = replace(job, finished_at=at)

    @property
    def any(self) -> bool:
        """Somebody is gone."""
        return bool(self._gone)

    def complete(
        self, table: JobTable, endings: Mapping[str, Ending], now: float = inf, skew: float = 0.0
    ) -> JobTable:
        """The table with those who are gone before those who are there, each with what its log says.

        `skew`: by how much the box's clock is ahead of ours.
        """
        gone = (
            replace(job, state=CellState.RUNNING, word="running", why=UNLISTED, finished_at=None)
            if name in self._unlisted
            else _told(job, endings.get(name, Ending()), now, skew, proven=self._proven(job))
            for name, job in self._gone.items()
        )
        here = (_started_again(job, self._starts.get(job.name, 0)) for job in table.jobs)
        return replace(table, jobs=(*gone, *here))

    def _proven(self, job: Job) -> bool:
        """No process table that would show it is still to come."""
        looked, at = self._looked, job.finished_at
        return looked is None or at is None or not job.pids or looked > at


def _gone(job: Job, then: str | None, at: float) -> Job:
    return replace(
        job, state=CellState.CANNOT_TELL, word="gone", why=GONE, finished_at=at, then=then
    )


def _next(job: Job, before: Mapping[str, Job], now: Mapping[str, Job]) -> str | None:
    """What the same shell has begun in its place."""
    parent = job.pids[1:2]
    if not parent or parent == (INIT,):
        return None
    new = (one for name, one in now.items() if name not in before and one.live)
    return next((one.name for one in new if one.pids[1:2] == parent), None)


def _again(before: Job, job: Job) -> bool:
    """The same program, begun anew."""
    same = before.command is not None and before.command == job.command
    return same and before.id != job.id and job.live


def _started_again(job: Job, times: int) -> Job:
    if not times or not job.live:
        return job
    said = f"it ended and was started again, {times} time{'' if times == 1 else 's'} so far"
    finding = UNTOLD if times >= A_HABIT else None
    return replace(job, why=f"{job.why}; {said}" if job.why else said, finding=finding)


def _told(job: Job, ending: Ending, now: float, skew: float, *, proven: bool) -> Job:
    at = job.finished_at or 0.0
    known = ended(replace(job, finished_at=at + skew), ending)
    if known.why != GONE:
        return known
    if not proven:
        return replace(known, why=NO_MORE)
    why = GONE if job.then is None else f"{GONE}; {WENT_ON}{job.then}"
    # What it was is not always known: an editor may leave without a word.
    untold = job.command is not None and now - at >= ON_THE_WAY
    return replace(known, why=why, finding=UNTOLD if untold else None)


def ended(job: Job, ending: Ending) -> Job:
    """What its log says of the end of a job of which nothing else tells."""
    if ending.failure is not None:
        return replace(job, state=CellState.FAILED, why=f"{ENDS_WITH}{ending.failure}")
    if ending.complete:
        why = "by its log alone: its counters came to their end"
        return replace(job, state=CellState.FINISHED, why=why)
    if ending.said is not None:
        state = CellState.FINISHED if ending.well else job.state
        return replace(job, state=state, why=f"by its log alone: it says “{ending.said}”")
    return job
