"""Where something is typed the footer says what ends that, and the key after enter is the list's."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual import events

from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.layout import PANES
from gpu_tui.ui.panes.pane import FilterBar, Pane
from gpu_tui.ui.recall import Recall
from gpu_tui.ui.screens.sweep import SweepScreen
from gpu_tui.ui.widgets.place_bar import PlaceBar
from gpu_tui.ui.widgets.rows import Rows
from screenshots.scenes import ablation

Make = Callable[..., CockpitApp]
Read = Callable[[CockpitApp], str]


def foot(text: str) -> str:
    return text.splitlines()[-1]


@pytest.mark.parametrize(
    "way", [("1",), ("2",), ("5",), ("f",), ("E",), ("S",), ("question_mark",)]
)
async def test_the_footer_names_no_letter_while_a_filter_is_typed(
    cockpit: Make, text_of: Read, way: tuple[str, ...]
) -> None:
    app = cockpit(ablation())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*way)
        await pilot.pause()
        before = foot(text_of(app))
        await pilot.press("slash", "o")
        await pilot.pause()
        assert foot(text_of(app)).split() == ["enter", "keep", "esc", "empty", "↑", "earlier"]
        await pilot.press("enter")
        await pilot.pause()
        assert foot(text_of(app)) == before
        await pilot.press("slash", "escape")
        await pilot.pause()
        assert foot(text_of(app)) == before


async def test_the_footer_says_how_a_place_is_gone_to(cockpit: Make, text_of: Read) -> None:
    app = cockpit()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("5", "colon")
        await pilot.pause()
        assert foot(text_of(app)).split() == ["enter", "go", "there", "esc", "leave"]
        await pilot.press("escape")
        await pilot.pause()
        assert "space pause" in foot(text_of(app))


async def test_earlier_filters_come_back_and_what_is_typed_begins_anew(cockpit: Make) -> None:
    recall = Recall()
    recall.add("first")
    recall.add("second")
    app = cockpit(ablation(), recall=recall)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("1", "slash", "d")
        bar = app.screen.query_one("#instances FilterBar", FilterBar)
        seen = []
        for key in ("up", "up", "down", "down"):
            await pilot.press(key)
            seen.append(bar.value)
        assert seen == ["second", "first", "second", "d"]
        await pilot.press("up", "x", "down", "up")
        assert bar.value == "second"
        assert bar.cursor_position == len("second")


async def test_a_chart_that_covers_the_table_leaves_no_key_to_the_filter(
    cockpit: Make, text_of: Read
) -> None:
    """The hidden table gave its focus to the filter: the key that leaves the chart was typed into it."""
    app = cockpit(ablation())
    async with app.run_test(size=(100, 24)) as pilot:
        await pilot.press("S", "slash", "e", "enter", "c")
        await pilot.pause()
        bar = app.screen.query_one(FilterBar)
        assert not app.screen.query_one("#sweep-rows", Rows).display
        await pilot.press("c")
        await pilot.pause()
        assert bar.value == "e"
        assert isinstance(app.screen, SweepScreen)
        assert app.focused is app.screen.query_one("#sweep-rows", Rows)
        await pilot.press("c", "slash", "d", "enter", "c")  # typed under the chart
        await pilot.pause()
        assert bar.value == "ed"
        assert app.screen.query_one("#sweep-rows", Rows).display


async def test_the_key_right_after_enter_is_the_lists_and_for_the_box_that_passes(
    cockpit: Make,
) -> None:
    """Over a slow link they come in one piece: the second one was typed into the filter."""
    app = cockpit(ablation())
    async with app.run_test(size=(140, 40)) as pilot:
        await pilot.pause()
        await pilot.press("slash")
        bar = app.screen.query_one("#instances FilterBar", FilterBar)
        other = next(
            v.name for v in app._store.view(0).instances if v.name != app._cockpit.selected
        )
        bar.value = other
        await bar.action_submit()
        assert app._cockpit.selected == other
        assert isinstance(app.focused, Rows)


@pytest.mark.parametrize("pane", ["1", "4", "5"])
async def test_a_key_that_came_in_one_piece_with_enter_is_no_letter_of_the_filter(
    cockpit: Make, pane: str
) -> None:
    app = cockpit(ablation())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(pane, "slash")
        await pilot.pause()
        for key in ("o", "enter", "J", "z", "S"):  # no step of the loop between them
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        (bar,) = app.screen_stack[0].query(f"#{PANES[int(pane) - 1]} FilterBar").results(FilterBar)
        assert bar.value == "o"
        assert isinstance(app.screen, SweepScreen)  # the last of them, after the zoom
        assert len([one for one in app.screen_stack[0].query(Pane) if one.display]) == 1


async def test_a_key_that_came_in_one_piece_with_escape_is_the_lists(cockpit: Make) -> None:
    app = cockpit(ablation())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("1", "slash")
        await pilot.pause()
        for key in ("o", "escape", "S"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        assert app.screen_stack[0].query_one("#instances FilterBar", FilterBar).value == ""
        assert isinstance(app.screen, SweepScreen)


async def test_a_key_that_came_in_one_piece_with_a_place_is_the_logs(cockpit: Make) -> None:
    app = cockpit()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("5")
        await pilot.pause()
        for key in ("colon", "1", "enter", "S"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        assert app.screen_stack[0].query_one("#log PlaceBar", PlaceBar).value == "1"
        assert isinstance(app.screen, SweepScreen)
