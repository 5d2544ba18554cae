"""Grounds and edges are drawn once, and again when they look otherwise."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.widgets.paint import Still

Make = Callable[..., CockpitApp]


def standing(app: CockpitApp) -> list[Still]:
    """The screen, its body, and every pane in sight."""
    return [one for one in app.screen.walk_children(Still, with_self=True) if one.outer_size]


def as_textual_would(one: Still) -> list[Strip]:
    one._styles_cache.clear()
    return Widget.render_lines(one, one.outer_size.region)


async def test_what_stands_is_what_would_be_drawn_now(cockpit: Make) -> None:
    app = cockpit()
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.pause()
        assert len(standing(app)) == 7
        edges = set()
        for change in ("5", "1", "down", "theme", "size", "z", "z"):
            if change == "theme":
                app.theme = "day"
            elif change == "size":
                await pilot.resize_terminal(100, 40)
            else:
                await pilot.press(change)
            await pilot.pause()
            assert len(standing(app)) > 2, change
            for one in standing(app):
                drawn = one.render_lines(one.outer_size.region)
                assert drawn == as_textual_would(one), (change, one)
                edges.add((one.id, *(str(strip) for strip in drawn)))
        assert len(edges) > 2 * len(standing(app))  # they did look otherwise


async def test_a_frame_asks_for_nothing_that_stands(
    cockpit: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = cockpit()
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.pause()
        asked: list[Widget] = []
        drawn: list[Region] = []
        textual = Widget.render_lines
        monkeypatch.setattr(
            Widget, "render_lines", lambda one, crop: asked.append(one) or textual(one, crop)
        )
        rows = app.screen.query_one("#instance-rows")
        ours = rows.render_lines
        monkeypatch.setattr(rows, "render_lines", lambda crop: drawn.append(crop) or ours(crop))
        rows.refresh(Region(0, 1, rows.size.width, 1))
        await pilot.pause()
        assert drawn
        assert not [one for one in asked if isinstance(one, Still)]
