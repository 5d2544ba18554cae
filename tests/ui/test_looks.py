"""What a person chooses on screen: colours, layout, columns; and that it is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_tui.report.svg import plain_svg
from gpu_tui.state.habits import Habits
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.layout import Preset
from gpu_tui.ui.panes.pane import Pane
from gpu_tui.ui.screens.columns import CHOICES
from gpu_tui.ui.text.fleet import ORDER
from screenshots.render import word_by_word

Make = Callable[..., CockpitApp]
Read = Callable[[CockpitApp], str]


async def test_a_theme_is_worn_under_the_cursor_and_kept_with_enter(
    cockpit: Make, text_of: Read
) -> None:
    habits = Habits(None)
    app = cockpit(habits=habits)
    async with app.run_test(size=(80, 24)) as pilot:
        night = app.console.get_style("level-act")
        await pilot.press("T", "down")
        await pilot.pause()
        assert app.theme == "day"
        assert app.console.get_style("level-act") != night
        assert "ink on paper" in text_of(app)
        await pilot.press("escape")
        assert app.theme == "night"
        assert app.console.get_style("level-act") == night
        assert habits.get("theme") is None
        await pilot.press("T", "T", "T", "enter")
        await pilot.pause()
        assert app.theme == "amber"
        assert habits.get("theme") == "amber"


async def test_every_theme_shows_its_meanings_at_the_smallest_width(
    cockpit: Make, text_of: Read
) -> None:
    app = cockpit()
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("T")
        await pilot.pause()
        for word in ("blue-orange", "42%", "~42%", "fatal"):
            assert word in text_of(app)


def sizes(app: CockpitApp) -> dict[str, int]:
    return {pane.NAME: pane.size.area for pane in app.screen.query(Pane)}


@pytest.mark.parametrize("preset", [one for one in Preset if one is not Preset.BALANCED])
async def test_a_preset_gives_its_pane_the_most_room(preset: Preset, cockpit: Make) -> None:
    app = cockpit(preset=preset)
    async with app.run_test(size=(160, 46)) as pilot:
        await pilot.pause()
        room = sizes(app)
        assert max(room, key=lambda name: room[name]) == preset.pane
        assert all(area for area in room.values())
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        shown = {pane.NAME for pane in app.screen.query(Pane) if pane.display}
        assert shown == {"instances", preset.pane}


async def test_the_layout_goes_round_and_is_kept(cockpit: Make, tmp_path: Path) -> None:
    kept = tmp_path / "screen.json"
    app = cockpit(habits=Habits(kept))
    async with app.run_test(size=(160, 46)) as pilot:
        await pilot.press("L", "L")
        await pilot.pause()
        assert app.screen.has_class("-queue-first")
    again = cockpit(habits=Habits(kept))
    async with again.run_test(size=(160, 46)) as pilot:
        await pilot.pause()
        assert again.screen.has_class("-queue-first")
        await pilot.press("L", "L")
        await pilot.pause()
        assert again.screen.has_class("-balanced")


async def test_columns_are_chosen_one_by_one_and_kept(cockpit: Make, text_of: Read) -> None:
    habits = Habits(None)
    app = cockpit(habits=habits)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "spent" not in text_of(app)
        await pilot.press("O")
        await pilot.press(*["down"] * CHOICES.index("spent"), "space")
        await pilot.press("home", *["down"] * CHOICES.index("cell"), "space", "escape")
        await pilot.pause()
        assert "spent" in text_of(app)
        assert "3/5" not in text_of(app).split("Log")[0]
        assert "own" in text_of(app)
        assert "spent" in str(habits.get("columns"))
    again = cockpit(habits=habits)
    async with again.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "spent" in text_of(again)
        await pilot.press("O", "d")
        await pilot.pause()
        assert "spent" not in text_of(again)


def test_every_column_can_be_chosen() -> None:
    assert {key.rstrip("+") for key in ORDER} == {*CHOICES, "name", "verdict"}


def test_habits_survive_nonsense_and_other_writers(tmp_path: Path) -> None:
    kept = tmp_path / "screen.json"
    kept.write_text("[1, 2", "utf-8")
    first, second = Habits(kept), Habits(kept)
    assert first.get("theme") is None
    first.keep("theme", "day")
    second.keep("layout", "log-first")
    assert json.loads(kept.read_text("utf-8")) == {"theme": "day", "layout": "log-first"}
    nowhere = Habits(tmp_path / "none" / "screen.json")
    nowhere.keep("theme", "day")
    assert nowhere.get("theme") == "day"


def test_a_long_line_in_a_picture_stays_on_the_grid_of_cells() -> None:
    line = '<text class="a" x="0" y="20" textLength="1220" clip-path="url(#b)">{}</text>'
    placed = re.findall(r'x="([\d.]+)"[^>]*>([^<]*)<', word_by_word(line.format("─" * 100)))
    assert "".join(run for _, run in placed) == "─" * 100
    at = 0
    for x, run in placed:
        assert float(x) == pytest.approx(at * 12.2, abs=0.06)
        assert len(run) <= 16
        at += len(run)


def test_signs_of_another_font_stand_on_the_grid_one_by_one() -> None:
    line = '<text class="a" x="0" y="20" textLength="97.6" clip-path="url(#b)">⣀⣀中文⠤a</text>'
    placed = re.findall(r'x="([\d.]+)"[^>]*>([^<]*)<', word_by_word(line))
    assert [run for _, run in placed] == ["⣀", "⣀", "中", "文", "⠤", "a"]
    assert [float(x) for x, _ in placed] == pytest.approx([0, 12.2, 24.4, 48.8, 73.2, 85.4])


def test_a_wide_character_in_a_picture_has_two_cells() -> None:
    line = '<text class="a" x="0" y="20" textLength="24.4" clip-path="url(#t-line-1)">{}</text>'
    assert 'textLength="48.8"' in plain_svg(line.format("中文"))
    assert 'textLength="24.4"' in plain_svg(line.format("ab"))
