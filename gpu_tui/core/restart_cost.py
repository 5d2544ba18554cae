"""The cost of a restart by a job's log: the epoch that the attempts before had reached, and the present one."""

from __future__ import annotations

from dataclasses import replace

from gpu_tui.core.sweep import Cell

BEYOND = 0.1  # of the reached epochs, and at least one: the restart is then got over
ENDS = frozenset({"host_oom", "crashed"})  # findings of a job that runs again


def with_cost(row: Cell, reached: int | None) -> Cell:
    """A job that runs again after a bad end, with what that end cost; no finding once it is well beyond it."""
    if reached is None or row.epoch is None:
        return row
    if row.epoch < reached:
        return replace(row, why=f"{row.why}, back at epoch {row.epoch} after epoch {reached}")
    over = row.finding in ENDS and row.epoch > reached + max(1.0, BEYOND * reached)
    return replace(row, finding=None) if over else row
