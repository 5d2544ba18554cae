"""How long a cell of a task takes, by the attempts of one queue that ended well. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import median

from gpu_tui.core.queue_history import CellRun

Took = tuple[float, int | None]  # seconds, planned epochs


class Usual:
    """Medians per task, and over all tasks for a task of which none has ended."""

    def __init__(self, runs: Iterable[CellRun], tasks: dict[str, tuple[str, int]]) -> None:
        """`tasks`: name -> task and epochs, as the queue file has them; else the start line's."""
        took: defaultdict[str | None, list[Took]] = defaultdict(list)
        for run in runs:
            seconds = run.seconds
            if seconds is not None and run.exit_code in (0, 2):
                task, epochs = tasks.get(run.name, (run.task, run.epochs))
                took[task].append((seconds, epochs))
        self._took = {task: tuple(rows) for task, rows in took.items()}
        self._same = {task: len({epochs for _, epochs in rows}) == 1 for task, rows in took.items()}
        self._median = {task: median(s for s, _ in rows) for task, rows in took.items()}
        paces = {
            task: [seconds / epochs for seconds, epochs in rows if epochs]
            for task, rows in took.items()
        }
        self._pace = {task: median(found) for task, found in paces.items() if found}
        everything = [seconds for rows in took.values() for seconds, _ in rows]
        self._overall = median(everything) if everything else None

    def of_task(self, task: str | None, epochs: int | None = None) -> float | None:
        """Seconds of a cell of exactly this task; per epoch where the cells' epochs differ."""
        rows = self._took.get(task)
        if not rows:
            return None
        if self._same[task] and rows[0][1] in (epochs, None):
            return self._median[task]
        if epochs and task in self._pace:
            return self._pace[task] * epochs
        return self._median[task]

    def seconds(self, task: str | None, epochs: int | None = None) -> float | None:
        """Seconds of a cell of this task, else of any cell, else None."""
        own = self.of_task(task, epochs)
        return self._overall if own is None else own

    def count(self, task: str | None) -> int:
        """How many cells of this task it rests on."""
        return len(self._took.get(task, ()))
