"""The list of a scheduler as a person reads it: what runs first, and one line for the waiting tasks of an array. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from gpu_tui.core.sweep import Cell, CellState

_TASK = re.compile(r"(\d{1,10})_(\d{1,10})\Z")
_CODE = re.compile(r"([A-Z][a-z]+(?:[A-Z][a-z]+)*): ")
_RUNS, _BAD, _WAITS, _OVER = range(4)
_PLACES = {
    CellState.RUNNING: _RUNS,
    CellState.PENDING: _WAITS,
    CellState.FINISHED: _OVER,
    CellState.SKIPPED: _OVER,
}


def in_list_order(cells: Iterable[Cell]) -> list[Cell]:
    """Running cells, then those with a bad end or an unknown one, then waiting ones, then the rest; of what has ended
    the newest first. The waiting tasks of an array are one cell, whose `tasks` is their number.
    """
    return list(_folded(sorted(cells, key=_order)))


def reason_of(cell: Cell) -> str | None:
    """The short reason of a cell that waits: `Unschedulable` of `Pending: Unschedulable: 0/4 nodes are available`."""
    if cell.reason:
        return cell.reason
    match = _CODE.match((cell.why or "").removeprefix(f"{cell.status}: "))
    return match[1] if match else cell.status


def _order(cell: Cell) -> tuple[int, float]:
    place = _PLACES.get(cell.state, _BAD)
    if (
        place == _OVER and cell.finding is not None
    ):  # it will never run, or ended well and is in doubt
        place = _BAD
    ended = cell.finished_at if place in (_BAD, _OVER) else None
    return place, 0.0 if ended is None else -ended


def _folded(cells: Sequence[Cell]) -> Iterator[Cell]:
    """Each group of waiting tasks at the place of its first one."""
    groups: dict[tuple[str, str | None, str | None], list[tuple[int, Cell]]] = {}
    for cell in cells:
        if (task := _waiting_task(cell)) is not None:
            groups.setdefault((task[0], cell.reason, cell.why), []).append((task[1], cell))
    folded: set[tuple[str, str | None, str | None]] = set()
    for cell in cells:
        task = _waiting_task(cell)
        key = None if task is None else (task[0], cell.reason, cell.why)
        if key is None or len(groups[key]) < 2:
            yield cell
        elif key not in folded:
            folded.add(key)
            yield _fold(key[0], groups[key])


def _waiting_task(cell: Cell) -> tuple[str, int] | None:
    """The array and the number of a task that waits."""
    if cell.state is not CellState.PENDING or cell.finding is not None:
        return None
    match = _TASK.match(cell.job or "")
    return (match[1], int(match[2])) if match else None


def _fold(array: str, tasks: Sequence[tuple[int, Cell]]) -> Cell:
    first = tasks[0][1]
    most = f"%{first.at_once}" if first.at_once else ""
    id = f"{array}_[{_ranges(sorted(number for number, _ in tasks))}{most}]"
    rest = first.name.partition("·")[2]
    return replace(first, name=f"{id}·{rest}" if rest else id, job=id, tasks=len(tasks))


def _ranges(numbers: Sequence[int]) -> str:
    """`2-299` or `1,4-7`, as squeue writes them."""
    parts = []
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        found = [number for _, number in run]
        parts.append(f"{found[0]}-{found[-1]}" if len(found) > 1 else str(found[0]))
    return ",".join(parts)
