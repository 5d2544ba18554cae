"""How long a cell takes, from the cells that ended well in all queues of a sweep. Pure.

The median of the finished cells of the same task counts, by epoch where every one of them tells its
epochs; else the median of all finished cells. A box is faster or slower by what it took for tasks that
were also done elsewhere.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median

from gpu_tui.core.bounds import NO_IDEA, Span
from gpu_tui.core.sweep import Cell, CellState

TRAINED = (CellState.FINISHED, CellState.SYNC_FAILED)
ENOUGH = 3  # cells of one task whose spread says something
FEW = 1.5  # below that, and for a pace that is a mean: may be so many times shorter or longer
FOREIGN = 2.0  # by the cells of other tasks


@dataclass(frozen=True, slots=True)
class _Sample:
    box: str
    seconds: float
    epochs: int | None


@dataclass(frozen=True, slots=True)
class _Pace:
    """Median seconds of one group, of a cell or of one epoch, and how far the cells lie from it."""

    seconds: float
    by_epoch: bool
    low: float
    high: float
    whole: float  # median seconds of a cell, for a cell that does not tell its epochs


@dataclass(frozen=True, slots=True)
class Typical:
    """What cells take. `speeds`: how many times as long each box takes; only of boxes that can be compared."""

    speeds: Mapping[str, float] = field(default_factory=dict)
    _tasks: Mapping[str, _Pace] = field(default_factory=dict)
    _any: _Pace | None = None

    def expect(self, cell: Cell, box: str) -> Span:
        """Seconds that the whole cell should take on `box`; NO_IDEA before anything has ended well."""
        pace = self._tasks.get(cell.task) if cell.task is not None else None
        pace = pace or self._any
        if pace is None:
            return NO_IDEA
        each = pace.seconds * cell.epochs if pace.by_epoch and cell.epochs else pace.whole
        best = each * self.speeds.get(box, 1.0)
        return Span(best * pace.low, best, best * pace.high)

    def same_task(self, cell: Cell) -> bool:
        """Whether a cell of the same task has ended well anywhere."""
        return cell.task is not None and cell.task in self._tasks


def typical_of(queues: Iterable[tuple[str, Iterable[Cell]]]) -> Typical:
    """What the finished cells of these boxes tell; each is a name and its cells."""
    samples: defaultdict[str | None, list[_Sample]] = defaultdict(list)
    for box, cells in queues:
        for cell in cells:
            took = cell.duration_seconds
            if cell.state in TRAINED and took is not None and math.isfinite(took) and took > 0:
                samples[cell.task].append(_Sample(box, took, cell.epochs))
    named = {task: some for task, some in samples.items() if task is not None}
    speeds = _speeds(named.values())
    tasks = {task: _pace(some, speeds, FEW) for task, some in named.items()}
    every = [sample for some in samples.values() for sample in some]
    return Typical(speeds, tasks, _pace(every, speeds, FOREIGN) if every else None)


def _speeds(tasks: Iterable[list[_Sample]]) -> dict[str, float]:
    ratios: defaultdict[str, list[float]] = defaultdict(list)
    for samples in tasks:
        boxes = {sample.box for sample in samples}
        if len(boxes) < 2:
            continue
        units = _units(samples)
        middle = median(units)
        for box in boxes:
            mine = [u for u, sample in zip(units, samples, strict=True) if sample.box == box]
            ratios[box].append(median(mine) / middle)
    return {box: median(some) for box, some in ratios.items()}


def _pace(samples: list[_Sample], speeds: Mapping[str, float], doubt: float) -> _Pace:
    units = _units(samples)
    middle = median(units)
    low, high = 1 / doubt, doubt
    if len(samples) >= ENOUGH and doubt < FOREIGN:
        off = [
            unit / middle / speeds.get(sample.box, 1.0)
            for unit, sample in zip(units, samples, strict=True)
        ]
        low, high = min(1.0, *off), max(1.0, *off)
    whole = median(sample.seconds for sample in samples)
    return _Pace(middle, _by_epoch(samples), low, high, whole)


def _by_epoch(samples: list[_Sample]) -> bool:
    return all(sample.epochs for sample in samples)


def _units(samples: list[_Sample]) -> list[float]:
    """Seconds of one epoch where all tell their epochs, else of a whole cell."""
    if _by_epoch(samples):
        return [sample.seconds / (sample.epochs or 1) for sample in samples]
    return [sample.seconds for sample in samples]
