"""Chooses which logs of cells are followed on a channel of their own, and which one shared program polls. Pure.

The choice goes by the queue's log, then by the lists of jobs, otherwise by which log moved last.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf

from gpu_tui.core.events import LogArrived, LogFailed, Sampled
from gpu_tui.core.fleet import Instance
from gpu_tui.core.job_scope import in_scope
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.left_queue import LeftQueue
from gpu_tui.core.log_block import telling
from gpu_tui.core.log_cells import CELL, CellLog, cell_logs, worth_reading
from gpu_tui.core.logs import (
    CELL_TAILS,
    READ_MOST,
    READ_OF_JOBS,
    LogSource,
    may_follow,
    one_spelling,
)
from gpu_tui.core.metrics import DETACHED, FILES, FOUND, LEFT, SCHEDULERS, UNRECORDED
from gpu_tui.core.queue_history import CellFinished, CellStarted, QueueEvent, QueueOpened
from gpu_tui.core.readings import FileStat, FileTable, Host
from gpu_tui.core.sample import Absent, Reading
from gpu_tui.core.sweep import CellState

REMEMBERED = 200  # names of one queue's log; ended logs that are read once are fewer still
READ_ONCE = 64
FOUND_NAMES = frozenset(metric.name for metric in FOUND)
# Seconds: a log that moved within them may belong to a run that nothing else shows.
LATELY = 120.0
PAUSE = 600.0  # the same, for a log that was seen growing
FORGETFUL = frozenset(metric.name for metric in UNRECORDED)
# The box is not trusted: a name becomes part of a path only if it can be nothing but one name.
_NAME = re.compile(r"(?!\.{1,2}\Z)[\w. +=@,-]{1,200}\Z")


def is_name(name: str) -> bool:
    """True for a cell name that may become part of a path."""
    return _NAME.match(name) is not None


@dataclass(frozen=True, slots=True)
class Unfollowed:
    """A log that is polled. `over`: no run is known to write it. `stamp`: the file by the box's `stat`; None if it was
    not asked.
    """

    source: LogSource
    over: bool
    stamp: FileStat | None = None


class Cells:
    """What is known of one box's cells. Feed it the events that pass; each says if anything changed."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._started: list[str] = []
        self._finished: list[str] = []
        self._logs: list[CellLog] = []  # that the pattern names, the newest last
        self._named: set[str] = set()  # the cells of these, whose paths came from the box
        self._files: Mapping[str, FileStat] = {}
        self._grew: set[str] = set()  # of those: the paths that were seen growing
        self._ahead: float | None = None  # seconds that the box's clock is ahead of ours
        self._now = 0.0  # our time of the newest table of files
        self._queue_silent = instance.queue.log is None
        # Whether the runs are known: a log that one of them writes is its own, whatever the pattern says.
        self._listed = instance.queue.names_runs or instance.scheduler is not None
        self._jobs: dict[str, _Jobs] = {}  # by metric
        self._written: dict[str, str] = {}  # log -> the job that ran and wrote it, the newest last
        self.selected: str | None = None
        scheduler = SCHEDULERS.get(instance.scheduler or "")
        self._most = READ_OF_JOBS if scheduler else READ_MOST
        self._left = {scheduler.name: LeftQueue()} if scheduler else {}

    def recall(self, metric: str, table: JobTable) -> None:
        """What an earlier watch saw, before anything else is told: the logs of who is gone since are read."""
        if metric in self._left:
            self._left[metric].recall(table.jobs)
        else:
            self._jobs[metric] = _jobs_of(table, self._most)

    @property
    def logged(self) -> bool:
        """Whether the queue's log has named a cell."""
        return bool(self._started or self._finished)

    def find(self, *, found: bool) -> None:
        """Set whether runs found on the box count; they are dropped if a queue says what runs."""
        self._queue_silent = found or self._instance.queue.log is None
        if not found:
            self._jobs = {m: jobs for m, jobs in self._jobs.items() if m not in FOUND_NAMES}

    def sources(self, cell: str) -> tuple[LogSource, ...]:
        """The logs of one cell: of a job its stdout and stderr, else the one that the pattern names."""
        for jobs in self._jobs.values():
            if cell in jobs.logs:
                return jobs.logs[cell]
        if self._instance.logs and (is_name(cell) or cell in self._named):
            return (LogSource(self._instance.logs.replace(CELL, cell), cell),)
        return ()

    def wanted(self, most: int) -> list[str]:
        """At most `most` cells to tail: the selected one, then those that run or ran last."""
        first = [self.selected] if self.selected and self.sources(self.selected) else []
        newest = self._started[::-1]
        live = [cell for cell in newest if cell not in self._finished or cell == newest[0]]
        jobs = [name for table in self._jobs.values() for name in table.running]
        moved = [log.cell for log in self._worth() if self._moves(log)]
        return list(dict.fromkeys([*first, *live, *jobs, *moved]))[:most]

    def _worth(self) -> list[CellLog]:
        """The pattern's logs that are read, newest first; none if the queue's log names the cells."""
        if self._started or not self._queue_silent or not self._listed:
            return []
        named = {log.path for log in self._logs}
        jobs = (jobs.logs[name] for jobs in self._jobs.values() for name in jobs.running)
        others = {source.path for sources in jobs for source in sources} - named
        box_now = None if self._ahead is None else self._now + self._ahead
        return worth_reading(self._logs, box_now, READ_MOST - len(others))

    def _moves(self, log: CellLog) -> bool:
        """Whether the log's run may go on: it grew while it was watched, or shortly before."""
        now = self._logs[-1].mtime if self._ahead is None else self._now + self._ahead
        return log.mtime >= now - (PAUSE if log.path in self._grew else LATELY)

    def others(self, followed: Collection[LogSource]) -> list[Unfollowed]:
        """The logs to poll: those of runs first, then the newest first. Together with the `followed` ones at most
        READ_MOST, on the login node of a scheduler READ_OF_JOBS.
        """
        told: dict[str, Unfollowed] = {}
        for source in sorted(self.tails(sys.maxsize), key=self._is_further):
            told[source.path] = Unfollowed(source, over=False)
        aged: dict[LogSource, tuple[bool, float]] = {}  # (it is a further log of its job, its age)
        for log in self._worth():
            aged.update(dict.fromkeys(self.sources(log.cell), (False, -log.mtime)))
        for cell in reversed(self.ended):
            for place, source in enumerate(self.sources(cell)):
                file = self._files.get(source.path)
                at = self._ended_at(cell) if file is None else file.mtime
                aged.setdefault(source, (place > 1, -at))
        for source in sorted(aged, key=aged.__getitem__):
            told.setdefault(one_spelling(source.path), Unfollowed(source, over=True))
        paths = {source.path for source in followed}
        found = [one for one in told.values() if one.source.path not in paths]
        found = found[: max(0, self._most - len(paths))]
        return [replace(one, stamp=self._files.get(one.source.path)) for one in found]

    def _is_further(self, source: LogSource) -> bool:
        """Whether its run has another log, which is read before this one."""
        return source.cell is not None and self.sources(source.cell)[0] != source

    def _ended_at(self, cell: str) -> float:
        """When the cell's list says that it ended, in epoch seconds; 0 if it does not say."""
        return max((jobs.over.get(cell, 0.0) for jobs in self._jobs.values()), default=0.0)

    def is_named_only(self, source: LogSource) -> bool:
        """Whether nothing but the pattern names this log."""
        cell = source.cell
        return cell not in self._started and all(
            cell not in jobs.logs for jobs in self._jobs.values()
        )

    def is_guess(self, source: LogSource) -> bool:
        """Whether this log may not exist."""
        return any(source in jobs.guesses for jobs in self._jobs.values())

    def queue_read(self) -> bool:
        """Note that the queue's log was read to its end; if it names no cell, the cells are read from their own logs."""
        changed, self._queue_silent = not self._queue_silent, True
        return changed and not self._started

    def tails(self, most: int) -> list[LogSource]:
        """At most `most` logs to tail, those that may not exist last. A file that several share is tailed once, for the
        first of them.
        """
        found: dict[str, LogSource] = {}
        sources = [source for cell in self.wanted(most) for source in self.sources(cell)]
        for source in sorted(sources, key=self.is_guess):
            found.setdefault(one_spelling(source.path), source)
        below_home = tuple(path[1:] for path in found if path.startswith("~/"))
        twice = [path for path in found if path[0] != "~" and path.endswith(below_home)]
        for path in twice:
            del found[path]
        return list(found.values())[:most]

    @property
    def ended(self) -> list[str]:
        """The newest cells that were seen ending, oldest first."""
        named = (told.files for metric, told in self._jobs.items() if metric not in FORGETFUL)
        files = frozenset().union(*named)
        home = tuple(path[1:] for path in files if path.startswith("~/"))
        # The file of a queue's job is told of under the name that it has there.
        jobs = [
            name
            for metric, told in self._jobs.items()
            for name in told.ended
            if metric not in FORGETFUL
            or not any(s.path in files or s.path.endswith(home) for s in told.logs[name])
        ]
        return list(dict.fromkeys([*self._finished[-READ_ONCE:], *jobs]))

    def select(self, cell: str | None) -> None:
        """A person looks at this cell."""
        self.selected = cell

    def queue_said(self, event: LogArrived | LogFailed) -> bool:
        """The queue's log brought lines, or cannot be read."""
        before = self.wanted(len(self._started) + 2), self.ended
        if isinstance(event, LogFailed):
            self._queue_silent = True
        else:
            told = (line for _, line in telling(event.lines))
            self._fold(line.queue for line in told if line.queue and not line.open)
        return before != (self.wanted(len(self._started) + 2), self.ended)

    def _fold(self, events: Iterable[QueueEvent]) -> None:
        for event in events:
            match event:
                case QueueOpened():
                    self._started, self._finished = [], []
                case CellStarted(name=name) if is_name(name):
                    self._started = _newest(self._started, name)
                    self._finished = [c for c in self._finished if c != name]
                case CellFinished(name=name) if is_name(name):
                    self._finished = _newest(self._finished, name)
                case _:
                    continue

    def _renamed(self, left: JobTable) -> JobTable:
        """The files of whom we watched under the right names: only what was not read yet is read."""
        names = self._written
        return replace(
            left, jobs=tuple(replace(j, name=names.get(j.stdout or "", j.name)) for j in left.jobs)
        )

    def _note_written(self, told: _Jobs) -> None:
        for name in reversed(told.running):
            for source in told.logs[name]:
                self._written.pop(source.path, None)
                self._written[source.path] = name
        while len(self._written) > REMEMBERED:
            del self._written[next(iter(self._written))]

    def sampled(self, event: Sampled) -> bool:
        """Jobs tell their logs; the file table tells which logs move, where no queue log does."""
        if event.metric == DETACHED.name and not self._listed:
            self._listed = True
            self.sampled(event)
            return True
        if isinstance(event.sample, Absent) and event.metric in FORGETFUL:
            return self._take_jobs(event.metric, JobTable(event.metric), event.at)
        if not isinstance(event.sample, Reading):
            return False
        match event.sample.value:
            case JobTable() as table:
                if (left := self._left.get(event.metric)) is not None:
                    left.follow(event.sample)
                    table = left.complete(table, {}, event.at)
                return self._take_jobs(event.metric, table, event.at)
            case Host(box_time=box_time):
                self._ahead = box_time - event.sample.taken_at
            case FileTable() as files if event.metric == FILES.name:
                return self._look(files, event.at)
        return False

    def _take_jobs(self, metric: str, table: JobTable, at: float) -> bool:
        known = self._jobs.get(metric)
        table, _ = in_scope(table, self._instance, at + (self._ahead or 0.0))
        told = _jobs_of(self._renamed(table) if metric == LEFT.name else table, self._most)
        if known is not None and metric in FORGETFUL:
            told = _with_gone(told, known)
        self._jobs[metric] = told
        self._note_written(told)
        return known != told

    def _look(self, files: FileTable, at: float) -> bool:
        """Take a table of files: which logs exist, and which grew."""
        pattern = self._instance.logs
        if not pattern or CELL not in pattern:
            return False
        logs = [log for log in cell_logs(files, pattern) if log.path != self._instance.queue.log]
        before = self._reads()
        old = {log.path: log.size for log in self._logs}
        grew = {log.path for log in logs if log.size > old.get(log.path, log.size)}
        self._grew = {log.path for log in logs if log.path in self._grew or log.path in grew}
        self._logs, self._files, self._now = logs, files.found, at
        self._named = {log.cell for log in logs if log.has_plain_name}
        return before != self._reads()

    def _reads(self) -> object:
        tails = self.tails(CELL_TAILS)
        return tails, self.others(tails)


@dataclass(frozen=True, slots=True)
class _Jobs:
    """One table's jobs that have logs. `running` newest first, `ended` oldest first; `over`: `_ended_at` of those that
    ended; `guesses`: logs that may not exist.
    """

    logs: Mapping[str, tuple[LogSource, ...]]
    running: tuple[str, ...]
    ended: tuple[str, ...]
    files: frozenset[str] = frozenset()  # as its list has them
    over: Mapping[str, float] = field(default_factory=dict)
    guesses: frozenset[LogSource] = frozenset()


def _jobs_of(table: JobTable, most: int) -> _Jobs:
    """`most`: how many of the jobs that ended have their logs read."""
    logs: dict[str, tuple[LogSource, ...]] = {}
    guesses: set[LogSource] = set()
    for job in table.jobs:
        named = [path for path in (job.stdout, job.stderr) if path is not None and may_follow(path)]
        paths = dict.fromkeys([*named, *filter(may_follow, job.logs)])
        if paths:
            logs[job.name] = tuple(LogSource(path, job.name) for path in paths)
            guesses |= {one for one in logs[job.name] if one.path not in named}
    live = [job for job in table.jobs if job.live and job.name in logs]
    live.sort(key=lambda job: job.started_at or 0.0, reverse=True)
    over = [job for job in table.jobs if job.name in logs and job.has_stopped]
    over.sort(key=_ended_at)
    taken = {source.path for job in live for source in logs[job.name]}
    # What a running job still writes into is not the log of one that ended.
    ended = [
        job.name
        for job in over[-most:]
        if not any(source.path in taken for source in logs[job.name])
    ]
    files = frozenset(path for job in table.jobs for path in (job.stdout, job.stderr) if path)
    known = {job.name: _ended_at(job) for job in over}
    running = tuple(job.name for job in live)
    return _Jobs(logs, running, tuple(ended), files, known, frozenset(guesses))


def _ended_at(job: Job) -> float:
    """When a job ended, by the box's clock; 0 if that is not known. A job whose log alone may say how it ended comes
    after all others: of many logs the last are read.
    """
    only = job.waits_again or job.state is CellState.CANNOT_TELL
    return inf if only else job.finished_at or 0.0


def _with_gone(told: _Jobs, known: _Jobs) -> _Jobs:
    """With those who are not listed any more, for nobody else tells what they said last: a log that was never
    tailed, since others had the places, holds all of it.
    """
    writing = {source.path for name in told.running for source in told.logs[name]}
    gone = [
        name
        for name in (*known.ended, *reversed(known.running))
        if name not in told.logs and writing.isdisjoint(s.path for s in known.logs[name])
    ][-READ_ONCE:]
    logs = {**told.logs, **{name: known.logs[name] for name in gone}}
    guesses = told.guesses | known.guesses
    return replace(told, logs=logs, ended=(*gone, *told.ended), guesses=guesses)


def _newest(names: list[str], name: str) -> list[str]:
    """`names` with `name` at its end, and no more of them than are remembered."""
    return [*(other for other in names if other != name), name][-REMEMBERED:]
