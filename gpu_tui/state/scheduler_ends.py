"""Adds to the rows of a scheduler how their last attempt ended. The scheduler's word counts before that of the log."""

from __future__ import annotations

from dataclasses import replace

from gpu_tui.core.alarms import Alarm
from gpu_tui.core.cut_short import COMPLETE
from gpu_tui.core.left_queue import LEFT
from gpu_tui.core.logs import LogSource
from gpu_tui.core.scheduler_end import (
    JOINS,
    Attempt,
    End,
    LastEnd,
    again_words,
    ended_words,
    line_end,
    with_restart,
)
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.core.vanished import UNTOLD
from gpu_tui.state.instance import InstanceState

LIVE = frozenset({CellState.PENDING, CellState.RUNNING})
MADE_ROOM = "a job of higher priority took its place: it ended with exit 0 before its last epoch"


def with_scheduler_ends(kept: InstanceState, queue: Queue, now: float) -> Queue:
    """The queue with the end of each job that its scheduler ended, and what each restart cost."""
    if kept.instance.scheduler is None:
        return queue
    says: dict[str, LastEnd] = {}
    cells = tuple(_with_end(kept, cell, says) if cell.listed else cell for cell in queue.cells)
    kept.book.says = says
    if kept.link.live:
        kept.attempts.persist(now)
    return replace(queue, cells=cells)


def _with_end(kept: InstanceState, cell: Cell, says: dict[str, LastEnd]) -> Cell:
    line = kept.book.outside(cell.name)
    end = _end_of(cell, line)
    says[cell.name] = LastEnd(end, cell.state in LIVE)
    if kept.instance.scheduler != "slurm":
        return cell
    trace = kept.cells.get(cell.name)
    said = line if line is not None and line_end(line.text) is not None else None
    log = kept.logs.buffers.get(LogSource(said.path, cell.name)) if said is not None else None
    if said is not None and log is not None and log.first <= said.number < log.end:
        said = kept.attempts.around(cell.name, said, log)
    attempt = kept.attempts.follow(cell, end, said, trace.course if trace else None)
    if cell.state in LIVE and attempt.restarts:
        says[cell.name] = _end_before_restart(cell, attempt, said)
        return _again(cell, attempt)
    if end is None:
        return cell
    attempt = replace(attempt, reached=cell.epoch, unit="epoch", exact=True)
    return _over(kept, cell, end, attempt)


def _end_of(cell: Cell, line: Alarm | None) -> End | None:
    """How the last attempt ended. Of a job that is not over slurmstepd's line in the log may be newer than the list."""
    unlisted = cell.state is CellState.CANNOT_TELL or cell.status == LEFT
    if cell.state not in LIVE and not unlisted:
        return cell.ended_by
    logged = None if line is None else line_end(line.text)
    if cell.state is CellState.PENDING and line is not None and line.past and cell.ended_by:
        return cell.ended_by  # the line is of an earlier attempt
    if cell.state is CellState.RUNNING and cell.ended_by is not None:
        return cell.ended_by
    return logged or cell.ended_by


def _end_before_restart(cell: Cell, attempt: Attempt, line: Alarm | None) -> LastEnd:
    """For a job that waits or runs again. Its log may report the end of the present attempt before the list does."""
    if cell.state is CellState.PENDING:
        return LastEnd(attempt.end, live=True)
    if line is not None and not line.past:
        return LastEnd(line_end(line.text), live=True)
    return LastEnd(attempt.end, live=True, again=True)


def _again(cell: Cell, attempt: Attempt) -> Cell:
    """A job that waits or runs again after an earlier attempt."""
    waits = cell.state is CellState.PENDING
    words = again_words(attempt, waits=waits)
    kind = JOINS[attempt.end].kind if attempt.end is not None else None
    counted = with_restart(words, attempt.restarts, waits=waits)
    finding = cell.finding or kind
    return replace(
        cell,
        why=_headed(cell.why, words),
        finding=finding,
        end_words=counted if finding == kind and kind is not None else None,
        ended_by=attempt.end,
        restarted=True,
    )


def _over(kept: InstanceState, cell: Cell, end: End, attempt: Attempt) -> Cell:
    join = JOINS[end]
    if cell.state is CellState.FINISHED and end is End.PREEMPTED:
        share = replace(cell, state=CellState.RUNNING).share
        if share is not None and share >= COMPLETE:
            return cell
        why = _headed(cell.why, MADE_ROOM)
        return replace(cell, state=CellState.SUSPICIOUS, why=why, finding=join.kind)
    if cell.state is CellState.FAILED and cell.status == LEFT:
        return _left(cell, end, attempt)
    if cell.state in (CellState.FAILED, CellState.SUSPICIOUS):
        if end is not End.PREEMPTED:
            return cell
        why = cell.why or ""
        if attempt.reached is not None:
            why = _headed(why, ended_words(end, attempt))
        return replace(cell, why=why, end_words=why, finding=join.kind)
    if cell.state is CellState.SKIPPED or cell.state is CellState.PENDING:
        return cell
    # By its log alone: the list is older than this line, or has the job no more.
    line = kept.book.outside(cell.name)
    if line is None and cell.state is CellState.RUNNING:  # it was warned
        return replace(cell, finding=join.kind, ended_by=end, restarted=True)
    words = ended_words(end, attempt)
    if join.kind is None:
        finding = cell.finding if cell.state is CellState.RUNNING else None
        return replace(cell, finding=finding, ended_by=end)
    return replace(cell, finding=join.kind, end_words=words, ended_by=end, restarted=True)


def _left(cell: Cell, end: End, attempt: Attempt) -> Cell:
    """A job that its scheduler no longer lists, and that failed by its log: the line may say who ended it."""
    kind = JOINS[end].kind
    if line_end(cell.why or "") is not end:
        return cell  # something else failed before
    words = f"{LEFT}: {ended_words(end, attempt)}"
    if kind is not None:
        return replace(cell, finding=kind, why=words, end_words=words, ended_by=end)
    if end is End.REQUEUED:
        return replace(cell, state=CellState.CANNOT_TELL, why=words, finding=UNTOLD, ended_by=end)
    return replace(cell, state=CellState.SKIPPED, why=words, finding=None, ended_by=end)


def _headed(why: str | None, words: str) -> str:
    """A reason with `words` after the state that heads it: `PENDING: preempted after epoch 7; Resources: …`."""
    head, colon, rest = (why or "").partition(": ")
    if head.isupper():
        return f"{head}: {words}; {rest}" if colon else f"{head}: {words}"
    return f"{words}; {why}" if why else words
