"""Drops jobs and findings of cells whose logs were deleted: a finding ends with its log and its queue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gpu_tui.core import metrics
from gpu_tui.core.findings import Finding, log_line
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.log_cells import CELL, cell_in
from gpu_tui.core.readings import FileTable
from gpu_tui.core.sample import NO_TRACK, Absent
from gpu_tui.core.sweep import Queue
from gpu_tui.state.instance import InstanceState


def queue_is_gone(kept: InstanceState, now: float) -> bool:
    """Whether both the queue file and the queue's log are known to be missing."""
    named, files = kept.instance.queue, kept.fresh(metrics.FILES, now)
    if named.file is None or files is None or (named.log is not None and named.log in files.found):
        return False
    return isinstance(kept.tracks.get(metrics.ROSTER.name, NO_TRACK).latest, Absent)


def without_deleted(kept: InstanceState, tables: Iterable[JobTable], now: float) -> list[JobTable]:
    """The tables without runs that ended and whose logs were deleted."""
    gone = _Deleted(kept, now)
    return [
        replace(table, jobs=tuple(job for job in table.jobs if job.live or job.stdout not in gone))
        for table in tables
    ]


def standing(
    kept: InstanceState, findings: Iterable[Finding], queue: Queue, now: float
) -> Iterator[Finding]:
    """The findings without those of cells that are in no queue and whose log was deleted."""
    gone, names = _Deleted(kept, now), {cell.name for cell in queue.cells}
    for found in findings:
        about_log = found.source.startswith("log:") and found.cell is not None
        if not about_log or found.cell in names or log_line(found.source)[0] not in gone:
            yield found


class _Deleted:
    """The set of paths that the pattern of cells' logs covers and that a fresh table of files does not list."""

    def __init__(self, kept: InstanceState, now: float) -> None:
        pattern = kept.instance.logs
        files: FileTable | None = kept.fresh(metrics.FILES, now)
        known = pattern and CELL in pattern and files is not None and pattern not in files.unseen
        self._files = files if known else None
        self._covered = cell_in(pattern) if known and pattern else None

    def __contains__(self, path: object) -> bool:
        if self._files is None or self._covered is None or not isinstance(path, str):
            return False
        return self._covered.fullmatch(path) is not None and path not in self._files.found
