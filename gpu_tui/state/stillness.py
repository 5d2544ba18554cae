"""Which of the cells that run have stood still, by their own logs and files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from math import inf

from gpu_tui.core import metrics
from gpu_tui.core.facts import BUSY_SHARE
from gpu_tui.core.pulse import stall_after
from gpu_tui.core.readings import FileTable
from gpu_tui.core.stillness import computes, still
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.state.instance import InstanceState
from gpu_tui.state.signs import by_cell, signs_of_life
from gpu_tui.state.views import utilization

CAUGHT_UP = 30.0  # seconds of a connection: before that a log may lie behind


def with_stillness(kept: InstanceState, queue: Queue, now: float) -> Queue:
    """The queue with a word for each cell that runs and has not moved for longer than a stall takes.

    Of what a scheduler runs elsewhere no card is seen here: a silent log alone says too little.
    """
    if (
        kept.instance.scheduler is not None
        or not kept.link.live
        or now - kept.link.since < CAUGHT_UP
    ):
        return queue
    known = kept.logs.stillness()
    runs = [place for place, cell in enumerate(queue.cells) if cell.state is CellState.RUNNING]
    quiet = {
        place: now - since
        for place in runs
        if (found := known.get(queue.cells[place].name)) is not None
        and now - (since := found[0]) > _limit(kept, found[1])
    }
    if not quiet:
        return queue
    moving = _moved_lately(kept, {queue.cells[place].name for place in quiet}, now)
    pids = {
        job.name: job.pids[0]
        for metric in (metrics.TMUX, metrics.DETACHED)
        if (jobs := kept.fresh(metric, now)) is not None
        for job in jobs.jobs
        if job.pids
    }
    processes, table = kept.fresh(metrics.PROCESSES, now), kept.fresh(metrics.GPUS, now)
    busy = utilization(table)
    cells: list[Cell] = list(queue.cells)
    for place, seconds in quiet.items():
        cell = cells[place]
        if cell.name in moving:
            continue
        if len(runs) == 1 and busy is not None:  # whatever computes is its own
            works: bool | None = busy > BUSY_SHARE
        else:
            works = computes(pids.get(cell.name), processes, table)
        cells[place] = still(cell, seconds, works)
    return replace(queue, cells=tuple(cells))


def _limit(kept: InstanceState, pause: float | None) -> float:
    """Seconds of silence that are longer than a cell with such pauses usually keeps."""
    gaps = [gap for gap in (pause, kept.witness.typical_gap) if gap is not None]
    return stall_after(kept.instance.stall_after, max(gaps, default=None))


def _moved_lately(kept: InstanceState, names: Collection[str], now: float) -> frozenset[str]:
    """Those of the cells of which a directory or file was written within the time of a stall."""
    table = kept.fresh(metrics.FILES, now)
    if table is None:
        return frozenset()
    if kept.joined.written is None or kept.joined.written[0] is not table:
        kept.joined.written = (table, _written(table))
    since = now - kept.instance.stall_after
    return frozenset(
        name
        for known in (kept.joined.written[1], signs_of_life(kept))
        for name in names
        if name in known and kept.timeline.ours(known[name]) >= since
    )


def _written(table: FileTable) -> Mapping[str, float]:
    """When each name of the paths was written last, by the box; once for a table: there may be tens of thousands."""
    parts: dict[str, float] = {}
    for path, stat in table.found.items():
        for part in path.split("/"):
            if stat.mtime > parts.get(part, -inf):
                parts[part] = stat.mtime
    return by_cell(parts)
