"""Jobs of those who keep no record: tmux and detached programs are there while they run, and then are not.

What was seen running and is gone stays in the queue, with what is known of its end. A program that comes
back under the same name is a new attempt (`restarts`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.liveness import is_typed_at, trainings_below
from gpu_tui.core.readings import Process
from gpu_tui.core.restarts import INIT, Restarts, is_restart
from gpu_tui.core.run_memory import GONE_FOR, LONGEST, Memory, written
from gpu_tui.core.sample import Absent, Reading
from gpu_tui.core.sweep import CellState

GONE_KEPT = 200  # of one source
GONE = "its process is gone, and nothing says how it ended"
NO_MORE = "it is not listed any more, and the processes were not read since"
UNLISTED = "it is not listed any more, yet its process is there"
BY_LOG = "by its log alone: "
COUNTED = f"{BY_LOG}its counters came to their end"
UNTOLD = "suspicious_end"  # the kind of finding of one that was seen at work until then
ENDS_WITH = "its log ends with: "
SAYS_ABOVE = "its log says, above its last reports: "
WENT_ON = "what started it went on with "
WRITES = "its program went on with "
NEWER = 5.0  # seconds: a table of processes may have been read for so long before it came
ON_THE_WAY = 10.0  # seconds that the last words of a log may take to us


@dataclass(frozen=True, slots=True)
class Ending:
    """What a job's log says of its end: what failed, that its counters came to their end, or in `said` its own
    last word of it, which is a good one where it ended `well`. `above`: reports stand below the failure;
    `anew`: their counters began anew.
    """

    failure: str | None = None
    complete: bool = False
    said: str | None = None
    well: bool = False
    above: bool = False
    anew: bool = False

    @property
    def failed(self) -> str:
        """What failed, and where its log says so."""
        return f"{SAYS_ABOVE if self.above else ENDS_WITH}{self.failure}"

    @property
    def good(self) -> bool:
        """It came to its end, as far as the log tells."""
        return self.complete or self.well


NOTHING = Ending()
NO_TIMES: Mapping[str, float] = {}


@dataclass(slots=True)
class Vanished:
    """Feed it the tables of one source and of processes; it remembers who is no longer in them."""

    ended: Collection[str] = ()  # runs whose end is known: they are dropped last
    _last: dict[str, Job] = field(default_factory=dict)
    _gone: dict[str, Job] = field(default_factory=dict)
    _unlisted: set[str] = field(default_factory=set)  # of those: whose process was seen since
    _listed: float | None = None  # when the last table came
    _looked: float | None = None  # at the processes
    _there: frozenset[int] = frozenset()  # the jobs' own that were among them
    _restarts: Restarts = field(default_factory=Restarts)
    # Shells at which a person sat when the processes were read.
    _typed: frozenset[int] = frozenset()
    _memory: Memory | None = None  # until the first look
    # Who was gone at that look, and when it was.
    _recalled: dict[str, float] = field(default_factory=dict)

    def recall(self, memory: Memory | None) -> None:
        """What an earlier watch of this box knew, before anything else is told."""
        self._memory = memory

    def memory(self, box: str, at: float, host_key: str | None = None) -> str:
        """For the next watch, as of a look at `at`; empty where there is nobody to remember."""
        live = (job for job in self._last.values() if job.live)
        gone = sorted(self._gone.values(), key=lambda job: job.name in self.ended)
        return written(box, at, live, gone, host_key)

    def _remember(self, at: float) -> None:
        """Who was there when another watch looked last is judged as if we had; when they went is not known: they
        were there until then, and are not now.
        """
        memory, self._memory = self._memory, None
        if memory is None or not 0 <= at - memory.seen_at <= LONGEST:
            return
        # How long it took is then not known, and by half an hour too little would be a finding of its own.
        self._last = {job.name: replace(job, started_at=None) for job in memory.live}
        self._gone = {
            job.name: replace(job, why=job.why or GONE)
            for job in memory.gone
            if job.name in self.ended or at - (job.seen_at or job.finished_at or 0.0) <= GONE_FOR
        }
        self._recalled = dict.fromkeys((*self._last, *self._gone), at)

    def follow(self, sample: object) -> None:
        """The newest answer. One that failed tells of nobody; an absence tells that nobody is there."""
        match sample:
            case Reading(value=JobTable(jobs=jobs), taken_at=at):
                self._take({job.name: job for job in jobs}, at)
            case Absent(taken_at=at):
                self._take({}, at)

    def _take(self, now: dict[str, Job], at: float) -> None:
        seen = at if self._listed is None else self._listed
        if self._memory is not None:
            seen = min(at, self._memory.seen_at)
            self._remember(at)
        there = {job.id: job for job in now.values()}
        for name, job in now.items():
            before = self._gone.pop(name, None) or self._last.get(name)
            self._unlisted.discard(name)
            if before is not None and is_restart(before, job) and before.id not in there:
                self._restarts.note(before, job, at, self._typed)
        for name, job in self._last.items():
            if name in now or not job.live:
                continue
            same = there.get(job.id)
            if same is None:
                known = self._gone.get(name)  # by the processes, before this list came
                gone = _gone(job, _next(job, self._last, now), at, seen)
                self._gone[name] = gone if known is None else replace(known, then=gone.then)
            elif None not in (job.stdout, same.stdout) and job.stdout != same.stdout:
                self._gone[name] = _left_behind(job, same, at)
            # Else it has another name: a second one beside it is called as it was, or its log was found.
        while len(self._gone) > GONE_KEPT:
            unknown = (name for name in self._gone if name not in self.ended)
            del self._gone[next(unknown, next(iter(self._gone)))]
        self._unlisted &= self._gone.keys()
        self._recalled = {name: at for name, at in self._recalled.items() if name in self._gone}
        self._restarts.keep({*now, *self._gone})
        self._last, self._listed = now, at

    def saw(self, processes: Sequence[Process], at: float) -> None:
        """Who is there, though a list lost it: tmux whose socket was cleaned away, a log that was deleted."""
        self._looked = at
        self._typed = frozenset(one.pid for one in processes if is_typed_at(one))
        self._miss(processes, at)
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
            if began.get(pid, at) < (job.seen_at or until) and pid in programs:
                self._unlisted.add(name)
                self._gone[name] = replace(job, finished_at=at, seen_at=at)

    def _miss(self, processes: Sequence[Process], at: float) -> None:
        """Who was among the processes and is not any more, though no newer list says so yet."""
        living = {one.pid for one in processes if one.state not in ("Z", "X")}
        before, listed = self._there, self._listed
        jobs = {name: job for name, job in self._last.items() if job.live and job.pids}
        self._there = frozenset(job.pids[0] for job in jobs.values()) & living
        if listed is None or at <= listed + NEWER:
            return
        for name, job in jobs.items():
            if job.pids[0] in before - living and name not in self._gone:
                self._gone[name] = _gone(job, None, at, listed)

    @property
    def any(self) -> bool:
        """Somebody is gone."""
        return bool(self._gone)

    def complete(
        self,
        table: JobTable,
        endings: Mapping[str, Ending],
        now: float = inf,
        skew: float = 0.0,
        written: Mapping[str, float] = NO_TIMES,
    ) -> JobTable:
        """The table with those who are gone before those who are there, each with what its log says.

        `skew`: by how much the box's clock is ahead of ours. `written`: by path, when logs were written last, by the
        box's clock.
        """
        gone = (
            replace(job, state=CellState.RUNNING, word="running", why=UNLISTED, finished_at=None)
            if name in self._unlisted and not endings.get(name, NOTHING).good
            else _told(
                self._dated(job, written, skew),
                endings.get(name, NOTHING),
                skew,
                proven=self._proven(job),
                heard=self._heard(job, now, known=name in endings),
            )
            for name, job in self._gone.items()
        )
        missed = {job.id for name, job in self._gone.items() if name in self._last}
        rows = (job for job in table.jobs if job.id not in missed)
        here = (self._restarts.told(job, UNTOLD) for job in rows)
        return replace(table, jobs=(*gone, *here))

    def _heard(self, job: Job, now: float, *, known: bool) -> bool:
        """What its log said last has come, if anything did."""
        at = self._recalled.get(job.name)
        if at is not None and (known or job.stdout is None):
            return True  # over before we came: its log was read from its end, or there is none
        return now - ((job.finished_at or 0.0) if at is None else at) >= ON_THE_WAY

    def _dated(self, job: Job, written: Mapping[str, float], skew: float) -> Job:
        """The job with the last write of its log as its end, if it ended before this watch and wrote after an earlier
        one saw it.
        """
        wrote, at = written.get(job.stdout or ""), job.finished_at
        if wrote is None or at is None or job.seen_at is None or job.name not in self._recalled:
            return job
        return replace(job, finished_at=wrote - skew) if job.seen_at <= wrote - skew < at else job

    def _proven(self, job: Job) -> bool:
        """No process table that would show it is still to come."""
        looked, at = self._looked, job.finished_at
        if job.name in self._recalled:
            return True  # it was over before we came
        return looked is None or at is None or not job.pids or looked >= at


def _gone(job: Job, then: str | None, at: float, seen: float | None) -> Job:
    gone = replace(job, state=CellState.CANNOT_TELL, word="gone", why=GONE, finished_at=at)
    return replace(gone, then=then, seen_at=seen)


def _left_behind(job: Job, now: Job, at: float) -> Job:
    """One program may train several in turn, each with a log of its own: its process tells nothing of this one."""
    return replace(_gone(job, None, at, None), why=f"{WRITES}{now.name}", pids=())


def _next(job: Job, before: Mapping[str, Job], now: Mapping[str, Job]) -> str | None:
    """What the same shell has begun in its place."""
    parent = job.pids[1:2]
    if not parent or parent == (INIT,):
        return None
    new = (one for name, one in now.items() if name not in before and one.live)
    return next((one.name for one in new if one.pids[1:2] == parent), None)


def _told(job: Job, ending: Ending, skew: float, *, proven: bool, heard: bool) -> Job:
    at, seen = job.finished_at or 0.0, job.seen_at
    known = ended(replace(job, finished_at=at + skew, seen_at=None), ending)
    if known.why != GONE:
        return known
    if not proven:
        return replace(known, why=NO_MORE)
    why = GONE if job.then is None else f"{GONE}; {WENT_ON}{job.then}"
    if job.command is None:  # what it was is not always known: an editor may leave without a word
        return replace(known, why=why)
    seen = None if seen is None else seen + skew
    return replace(known, why=why, seen_at=seen, finding=UNTOLD if heard else None)


def ended(job: Job, ending: Ending) -> Job:
    """What its log says of the end of a job of which nothing else tells."""
    if ending.failure is not None:
        return replace(job, state=CellState.FAILED, why=ending.failed)
    if ending.complete:
        return replace(job, state=CellState.FINISHED, why=COUNTED)
    if ending.said is not None:
        state = CellState.FINISHED if ending.well else job.state
        return replace(job, state=state, why=f"{BY_LOG}it says “{ending.said}”")
    return job
