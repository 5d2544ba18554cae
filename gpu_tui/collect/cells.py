"""Which cells' logs are worth a channel: told by the queue's log, by whoever runs the jobs, else by which
log moved last. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gpu_tui.core.events import LogArrived, LogFailed, Sampled
from gpu_tui.core.fleet import Instance
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.log_block import telling
from gpu_tui.core.log_cells import CELL, cell_in
from gpu_tui.core.logs import LogSource, may_follow
from gpu_tui.core.metrics import FILES, FOUND, LEFT, UNRECORDED
from gpu_tui.core.queue_history import CellFinished, CellStarted, QueueEvent, QueueOpened
from gpu_tui.core.readings import FileTable
from gpu_tui.core.sample import Reading

REMEMBERED = 200  # names of one queue's log; ended logs that are read once are fewer still
READ_ONCE = 64
JOBS_READ_ONCE = 16  # of jobs that ended, the newest; their logs lie on a disk that many share
FOUND_NAMES = frozenset(metric.name for metric in FOUND)
FORGETFUL = frozenset(metric.name for metric in UNRECORDED)
# The box is not trusted: a name becomes part of a path only if it can be nothing but one name.
_NAME = re.compile(r"(?!\.{1,2}\Z)[\w. +=@,-]{1,200}\Z")


def is_name(name: str) -> bool:
    """True for a cell name that may become part of a path."""
    return _NAME.match(name) is not None


class Cells:
    """What is known of one box's cells. Feed it the events that pass; each says if anything changed."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._started: list[str] = []
        self._finished: list[str] = []
        self._moved: list[str] = []
        self._queue_silent = instance.queue.log is None
        self._jobs: dict[str, _Jobs] = {}  # by metric
        self._written: dict[str, str] = {}  # log -> the job that ran and wrote it, the newest last
        self.selected: str | None = None

    def recall(self, metric: str, table: JobTable) -> None:
        """What an earlier watch saw, before anything else is told: the logs of who is gone since are read."""
        self._jobs[metric] = _jobs_of(table)

    @property
    def logged(self) -> bool:
        """The queue's log named a cell."""
        return bool(self._started or self._finished)

    def find(self, *, found: bool) -> None:
        """Whether what was found on the box counts; it is forgotten where a queue tells what runs."""
        self._queue_silent = found or self._instance.queue.log is None
        if not found:
            self._jobs = {m: jobs for m, jobs in self._jobs.items() if m not in FOUND_NAMES}

    def sources(self, cell: str) -> tuple[LogSource, ...]:
        """The logs of one cell: of a job its stdout and stderr, else the one that the pattern names."""
        for jobs in self._jobs.values():
            if cell in jobs.logs:
                return jobs.logs[cell]
        if self._instance.logs and is_name(cell):
            return (LogSource(self._instance.logs.replace(CELL, cell), cell),)
        return ()

    def wanted(self, most: int) -> list[str]:
        """At most `most` cells to tail: the selected one, then those that run or ran last."""
        first = [self.selected] if self.selected and self.sources(self.selected) else []
        newest = self._started[::-1]
        live = [cell for cell in newest if cell not in self._finished or cell == newest[0]]
        if not self._started and self._queue_silent:
            live = self._moved
        jobs = [name for table in self._jobs.values() for name in table.running]
        return list(dict.fromkeys([*first, *live, *jobs]))[:most]

    def tails(self, most: int) -> list[LogSource]:
        """At most `most` logs to tail. A file that several share is tailed once, for the first of them."""
        found: dict[str, LogSource] = {}
        for cell in self.wanted(most):
            for source in self.sources(cell):
                found.setdefault(source.path, source)
        below_home = tuple(path[1:] for path in found if path.startswith("~/"))
        twice = (s for s in found.values() if s.path[0] != "~" and s.path.endswith(below_home))
        for source in list(twice):
            del found[source.path]
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
        if isinstance(event.sample, Reading) and isinstance(event.sample.value, JobTable):
            known = self._jobs.get(event.metric)
            table = event.sample.value
            told = _jobs_of(self._renamed(table) if event.metric == LEFT.name else table)
            if known is not None and event.metric in FORGETFUL:
                told = _with_gone(told, known)
            self._jobs[event.metric] = told
            self._note_written(told)
            return known != told
        if event.metric != FILES.name or not isinstance(event.sample, Reading):
            return False
        files = event.sample.value
        pattern = self._instance.logs
        if not isinstance(files, FileTable) or not pattern or CELL not in pattern:
            return False
        named = cell_in(pattern)
        logs = [
            (file.mtime, match[1])
            for path, file in files.found.items()
            if path != self._instance.queue.log
            and (match := named.fullmatch(path))
            and is_name(match[1])
        ]
        before = self.wanted(8)
        self._moved = [cell for _, cell in sorted(logs, reverse=True)]
        return before != self.wanted(8)


@dataclass(frozen=True, slots=True)
class _Jobs:
    """One table's jobs that have logs. `running` newest first, `ended` oldest first."""

    logs: Mapping[str, tuple[LogSource, ...]]
    running: tuple[str, ...]
    ended: tuple[str, ...]
    files: frozenset[str] = frozenset()  # as its list has them


def _jobs_of(table: JobTable) -> _Jobs:
    logs: dict[str, tuple[LogSource, ...]] = {}
    for job in table.jobs:
        paths = [path for path in (job.stdout, job.stderr) if path is not None and may_follow(path)]
        if paths:
            logs[job.name] = tuple(LogSource(path, job.name) for path in dict.fromkeys(paths))
    live = [job for job in table.jobs if job.live and job.name in logs]
    live.sort(key=lambda job: job.started_at or 0.0, reverse=True)
    over = [job for job in table.jobs if job.finished_at is not None and job.name in logs]
    over.sort(key=lambda job: job.finished_at or 0.0)
    taken = {source.path for job in live for source in logs[job.name]}
    # What a running job still writes into is not the log of one that ended.
    ended = [
        job.name
        for job in over[-JOBS_READ_ONCE:]
        if not any(source.path in taken for source in logs[job.name])
    ]
    files = frozenset(path for job in table.jobs for path in (job.stdout, job.stderr) if path)
    return _Jobs(logs, tuple(job.name for job in live), tuple(ended), files)


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
    return replace(told, logs=logs, ended=(*gone, *told.ended))


def _newest(names: list[str], name: str) -> list[str]:
    """`names` with `name` at its end, and no more of them than are remembered."""
    return [*(other for other in names if other != name), name][-REMEMBERED:]
