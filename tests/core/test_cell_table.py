"""The table of cells: sorted by any column, what is unknown last, and exported without harm."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweeps import cell, ended, lane, running

from gpu_tui.core.cell_export import to_csv, to_markdown
from gpu_tui.core.cell_table import (
    METRICS_SHOWN,
    Order,
    Row,
    as_listed,
    best_of,
    columns_of,
    direction,
    in_order,
    metrics_of,
    rows_of,
    value_of,
)
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.core.thinned import Thinned, even

ODD = [math.nan, math.inf, -math.inf, None]
numbers = st.floats(allow_nan=True, allow_infinity=True) | st.none()
rows_drawn = st.lists(st.tuples(numbers, numbers), max_size=12).map(
    lambda pairs: [
        Row("box", ended(f"c{n}", 1.0, loss=loss, metrics={} if psnr is None else {"psnr": psnr}))
        for n, (loss, psnr) in enumerate(pairs)
    ]
)


@given(rows_drawn, st.sampled_from(["loss", "metric:psnr"]), st.booleans())
def test_known_numbers_are_in_order_and_the_rest_stands_last(
    rows: list[Row], column: str, falling: bool
) -> None:
    made = in_order(rows, Order(column, falling))
    assert sorted(row.key for row in made) == sorted(row.key for row in rows)
    values = [value_of(row, column) for row in made]
    kinds = [2 if v is None else 0 if math.isfinite(v) else 1 for v in values]  # type: ignore[arg-type]
    assert kinds == sorted(kinds)
    finite = [value for value, kind in zip(values, kinds, strict=True) if kind == 0]
    assert finite == sorted(finite, reverse=falling)  # type: ignore[type-var]


def test_equal_ones_stay_as_they_stood_both_ways() -> None:
    rows = [Row("box", ended(name, 5.0)) for name in ("c", "a", "b")]
    for falling in (False, True):
        assert in_order(rows, Order("took", falling)) == rows
    assert in_order(rows, Order()) == rows


def test_every_column_sorts() -> None:
    rows = rows_of(
        [lane("x", ended("B", 9, metrics={"psnr": 1.0}), cell("a"), running("c", 2, 3), per_hour=2.0)]
    )  # fmt: skip
    for column in columns_of(rows):
        assert len(in_order(rows, Order(column))) == 3
    assert [row.cell.name for row in in_order(rows, Order("cell"))] == ["a", "B", "c"]
    assert [row.cell.name for row in in_order(rows, Order("state"))] == ["B", "c", "a"]


def test_costs_of_two_currencies_are_not_compared() -> None:
    rows = rows_of(
        [
            lane("x", ended("a", 3600), per_hour=9.0, currency="USD"),
            lane("y", ended("b", 3600), per_hour=5.0, currency="CNY"),
            lane("z", ended("c", 3600), per_hour=7.0, currency="CNY"),
            lane("w", ended("d", 3600)),
        ]
    )
    assert [row.cell.name for row in in_order(rows, Order("cost"))] == ["b", "c", "a", "d"]


def test_a_cell_that_shares_its_box_has_no_cost_of_its_own() -> None:
    rows = rows_of([lane("x", ended("a", 3600), per_hour=2.0, one_by_one=False)])
    assert rows[0].cost is None


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("psnr", 1), ("val_PSNR", 1), ("test/acc", 1), ("Top-1", 0), ("mAP@50", 1), ("fid", -1),
        ("val_loss", -1), ("loss", -1), ("grad_norm", 0), ("lr", 0), ("speed", 0), ("score", 0),
    ],
)  # fmt: skip
def test_a_direction_is_only_known_where_the_name_says_it(name: str, way: int) -> None:
    assert direction(name) == way


def test_the_best_is_of_one_task_among_those_that_ended_well() -> None:
    def row(name: str, psnr: float, **more: object) -> Row:
        return Row("x", replace(ended(name, 1, metrics={"psnr": psnr, "speed": psnr}), **more))

    rows = [
        row("a", 30.0), row("b", 31.0), row("nan", math.nan), row("inf", math.inf),
        row("odd", 99.0, state=CellState.SUSPICIOUS), row("alone", 50.0, task="u"),
    ]  # fmt: skip
    assert best_of(rows, columns_of(rows)) == {("t", "metric:psnr"): 31.0}


def test_a_box_cannot_make_columns_without_end() -> None:
    rows = [Row("x", ended("a", 1, metrics={f"m{n}": 1.0 for n in range(500)}))]
    assert len(metrics_of(rows)) == METRICS_SHOWN


# --- exports ----------------------------------------------------------------------------------

HOSTILE = [
    "=cmd|' /C calc'!A0",
    "+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    'a"b',
    "a,b",
    "a\nb\r\nc",
    "a|b",
    " =1",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_csv_holds_any_name_on_one_row_and_no_formula(name: str) -> None:
    text = to_csv([Row("box", ended(name, 1.0, loss=-0.5, metrics={name: -1.5}))])
    assert text.endswith("\r\n")
    head, row = list(csv.reader(io.StringIO(text, newline="")))
    told = dict(zip(head, row, strict=True))
    for field in (told["cell"], head[head.index("loss") + 1]):
        assert not field.lstrip().startswith(("=", "+", "-", "@", "\t"))
    assert told["loss"] == "-0.5"  # a negative number is no formula
    assert row[head.index("loss") + 1] == "-1.5"


@settings(max_examples=60)
@given(st.lists(st.text(max_size=20), max_size=5))
def test_a_csv_reads_back_as_many_rows_as_there_are_cells(names: list[str]) -> None:
    rows = [Row("box", ended(name, 1.0)) for name in names]
    read = list(csv.reader(io.StringIO(to_csv(rows), newline="")))
    assert len(read) == len(names) + 1
    assert len({len(row) for row in read}) == 1


def test_unknown_is_empty_and_nan_is_written_out() -> None:
    (head, row) = list(csv.reader(io.StringIO(to_csv([Row("b", ended("a", 1.0, loss=math.nan))]))))
    told = dict(zip(head, row, strict=True))
    assert (told["loss"], told["eta_seconds"], told["cost"]) == ("NaN", "", "")


@settings(max_examples=60)
@given(st.lists(st.text(max_size=20), min_size=1, max_size=5))
def test_markdown_is_one_aligned_table_whatever_the_names_are(names: list[str]) -> None:
    text = to_markdown([Row("box", ended(name, 1.0, task=name)) for name in names])
    lines = text.splitlines()
    assert len(lines) == len(names) + 2
    bars = {line.replace("\\\\", "..").replace("\\|", "..").count("|") for line in lines}
    assert len(bars) == 1


def test_markdown_takes_no_markup_from_a_name() -> None:
    text = to_markdown([Row("box", ended("<img src=x>[a](http://b)`c`|d", 1.0))])
    assert r"&lt;img src=x&gt;\[a\](http://b)\`c\`\|d" in text


# --- a history that never loses its beginning ---------------------------------------------------


@given(st.lists(st.floats(-10, 10) | st.none(), max_size=300))
def test_a_thinned_history_is_bounded_and_keeps_beginning_end_and_gaps(
    values: list[float | None],
) -> None:
    kept = Thinned(16)
    for x, value in enumerate(values):
        kept.add(float(x), value)
    points = list(kept)
    assert len(points) <= 16
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert all(values[int(x)] == value for x, value in points)
    if values:
        assert points[0][0] <= max(1, len(values) / 4)
        assert (None in values) is any(value is None for _, value in points)


def test_what_lies_behind_is_dropped() -> None:
    kept = Thinned()
    for x in (1.0, 2.0, 1.5, 2.0, 3.0):
        kept.add(x, x)
    assert [x for x, _ in kept] == [1.0, 2.0, 2.0, 3.0]


def test_what_was_watched_closely_does_not_outnumber_what_was_read_afterwards() -> None:
    watched, read = Thinned(64), Thinned(64)
    for report in range(3):  # of the first half only a few were read
        watched.add(report / 2, 9.0 - 2 * report)
    for report in range(2_000):
        watched.add(1.0 + report / 1_000, 4.0 - report / 1_000)
    for x in (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0):
        read.add(x, 9.0 - 4 * x if x <= 1.0 else 5.0 - x)
    seen = even(list(watched), 7)
    assert len(watched) <= 64
    assert seen[:2] == [9.0, 7.0]
    assert seen[-1] == pytest.approx(2.0, abs=0.1)
    assert even(list(read), 7) == [9.0, 7.0, 5.0, 3.5, 3.0, 2.5, 2.0]


def test_a_loss_that_is_no_number_stands_where_it_began() -> None:
    kept = Thinned(64)
    for report in range(1_000):
        kept.add(report / 1_000, None if report >= 750 else 1.0)
    assert even(list(kept), 8) == [1.0] * 6 + [None] * 2
    for _ in range(1_000):
        kept.add(1.0, 0.5)  # at one place
    assert len(kept) <= 64


# --- a scheduler's list ---------------------------------------------------------------------------


def scheduled(*cells: Cell, by: bool = True, box: str = "login") -> tuple[Row, ...]:
    return tuple(Row(box, cell, scheduled=by) for cell in cells)


def task(number: int, state: CellState = CellState.PENDING, **more: object) -> Cell:
    return Cell(f"7_{number}·a", number, "gpu", state, job=f"7_{number}", **more)  # type: ignore[arg-type]


def test_the_waiting_tasks_of_an_array_are_one_row_of_their_box() -> None:
    tasks = [task(n) for n in range(5)]
    two = (*scheduled(*tasks, task(9, CellState.RUNNING)), *scheduled(*tasks, box="other"))
    rows = as_listed(two)
    assert [(row.box, row.cell.tasks) for row in rows] == [("login", 1), ("login", 5), ("other", 5)]
    assert len({row.key for row in rows}) == 3
    assert as_listed(scheduled(*tasks, by=False)) == list(scheduled(*tasks, by=False))


def test_a_chosen_order_goes_before_that_of_the_list() -> None:
    rows = as_listed(
        scheduled(task(1, CellState.FINISHED, node="b"), task(2, CellState.RUNNING, node="a"))
    )
    assert [row.cell.node for row in rows] == ["a", "b"]
    assert [row.cell.node for row in in_order(rows, Order("node", falling=True))] == ["b", "a"]


def test_columns_of_jobs_are_there_where_a_scheduler_fills_them() -> None:
    cell = task(1, CellState.RUNNING, node="a", restarts=0, limit_left_seconds=9.0)
    assert columns_of(scheduled(cell))[-2:] == ("limit", "node")
    assert columns_of(scheduled(cell, by=False))[-1] == "cost"
