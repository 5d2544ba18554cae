"""A sweep of which nothing but the logs is known, one log per cell: `runs/{cell}/train.log`. Pure.

A log that moves while a training lives is a running cell; of one that stands still only its last lines
tell. It is never called finished for being old.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpu_tui.core.facts import span
from gpu_tui.core.jobs import JOBS_KEPT, Job, JobTable
from gpu_tui.core.readings import FileTable
from gpu_tui.core.sweep import CellState
from gpu_tui.core.vanished import Ending

CELL = "{cell}"
BEGUN = "just started: its log moved after the process table was read"
SLACK = 2.0  # seconds: an mtime has whole ones
AHEAD = 60.0  # seconds that a file server may be ahead of the box and still be believed


def cell_in(pattern: str) -> re.Pattern[str]:
    """What the path of a cell's log is like; group 1 is the cell, the same wherever `pattern` names it."""
    head, *rest = map(re.escape, pattern.split(CELL))
    return re.compile(f"{head}(?P<cell>[^/]+)" + "(?P=cell)".join(rest))


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
) -> JobTable:
    """One job per log that `pattern` names and that is not in `taken`, the newest last.

    `alive`: a training lives on the box; None = nobody knows; `seen_at` = when that was read. Times are by
    the box's clock.
    """
    named = cell_in(pattern)
    found = sorted(
        (file.mtime, match[1], path)
        for path, file in files.found.items()
        if path not in taken and (match := named.fullmatch(path))
    )
    jobs = tuple(
        _job(name, path, mtime, box_now, stall_after, alive, endings.get(name, Ending()), seen_at)
        for mtime, name, path in found[-JOBS_KEPT:]
    )
    return JobTable("logs", jobs, max(0, len(found) - JOBS_KEPT))


def _job(
    name: str,
    path: str,
    mtime: float,
    box_now: float,
    stall_after: float,
    alive: bool | None,
    ending: Ending,
    seen_at: float | None,
) -> Job:
    still = max(0.0, box_now - mtime)
    log = Job(name, name, CellState.CANNOT_TELL, "log", stdout=path)
    newer = seen_at is not None and seen_at + SLACK < mtime <= box_now + SLACK
    if newer and alive is False and ending == Ending():
        return _as(log, CellState.RUNNING, BEGUN, None)
    believed = mtime <= box_now + AHEAD
    ended = mtime if believed else None
    if believed and still < stall_after and alive is not False and ending.failure is None:
        if alive:
            return _as(log, CellState.RUNNING, None, None)
        return _as(
            log, CellState.CANNOT_TELL, "its log moves, and no process table tells who writes", None
        )
    if ending.failure is not None:
        return _as(log, CellState.FAILED, f"its log ends with: {ending.failure}", ended)
    if ending.complete:
        return _as(
            log, CellState.FINISHED, "by its log alone: its counters came to their end", ended
        )
    if not believed:
        why = "the time of its log lies ahead of the box's clock, and nothing else tells of it"
        return _as(log, CellState.CANNOT_TELL, why, None)
    why = f"its log stands still for {span(still)}, and nothing else tells of it"
    return _as(log, CellState.CANNOT_TELL, why, None)


def _as(job: Job, state: CellState, why: str | None, finished_at: float | None) -> Job:
    word = state.value if why is None else "log"
    return Job(job.id, job.name, state, word, why, stdout=job.stdout, finished_at=finished_at)
