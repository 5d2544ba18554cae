"""Instances by a column: every one of them, both ways, unknown last; kept for the next start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gpu_tui.core.cell_table import Order
from gpu_tui.core.sweep import Queue
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.habits import Habits
from gpu_tui.state.views import Cost, InstanceView
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.text.fleet import COLUMNS
from gpu_tui.ui.text.fleet_order import (
    BY_NEED,
    in_order,
    next_order,
    order_of,
    read_order,
    written_order,
)
from gpu_tui.ui.text.signs import need
from gpu_tui.ui.widgets.rows import Rows
from screenshots.scenes import ablation, sweep

Make = Callable[..., CockpitApp]
Read = Callable[[CockpitApp], str]
KEYS = sorted({key.rstrip("+") for key in COLUMNS})


def views() -> tuple[InstanceView, ...]:
    return ablation().fleet.instances


def names(app: CockpitApp) -> list[str]:
    return list(app.screen.query_one("#instance-rows", Rows)._keys or [])


@pytest.mark.parametrize("column", KEYS)
@pytest.mark.parametrize("falling", [False, True])
def test_no_box_is_lost_and_none_counted_twice(column: str, falling: bool) -> None:
    found = in_order(views(), Order(column, falling))
    assert sorted(view.name for view in found) == sorted(view.name for view in views())


def test_without_a_column_who_needs_a_human_most_is_first() -> None:
    assert in_order(views(), BY_NEED) == sorted(views(), key=need)


@pytest.mark.parametrize("falling", [False, True])
def test_what_is_not_known_stands_last_either_way(falling: bool) -> None:
    one, two, three, *_ = views()
    known = [replace(one, cost=Cost(2.0, "USD")), replace(two, cost=Cost(0.5, "USD"))]
    nobody_knows = replace(three, cost=Cost())
    found = in_order([nobody_knows, *known], Order("price", falling))
    assert found == [*(known if falling else known[::-1]), nobody_knows]
    odd = replace(three, cost=Cost(float("nan"), "USD"))
    assert in_order([odd, *known], Order("price", falling))[-1] is odd


def test_prices_of_two_currencies_are_not_compared() -> None:
    one, two, three, *_ = views()
    cheap, dear = replace(one, cost=Cost(1.0, "USD")), replace(two, cost=Cost(2.0, "USD"))
    yuan = replace(three, cost=Cost(1.5, "CNY"))
    for falling in (False, True):
        found = in_order([cheap, yuan, dear], Order("price", falling))
        assert found[0] is yuan, "one currency after the other, whichever way"


def test_what_looks_equal_changes_no_places() -> None:
    off = [replace(view, verdict=Verdict.OFF) for view in views()]
    assert in_order(off, Order("gpu", falling=True)) == sorted(off, key=need)

    one, two, *_ = sorted((view for view in views() if view.queue.running), key=need)
    later = [
        replace(view, queue=queue_at(view, part)) for view, part in ((one, 0.501), (two, 0.504))
    ]
    assert in_order(later, Order("cell", falling=True)) == later


def queue_at(view: InstanceView, part: float) -> Queue:
    """With what runs there so far on its way."""
    cells = view.queue.cells
    return replace(
        view.queue,
        cells=tuple(replace(c, part=part) if c is view.queue.running else c for c in cells),
    )


def test_amounts_come_first_where_they_are_most_and_words_in_their_order() -> None:
    assert order_of("gpu+") == Order("gpu", falling=True)
    assert order_of("name") == Order("name", falling=False)
    assert order_of("clock") == Order("clock", falling=False)


def test_the_way_through_the_columns_goes_round_by_need() -> None:
    shown = ["name", "verdict", "gpu+"]
    seen = [order := next_order(BY_NEED, shown, 1)]
    seen += [order := next_order(order, shown, 1) for _ in range(3)]
    assert [one.column for one in seen] == ["name", "verdict", "gpu", ""]
    assert next_order(BY_NEED, shown, -1).column == "gpu"
    assert next_order(Order("tags"), shown, 1).column == "name"  # it is not in sight


def test_what_is_kept_is_read_again_and_anything_else_is_by_need() -> None:
    for order in (BY_NEED, Order("gpu", falling=True), Order("name", falling=False)):
        assert read_order(written_order(order)) == order
    for odd in (None, "", "gpu", "gpu up", "nothing falling", "gpu falling x", "gpu+ falling x"):
        assert read_order(odd) == BY_NEED


async def test_keys_sort_and_the_head_and_the_title_say_by_what(
    cockpit: Make, text_of: Read, tmp_path: Path
) -> None:
    kept = tmp_path / "screen.json"
    app = cockpit(sweep(), habits=Habits(kept))
    async with app.run_test(size=(140, 40)) as pilot:
        await pilot.pause()
        by_need = names(app)
        await pilot.press("right")
        await pilot.pause()
        assert names(app) == sorted(by_need)
        assert "by instance ↑" in text_of(app)
        assert "instance↑" in text_of(app)
        await pilot.press("I")
        await pilot.pause()
        assert names(app) == sorted(by_need, reverse=True)
        assert "by instance ↓" in text_of(app)
    again = cockpit(sweep(), habits=Habits(kept))
    async with again.run_test(size=(140, 40)) as pilot:
        await pilot.pause()
        assert names(again) == sorted(by_need, reverse=True)
        await pilot.press("left")
        await pilot.pause()
        assert names(again) == by_need
        assert " by " not in text_of(again).splitlines()[1]
        await pilot.press("I")  # there is nothing to turn round
        await pilot.pause()
        assert names(again) == by_need
        (said,) = [note.message for note in again._notifications]
        assert said.startswith("sorted by need")


async def test_the_box_that_needs_a_human_is_still_the_one_that_is_shown_first(
    cockpit: Make, tmp_path: Path
) -> None:
    habits = Habits(tmp_path / "screen.json")
    first = cockpit(sweep())
    async with first.run_test(size=(140, 40)) as pilot:
        await pilot.pause()
        needy = first._cockpit.selected
    habits.keep("sort", f"name {'falling' if needy == min(names_of()) else 'rising'}")
    app = cockpit(sweep(), habits=habits)
    async with app.run_test(size=(140, 40)) as pilot:
        await pilot.pause()
        assert app._cockpit.selected == needy
        assert names(app)[0] != needy


def names_of() -> list[str]:
    return [view.name for view in sweep().fleet.instances]


async def test_a_column_out_of_sight_is_named_in_the_title(
    cockpit: Make, text_of: Read, tmp_path: Path
) -> None:
    habits = Habits(tmp_path / "screen.json")
    habits.keep("sort", "uptime rising")
    habits.keep("sort", "up falling")
    app = cockpit(sweep(), habits=habits)
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        assert "by up ↓" in text_of(app)
