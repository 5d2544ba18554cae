"""Keeps the jobs that their scheduler no longer lists.

Slurm's controller forgets a job MinJobAge seconds after its end (300 by default). Accounts may be absent, be down, or
reach back some days only; Kubernetes deletes a job after its TTL. A job that had ended keeps its row as it was last
listed. The end of any other is what its log says.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from gpu_tui.core.jobs import ENDED, Job, JobTable
from gpu_tui.core.run_memory import GONE_FOR, jobs_written
from gpu_tui.core.sample import Reading
from gpu_tui.core.sweep import CellState
from gpu_tui.core.vanished import NOTHING, UNTOLD, Ending, ended

LEFT = "left the queue between two checks"
UNRUN = "left the queue before it ran"
UNSEEN = "left the queue before it was seen to run"
NO_CODE = "nothing says its exit code"
NO_END = "nothing says how it ended"
LOG_DELETED = "its log was deleted with it"
SHARED_LOG = "other jobs write into its log"
UNREAD = "its log was not read"
KEPT_FOR = 3 * 86_400.0  # seconds after the end: as long as the accounts are asked for
UNSEEN_FOR = 30 * 86_400.0  # seconds since it was listed
LEFT_KEPT, DELETED_KEPT = (
    1_000,
    200,
)  # rows of one scheduler; a CronJob leaves a job every few minutes
RECORD_LATE = 200.0  # seconds until an end is in the accounts that were read: they are asked seldom
LOG_LATE = 5.0  # seconds that the end of a log may take to arrive
TERMINATING = "Terminating"  # the word of Kubernetes for a pod that is being deleted
# Said of a job that the accounts alone list, as one that runs or waits.
NOT_QUEUED = "but the queue does not have it"
REPLACED = (
    "ReplicaSet/",
    "DaemonSet/",
)  # owners of pods of Kubernetes that come back under other names
_UNFINISHED = frozenset({CellState.PENDING, CellState.SKIPPED})


@dataclass(slots=True)
class LeftQueue:
    """Takes each table of one scheduler; holds each job as it was last listed.

    `seen_at` of a job is then our time of that table. A job that left before its end was seen has as `finished_at` our
    time of the first table without it.
    """

    deletes: bool = False  # its scheduler deletes the logs of a job with the job
    _known: dict[str, Job] = field(default_factory=dict)  # by id
    _listed: Collection[str] = frozenset()  # ids of the last table
    _complete: bool = False  # the last table lists all jobs
    _recorded: bool = False  # and the ends of those that left
    _first: float | None = None  # our time of the first table
    _at: float = 0.0  # our time of the last table
    _more: int = 0  # rows that were dropped because of LEFT_KEPT
    _shown: dict[str, tuple[Job, Job]] = field(default_factory=dict)  # rows of jobs that were over

    def recall(self, jobs: Iterable[Job]) -> None:
        """Add the jobs that an earlier watch, or another process, has seen."""
        for job in jobs:
            mine = self._known.get(job.id)
            newer = mine is None or (job.seen_at or 0.0) > (mine.seen_at or 0.0)
            if job.id not in self._listed and newer:
                self._known[job.id] = job
        if self._first is not None:
            self._note_missing()

    def memory(self, box: str, at: float) -> str:
        """The text for the next watch, as of a look at `at`; empty if there is no job."""
        live = [replace(job, seen_at=None) for id, job in self._known.items() if id in self._listed]
        return jobs_written(box, at, live, self._left())

    def follow(self, sample: object) -> None:
        """Add the newest table; a sample without a table changes nothing."""
        if not isinstance(sample, Reading) or not isinstance(sample.value, JobTable):
            return
        table, at = sample.value, sample.taken_at
        self._first = at if self._first is None else self._first
        self._at, self._complete, self._recorded = at, table.complete, table.recorded
        listed = [job for job in table.jobs if not self._is_lost(job)]
        for job in listed:
            if "[" not in job.id:
                self._known[job.id] = replace(_filled(job, self._known.get(job.id)), seen_at=at)
        self._listed = frozenset(job.id for job in listed)
        if table.complete and not table.dropped:
            self._note_missing()
        elif table.complete:  # waiting jobs may be among those that have no row
            waiting = (id for id, job in self._known.items() if job.state is CellState.PENDING)
            for id in [id for id in waiting if id not in self._listed]:
                del self._known[id]
            self._note_missing()

    def _is_lost(self, job: Job) -> bool:
        """Whether the queue had this job, and the accounts alone have it now, without an end."""
        known = self._known.get(job.id)
        return (
            NOT_QUEUED in (job.why or "")
            and known is not None
            and NOT_QUEUED not in (known.why or "")
        )

    def _note_missing(self) -> None:
        """Note which jobs are not listed any more, and forget the oldest."""
        packed = {id.partition("_")[0] for id in self._listed if "[" in id}
        for id, job in list(self._known.items()):
            if id in self._listed:
                continue
            seen = self._at - (job.seen_at or self._at)
            gone = job.finished_at is None and self._complete and not _is_over(job)
            if job.state is CellState.PENDING and id.partition("_")[0] in packed:
                del self._known[id]  # its array is one row now
            elif gone and (job.task or "").startswith(REPLACED):
                del self._known[id]
            elif gone:
                self._known[id] = job = replace(job, finished_at=self._at)
            ended_at = job.finished_at or job.seen_at or self._at
            if self._at - ended_at > KEPT_FOR or seen > UNSEEN_FOR:
                self._known.pop(id, None)
        left = sorted(self._left(), key=lambda job: (not _is_over(job), job.finished_at or 0.0))
        for job in left[: max(0, len(left) - (DELETED_KEPT if self.deletes else LEFT_KEPT))]:
            del self._known[job.id]
            self._more += 1
        self._shown = {id: row for id, row in self._shown.items() if id in self._known}

    def _left(self) -> list[Job]:
        return [job for id, job in self._known.items() if id not in self._listed]

    def complete(
        self,
        table: JobTable,
        endings: Mapping[str, Ending],
        now: float,
        skew: float = 0.0,
        unread: Mapping[str, str] | None = None,
    ) -> JobTable:
        """The table with the jobs that left before those that are listed, each with the logs that are known of it.

        `skew`: seconds that the box's clock is ahead of ours. `unread`: by path, why a log cannot be read, or
        SHARED_LOG for each log that is read.
        """
        rows = (job for job in table.jobs if not self._is_lost(job))
        here = tuple(_filled(job, self._known.get(job.id)) for job in rows)
        taken = {job.name for job in here}
        left = tuple(
            replace(row, name=f"{row.name}·{row.id}") if row.name in taken else row
            for row in self._rows(endings, now, skew, unread or {})
        )
        jobs = _with_logs_of_arrays([*left, *here])
        return replace(table, jobs=jobs, dropped=table.dropped + self._more)

    def _rows(
        self, endings: Mapping[str, Ending], now: float, skew: float, unread: Mapping[str, str]
    ) -> Iterator[Job]:
        for job in self._left():
            if _is_over(job):
                yield self._over(job)
                continue
            row = _bare(job)
            if job.finished_at is None:
                why = f"the list is not complete; last listed at {_clock(job.seen_at)}"
                yield replace(row, word=job.word, why=why)
                continue
            row = replace(row, finished_at=job.finished_at + skew)
            if job.word == TERMINATING and job.finding is None and not job.preempted:
                why = f"it was being deleted when it was last listed at {_clock(job.seen_at)}"
                yield replace(row, state=CellState.SKIPPED, why=why)
                continue
            if job.state in _UNFINISHED:
                row = _with_log(row)
                if not self._began(row, endings):
                    unrun = "is not there" in unread.get(row.stdout or "", "")
                    state = CellState.SKIPPED if unrun else CellState.CANNOT_TELL
                    yield replace(row, state=state, word=UNRUN if unrun else UNSEEN)
                    continue
            known = ended(row, endings.get(job.name, NOTHING))
            if known is not row:
                whole = known.state is CellState.FINISHED
                yield replace(known, why=f"{known.why}; {NO_CODE}") if whole else known
                continue
            yield self._unknown_end(row, job, now, unread, heard=job.name in endings)

    def _over(self, job: Job) -> Job:
        """The row of a job whose end was listed; it does not change."""
        known = self._shown.get(job.id)
        if known is None or known[0] is not job:
            why = f"as last listed at {_clock(job.seen_at)}"
            row = replace(job, ends_by=None, removed_at=None, seen_at=None, expected_at=None)
            row = replace(row, why=f"{job.why}; {why}" if job.why else why)
            known = self._shown[job.id] = job, row
        return known[1]

    def _began(self, job: Job, endings: Mapping[str, Ending]) -> bool:
        """Whether a job that waited when it was last listed has written a log since: it came to run between two looks."""
        if job.name not in endings or job.restarts:
            return False
        others = (one for id, one in self._known.items() if id != job.id)
        return all(job.stdout not in (one.stdout, *one.will_write) for one in others)

    def _unknown_end(
        self, row: Job, job: Job, now: float, unread: Mapping[str, str], *, heard: bool
    ) -> Job:
        """A job of whose end nothing is known. It is a finding for a day, once its log and the accounts were read."""
        left, first = job.finished_at or 0.0, self._first or 0.0
        if job.state in _UNFINISHED:
            ran = f"it has run since it was last listed at {_clock(job.seen_at)}"
        else:
            ran = f"it ran when it was last listed at {_clock(job.seen_at)}"
        if self._recorded and left > first and now - left < RECORD_LATE:
            return replace(row, why=f"{ran}; the accounts do not have its end yet")
        if row.stdout is None:
            log = LOG_DELETED if self.deletes else "its log is not known"
            why = f"{NO_END}; {ran}; {log}"
        else:
            failed = unread.get(row.stdout)
            if heard and failed == SHARED_LOG:
                failed = None
            elif failed is None and not heard:
                failed = UNREAD
            why = f"{NO_END}; {ran}" + (f"; {failed}" if failed else "")
            heard = heard or row.stdout in unread
        heard = heard or row.stdout is None or now - max(left, first) >= LOG_LATE
        is_finding = heard and now - left <= GONE_FOR
        return replace(row, why=why, finding=UNTOLD if is_finding else None)


def _bare(job: Job) -> Job:
    """A job that left before its end was listed, with the fields that are still true. How long it took is not known."""
    return Job(
        job.id,
        job.name,
        CellState.CANNOT_TELL,
        LEFT,
        task=job.task,
        index=job.index,
        submitted_at=job.submitted_at,
        restarts=job.restarts,
        node=job.node,
        stdout=job.stdout,
        stderr=job.stderr,
        logs=job.logs,
        will_write=job.will_write,
        limit=job.limit,
        gpus=job.gpus,
        interactive=job.interactive,
    )


def _is_over(job: Job) -> bool:
    """Whether its scheduler has listed its end."""
    cancelled = job.state is CellState.SKIPPED and job.finding is None
    return job.state in ENDED or cancelled


def _filled(job: Job, known: Job | None) -> Job:
    """The job with what an earlier list said of its logs, if this one does not."""
    fresh = job.state is CellState.PENDING and not job.restarts
    if known is None or fresh or job.stdout is not None:
        return job
    if (
        None not in (job.submitted_at, known.submitted_at)
        and job.submitted_at != known.submitted_at
    ):
        return job  # the number was given again
    known = _with_log(known)
    return replace(
        job,
        stdout=known.stdout,
        stderr=known.stderr,
        logs=tuple(dict.fromkeys((*job.logs, *known.logs))),
        restarts=known.restarts if job.restarts is None else job.restarts,
        interactive=job.interactive or known.interactive,
        unread=job.unread if known.stdout is None else None,
    )


def _with_logs_of_arrays(jobs: list[Job]) -> tuple[Job, ...]:
    """The jobs; a task of which nothing says where its log is has the one that follows from another task of its array:
    `/l/a_17_4.out` of 17_4 gives `/l/a_17_3.out` for 17_3. It may not exist.
    """
    named = {
        job.id.partition("_")[0]: (job.id, job.stdout)
        for job in jobs
        if "_" in job.id and job.stdout is not None
    }
    return tuple(
        replace(job, logs=(*_renamed(*named[array], job.id), *job.logs))
        if job.unread is not None
        and job.has_stopped
        and (array := job.id.partition("_")[0]) in named
        else job
        for job in jobs
    )


def _renamed(id: str, path: str, other: str) -> Iterator[str]:
    folder, _, name = path.rpartition("/")
    new, times = re.subn(rf"(?<!\d){id}(?!\d)", other, name)
    if times == 1:
        yield f"{folder}/{new}"


def _with_log(job: Job) -> Job:
    """The job with the logs that it was to write while it waited, if no list had them since."""
    if job.stdout is not None or not job.will_write:
        return job
    return replace(job, stdout=job.will_write[0], stderr=job.will_write[-1])


def _clock(at: float | None) -> str:
    return "?" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
