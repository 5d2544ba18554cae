"""Invented queues for tests of the whole sweep."""

from __future__ import annotations

from dataclasses import replace

from gpu_tui.core.campaign import Lane
from gpu_tui.core.sweep import Cell, CellState, Queue


def cell(name: str, state: CellState = CellState.PENDING, **more: object) -> Cell:
    """One cell of the task `t`."""
    return replace(Cell(name, 1, "t", state), **more)  # type: ignore[arg-type]


def ended(name: str, seconds: float, **more: object) -> Cell:
    """A cell that ended well after `seconds`."""
    return cell(name, CellState.FINISHED, duration_seconds=seconds, exit_code=0, **more)


def running(name: str, took: float, left: float | None, **more: object) -> Cell:
    """A cell that runs, with `left` seconds to go."""
    return cell(name, CellState.RUNNING, duration_seconds=took, eta_seconds=left, **more)


def lane(name: str, *cells: Cell, **more: object) -> Lane:
    """One box that works off a queue file."""
    numbered = tuple(replace(one, index=n) for n, one in enumerate(cells, 1))
    queue = Queue(numbered, f"/q/{name}.txt", total=len(cells))
    return replace(Lane(name, queue), **more)  # type: ignore[arg-type]
