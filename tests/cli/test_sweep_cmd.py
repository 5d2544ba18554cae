"""Columns that `gpu-tui sweep --sort` knows."""

from __future__ import annotations

import pytest

from gpu_tui.cli.sweep import _sorted
from gpu_tui.core.cell_table import Row
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.settings import FleetError

ROWS = tuple(
    Row(
        "box", Cell(name, 1, "t", CellState.FINISHED, duration_seconds=took, metrics={"psnr": took})
    )
    for name, took in (("a", 2.0), ("b", 1.0), ("c", 3.0))
)


@pytest.mark.parametrize("column", ["took", "duration", "psnr", "metric:psnr"])
def test_it_sorts_by_a_title_a_field_or_a_metric(column: str) -> None:
    assert [row.cell.name for row in _sorted(ROWS, column, falling=False)] == ["b", "a", "c"]
    assert [row.cell.name for row in _sorted(ROWS, column, falling=True)] == ["c", "a", "b"]


def test_an_unknown_column_names_the_known_ones() -> None:
    with pytest.raises(FleetError) as wrong:
        _sorted(ROWS, "nope", falling=False)
    assert "'nope'" in str(wrong.value)
    assert "took" in (wrong.value.next or "")
    assert "psnr" in (wrong.value.next or "")
