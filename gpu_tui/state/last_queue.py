"""The queue of a box as it was seen last, kept in the history: a box that was stopped takes its cells along.

It is shown only where the box is off, with its age, and never as what is true now.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from gpu_tui.core.fleet import Instance
from gpu_tui.core.sweep import CELLS_KEPT, Cell, CellState, Queue
from gpu_tui.state.history import CONTACT_EVERY, History
from gpu_tui.state.runs_before import box_of

COUNTER = "queue"
LONGEST = 500_000  # characters of one queue; a longer one is not kept
FIELDS = (
    "name", "index", "task", "epoch", "epochs", "step", "steps", "loss", "exit_code", "started_at", "finished_at",
    "duration_seconds", "part", "artifact", "why", "logged", "never_run", "again", "job", "finding", "status", "node",
    "restarts",
)  # fmt: skip
AT_WORK = "it was at work when the box was read last, and the box is off"


@dataclass(frozen=True, slots=True)
class LastQueue:
    """A queue, and when it was seen so, in epoch seconds."""

    queue: Queue
    at: float


class QueueKept:
    """Takes the queue of one box to the history, and back."""

    def __init__(self, history: History, instance: Instance) -> None:
        self._history, self._name = history, instance.name
        self._box = instance.provider.id or box_of(instance)
        self._written: tuple[list[tuple[CellState, bool]], float] | None = None
        self._last: LastQueue | None = None
        self._asked = False

    def keep(self, queue: Queue, at: float) -> None:
        """As it was read at `at`: at once where a cell came to something else or its epoch became known, else now
        and then.
        """
        states = [(cell.state, cell.epoch is None) for cell in queue.cells]
        known = self._written
        if known and known[0] == states and 0 <= at - known[1] < CONTACT_EVERY:
            return
        text = json.dumps([row_of(cell) for cell in queue.cells[:CELLS_KEPT]])
        if len(text) > LONGEST:
            return
        self._written, self._asked = (states, at), False
        total = max(queue.total or 0, len(queue.cells))
        whole = [self._box, at, queue.file, queue.log, total, queue.claimed_done, text]
        self._history.set_counter(self._name, COUNTER, json.dumps(whole), at)

    def read(self) -> LastQueue | None:
        """What was kept of this very box; None where there is nothing, or nothing whole."""
        if not self._asked:
            self._asked, self._last = True, self._read()
        return self._last

    def _read(self) -> LastQueue | None:
        try:
            kept = json.loads(self._history.counter(self._name, COUNTER) or "[]")
            box, at, file, log, total, done, text = kept
            cells = tuple(cell_of(dict(row)) for row in json.loads(text))
        except (ValueError, TypeError, KeyError):
            return None
        if box != self._box or not isinstance(at, float) or not cells:
            return None
        return LastQueue(Queue(cells, file, log, total=total, claimed_done=bool(done)), at)


def row_of(cell: Cell) -> dict[str, object]:
    """One cell for the history."""
    told = {name: getattr(cell, name) for name in FIELDS}
    row = {name: value for name, value in told.items() if value is not None and value is not False}
    return {**row, "state": cell.state.value, "metrics": dict(cell.metrics)}


def cell_of(row: dict[str, Any]) -> Cell:
    """What was at work is not: nothing tells how far it came."""
    state = CellState(row.pop("state"))
    cell = Cell(**{"task": None, **row}, state=state)
    if state is CellState.RUNNING:
        return replace(cell, state=CellState.CANNOT_TELL, why=AT_WORK)
    return cell
