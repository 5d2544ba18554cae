"""Finds running cells that are stopped or have stalled, by their processes, their own logs and files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from gpu_tui.core import metrics, units
from gpu_tui.core.facts import BUSY_SHARE
from gpu_tui.core.halted import all_halted, candidates, halted, held_for
from gpu_tui.core.liveness import Run, descendants
from gpu_tui.core.pulse import stall_after
from gpu_tui.core.readings import Process
from gpu_tui.core.rules import Condition
from gpu_tui.core.stillness import computes, still
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.state.hung import at_end, serves
from gpu_tui.state.instance import InstanceState
from gpu_tui.state.signs import signs_of_life, written_by_name
from gpu_tui.state.silence import with_silence
from gpu_tui.state.views import utilization

CAUGHT_UP = 30.0  # seconds of a connection: before that a log may lie behind


def owners_of(kept: InstanceState, now: float) -> Mapping[int, str]:
    """PID -> cell, for each job whose process is known."""
    return {
        job.pids[0]: job.name
        for metric in (metrics.TMUX, metrics.DETACHED)
        if (jobs := kept.fresh(metric, now)) is not None
        for job in jobs.jobs
        if job.pids and job.live
    }


def stopped_runs(
    kept: InstanceState, run: Run | None, queue: Queue, now: float
) -> tuple[tuple[Condition, ...], bool]:
    """Findings for stopped trainings, and whether all trainings are stopped; none on the login node of a cluster."""
    processes = kept.fresh(metrics.PROCESSES, now)
    if run is None or processes is None or kept.instance.scheduler is not None:
        return (), False
    owners = owners_of(kept, now)
    own = {one.pid for one in run.runners} | descendants(
        processes, {one.pid for one in run.runners}
    )
    if (cell := _only_running_cell(queue)) is not None:
        owners = {**owners, **dict.fromkeys(own, cell)}
    traced = {
        pid: severity
        for pid, (since, first) in kept.witness.traced.items()
        if (severity := held_for(now - since, first=first)) is not None
    }
    found = tuple(
        halted(candidates(processes, run, owners), queue, owners, processes, traced=traced)
    )
    jobs = owners_of(kept, now)
    return found, all_halted(run, queue, found, jobs)


def _only_running_cell(queue: Queue) -> str | None:
    """The only running cell of the queue's own script; None if there is not exactly one."""
    own = [c.name for c in queue.cells if c.job is None and c.state is CellState.RUNNING]
    return own[0] if len(own) == 1 else None


def with_stillness(kept: InstanceState, queue: Queue, now: float, run: Run | None) -> Queue:
    """The queue with a reason for each running cell that has not moved for longer than `stall_after`.

    A stopped cell has a better reason from its process. Of jobs that a scheduler runs elsewhere only the logs count.
    """
    if not kept.link.live:
        return queue
    if kept.instance.scheduler is not None:
        return with_silence(kept, queue, now)
    halts = {one.cell: one.evidence for one in stopped_runs(kept, run, queue, now)[0]}
    # Lines of a log may be older than a new connection; the file's own time shows when it moved.
    known = kept.logs.stillness(by_file=now - kept.link.since < CAUGHT_UP)
    runs = [place for place, cell in enumerate(queue.cells) if cell.state is CellState.RUNNING]
    quiet = {
        place: now - since
        for place in runs
        if (found := known.get(queue.cells[place].name)) is not None
        and now - (since := found[0]) > _limit(kept, found[1])
    }
    cells: list[Cell] = list(queue.cells)
    for place in runs:
        if (why := halts.get(cells[place].name)) is not None:
            cells[place] = replace(cells[place], why=why, halted=True)
            quiet.pop(place, None)
    if not quiet:
        return replace(queue, cells=tuple(cells)) if halts else queue
    moving = _moved_lately(kept, {queue.cells[place].name for place in quiet}, now)
    pids = {name: pid for pid, name in owners_of(kept, now).items()}
    processes, table = kept.fresh(metrics.PROCESSES, now), kept.fresh(metrics.GPUS, now)
    busy = utilization(table)
    for place, seconds in quiet.items():
        cell = cells[place]
        if cell.name in moving or serves(kept, cell.name):
            continue
        if len(runs) == 1 and busy is not None:  # whatever computes is its own
            works: bool | None = busy > BUSY_SHARE
        else:
            works = computes(pids.get(cell.name), processes, table)
        own = {pids[cell.name]} if cell.name in pids else set()
        if not own and run is not None and cell.name == _only_running_cell(queue):
            own = {one.pid for one in run.trainers}
        cells[place] = still(cell, seconds, works, cpu=works_by_cpu(kept, own, processes))
        if not cells[place].computes and (words := at_end(kept, cell)) is not None:
            why = f"{words} {units.words(seconds)} ago, and its process does not exit"
            cells[place] = replace(cells[place], why=why)
    return replace(queue, cells=tuple(cells))


def works_by_cpu(
    kept: InstanceState, pids: Collection[int], processes: Sequence[Process] | None
) -> bool:
    """Whether one of these processes, or a descendant, computes."""
    return kept.witness.computes({*pids} | descendants(processes or (), {*pids}))


def _limit(kept: InstanceState, pause: float | None) -> float:
    """Seconds of silence that are longer than a cell with such pauses usually keeps."""
    gaps = [gap for gap in (pause, kept.witness.typical_gap) if gap is not None]
    return stall_after(kept.instance.stall_after, max(gaps, default=None))


def _moved_lately(kept: InstanceState, names: Collection[str], now: float) -> frozenset[str]:
    """Those of the cells of which a directory or file was written within the time of a stall."""
    table = kept.fresh(metrics.FILES, now)
    if table is None:
        return frozenset()
    since = now - kept.instance.stall_after
    return frozenset(
        name
        for known in (written_by_name(kept, table), signs_of_life(kept))
        for name in names
        if name in known and kept.timeline.ours(known[name]) >= since
    )
