"""The time line: every finding by time, a lane for each box, and a way to the log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC

import pytest
from rich.cells import cell_len

from gpu_tui.core.findings import Severity
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.screens.cockpit import Cockpit
from gpu_tui.ui.screens.timeline import TimelineScreen
from gpu_tui.ui.text.timeline import by_time, event_row, lanes
from gpu_tui.ui.widgets.logview import LogView
from screenshots.builders import NOW, finding
from screenshots.scenes import healthy, sweep

Make = Callable[..., CockpitApp]
Read = Callable[[CockpitApp], str]
MANY = [
    finding("nan", severity, f"box-{n % 11}-训练", "x" * 400, "log:/a:3", cell="c" * 300, ago=n * 97.0, count=n)
    for n, severity in enumerate([*Severity] * 20)
]  # fmt: skip


@pytest.mark.parametrize("width", [40, 57, 80, 131, 200])
def test_every_row_has_the_width_it_was_given(width: int) -> None:
    for row in lanes(MANY, NOW, width, UTC, MANY[3]):
        assert row.cell_len <= width
    for one in by_time(MANY):
        assert cell_len(event_row(one, NOW, width, UTC).plain) <= max(width, 72)


def test_now_is_at_the_right_edge_also_a_moment_after_the_start() -> None:
    (lane, axis) = (
        row.plain
        for row in lanes([finding("nan", Severity.FATAL, "box", "x", "y", ago=0)], NOW, 80, UTC)
    )
    assert lane.endswith("✗")
    assert axis.endswith("now")


def test_the_newest_stands_first_and_each_box_has_a_lane() -> None:
    found = by_time(MANY)
    assert [one.last_seen for one in found] == sorted((one.last_seen for one in MANY), reverse=True)
    few = [one for one in MANY if one.instance in ("box-1-训练", "box-2-训练")]
    rows = [row.plain for row in lanes(few, NOW, 100, UTC)]
    assert sum("box-" in row for row in rows) == 2
    assert rows[-1].endswith("now")
    assert "and 3 more boxes" in "\n".join(row.plain for row in lanes(MANY, NOW, 100, UTC))
    assert lanes([], NOW, 100, UTC) == []


async def test_enter_leads_to_the_line_in_the_log(cockpit: Make, text_of: Read) -> None:
    app = cockpit()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("E")
        await pilot.pause()
        assert isinstance(app.screen, TimelineScreen)
        text = text_of(app)
        for one in sweep().fleet.findings:
            assert one.instance in text
        await pilot.press("slash", *"nan", "enter")
        await pilot.pause()
        assert "inode full" not in text_of(app)
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, Cockpit)
        assert app.screen.query_one(LogView).current == 61


async def test_escape_leaves_the_filter_then_the_card(cockpit: Make, text_of: Read) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("E", "slash", *"/[/")
        await pilot.pause()
        assert "not a regular expression" in text_of(app)
        await pilot.press("escape")
        assert isinstance(app.screen, TimelineScreen)
        await pilot.press("escape")
        assert isinstance(app.screen, Cockpit)


async def test_a_slow_filter_of_the_card_is_told(cockpit: Make, text_of: Read) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("E")
        before = text_of(app)
        await pilot.press("slash", *"/(?R)/", "enter")
        await pilot.pause()
        assert "too slow: every row is shown" in text_of(app)
        await pilot.press("slash", "escape")
        await pilot.pause()
        assert text_of(app) == before


async def test_nothing_to_see_is_said(cockpit: Make, text_of: Read) -> None:
    store = healthy()
    store.become(replace(store.fleet, findings=()))
    app = cockpit(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("E")
        await pilot.pause()
        assert "no findings" in text_of(app)


@pytest.mark.parametrize(("name", "size"), [("timeline", (120, 30)), ("timeline-small", (60, 20))])
async def test_the_time_line_is_the_golden_one(
    name: str,
    size: tuple[int, int],
    cockpit: Make,
    text_of: Read,
    golden: Callable[[str, str], None],
) -> None:
    app = cockpit()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press("E", "down")
        await pilot.pause()
        golden(name, "\n".join(text_of(app).splitlines()[:-1]))
