"""A cell that runs and stands still, told of it alone: what moves beside it hides nothing. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpu_tui.core import units
from gpu_tui.core.facts import BUSY_SHARE
from gpu_tui.core.findings import Severity
from gpu_tui.core.liveness import descendants
from gpu_tui.core.readings import GpuTable, Process
from gpu_tui.core.sweep import Cell

MOST_TIMES = 1000  # a larger number says nothing more


def computes(
    pid: int | None, processes: Sequence[Process] | None, table: GpuTable | None
) -> bool | None:
    """Whether the cards of one job compute; None where nobody can tell which are its own, or who works there."""
    if table is None or (table.error is not None and not table.gpus):
        return None
    shares = [gpu.utilization for gpu in table.gpus]
    if shares and all(share is not None and share <= BUSY_SHARE for share in shares):
        return False
    if pid is None or processes is None or table.processes_hidden:
        return None
    own = {pid} | descendants(processes, {pid})
    told = []
    for gpu in table.gpus:
        users = {process.pid for process in gpu.processes}
        if users & own:
            works = None if gpu.utilization is None else gpu.utilization > BUSY_SHARE
            told.append(None if works and not users <= own else works)
    if not told or None in told:
        return None
    return any(told)


def still(cell: Cell, seconds: float, works: bool | None, *, cpu: bool = False) -> Cell:
    """The row of a cell that has not moved for `seconds`; `cpu`: its process computes, whatever its cards do."""
    quiet = f"nothing of it moved for {units.words(seconds)}"
    if cpu and not works:
        works = True
        why = f"{quiet}, though its process computes: buffered stdout looks like this (python -u)"
    elif works:
        why = (
            f"{quiet}, though its card computes: a collective that hangs looks like this, and so does "
            "buffered stdout (python -u)"
        )
    elif works is None:
        why = f"{quiet}, and nothing tells whether it computes"
    else:
        why = f"{quiet}, and no card of it computes"
    return replace(cell, still_seconds=seconds, computes=works, why=why)


def silence_words(seconds: float, usual: float) -> str:
    """Words for a job that did not write a line for `seconds`; `usual` is the usual gap between its lines."""
    times = seconds / usual
    if times > MOST_TIMES:
        return f"no line for {units.words(seconds)}, over {MOST_TIMES} times its usual gap"
    return f"no line for {units.words(seconds)}, {times:.0f} times its usual gap"


def card_words(*, computes: bool) -> str:
    """Words for the GPUs of a silent job. A GPU that computes is no proof of progress: the alarm stays."""
    if computes:
        return "its GPU computes, which is also so in a collective that hangs"
    return "none of its GPUs computes"


def hangs(cell: Cell) -> Severity | None:
    """How bad it is that it stands still; None where it may only be silent."""
    if cell.still_seconds is None or cell.computes:
        return None
    return Severity.WARN if cell.computes is None else Severity.SERIOUS
