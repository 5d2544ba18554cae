"""The queue of one instance, joined anew where something changed: a long queue is mostly history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpu_tui.core import metrics
from gpu_tui.core.job_scope import in_scope
from gpu_tui.core.jobs import Job, JobTable, with_jobs
from gpu_tui.core.liveness import Run
from gpu_tui.core.log_cells import CELL
from gpu_tui.core.queue_history import QueueHistory
from gpu_tui.core.queue_join import Join
from gpu_tui.core.remedies import OTHER_QUEUE
from gpu_tui.core.sample import NO_TRACK
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.core.unlisted import more_may_follow
from gpu_tui.state.cell_evidence import cell_evidence
from gpu_tui.state.deleted_logs import queue_is_gone
from gpu_tui.state.facts import alive_of, cells_alive_of, offset_of
from gpu_tui.state.instance import InstanceState
from gpu_tui.state.job_tables import ended_by_logs, job_tables
from gpu_tui.state.joined import Joined
from gpu_tui.state.known_ends import LOG_ONLY, Sign
from gpu_tui.state.scheduler_ends import with_scheduler_ends
from gpu_tui.state.stillness import with_stillness
from gpu_tui.state.unread import (
    counted_reasons,
    unknown_ends,
    unread_count,
    unread_ends,
    unread_jobs,
)
from gpu_tui.state.witness import box_time

UNRECORDED = frozenset(metric.name for metric in metrics.UNRECORDED)
NO_QUEUE = QueueHistory()
LIVE = (CellState.RUNNING, CellState.CANNOT_TELL)


def queue_rows(kept: InstanceState, now: float, run: Run | None) -> Queue:
    """The queue at `now`, its times as epoch seconds."""
    offset, box_now = offset_of(kept, now), box_time(kept.tracks, now)
    rows = kept.joined
    join, names = _changed(rows, kept, now, run)
    evidence = cell_evidence(kept, now, run, names)
    judged = join.judge(evidence, None if box_now is None else box_now + offset, names)
    if names is None:
        rows.cells = [_to_epoch(cell, offset) for cell in judged.values()]
    else:
        for place, cell in judged.items():
            rows.cells[place] = _to_epoch(cell, offset)
    files = kept.instance.queue
    queue = join.queue(tuple(rows.cells), files.file, files.log)
    if files.file is not None and any(cell.state is CellState.PENDING for cell in queue.cells):
        queue = _told_by_logs(queue, ended_by_logs(kept, now, alive_of(kept, run, now)))
    listed = [
        in_scope(table, kept.instance, box_now)
        for table in job_tables(kept, now, alive_of(kept, run, now))
    ]
    tables = [table for table, _ in listed]
    if (seen := kept.fresh(metrics.FILES, now)) is not None and seen.unseen:
        queue = replace(
            queue, notes=(*queue.notes, *(_unseen(*one) for one in seen.unseen.items()))
        )
    logs = {job.name: job.stdout for table in tables for job in table.jobs}
    exits = kept.book.exits()
    kept.book.good_steps = {
        job.name: frozenset(job.logs)
        for table in tables
        for job in table.jobs
        if job.steps_read and job.state is CellState.FINISHED
    }
    with_rows = with_jobs(queue, tables, evidence, box_now=box_now, exits=exits)
    queue = _with_known_ends(kept, with_rows, logs, now)
    queue = with_scheduler_ends(kept, queue, now)
    if files.useless:
        queue = replace(queue, notes=(*queue.notes, f"no cell is in {files.file}: {OTHER_QUEUE}"))
    if _more_may_follow(kept, tables, now, box_now):
        queue = replace(queue, more=True, total=None)
    unread = unread_jobs(kept, now)
    queue = replace(
        _with_unread(kept, queue, logs, unread),
        unread_logs=len(unread) or unread_count(kept, now),
        unread_why=counted_reasons(unread),
        unread_ends=len(unread_ends(kept, now)) + unknown_ends(kept, now),
        not_counted={why: count for _, aside in listed for why, count in aside.items()},
    )
    return with_stillness(kept, queue, now, run)


def _with_known_ends(
    kept: InstanceState, queue: Queue, logs: Mapping[str, str | None], now: float
) -> Queue:
    """The queue with ends that were seen before and that current readings no longer show."""
    files, pattern, logs_read = kept.value(metrics.FILES), kept.instance.logs, _read(kept)
    runs = kept.queue_history.runs
    signs = {}
    for cell in queue.cells:
        path = logs.get(cell.name) or (pattern and pattern.replace(CELL, cell.name))
        stat = files.found.get(path) if files is not None and path else None
        attempt, run = cell.job, runs.get(cell.name)
        if attempt is None and run is not None and run.started is not None:
            attempt = f"{run.index}:{run.started}"
        elif attempt in (cell.name, path):
            attempt = LOG_ONLY
        mtime = None if stat is None else stat.mtime
        size, version = logs_read.get(cell.name, (None, None))
        signs[cell.name] = Sign(attempt, path, mtime, size, version)
    roster = kept.tracks.get(metrics.ROSTER.name, NO_TRACK)
    # Before the queue file is read, a process that names one of its cells is not recognised as part of the run.
    read = kept.instance.queue.file is None or roster.latest is not None
    ends = kept.ends.with_known_ends(
        queue, signs, kept.book, now if kept.link.live and read else None
    )
    while kept.ends.begun:
        kept.cells.pop(kept.ends.begun.pop(), None)
    for vanished in kept.vanished.values():
        vanished.ended = kept.ends.names
    return ends


def _read(kept: InstanceState) -> dict[str, tuple[int, int]]:
    """By cell, the bytes up to which its logs were read, and the version of their traces."""
    read: dict[str, tuple[int, int]] = {}
    for source, log in kept.logs.buffers.items():
        if source.cell is not None:
            size, version = read.get(source.cell, (0, 0))
            read[source.cell] = size + (log.upto or 0), version + log.version
    return read


def _more_may_follow(
    kept: InstanceState, tables: Sequence[JobTable], now: float, box_now: float | None
) -> bool:
    """Whether a loop without a list may start more cells; a list of jobs or of cells names all of them."""
    if kept.instance.queue.names_runs or kept.instance.scheduler:
        return False
    good = kept.tracks.get(metrics.PROCESSES.name, NO_TRACK).good
    jobs = [job for table in tables if table.source in UNRECORDED for job in table.jobs]
    skew = 0.0 if box_now is None else box_now - now
    read_at = (now if good is None else good.taken_at) + skew
    return more_may_follow(jobs, kept.value(metrics.PROCESSES), read_at, now + skew)


def _told_by_logs(queue: Queue, ended: Mapping[str, Job]) -> Queue:
    """The queue with the ends from cells' own logs, for cells that no queue's log names."""

    def told(cell: Cell) -> Cell:
        job = ended.get(cell.name)
        if job is None or cell.state is not CellState.PENDING:
            return cell
        why = f"log: {job.why}"
        return replace(cell, state=job.state, why=why, finished_at=job.finished_at, logged=True)

    return replace(queue, cells=tuple(map(told, queue.cells))) if ended else queue


def _with_unread(
    kept: InstanceState, queue: Queue, logs: Mapping[str, str | None], unread: Mapping[str, str]
) -> Queue:
    """A running cell that shows no progress: that its log is not read is another thing than that it tells none."""
    pattern = kept.instance.logs
    running = {
        cell.name: logs.get(cell.name) or (pattern and pattern.replace(CELL, cell.name))
        for cell in queue.cells
        if cell.state is CellState.RUNNING
    }
    why = {**kept.logs.unread(running), **unread} if kept.link.live else {}
    if not why:
        return queue

    def told(cell: Cell) -> Cell:
        shows = (cell.epoch, cell.step, cell.part) != (None, None, None)
        if shows or cell.name not in why or cell.state is not CellState.RUNNING:
            return cell
        said = why[cell.name]
        return replace(cell, why=f"{cell.why}; {said}" if cell.why else said)

    return replace(queue, cells=tuple(map(told, queue.cells)))


def _unseen(pattern: str, count: int) -> str:
    return f"{pattern} names {count} files: more than can be looked at"


def _changed(
    rows: Joined, kept: InstanceState, now: float, run: Run | None
) -> tuple[Join, set[str] | None]:
    """What joins plan and log, and the names of cells that may be another row now; None for all."""
    roster = kept.value(metrics.ROSTER)
    history = NO_QUEUE if queue_is_gone(kept, now) else kept.queue_history
    old = rows.made_of
    files, scores = kept.fresh(metrics.FILES, now), kept.tracks.get(metrics.SCORES.name)
    alive, offset = cells_alive_of(kept, run, now), offset_of(kept, now)
    rows.made_of = (files, scores, kept.instance, alive, offset)
    join = rows.join
    if join is None or join.roster is not roster or join.history is not history:
        rows.join = Join(roster, history)
        return rows.join, None
    same = all(one is other for one, other in zip(old[:3], rows.made_of[:3], strict=True))
    if not same or old[3:] != rows.made_of[3:]:
        return join, None
    return join, {cell.name for cell in rows.cells if cell.state in LIVE} | kept.cells.keys()


def _to_epoch(cell: Cell, offset: float) -> Cell:
    """Stamps are box wall time; epoch seconds are what the outside reads."""
    if not offset or (cell.started_at is None and cell.finished_at is None):
        return cell
    return replace(
        cell,
        started_at=None if cell.started_at is None else cell.started_at - offset,
        finished_at=None if cell.finished_at is None else cell.finished_at - offset,
    )
