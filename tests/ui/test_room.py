"""In the grid Instances has a line for each box, as long as that leaves enough for the other panes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from rich.text import Text

from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.layout import Preset, instances_row
from gpu_tui.ui.panes.vitals import VitalsPane
from gpu_tui.ui.plot import Point, render_plot
from gpu_tui.ui.screens.cockpit import Cockpit
from screenshots.builders import SceneStore
from screenshots.scene_edges import crowd


@pytest.mark.parametrize(
    ("room", "count", "preset", "lines"),
    [
        (43, 4, Preset.BALANCED, None),  # its share is 11.9
        (43, 8, Preset.BALANCED, None),
        (43, 9, Preset.BALANCED, 12),
        (43, 16, Preset.BALANCED, 19),
        (43, 300, Preset.BALANCED, 19),  # 45 %
        (43, 300, Preset.LOG, None),  # a person gave the room to another pane
    ],
)
def test_the_first_row_grows_with_the_boxes(
    room: int, count: int, preset: Preset, lines: int | None
) -> None:
    assert instances_row(room, count, preset) == lines


@pytest.mark.parametrize(("count", "hidden"), [(8, 0), (14, 0), (40, 24)])
async def test_every_box_is_in_sight_where_there_is_room(
    cockpit: Callable[..., CockpitApp], count: int, hidden: int
) -> None:
    store = crowd()
    app = cockpit(SceneStore(replace(store.fleet, instances=store.fleet.instances[:count])))
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.pause()
        assert isinstance(app.screen, Cockpit)
        assert app.screen._list.rows.hidden == (0, hidden)
        panes = {name: app.screen.pane(name).outer_size.height for name in ("vitals", "log")}
        assert min(panes.values()) >= 10


async def test_a_large_screen_draws_the_losses_where_lines_would_stay_empty(
    cockpit: Callable[..., CockpitApp], text_of: Callable[[CockpitApp], str]
) -> None:
    app = cockpit()
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.pause()
        assert "loss of no_aug" in text_of(app)
        await pilot.resize_terminal(140, 40)
        await pilot.pause()
        assert "loss of no_aug" not in text_of(app)


async def test_a_zoomed_pane_of_vitals_has_a_chart_for_each_of_what_matters_most(
    cockpit: Callable[..., CockpitApp], text_of: Callable[[CockpitApp], str]
) -> None:
    app = cockpit()
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.press("3", "z")
        await pilot.pause()
        text = text_of(app)
        for title in ("GPU utilisation", "GPU memory", "memory of its limit", "loss of no_aug"):
            assert f"{title}, last 10 min" in text
        assert text.count(" now") == 4


async def test_only_a_chart_of_new_points_is_drawn_again(
    cockpit: Callable[..., CockpitApp],
    text_of: Callable[[CockpitApp], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[int] = []

    def counted(points: Sequence[Point], *size: int, **ways: Any) -> Text:
        drawn.append(len(points))
        return render_plot(points, *size, **ways)

    monkeypatch.setattr("gpu_tui.ui.panes.vitals.render_plot", counted)
    app = cockpit()
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.press("3", "z")
        await pilot.pause()
        pane = app.screen.query_one(VitalsPane)
        moment = pane.moment
        assert moment is not None
        assert moment.selected is not None
        before, text = len(drawn), text_of(app)
        for _ in range(3):
            pane.show(moment)
        assert len(drawn) == before
        view = moment.selected
        past = {name: list(points) for name, points in view.series.items()}
        past["gpu"][-1] = (past["gpu"][-1][0], 0.01)
        pane.show(replace(moment, selected=replace(view, series=past)))
        assert len(drawn) == before + 1
        await pilot.pause()
        assert text_of(app) != text
        await pilot.resize_terminal(190, 60)
        await pilot.pause()
        assert len(drawn) >= before + 5


@pytest.mark.parametrize(("size", "between"), [((200, 60), 2), ((100, 40), 2)])
async def test_on_a_high_screen_a_finding_stands_right_under_the_list(
    cockpit: Callable[..., CockpitApp],
    text_of: Callable[[CockpitApp], str],
    size: tuple[int, int],
    between: int,
) -> None:
    app = cockpit()
    async with app.run_test(size=size) as pilot:
        await pilot.press("f")
        await pilot.pause()
        rows = text_of(app).split("\n")
        last = next(n for n, row in enumerate(rows) if "idle billing" in row)
        whole = next(n for n, row in enumerate(rows) if "nan on autodl-1" in row)
        assert whole - last == between
        assert not any("▼" in row for row in rows)
