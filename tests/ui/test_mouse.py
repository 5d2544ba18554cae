"""The mouse is never needed, and works: what the footer names can be clicked, and so can lines and panes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.keys import CONTEXTS, KEYS, footer_keys
from gpu_tui.ui.panes.pane import Pane
from gpu_tui.ui.screens.cockpit import Cockpit
from gpu_tui.ui.screens.findings import FindingsScreen
from gpu_tui.ui.screens.help import HelpScreen
from gpu_tui.ui.text.help import footer, placed_keys
from gpu_tui.ui.widgets.rows import Rows

Make = Callable[..., CockpitApp]
Read = Callable[[CockpitApp], str]


async def click(pilot: Pilot[None], app: CockpitApp, words: str) -> None:
    """Click in the middle of `words` in the footer."""
    line = app.screen.query_one("#footer").line.plain  # type: ignore[attr-defined]
    await pilot.click("#footer", offset=(line.index(words) + len(words) // 2, 0))
    await pilot.pause()


async def test_what_the_footer_names_is_done_by_a_click(cockpit: Make) -> None:
    app = cockpit()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await click(pilot, app, "? help")
        assert isinstance(app.screen, HelpScreen)
        await click(pilot, app, "esc close")
        assert isinstance(app.screen, Cockpit)
        await click(pilot, app, "z zoom")
        assert sum(pane.display for pane in app.screen.query(Pane)) == 1


async def test_a_click_between_two_keys_does_nothing_and_takes_no_focus(cockpit: Make) -> None:
    app = cockpit()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        focused = app.focused
        line = app.screen.query_one("#footer").line.plain  # type: ignore[attr-defined]
        await pilot.click("#footer", offset=(line.index("   ") + 1, 0))
        await pilot.pause()
        assert isinstance(app.screen, Cockpit)
        assert app.focused is focused


async def test_a_key_of_a_pane_and_a_remapped_one_are_clicked_too(
    cockpit: Make, text_of: Read
) -> None:
    app = cockpit(keymap={"cockpit.findings": "ctrl+n"})
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.pause()
        await pilot.press("5")
        await click(pilot, app, "space pause")
        assert "paused" in text_of(app)
        await click(pilot, app, "ctrl+n findings")
        assert isinstance(app.screen, FindingsScreen)
        await click(pilot, app, "enter go there")
        assert isinstance(app.screen, Cockpit)


async def test_two_clicks_on_a_line_are_enter_and_a_click_on_a_pane_brings_it_in_front(
    cockpit: Make,
) -> None:
    app = cockpit()
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, Cockpit)
        rows = screen.query_one("#instance-rows", Rows)
        before = rows.key
        await pilot.click("#instance-rows", offset=(10, 3))
        await pilot.pause()
        assert rows.key != before
        assert screen.selected == rows.key
        assert screen._front == "instances"
        await pilot.click("#instance-rows", offset=(10, 3), times=2)
        await pilot.pause()
        assert screen._front == "vitals"
        await pilot.click("#queue", offset=(4, 0))  # its title
        await pilot.pause()
        assert screen._front == "queue"


async def test_a_click_on_the_tour_goes_on(cockpit: Make, text_of: Read) -> None:
    app = cockpit(tour=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert "1/10" in text_of(app)
        await pilot.click("#tour", offset=(5, 1))
        await pilot.pause()
        assert "2/10" in text_of(app)


@pytest.mark.parametrize("width", [24, 60, 120, 200])
def test_no_two_keys_share_a_cell_and_each_stands_where_it_is_said_to(width: int) -> None:
    for context in CONTEXTS:
        keys = footer_keys((context, "cockpit"), read_only=False)
        placed = placed_keys(keys, width)
        text = footer(placed).plain
        cells = [cell for one in placed for cell in one.cells]
        assert len(cells) == len(set(cells))
        assert all(one.key in KEYS for one in placed)
        assert [text[one.at : one.cells.stop] for one in placed] == [
            one.text.plain for one in placed
        ]
