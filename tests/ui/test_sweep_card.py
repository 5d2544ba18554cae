"""The card of the whole sweep: what it shows, sorts, marks, draws and saves."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_tui.core.bounds import NO_IDEA, Span, exactly
from gpu_tui.core.cell_table import Order, Row
from gpu_tui.core.sweep import CellState, Queue
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.plot import Curve, render_curves
from gpu_tui.ui.screens import sweep as module
from gpu_tui.ui.screens.cockpit import Cockpit
from gpu_tui.ui.screens.sweep import CURVES, SweepScreen
from gpu_tui.ui.text import bounds
from gpu_tui.ui.text.sweep_table import sheet_of, table_head, table_row
from gpu_tui.ui.widgets import near
from gpu_tui.ui.widgets.rows import Rows
from screenshots.builders import NOW, SceneStore, cell, fleet
from screenshots.scene_ablation import ablation
from screenshots.scenes import empty

Make = Callable[..., CockpitApp]
Read = Callable[[CockpitApp], str]
Golden = Callable[[str, str], None]


@pytest.mark.parametrize(
    ("name", "size", "keys"),
    [
        ("sweep-card", (160, 46), ()),
        ("sweep-card-80", (80, 24), ()),
        ("sweep-card-60", (60, 20), (*"llllll", "o")),
        ("sweep-chart", (100, 34), ("space", "j", "j", "space", "c")),
    ],
)
async def test_the_card_is_the_golden_one(
    name: str,
    size: tuple[int, int],
    keys: tuple[str, ...],
    cockpit: Make,
    text_of: Read,
    golden: Golden,
) -> None:
    app = cockpit(ablation())
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press("S", *keys)
        await pilot.pause()
        golden(name, text_of(app))


def names(app: CockpitApp) -> list[str]:
    """The cells in the table, from the top."""
    rows = app.screen.query_one("#sweep-rows", Rows)
    return [line.plain.lstrip("■ ").split()[0] for line in rows.lines]


async def test_it_sorts_by_every_column_and_keeps_the_sorted_one_in_sight(
    cockpit: Make, text_of: Read
) -> None:
    app = cockpit(ablation())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("S")
        unsorted = names(app)
        titles = []
        for _ in range(12):
            await pilot.press("right")
            shown = text_of(app)
            titles += [word for word in shown.split() if word.endswith("↑") and len(word) > 1]
        assert titles == [
            "cell↑", "task↑", "queue↑", "loss↑", "psnr↑", "ssim↑", "lpips↑",
            "epochs↑", "took↑", "left↑", "cost↑",
        ]  # fmt: skip
        await pilot.press("right")
        assert names(app) == unsorted


async def test_nan_and_unknown_stand_last_both_ways(cockpit: Make) -> None:
    app = cockpit(ablation())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("S", *["right"] * 5)
        for order in (("baseline", "seg_base"), ("seg_base", "baseline")):
            shown = names(app)
            assert shown.index(order[1]) < shown.index(order[0]) or order[0] == "seg_base"
            assert shown[9] == "lr_1e2"  # its loss is NaN
            assert set(shown[10:]) == {"depth_16", "lr_3e4", "big_lr", "seed_2", "seg_deep"}
            await pilot.press("o")


async def test_marked_cells_are_drawn_together_and_there_is_a_most(
    cockpit: Make, text_of: Read
) -> None:
    app = cockpit(ablation())
    async with app.run_test(size=(160, 46)) as pilot:
        await pilot.press("S", "c")
        await pilot.pause()
        assert "━ baseline 0.2144" in text_of(app)  # the one under the cursor
        await pilot.press("space", "j", "space", "x")
        await pilot.pause()
        shown = text_of(app)
        assert "time since the first loss" in shown
        assert "━ no_aug 0.2611" in shown
        for _ in range(CURVES):
            await pilot.press("j", "space")
        await pilot.pause()
        assert text_of(app).count("■") == CURVES
        said = [note.message for note in app._notifications]
        assert said == [f"{CURVES} cells at most: unmark one with space"]


async def test_the_filter_keeps_what_it_says_and_escape_leaves_it_first(cockpit: Make) -> None:
    app = cockpit(ablation())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("S", "slash", *"seg", "enter")
        assert names(app) == ["seg_base", "seg_tiny", "seg_wide", "seg_deep"]
        await pilot.press("slash", *" !tiny", "enter")
        assert names(app) == ["seg_base", "seg_wide", "seg_deep"]
        await pilot.press("escape")
        assert isinstance(app.screen, SweepScreen)
        assert len(names(app)) == 15
        await pilot.press("escape")
        assert isinstance(app.screen, Cockpit)


async def test_enter_leads_to_the_cells_box_and_log(cockpit: Make) -> None:
    app = cockpit(ablation())
    async with app.run_test(size=(160, 46)) as pilot:
        await pilot.press("S", *["j"] * 6, "enter")
        await pilot.pause()
        assert isinstance(app.screen, Cockpit)
        assert app.screen.selected == "autodl-2"


async def test_it_saves_what_it_shows_and_never_over_a_file(
    cockpit: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = cockpit(ablation())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("S", "slash", *"seg", "enter", "right", "o", "s", "m", "s")
        await pilot.pause()
        files = sorted(os.listdir(tmp_path))
        stem = "paper-ablation-v1-cells-20260304T104211Z"
        assert files == [f"{stem}.csv", f"{stem}.md"]
        with (tmp_path / f"{stem}.csv").open(newline="") as file:
            saved = [row["cell"] for row in csv.DictReader(file)]
        assert saved == ["seg_wide", "seg_tiny", "seg_deep", "seg_base"]
        assert [note.message.split(":")[0] for note in app._notifications] == ["not saved"]


@pytest.mark.parametrize("scene", [ablation, empty])
async def test_no_size_and_no_key_crashes(scene: Callable[[], SceneStore], cockpit: Make) -> None:
    app = cockpit(scene())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("S")
        for size in ((300, 5), (7, 2), (1, 1), (60, 20)):
            await pilot.resize_terminal(*size)
            await pilot.press("c", "v", "right", "x", "v", "o")
        assert app.is_running


async def test_hostile_names_stay_words(cockpit: Make, text_of: Read) -> None:
    store = ablation()
    view = store.fleet.instances[0]
    bad = replace(
        view.queue.cells[0], name="[@click=app.quit]x[/]\x1b[2J\u202e", task="[red]t",
        metrics={"\x1b]0;m\x07[b]": 1.0},
    )  # fmt: skip
    queue = replace(view.queue, cells=(bad, *view.queue.cells[1:]))
    app = cockpit(SceneStore(fleet(replace(view, queue=queue))))
    async with app.run_test(size=(160, 46)) as pilot:
        await pilot.press("S", "c")
        await pilot.pause()
        shown = text_of(app)
        assert "[@click=app.quit]x[/]" in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown


async def test_of_thousands_only_rows_near_the_cursor_are_made_and_only_once(
    cockpit: Make, text_of: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    real = module.table_row

    def counted(row, *rest):  # type: ignore[no-untyped-def]
        made.append(row.cell.name)
        return real(row, *rest)

    monkeypatch.setattr(module, "table_row", counted)
    store = ablation()
    view = store.fleet.instances[0]
    first = cell(0, "moves", CellState.RUNNING, loss=1.0, duration_seconds=5.0)
    cells = [cell(n, f"cell_{n}", CellState.PENDING) for n in range(1, 3000)]

    def fleet_at(loss: float) -> None:
        queue = Queue((replace(first, loss=loss), *cells), "/q", "/l", 3000)
        store.become(fleet(replace(view, queue=queue)))

    fleet_at(1.0)
    app = cockpit(store)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("S")
        await pilot.pause()
        assert made == ["moves", *(f"cell_{n}" for n in range(1, near.AROUND + 1))]
        made.clear()
        fleet_at(0.5)
        app._tick()
        assert made == ["moves"]
        for key, name in (("G", "cell_2999"), ("g", "moves")):
            await pilot.press(key)
            await pilot.pause()
            assert name in text_of(app)
        await pilot.press(*["pagedown"] * 8)
        await pilot.pause()
        table = app.screen.query_one("#sweep-rows", Rows)
        above, below = table.hidden
        assert above > near.AROUND
        assert near.UNPAINTED not in table.lines[above : len(table.lines) - below]


async def test_a_queue_of_thousands_opens_at_the_cell_that_runs(
    cockpit: Make, text_of: Read
) -> None:
    view = ablation().fleet.instances[0]
    cells = [cell(n, f"cell_{n}", CellState.PENDING) for n in range(1, 3001)]
    cells[2000] = replace(cells[2000], state=CellState.RUNNING, duration_seconds=5.0)
    queue = Queue(tuple(cells), "/q", "/l", 3000)
    app = cockpit(SceneStore(fleet(replace(view, queue=queue))))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("4")
        await pilot.pause()
        assert "running     cell_2001" in text_of(app)
        await pilot.press("G")
        await pilot.pause()
        assert "cell_3000" in text_of(app)


# --- curves -----------------------------------------------------------------------------------

odd = st.floats(allow_nan=True, allow_infinity=True) | st.none()
points = st.lists(st.tuples(st.floats(allow_nan=True, allow_infinity=True), odd), max_size=40)


@settings(max_examples=40, deadline=None)
@given(st.lists(points, max_size=4), st.integers(0, 90), st.integers(0, 30))
def test_no_number_breaks_a_chart(drawn: list, width: int, height: int) -> None:  # type: ignore[type-arg]
    curves = [Curve(sorted(one, key=lambda p: (p[0] != p[0], p[0])), "box-1") for one in drawn]
    chart = render_curves(curves, width, height)
    lines = chart.plain.split("\n")
    assert len(lines) <= max(1, height)
    assert all(len(line) <= max(width, 24) for line in lines)


def test_each_curve_has_its_own_style_and_a_gap_stays_one() -> None:
    low = Curve([(float(n), 1.0) for n in range(20)], "box-1")
    gap = Curve([(float(n), None if 5 <= n < 15 else 9.0) for n in range(20)], "box-2")
    chart = render_curves([low, gap], 60, 12)
    drawn = {
        style: sum(span.end - span.start for span in chart.spans if span.style == style)
        for style in ("box-1", "box-2")
    }
    assert 0 < drawn["box-2"] < 0.6 * drawn["box-1"]


# --- words ------------------------------------------------------------------------------------

HOUR, DAY = 3600.0, 86400.0  # NOW is 10:42:11 UTC


@pytest.mark.parametrize(
    ("span", "zone", "ends", "left"),
    [
        (Span(3000, HOUR, 9000), UTC, "~11:42", "~1h"),
        (Span(3000, HOUR, 9000), timezone(timedelta(hours=8)), "~19:42", "~1h"),
        (exactly(14 * HOUR), UTC, "~5 Mar 00:42", "~14h"),
        (Span(400 * DAY), UTC, "after 8 Apr 2027 10:42", "≥400d"),
        (Span(1e300), UTC, "in many years", None),
        (NO_IDEA, UTC, "?", "?"),
    ],
)
def test_an_end_is_written_for_the_person_who_reads_it(
    span: Span, zone: timezone, ends: str, left: str | None
) -> None:
    assert bounds.ends(span, NOW, zone) == ends
    if left is not None:
        assert bounds.left(span) == left


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (exactly(12.4), "¥12.40"), (Span(10, 12, 15), "~¥12.00"), (Span(65.31), "≥¥65.31"),
        (NO_IDEA, "?"), (exactly(0), "¥0.00"),
    ],
)  # fmt: skip
def test_money_says_how_sure_it_is(span: Span, words: str) -> None:
    assert bounds.amount(span, "CNY") == words
    assert not math.isnan(span.low)


async def test_a_narrow_table_shows_how_a_cell_stands_before_where_it_runs(
    cockpit: Make, text_of: Read
) -> None:
    app = cockpit(ablation())
    async with app.run_test(size=(40, 20)) as pilot:
        await pilot.press("S")
        await pilot.pause()
        shown = text_of(app)
        assert "loss" in shown
        assert "✓" in shown
        await pilot.press("right", "right")  # sorted by its task, that is in sight
        await pilot.pause()
        assert "task↑" in text_of(app)


@pytest.mark.parametrize(
    ("column", "wide", "narrow"),
    [
        ("eval_accuracy", "eval_accuracy↑", " eval_ac↑"),
        ("f1", "      f1↑", "      f1↑"),
        ("x" * 40, f" {'x' * 13}↑", f" {'x' * 7}↑"),
    ],
)
def test_a_metric_gets_the_room_that_its_name_needs(column: str, wide: str, narrow: str) -> None:
    rows = [Row("box", cell(1, "a", CellState.RUNNING, metrics={column: 0.5}))]
    order = Order(f"metric:{column}")
    for size, title in ((140, wide), (80, narrow)):
        assert table_head(sheet_of(rows, order, size, {})).plain.endswith(title)


def test_a_cell_that_stands_still_is_no_sight_like_the_others_here_either() -> None:
    rows = [
        Row("box", cell(n, name, CellState.RUNNING, still_seconds=still))
        for n, (name, still) in enumerate((("a", 900.0), ("b", None)))
    ]
    order = Order("cell")
    for size, words in ((140, ("▲ silent 15m", "running")), (80, ("▲", "●"))):
        sheet = sheet_of(rows, order, size, {})
        for row, word in zip(rows, words, strict=True):
            assert word in table_row(row, sheet, ()).plain


async def test_no_course_in_time_is_drawn_of_what_was_logged_before_anybody_looked(
    cockpit: Make, text_of: Read
) -> None:
    store = ablation()
    view = store.fleet.instances[0]
    name = next(one.name for one in view.queue.cells if view.series.get(f"loss:{one.name}"))
    series, key = dict(view.series), f"loss:{name}"
    series[key] = [(NOW - 60 + n / 100, 1 / (n + 1)) for n in range(20)]
    store.become(
        replace(store.fleet, instances=(replace(view, series=series), *store.fleet.instances[1:]))
    )
    app = cockpit(store)
    async with app.run_test(size=(100, 24)) as pilot:
        await pilot.press("S", "slash", *name, "enter", "space", "x")
        await pilot.pause()
        assert f"━ {name} logged before it was watched" in text_of(app)
        assert "▼" not in text_of(app).splitlines()[0]  # no table is in sight
        assert text_of(app).splitlines()[-1].startswith(" c chart   x axis")
        series[key] = [*series[key], (NOW - 30, 0.04), (NOW - 1, 0.03)]
        store.become(
            replace(
                store.fleet, instances=(replace(view, series=series), *store.fleet.instances[1:])
            )
        )
        app._tick()
        await pilot.pause()
        assert f"━ {name} 0.03" in text_of(app)


async def test_a_small_screen_has_room_for_the_chart_or_says_what_to_do(
    cockpit: Make, text_of: Read
) -> None:
    app = cockpit(ablation())
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        await pilot.press("S", "c")
        await pilot.pause()
        assert "┤" in text_of(app), "a chart with an axis"
        await pilot.resize_terminal(40, 8)
        await pilot.pause()
        assert "a chart needs 20x5" in text_of(app)


async def test_many_queues_leave_the_cells_their_room_and_v_shows_them_to_the_last(
    cockpit: Make, text_of: Read
) -> None:
    store = ablation()
    boxes = store.fleet.instances
    names = [f"box-{n:03}" for n in range(60)]
    store.become(
        fleet(
            *(
                replace(boxes[n % 2], instance=replace(boxes[n % 2].instance, name=name))
                for n, name in enumerate(names)
            )
        )
    )
    app = cockpit(store)
    async with app.run_test(size=(160, 46)) as pilot:
        await pilot.press("S")
        await pilot.pause()
        assert "  queue  " not in text_of(app).partition("  cell  ")[0]
        assert app.screen.query_one("#sweep-rows").size.height > 20
        await pilot.press("v", "G")
        await pilot.pause()
        assert names[-1] in text_of(app)
        await pilot.press("v")
        await pilot.resize_terminal(40, 10)
        await pilot.pause()
        app._tick()
        await pilot.pause()
        assert "more lines: v" in text_of(app)


async def test_a_chart_without_a_cell_says_why(cockpit: Make, text_of: Read) -> None:
    """It had a legend of nothing, and not a word."""
    store = ablation()
    empty = tuple(replace(view, queue=Queue(())) for view in store.fleet.instances)
    store.become(replace(store.fleet, instances=empty))
    app = cockpit(store)
    async with app.run_test(size=(100, 40)) as pilot:
        await pilot.press("S", "c")
        await pilot.pause()
        assert "no chart: no cell of any queue is known yet" in text_of(app)
        assert "loss by" not in text_of(app)
    app = cockpit(ablation())
    async with app.run_test(size=(100, 40)) as pilot:
        await pilot.press("S", "slash", *"xyzzy", "enter", "c")
        await pilot.pause()
        assert "nothing matches xyzzy: esc empties the filter" in text_of(app)
        assert "loss by" not in text_of(app)
