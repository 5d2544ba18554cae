"""In the grid Instances has a line for each box, as long as that leaves enough for the other panes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.layout import Preset, instances_row
from gpu_tui.ui.scene_edges import crowd
from gpu_tui.ui.scene_parts import SceneStore
from gpu_tui.ui.screens.cockpit import Cockpit


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
