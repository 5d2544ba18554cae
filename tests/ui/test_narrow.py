"""A number is there whole or not at all: half of 137 is 13, and half of 12h is 12."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style

from gpu_tui.core import metrics
from gpu_tui.core.campaign import Lane
from gpu_tui.core.cell_table import Order, rows_of
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Results
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.state.sweep_outlook import sweep_outlook
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.text.bounds import flow
from gpu_tui.ui.text.fleet import columns, row
from gpu_tui.ui.text.marks import line
from gpu_tui.ui.text.outlook import lane_head, lane_row
from gpu_tui.ui.text.sweep import cell_row, queue_head, results_note
from gpu_tui.ui.text.sweep_table import sheet_of, table_head, table_row
from gpu_tui.ui.text.timeline import event_row
from gpu_tui.ui.text.vitals import vitals
from gpu_tui.ui.widgets.paint import Block, paint
from gpu_tui.ui.widgets.rows import Rows
from screenshots.builders import NOW, finding, fleet, read
from screenshots.scenes import sweep

WIDTHS = range(30, 160)
KILLED = Cell(
    "depth_wise_long_name", 4, "denoise", CellState.FAILED, epoch=12, epochs=20, loss=0.2144,
    exit_code=137, started_at=NOW - 9_000, finished_at=NOW, duration_seconds=9_000.0,
    eta_seconds=85_500.0,
)  # fmt: skip


def box(*cells: Cell) -> InstanceView:
    return replace(sweep().fleet.instances[0], queue=Queue(cells=cells, total=len(cells)))


@pytest.mark.parametrize("width", WIDTHS)
def test_no_number_of_a_queue_is_cut_in_half(width: int) -> None:
    row, head = cell_row(box(KILLED), KILLED, width), queue_head(box(KILLED), width)
    assert row.cell_len <= width
    assert head.cell_len <= width
    assert "23h 45m" in row.plain  # when it ends is never what gives way
    for title, number in (("exit", "137"), ("took", "2h 30m"), ("loss", "0.2144")):
        assert (title in head.plain) is (number in row.plain)
    assert width < 50 or "137" in row.plain


@pytest.mark.parametrize(
    ("state", "artifact", "sign"),
    [
        (CellState.FINISHED, "present", "✓"),
        (CellState.FINISHED, "missing", "✗"),
        (CellState.FINISHED, "unknown", "?"),
        (CellState.RUNNING, "missing", "–"),
        (CellState.PENDING, "unknown", "–"),
    ],
)
def test_a_wide_queue_says_what_lies_in_the_results_on_the_box(
    state: CellState, artifact: str, sign: str
) -> None:
    cell = replace(KILLED, state=state, artifact=artifact)
    nowhere = box(cell)
    there = replace(nowhere.instance, results=Results("/root/out"))
    seen = replace(nowhere, instance=there)
    assert queue_head(seen, 120).plain.endswith("results")
    assert cell_row(seen, cell, 120).plain.endswith(f"    {sign}")
    assert "results" not in queue_head(seen, 70).plain
    assert "results" not in queue_head(nowhere, 120).plain


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({}, None),
        ({"a": True, "b": None}, "results on the box: ? not read"),
        ({"a": True, "b": True}, "results on the box: 2 of 2 cells"),
        ({"a": True, "b": False}, "results on the box: 1 of 2 cells, not b"),
        ({"a": False, "b": False}, "results on the box: 0 of 2 cells"),
    ],
)
def test_the_cells_that_the_fleet_file_names_are_counted_in_the_results(
    told: dict[str, bool | None], said: str | None
) -> None:
    note = results_note(replace(box(KILLED), delivered=told))
    assert (note.plain if note else None) == said


def test_a_queue_of_thousands_has_room_for_its_indexes() -> None:
    cells = tuple(replace(KILLED, name=f"c{n}", index=n) for n in range(1, 2_001))
    rows = [cell_row(box(*cells), cells[n], 80) for n in (0, 998, 999, 1_999)]
    assert all(row.cell_len <= 80 for row in rows)
    assert [row.plain.split()[0] for row in rows] == ["1", "999", "1000", "2000"]
    assert all(row.plain.endswith(" 137") for row in rows)


def mounted(path: str) -> InstanceView:
    first = sweep().fleet.instances[0]
    mounts = tuple(replace(mount, path=path) for mount in first.track(metrics.MOUNTS).value or ())
    return replace(
        first,
        tracks={**first.tracks, "mounts": read((replace(mounts[0], read_only=False), *mounts[1:]))},
        full_in={path: 12 * 3600.0 + 5},
    )


@pytest.mark.parametrize("path", ["/data", "/root/autodl-tmp/experiments/2026/checkpoints"])
@pytest.mark.parametrize("width", WIDTHS)
def test_when_a_disk_is_full_is_never_cut(width: int, path: str) -> None:
    rows = [row.plain for row in vitals(mounted(path), width, 99) if "12h" in row.plain]
    assert rows
    assert all(row.rstrip().endswith("in 12h") and cell_len(row) <= width for row in rows)


def test_the_column_of_paths_counts_cells_and_not_letters() -> None:
    rows = [row.plain for row in vitals(mounted("/数据盘/训练"), 80, 99)]
    assert any(row.startswith("/数据盘/训练 ") for row in rows)


@pytest.mark.parametrize("width", range(28, 160))
def test_no_amount_of_a_queue_of_the_sweep_is_cut(width: int) -> None:
    outlook = sweep_outlook(sweep().fleet)
    for one in outlook.lanes:
        named = replace(one, why=None)
        assert lane_row(named, outlook, NOW, UTC, width).cell_len <= width
    assert lane_head(width).cell_len <= width


@pytest.mark.parametrize("size", [(30, 8), (34, 10)])
async def test_what_has_no_room_in_a_list_says_that_it_goes_on(
    cockpit: Callable[..., CockpitApp], size: tuple[int, int]
) -> None:
    app = cockpit()
    async with app.run_test(size=size) as pilot:
        await pilot.press("3")
        await pilot.pause()
        rows, wide = app.screen.query_one("#vital-rows", Rows), size[0]
        drawn = [rows.render_line(y).text for y in range(rows.size.height)]
        long = [y for y, row in enumerate(rows.lines[: len(drawn)]) if row.cell_len > wide]
        assert long
        assert all(drawn[y].endswith("…") and cell_len(drawn[y]) == wide for y in long)


@pytest.mark.parametrize(("size", "end"), [((80, 24), " gave up"), ((40, 12), "…")])
async def test_what_has_no_room_under_the_log_says_that_it_goes_on(
    cockpit: Callable[..., CockpitApp], size: tuple[int, int], end: str
) -> None:
    store = sweep()
    first, *rest = store.fleet.instances
    error = f"{'the disk stood still and ' * 5} it gave up"
    logs = tuple(replace(log, error=error) for log in first.logs)
    store.become(replace(store.fleet, instances=(replace(first, logs=logs), *rest)))
    app = cockpit(store)
    async with app.run_test(size=size) as pilot:
        await pilot.press("5")
        await pilot.pause()
        said = [row.plain for row in app.screen.query_one("#remedy", Block).lines]
        assert said[-1].endswith(end)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_sorted_column_shows_which_way_also_under_a_wide_name(width: int) -> None:
    """Of a name in Chinese as many letters as cells were taken, and the arrow was cut off."""
    cells = tuple(
        Cell(f"c{n}", n, "t", CellState.FINISHED, loss=0.1, metrics={"验证集准确率": 0.5 + n})
        for n in range(1, 4)
    )
    rows = rows_of([Lane("box", Queue(cells))])
    for column in ("cell", "task", "loss", "metric:验证集准确率"):
        head = table_head(sheet_of(rows, Order(column, falling=True), width, {})).plain
        assert "↓" in head
        assert cell_len(head) <= width


def test_cells_that_ended_are_counted_also_where_the_log_has_no_times() -> None:
    ended = replace(KILLED, started_at=None, finished_at=None)
    view = box(*(replace(ended, name=f"c{n}", index=n) for n in range(1, 4)))
    assert "0/3 done, 3 failed" in row(view, columns(160)).plain


def test_what_is_said_of_many_names_is_not_cut_off_behind_them() -> None:
    names = line(
        ("训练机-上海, a-very-long-name-002, another-long-name-003", "unknown"), " cannot tell"
    )
    rows = flow([line("after 17:52"), names], 40, lead=line("ends   "))
    assert all(row.cell_len <= 40 for row in rows)
    assert [row.plain for row in rows] == [
        "ends   after 17:52   训练机-上海,",
        "       a-very-long-name-002,",
        "       another-long-name-003 cannot tell",
    ]


def test_two_names_that_differ_at_their_end_differ_in_the_time_line() -> None:
    names = [f"gpu-cluster-node-with-a-very-long-name-{n:03}" for n in (2, 8)]
    rows = [
        event_row(finding("xid", Severity.FATAL, name, "x", "link"), NOW, 80, UTC, names).plain
        for name in names
    ]
    assert names[0][-4:] in rows[0]
    assert names[1][-4:] in rows[1]


def test_two_queues_that_differ_at_their_end_differ_in_the_table_of_the_sweep() -> None:
    names = [f"autodl-west-d-{n:03}" for n in (2, 8)]
    rows = rows_of(Lane(name, queue=Queue(cells=(KILLED,), total=1)) for name in names)
    sheet = sheet_of(rows, Order(), 120, {})
    assert all(
        name[-3:] in table_row(row, sheet, ()).plain for name, row in zip(names, rows, strict=True)
    )


def test_no_line_ends_at_the_edge_in_half_a_character_or_number() -> None:
    drawn = paint(line("¥261.25 训练"), 11, Console(), Style()).text
    assert drawn == "¥261.25 训…"


async def test_a_narrow_chart_says_how_much_of_its_span_is_recorded_and_which_one_it_is(
    cockpit: Callable[..., CockpitApp], text_of: Callable[[CockpitApp], str]
) -> None:
    store = sweep()
    view = store.fleet.instances[0]
    series = {
        name: [(NOW - 50 + n, 0.5) for n in range(50)] for name in ("gpu", "gpu_memory", "memory")
    }
    store.become(fleet(replace(view, series=series)))
    app = cockpit(store)
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.press("c")
        await pilot.pause()
        text = " ".join(text_of(app).split())
        assert "GPU utilisation 1 of 3" in text
        assert "last 10 min, 50 s of it recorded" in text
        assert "…" not in text


@pytest.mark.parametrize("width", [24, 36, 60])
def test_no_reading_of_the_vitals_is_cut_where_there_is_another_line(width: int) -> None:
    """The counter of kills for memory, and why a card is throttled, stood behind the edge."""
    view = sweep().fleet.instances[0]
    rows = vitals(view, width, 60)
    words = " ".join(" ".join(row.plain for row in rows).split())
    assert all(row.cell_len <= width for row in rows if "oom_kill" in row.plain)
    assert "oom_kill 0" in words
    assert "noisy neighbours)" in words
