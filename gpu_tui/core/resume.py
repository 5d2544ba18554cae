"""Where a queue goes on: the start index that `run_queue.sh FILE [start_index]` takes. Pure.

The script runs every cell from that index on, whatever came of it before; the index counts cells from 1,
comments and blank lines not counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpu_tui.core.sweep import Cell, CellState

ENDED_WELL = (CellState.FINISHED, CellState.SYNC_FAILED, CellState.SUSPICIOUS)


@dataclass(frozen=True, slots=True)
class Resume:
    """`start` is the cell to begin with, None where nothing is left.

    `running`: it is at work now, so the command is only for when it dies. `again` ended well behind `start`
    and would run once more; `failed` and `missed` (the queue went past them) stand before it and would not;
    `unsynced` need a copy and no training.
    """

    start: Cell | None
    running: bool = False
    again: tuple[Cell, ...] = ()
    failed: tuple[Cell, ...] = ()
    missed: tuple[Cell, ...] = ()
    skipped: tuple[Cell, ...] = ()
    unsynced: tuple[Cell, ...] = ()


def resume_of(cells: Iterable[Cell]) -> Resume:
    """For the cells of one queue file: the first that never came to an end; else the first that the queue
    went past or never came to; else the first that failed.
    """
    ordered = sorted(cells, key=lambda cell: cell.index)
    open_ = [cell for cell in ordered if _open(cell)]
    broken = [cell for cell in ordered if cell.state is CellState.FAILED and not _open(cell)]
    missed = [cell for cell in ordered if cell.never_run]
    start = next(iter(open_ or missed or broken), None)
    before = start.index if start else 0
    return Resume(
        start=start,
        running=any(cell.state is CellState.RUNNING for cell in ordered),
        again=tuple(c for c in ordered if c.state in ENDED_WELL and start and c.index > before),
        failed=tuple(cell for cell in broken if cell.index < before),
        missed=tuple(cell for cell in missed if cell.index < before),
        skipped=tuple(
            cell for cell in ordered if cell.state is CellState.SKIPPED and not cell.never_run
        ),
        unsynced=tuple(cell for cell in ordered if cell.state is CellState.SYNC_FAILED),
    )


def _open(cell: Cell) -> bool:
    """It has not come to an end: it waits, runs, or was interrupted."""
    if cell.state is CellState.FAILED:
        return cell.finished_at is None and cell.exit_code is None
    return cell.state in (CellState.PENDING, CellState.RUNNING, CellState.CANNOT_TELL)
