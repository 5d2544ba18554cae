"""The cursor stays where a person left it, also when the row under it goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import pytest

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.findings import Severity
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.screens import findings, timeline
from gpu_tui.ui.widgets.rows import Rows
from screenshots.builders import SceneStore, finding
from screenshots.scenes import sweep


def many(count: int) -> SceneStore:
    store = sweep()
    name = store.fleet.instances[0].name
    found = tuple(
        finding("crashed", Severity.SERIOUS, name, f"number {n}", "verdict", cell=f"cell{n:04}")
        for n in range(count)
    )
    store.become(replace(store.fleet, findings=found))
    return store


async def test_the_cursor_goes_to_the_neighbour_of_a_finding_that_was_acknowledged(
    cockpit: Callable[..., CockpitApp],
) -> None:
    store = many(9)
    app = cockpit(store)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("f", "j", "j", "j", "a")
        app._tick()
        rows = app.screen.query_one("#finding-rows", Rows)
        ids = [one.id for one in store.fleet.findings]
        assert store.acknowledged == [ids[3]]
        assert rows.key == ids[4]  # and not the first one, which nobody looked at
        await pilot.press("G", "a")
        app._tick()
        assert rows.key == ids[7]  # the last one went: its neighbour above


async def test_what_stands_under_a_cursor_that_moved_to_a_neighbour_is_painted(
    cockpit: Callable[..., CockpitApp],
) -> None:
    store = many(900)
    app = cockpit(store)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("E", "G", "k", "k")
        await pilot.pause()
        rows = app.screen.query_one("#timeline-rows", Rows)
        gone = rows.key
        store.become(
            replace(store.fleet, findings=tuple(f for f in store.fleet.findings if f.id != gone))
        )
        app._tick()
        drawn = [rows.render_line(y).text.strip() for y in range(rows.size.height)]
        assert rows.key != gone
        assert rows.hidden[1] < 5
        assert all(drawn)


@pytest.mark.parametrize("card", ["f", "E"])
async def test_enter_leads_to_a_finding_that_came_while_the_card_was_open(
    cockpit: Callable[..., CockpitApp], card: str
) -> None:
    store = many(3)
    app = cockpit(store)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press(card)
        other = next(v.name for v in store.fleet.instances if v.name != app._cockpit.selected)
        new = finding("stalled", Severity.FATAL, other, "nothing moves", "verdict")
        store.become(replace(store.fleet, findings=(new,)))
        app._tick()
        await pilot.press("enter")
        await pilot.pause()
        assert app._cockpit.selected == other


@pytest.mark.parametrize(
    ("card", "module", "painter"),
    [("f", findings, "finding_row"), ("E", timeline, "event_row")],
)
async def test_of_thousands_of_findings_only_those_near_the_cursor_are_painted(
    cockpit: Callable[..., CockpitApp],
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    card: str,
    module: ModuleType,
    painter: str,
) -> None:
    painted: list[object] = []
    paint = getattr(module, painter)

    def counted(one: object, *rest: object, **more: object) -> object:
        painted.append(one)
        return paint(one, *rest, **more)

    monkeypatch.setattr(module, painter, counted)
    app = cockpit(many(2_000))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press(card)
        await pilot.pause()
        assert 0 < len(painted) < 400
        painted.clear()
        clock.advance(60 * 60)
        app._tick()
        clock.advance(1)
        app._tick()
        assert len(painted) < 200  # what shows no seconds is not made anew with each of them
        for keys in (("G",), ("k", *["pageup"] * 9), ("g",)):
            await pilot.press(*keys)
            await pilot.pause()
            name = "#finding-rows" if card == "f" else "#timeline-rows"
            rows = app.screen.query_one(name, Rows)
            assert all(rows.render_line(y).text.strip() for y in range(rows.size.height))


async def test_what_a_filter_hides_is_neither_acknowledged_nor_opened(
    cockpit: Callable[..., CockpitApp],
) -> None:
    store = many(3)
    app = cockpit(store)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("f", "j", "slash", *"zzz", "enter")
        await pilot.pause()
        card = app.screen
        assert "esc empties the filter" in card.query_one("#finding-rows", Rows).lines[0].plain
        assert not card.query_one("#finding-detail", Rows).lines
        await pilot.press("a", "enter", "e")
        await pilot.pause()
        assert store.acknowledged == []
        assert app.screen is card


async def test_a_finding_begins_at_its_first_line_and_says_what_of_it_is_out_of_sight(
    cockpit: Callable[..., CockpitApp], text_of: Callable[[CockpitApp], str]
) -> None:
    app = cockpit()
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("f")
        await pilot.pause()
        detail = app.screen.query_one("#finding-detail", Rows)
        assert "▼ 6 · tab" in text_of(app)
        await pilot.press("tab", "G")
        await pilot.pause()
        assert "▲ 6" in text_of(app)
        assert "nan on autodl-1" not in text_of(app)
        await pilot.press("tab", "j", "k")
        assert detail.hidden[0] == 0
        await pilot.press("slash", *"nan", "enter")
        await pilot.pause()
        assert "Findings · 1 of 5" in text_of(app)


@pytest.mark.parametrize(
    ("keys", "title"),
    [(("O",), "Columns of Instances · ▼ 8"), (("T", "g"), "Colours · ▼ "), (("E",), "… · ▼ ")],
)
async def test_a_card_says_what_of_its_list_is_out_of_sight(
    keys: tuple[str, ...],
    title: str,
    cockpit: Callable[..., CockpitApp],
    text_of: Callable[[CockpitApp], str],
) -> None:
    app = cockpit(many(20))
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        app._tick()
        await pilot.pause()
        assert title in text_of(app)
