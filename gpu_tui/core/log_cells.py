"""A sweep of which nothing but the logs is known, one log per cell: `runs/{cell}/train.log`. Pure.

A log that moves while a training lives is a running cell; of one that stands still only its last lines
tell. It is never called finished for being old. One that we saw move while a training lived, and that stopped
when none did any more, is told from an old one that somebody gave up.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from gpu_tui.core import units
from gpu_tui.core.jobs import JOBS_KEPT, Job, JobTable
from gpu_tui.core.logs import PATH_MOST, READ_MOST
from gpu_tui.core.readings import FileTable
from gpu_tui.core.sweep import CellState
from gpu_tui.core.vanished import BY_LOG, COUNTED, GONE, ON_THE_WAY, UNTOLD, Ending

CELL = "{cell}"
NEVER: Mapping[str, float] = {}
NO_WORDS: Mapping[str, str] = {}
BEGUN = "just started: its log moved after the process table was read"
SLACK = 2.0  # seconds: an mtime has whole ones
AHEAD = 60.0  # seconds that a file server may be ahead of the box and still be believed
LATELY = 86_400.0  # seconds: an older log is history
AT_ONCE = 60.0  # seconds: a log that moved so shortly before the end was written until then
LONG_AGO = 14 * 86_400.0  # seconds: an older log is another sweep's, read only on request
# Names that are usually a link to the log of the newest run.
LINKS = frozenset(("current", "last", "latest", "log", "newest", "out", "output", "stdout"))
NOT_YET = "its log is not read yet"
OLDER = f"its log is not read: {READ_MOST} newer ones of this box are"
UNNAMED = "its log is not read: its name is no plain text"
TOO_OLD = "its log is not read: nothing was written into it for more than 14 days"


def cell_in(pattern: str) -> re.Pattern[str]:
    """What the path of a cell's log is like; group 1 is the cell, the same wherever `pattern` names it."""
    head, *rest = map(re.escape, pattern.split(CELL))
    return re.compile(f"{head}(?P<cell>[^/]+)" + "(?P=cell)".join(rest))


@dataclass(frozen=True, slots=True)
class CellLog:
    """One log that the pattern names, as the box's `stat` has it; `mtime` by the box's clock."""

    mtime: float
    cell: str
    path: str
    inode: int
    size: int

    @property
    def has_plain_name(self) -> bool:
        """Whether the name is valid UTF-8; other names do not arrive from the box unchanged."""
        return len(self.path) <= PATH_MOST and self.path.isprintable() and "\ufffd" not in self.path


def cell_logs(files: FileTable, pattern: str) -> list[CellLog]:
    """The logs that `pattern` names, the newest last; of several names of one file, usual link names come first."""
    named = cell_in(pattern)
    logs = [
        CellLog(file.mtime, match[1], path, file.inode, file.size)
        for path, file in files.found.items()
        if (match := named.fullmatch(path))
    ]
    logs.sort(key=lambda log: (log.mtime, log.cell.lower() not in LINKS, log.cell, log.path))
    return logs


def worth_reading(logs: Sequence[CellLog], box_now: float | None, most: int) -> list[CellLog]:
    """The newest `most` logs, newest first, without those last written LONG_AGO or without a plain name."""
    since = -inf if box_now is None else box_now - LONG_AGO
    read = [log for log in reversed(logs) if log.mtime >= since and log.has_plain_name]
    return read[: max(0, most)]


def table_of_logs(
    files: FileTable,
    pattern: str,
    *,
    taken: frozenset[str],
    box_now: float,
    stall_after: float,
    alive: bool | None,
    endings: Mapping[str, Ending],
    seen_at: float | None = None,
    cut: Mapping[str, float] = NEVER,
    before: Mapping[str, float] = NEVER,
    began: float | None = None,
    read: Collection[str] = (),
    strays: Collection[str] = (),
    signs: Mapping[str, float] = NEVER,
    unread: Mapping[str, str] = NO_WORDS,
    written_elsewhere: bool = False,
) -> JobTable:
    """One job per log that `pattern` names and that is not in `taken`, the newest last.

    `alive`: a training lives on the box; None = not known; `seen_at` = when that was read. Times are by the box's
    clock. `cut`: paths of logs that stopped, without an ending, together with their writer, and when that was seen.
    `before`: when each log was last written, as known when the processes were read. `began`: when the oldest living
    training began; a log not written since then belongs to none of them. `signs`: when a checkpoint of each cell was
    written, which also moves while its log is held back in a buffer. `read`: paths that were read to their end; one
    that no process can write any more has ended without saying so. `strays`: logs that moved while no training was
    known. `unread`: by path, why a log was not read. `written_elsewhere`: the output of every living training goes
    into a log of `taken`.
    """
    stirred = -inf if seen_at is None else seen_at - stall_after
    logs = cell_logs(files, pattern)
    found = [log for log in logs if log.path not in taken]
    newest = max((log.mtime for log in logs if log.mtime <= box_now + AHEAD), default=-inf)

    def job_of(log: CellLog) -> Job:
        ending = endings.get(log.cell, Ending())
        if log.path in cut and ending == Ending():
            return _cut_off(log.cell, log.path, log.mtime, cut[log.path])
        sign, known = signs.get(log.cell, -inf), before.get(log.path, -inf)
        older = began is not None and log.mtime < began - AHEAD
        still = max(0.0, box_now - max(log.mtime, sign))
        # A training may write a second log through its logger, with pauses: a short silence proves nothing.
        seen_after = seen_at is not None and log.mtime + SLACK < seen_at
        without_writer = (
            written_elsewhere and seen_after and (ending != Ending() or still >= AT_ONCE)
        )
        # A newer log means that this one was abandoned, unless its writer ran in parallel with this one's.
        parallel = alive and began is not None and log.mtime > began + AHEAD
        given_up = log.mtime < newest - stall_after and not parallel
        over_at = _over_at(log.path, read, strays, box_now - stall_after, seen_at)
        if over_at is not None and alive and without_writer:
            over_at = min(over_at, box_now - stall_after)
        return _job(
            log,
            box_now,
            stall_after,
            False if alive and (older or without_writer) else alive,
            ending,
            # A log that also moved before has a writer that is not known to train.
            None if known >= stirred else seen_at,
            sign,
            unread.get(log.path),
            over_at=None if given_up else over_at,
        )

    jobs = tuple(map(job_of, found[-JOBS_KEPT:]))
    return JobTable("logs", jobs, max(0, len(found) - JOBS_KEPT))


def _over_at(
    path: str, read: Collection[str], strays: Collection[str], stirred: float, seen_at: float | None
) -> float | None:
    """A log last written before this time has no writer any more; None if that is not known."""
    if path not in read or seen_at is None:
        return None
    return stirred if path in strays else seen_at - SLACK


def _job(
    found: CellLog,
    box_now: float,
    stall_after: float,
    alive: bool | None,
    ending: Ending,
    seen_at: float | None,
    sign: float,
    unread: str | None,
    *,
    over_at: float | None,
) -> Job:
    name, mtime = found.cell, found.mtime
    still = max(0.0, box_now - mtime)
    log = Job(name, name, CellState.CANNOT_TELL, "log", stdout=found.path)
    newer = seen_at is not None and seen_at + SLACK < mtime <= box_now + SLACK
    if newer and alive is False and ending == Ending():
        return _as(log, CellState.RUNNING, BEGUN, None)
    believed = mtime <= box_now + AHEAD
    ended = mtime if believed else None
    if alive and box_now - sign < stall_after and ending == Ending():
        return _as(log, CellState.RUNNING, None, None)
    failed = ending.failure is not None and not (alive and ending.anew)  # of an earlier attempt
    if believed and still < stall_after and alive is not False and not failed:
        if alive:
            return _as(log, CellState.RUNNING, None, None)
        return _as(
            log, CellState.CANNOT_TELL, "its log moves, and no process table tells who writes", None
        )
    if ending.failure is not None:
        return _as(log, CellState.FAILED, ending.failed, ended)
    if ending.complete:
        return _as(log, CellState.FINISHED, COUNTED, ended)
    if ending.said is not None:
        state = CellState.FINISHED if ending.well else CellState.CANNOT_TELL
        return _as(log, state, f"{BY_LOG}it says “{ending.said}”", ended)
    if not believed:
        why = "the time of its log lies ahead of the box's clock, and nothing else tells of it"
        return _as(log, CellState.CANNOT_TELL, why, None)
    if unread is not None:
        return _as(log, CellState.CANNOT_TELL, unread, None)
    why = f"its log stands still for {units.words(still)}, and nothing else tells of it"
    if alive is False and over_at is not None and mtime <= over_at and still <= LATELY:
        return replace(_as(log, CellState.CANNOT_TELL, why, mtime), finding=UNTOLD)
    return _as(log, CellState.CANNOT_TELL, why, None)


def _cut_off(name: str, path: str, mtime: float, at: float) -> Job:
    at = max(mtime, at)
    cell = Job(name, name, CellState.CANNOT_TELL, "log", GONE, finished_at=at, stdout=path)
    return replace(cell, finding=UNTOLD, seen_at=mtime)


def _as(job: Job, state: CellState, why: str | None, finished_at: float | None) -> Job:
    word = state.value if why is None else "log"
    return Job(job.id, job.name, state, word, why, stdout=job.stdout, finished_at=finished_at)


@dataclass(slots=True)
class LogLives:
    """Which logs we saw move while a training lived, and which of them stopped when none did any more.

    Times are by the box's clock. `cut` are those of which it is certain; they stay until they move again.
    """

    cut: dict[str, float] = field(default_factory=dict)  # -> when none was seen to train any more
    before: Mapping[str, float] = field(default_factory=dict)  # known when it was seen who lives
    strays: frozenset[str] = frozenset()  # moved while no training was seen
    _seen_at: float = -inf
    _files: FileTable | None = None
    _written: Mapping[str, float] = field(default_factory=dict)
    _moved: set[str] = field(default_factory=set)
    _alive_at: float | None = None
    _dead_at: float | None = None

    def look(
        self,
        files: FileTable,
        pattern: str,
        files_at: float,
        alive: bool | None,
        seen_at: float,
    ) -> frozenset[str]:
        """Take when each log was written last, and whether a training lived at `seen_at`.

        Answers with those that stopped with it; `settle` each once it was read to its end.
        """
        old = self._written
        grew = self._written_now(files, pattern) if files is not self._files else set()
        if abs(seen_at - self._seen_at) > SLACK:  # the box's clock is only known to a second
            self._seen_at, self.before = seen_at, self._written if files_at <= seen_at else old
        written = self._written
        self.cut = {p: at for p, at in self.cut.items() if p in written and p not in grew}
        if alive is None:
            return frozenset()
        if alive:
            self._alive_at, self._dead_at = seen_at, None
            self._moved = {path for path in self._moved | grew if path in written}
            return frozenset()
        if self._dead_at is None:
            self._dead_at = seen_at
        late = (path for path in grew if written[path] > self._dead_at + ON_THE_WAY)
        self.strays = (self.strays & written.keys()).union(late)
        if files_at <= self._dead_at + ON_THE_WAY:
            return frozenset()  # it may have moved since
        last, until = max(written.values(), default=0.0), (self._alive_at or 0.0) - AT_ONCE
        self._moved = {
            path
            for path in self._moved
            if (at := written.get(path)) is not None
            and (at == last or at >= until)
            and at <= self._dead_at + SLACK
        }
        return frozenset(self._moved)

    def _written_now(self, files: FileTable, pattern: str) -> set[str]:
        """Those that were written since the last look."""
        named, old = cell_in(pattern), self._written
        found = files.found.items()
        self._files = files
        self._written = {path: file.mtime for path, file in found if named.fullmatch(path)}
        return {path for path, at in self._written.items() if at > old.get(path, at)}

    def settle(self, path: str, *, cut: bool) -> None:
        """It was read to its end: without a word of it, or with one."""
        self._moved.discard(path)
        if cut:
            self.cut[path] = self._dead_at or self._seen_at
