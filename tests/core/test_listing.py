"""The order of a scheduler's list, and the waiting tasks of an array as one line."""

from __future__ import annotations

import random

import pytest

from gpu_tui.core.listing import in_list_order
from gpu_tui.core.sweep import Cell, CellState

WAIT, RUN, END, BAD = CellState.PENDING, CellState.RUNNING, CellState.FINISHED, CellState.FAILED


def cell(job: str, state: CellState = WAIT, **more: object) -> Cell:
    return Cell(f"{job}·a", 1, "gpu", state, job=job, **more)  # type: ignore[arg-type]


def array(*numbers: int, **more: object) -> list[Cell]:
    return [
        cell(f"73_{number}", at_once=2, reason="JobArrayTaskLimit", **more) for number in numbers
    ]


def test_the_waiting_tasks_of_an_array_are_one_line_that_counts_them() -> None:
    rows = in_list_order([cell("73_0", RUN), cell("73_1", RUN), *array(*range(2, 300)), cell("80")])
    assert [(row.name, row.tasks) for row in rows] == [
        ("73_0·a", 1), ("73_1·a", 1), ("73_[2-299%2]·a", 298), ("80·a", 1),
    ]  # fmt: skip


def test_the_line_stays_the_same_line_while_its_tasks_begin() -> None:
    keys = {in_list_order(array(*range(first, 9)))[0].key for first in range(7)}
    assert len(keys) == 1


def test_tasks_with_another_reason_are_another_line() -> None:
    held = [cell(f"73_{n}", reason="JobHeldUser") for n in (4, 5)]
    rows = in_list_order([*array(2, 3, 7), *held])
    assert [row.name for row in rows] == ["73_[2-3,7%2]·a", "73_[4-5]·a"]
    assert len({row.key for row in rows}) == 2


@pytest.mark.parametrize(
    "cells",
    [
        array(5),  # the last one that waits
        [cell("73"), cell("74")],
        [cell("job/train-1"), cell("job/train-2")],  # two jobs of Kubernetes
        [cell("73_1", RUN), cell("73_2", RUN)],
        [cell("73_1", BAD), cell("73_2", BAD)],
        [cell("73_1", WAIT, finding="missing_cell"), cell("73_2", WAIT, finding="missing_cell")],
    ],
)
def test_only_waiting_tasks_of_one_array_are_folded(cells: list[Cell]) -> None:
    assert in_list_order(cells) == cells


def test_order_is_running_then_bad_ends_then_waiting_then_the_rest() -> None:
    rows = [
        cell("1", END, finished_at=10.0), cell("2", BAD, finished_at=20.0), cell("3"), cell("4", RUN),
        cell("5", CellState.CANNOT_TELL), cell("6", BAD, finished_at=30.0), cell("7", END, finished_at=40.0),
        cell("8", CellState.SKIPPED), cell("9", RUN), cell("10", CellState.SKIPPED, finding="missing_cell"),
    ]  # fmt: skip
    assert [row.job for row in in_list_order(rows)] == [
        "4",
        "9",
        "6",
        "2",
        "5",
        "10",
        "3",
        "7",
        "1",
        "8",
    ]


def test_every_task_is_counted_whatever_the_order() -> None:
    chance = random.Random(1)
    cells = [
        cell(
            f"{chance.randint(1, 3)}_{n}",
            chance.choice(list(CellState)),
            reason=chance.choice([None, "Priority"]),
        )
        for n in range(300)
    ]
    rows = in_list_order(cells)
    assert sum(row.tasks for row in rows) == len(cells)
    for state in CellState:
        assert sum(r.tasks for r in rows if r.state is state) == sum(
            c.state is state for c in cells
        )
