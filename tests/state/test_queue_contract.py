"""The queue in `check --json`: bounds of an ETA, and what else to know of the counts."""

from __future__ import annotations

from dataclasses import replace

from test_store import T0, running_bench

from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.state.contract import instance_json


def test_the_bounds_and_the_notes_are_told() -> None:
    cells = (
        Cell("a", 1, "t", CellState.RUNNING, eta_seconds=70.4, eta_range=(60.2, 90.6)),
        Cell("b", 2, "t", CellState.PENDING),
    )
    queue = Queue(cells, "q.txt", "q.log", 2, doubts=("they disagree",), notes=("one is hidden",))
    told = instance_json(replace(running_bench().store.view(T0)["box"], queue=queue))["queue"]
    assert isinstance(told, dict)
    assert told["notes"] == ["they disagree", "one is hidden"]
    assert [cell["eta_range_seconds"] for cell in told["cells"]] == [[60, 91], None]
