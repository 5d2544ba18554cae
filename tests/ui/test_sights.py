"""What a person sees where nothing is, where there is no room, and what a key of the footer would do now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC

import pytest

from gpu_tui.core.thinned import even
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.panes.pane import Pane
from gpu_tui.ui.plot import render_plot
from gpu_tui.ui.text.findings import columns_of
from gpu_tui.ui.text.header import header
from gpu_tui.ui.text.prose import markdown
from gpu_tui.ui.text.sweep import cell_row
from gpu_tui.ui.text.vitals import vitals
from screenshots.scene_edges import all_off
from screenshots.scenes import SCENES, sweep

Make = Callable[..., CockpitApp]
Read = Callable[[CockpitApp], str]


async def test_the_footer_says_what_space_does_now(cockpit: Make, text_of: Read) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("5")
        await pilot.pause()
        assert "space pause" in text_of(app).splitlines()[-1]
        await pilot.press("space")
        await pilot.pause()
        assert "space follow" in text_of(app).splitlines()[-1]
        await pilot.press("space")
        await pilot.pause()
        assert "space pause" in text_of(app).splitlines()[-1]


@pytest.mark.parametrize("name", ["empty", "off", "connecting", "unreachable"])
async def test_a_pane_without_a_log_says_so_on_its_first_line(
    cockpit: Make, text_of: Read, name: str
) -> None:
    app = cockpit(SCENES[name]())
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.pause()
        area = app.screen.query_one("#log", Pane).content_region
        rows = [row[area.x : area.right] for row in text_of(app).split("\n")[area.y : area.bottom]]
        assert rows[0].strip()
        assert not any(row.strip() for row in rows[2:])


async def test_an_empty_fleet_says_once_what_to_do_and_in_each_pane_what_it_is_for(
    cockpit: Make, text_of: Read
) -> None:
    app = cockpit(SCENES["empty"]())
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.pause()
        shown = text_of(app)
        assert shown.count("gpu-tui init") == 1
        assert shown.count("Here stand") == 4


def test_of_a_box_that_is_off_nothing_is_waited_for() -> None:
    view = all_off().fleet.instances[0]
    rows = [text.plain for text in vitals(view, 80, 20)]
    assert rows[0].startswith("◌ off")
    assert not any("not read yet" in row for row in rows)


async def test_a_column_that_is_ticked_and_not_in_sight_says_why(
    cockpit: Make, text_of: Read
) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("O")
        await pilot.pause()
        rows = text_of(app).splitlines()
        assert any("[x] platform    no room" in row for row in rows)
        await pilot.resize_terminal(200, 60)
        await pilot.pause()
        await pilot.pause()
        assert "no room" not in text_of(app)


def test_boxes_of_unknown_price_are_counted_in_words_where_all_other_words_have_room() -> None:
    fleet = sweep().fleet
    assert "+ 2 boxes of unknown price" in header(fleet, 200, (), UTC).plain
    narrow = header(fleet, 160, (), UTC).plain
    assert "+2?" in narrow
    assert "2 fatal" in narrow  # the words of a price go before those of an alarm


def test_a_history_is_the_whole_history_however_narrow() -> None:
    fall = [float(n) for n in range(90, 0, -1)]
    assert even(list(enumerate(fall)), 6) == [76.0, 61.0, 46.0, 31.0, 16.0, 1.0]
    view = sweep().fleet.instances[0]
    drawn = cell_row(view, view.queue.cells[0], 94).plain
    blocks = [char for char in drawn if char in "▁▂▃▄▅▆▇█"]
    assert blocks[0] == "█"
    assert blocks == sorted(blocks, reverse=True)  # it only fell


def test_an_axis_is_fainter_than_its_line() -> None:
    drawn = render_plot([(float(n), n % 7 / 7) for n in range(60)], 60, 12, top=1.0)
    styles = {str(span.style) for span in drawn.spans}
    assert styles == {"accent"}
    assert str(drawn.style) == "faint"
    inked = "".join(drawn.plain[span.start : span.end] for span in drawn.spans)
    assert inked
    assert "%" not in inked
    assert not any(char.isdigit() for char in inked)


def test_columns_of_findings_are_as_wide_as_what_they_hold_also_where_it_is_narrow() -> None:
    found = sweep().fleet.findings
    assert columns_of(found, 58) == (14, 11, 0)


def test_headings_of_prose_look_like_all_others() -> None:
    rows = markdown("## Storage\n\nIt is **fast**.\n", 60)
    head = next(row for row in rows if row.plain.strip() == "Storage")
    at = head.plain.index("Storage")
    assert {str(span.style) for span in head.spans if span.start <= at < span.end} == {"heading"}


def test_a_run_that_two_logs_tell_of_is_drawn_once_and_as_in_the_sweep() -> None:
    view = sweep().fleet.instances[0]
    cell = view.queue.cells[0]
    fell = tuple((float(n), 1.0 / (1 + n)) for n in range(20))
    twice = tuple((float(n), value) for n, (_, value) in enumerate(fell * 2))
    told = replace(view, series={f"loss:{cell.name}": twice}, courses={cell.name: fell})
    blocks = [char for char in cell_row(told, cell, 110).plain if char in "▁▂▃▄▅▆▇█"]
    assert blocks == sorted(blocks, reverse=True)
    assert len(blocks) == 20
