"""What the screen shows is what the views say, at every size."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual import events

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import LinkState
from gpu_tui.core.logs import LogSource
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.news import News
from gpu_tui.state.views import FleetView
from gpu_tui.ui import toasts
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.layout import PANES, Layout, layout_for, panes_in
from gpu_tui.ui.notices import Notices
from gpu_tui.ui.panes.pane import FilterBar, Pane
from gpu_tui.ui.screens.cockpit import Cockpit
from gpu_tui.ui.text import fleet as fleet_text
from gpu_tui.ui.text.bulletin import bulletin, worst_of
from gpu_tui.ui.text.filters import Filter
from gpu_tui.ui.text.logs import no_log
from gpu_tui.ui.widgets.logview import LogView
from screenshots.builders import AUTODL, NOW, SceneStore, finding, fleet
from screenshots.fake_teardown import ScriptedLadder, ScriptedTeardown
from screenshots.scene_edges import connecting
from screenshots.scenes import empty, healthy, sweep

Make = Callable[..., CockpitApp]
Read = Callable[[CockpitApp], str]
Golden = Callable[[str, str], None]


@pytest.mark.parametrize(
    ("name", "size", "keys"),
    [
        ("wide", (160, 46), ()),
        ("narrow-log", (80, 24), ()),
        ("narrow-clocks", (80, 24), ("2",)),
        ("small-queue", (59, 19), ("4",)),
        ("findings", (100, 24), ("f",)),
    ],
)
async def test_the_screen_is_the_golden_one(
    name: str,
    size: tuple[int, int],
    keys: tuple[str, ...],
    cockpit: Make,
    text_of: Read,
    golden: Golden,
) -> None:
    app = cockpit()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        golden(name, text_of(app))


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((140, 40), Layout.WIDE),
        ((139, 60), Layout.TWO),
        ((140, 39), Layout.TWO),
        ((80, 24), Layout.TWO),
        ((60, 20), Layout.TWO),
        ((59, 24), Layout.ONE),
        ((80, 19), Layout.ONE),
        ((30, 8), Layout.ONE),
        ((29, 20), Layout.NONE),
        ((1, 1), Layout.NONE),
    ],
)
def test_the_layout_follows_the_size(size: tuple[int, int], expected: Layout) -> None:
    assert layout_for(*size) is expected


def test_two_panes_are_instances_and_the_last_other_one() -> None:
    assert panes_in(Layout.TWO, "instances", "queue", zoomed=False) == ("instances", "queue")
    assert panes_in(Layout.TWO, "vitals", "queue", zoomed=False) == ("instances", "vitals")
    assert panes_in(Layout.WIDE, "log", "log", zoomed=True) == ("log",)


def shown(app: CockpitApp) -> set[str]:
    return {pane.NAME for pane in app.screen.query(Pane) if pane.display}


async def test_panes_come_and_go_with_keys_and_size(cockpit: Make) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert shown(app) == {"instances", "log"}
        await pilot.press("3")
        assert shown(app) == {"instances", "vitals"}
        await pilot.press("z")
        assert shown(app) == {"vitals"}
        await pilot.press("escape")
        for size, panes in (((140, 40), set(PANES)), ((59, 19), {"vitals"})):
            await pilot.resize_terminal(*size)
            async with asyncio.timeout(60):
                while shown(app) != panes:  # the new layout comes with a later message
                    await pilot.pause()


@pytest.mark.parametrize("scene", [sweep, empty])
async def test_no_size_crashes(scene: Callable[[], SceneStore], cockpit: Make) -> None:
    app = cockpit(scene())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        for size in ((300, 5), (7, 2), (20, 60), (1, 1)):
            await pilot.resize_terminal(*size)
            await pilot.press("2", "3", "z", "4", "5", "1")
        for card in ("f", "question_mark", "c", "p"):
            await pilot.press(card, "escape")
        assert app.is_running


async def test_a_window_too_small_for_any_pane_says_so(cockpit: Make, text_of: Read) -> None:
    app = cockpit()
    async with app.run_test(size=(24, 7)) as pilot:
        await pilot.pause()
        assert "24x7 is too small" in text_of(app)
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert "too small" not in text_of(app)
        assert "Instances" in text_of(app)


async def test_every_running_clock_is_whole_on_a_small_screen(cockpit: Make, text_of: Read) -> None:
    app = cockpit()
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        await pilot.press("2")
        await pilot.pause()
        text = text_of(app)
    assert "21h 36m  ▌autodl-3  loses system disk, data disk" in text
    assert "pull and verify before parking" in text
    assert "high confidence · verified 2026-02" in text


async def test_ages_and_countdowns_move_with_the_clock_alone(
    cockpit: Make, text_of: Read, clock: ManualClock
) -> None:
    app = cockpit()
    async with app.run_test(size=(160, 46)) as pilot:
        await pilot.pause()
        assert "21h 36m" in text_of(app)
        clock.advance(61)
        app._tick()
        await pilot.pause()
        text = text_of(app)
    assert "21h 34m" in text
    assert "~97%" in text  # what was fresh is stale a minute later, without any event
    assert "10:43:12" in text


async def test_nothing_is_painted_while_nothing_changes(cockpit: Make) -> None:
    store = sweep()
    app = cockpit(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        looked: list[float] = []
        original = store.view

        def view(now: float) -> Any:
            looked.append(now)
            return original(now)

        store.view = view  # type: ignore[method-assign]
        app._tick()
        assert looked == []
        store.touch("autodl-1")
        app._tick()
        assert len(looked) == 1


async def test_a_new_alarm_is_announced_once_and_an_old_one_never(cockpit: Make) -> None:
    store = healthy()
    app = cockpit(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert len(app._notifications) == 0
        view = store.fleet.instances[0]
        hostile = finding(
            "xid", Severity.FATAL, view.name, "[/] Xid 79 [@click=app.exit]x", "dmesg"
        )
        store.become(fleet(replace(view, findings=(hostile,))))
        app._tick()
        app._tick()
        await pilot.pause()
        assert [note.markup for note in app._notifications] == [False]


async def test_news_takes_one_line_and_it_is_that_of_the_keys(cockpit: Make, text_of: Read) -> None:
    store = healthy()
    app = cockpit(store)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.pause()
        view = store.fleet.instances[0]
        found = [finding(n, Severity.FATAL, view.name, "word " * 60, "x") for n in ("xid", "nan")]
        store.become(fleet(replace(view, findings=tuple(found))))
        app._tick()
        await pilot.pause()
        toast = app.screen.query_one("Toast")
        assert app.screen.query_one("#footer").region.contains_region(toast.region)
        assert text_of(app).splitlines()[-1].endswith("… · 1 more: f")
        app.notify("another")
        await pilot.pause()
        assert len(app.screen.query("Toast")) == 1


async def test_news_waits_until_the_answer_to_a_key_was_read(
    cockpit: Make, clock: ManualClock
) -> None:
    """ "The gate was shut, nothing was changed" stood for less than a second where a box had news."""
    store = healthy()
    app = cockpit(store)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.pause()
        app.notify("the answer")
        while not app.screen.query("Toast"):
            await pilot.pause()
        view = store.fleet.instances[0]
        news = finding("xid", Severity.FATAL, view.name, "it broke", "x")
        store.become(fleet(replace(view, findings=(news,))))
        app._tick()
        assert [note.message for note in app._notifications] == ["the answer"]
        clock.advance(2)
        app._tick()
        await pilot.pause()
        (note,) = app._notifications
        assert "it broke" in note.message


async def test_no_footer_offers_a_filter_where_nothing_can_be_filtered(
    cockpit: Make, text_of: Read
) -> None:
    app = cockpit(healthy())
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        for key, offered in (("3", False), ("4", True)):
            await pilot.press(key)
            await pilot.pause()
            assert ("/ filter" in text_of(app).splitlines()[-1]) is offered


@pytest.mark.parametrize(("stood", "waits"), [(0.0, True), (2.0, False)])
async def test_an_answer_that_was_read_is_not_told_again_after_a_card(
    cockpit: Make, monkeypatch: pytest.MonkeyPatch, stood: float, waits: bool
) -> None:
    app = cockpit(healthy())
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.pause()
        app.notify("done", timeout=5)
        await pilot.pause()
        now = toasts.monotonic()
        monkeypatch.setattr(toasts, "monotonic", lambda: now + stood)
        app.put_aside(reads_findings=False)
        assert app.take_up() is waits


async def test_a_note_waits_while_a_card_is_open_and_covers_none_of_its_keys(
    cockpit: Make, text_of: Read
) -> None:
    store = healthy()
    app = cockpit(store)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.pause()
        store.become(replace(store.fleet, notes=("the file has an error: " + "word " * 60,)))
        app._tick()
        while not app.screen.query("Toast"):
            await pilot.pause()
        await pilot.press("question_mark")
        await pilot.pause()
        app._announce(store.fleet)
        await pilot.pause()
        assert not app.screen.query("Toast")
        assert text_of(app).splitlines()[-1].strip() == "/ search   esc close"
        await pilot.press("escape")
        await pilot.pause()
        app._announce(store.fleet)
        while not app.screen.query("Toast"):
            await pilot.pause()
        assert text_of(app).splitlines()[-3].startswith(" the file has an error: word")


@pytest.mark.parametrize(("key", "again"), [("question_mark", True), ("f", False)])
async def test_news_of_a_finding_is_told_again_unless_the_card_showed_it(
    cockpit: Make, key: str, again: bool
) -> None:
    store = healthy()
    app = cockpit(store)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.pause()
        view = store.fleet.instances[0]
        news = finding("xid", Severity.FATAL, view.name, "it broke", "x")
        store.become(fleet(replace(view, findings=(news,))))
        app._tick()
        while not app.screen.query("Toast"):
            await pilot.pause()
        await pilot.press(key)
        await pilot.pause()
        assert not app._notifications
        await pilot.press("escape")
        while len(app.screen_stack) > 1 or app.screen.query("Toast"):
            await pilot.pause()
        app._announce(store.fleet)
        await pilot.pause()
        assert ["it broke" in note.message for note in app._notifications] == [True] * again


async def test_each_note_has_its_turn_and_a_long_one_ends_in_an_ellipsis(
    cockpit: Make, text_of: Read
) -> None:
    store = healthy()
    app = cockpit(store)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.pause()
        for notes in (("the file has an error: " + "word " * 60, "a log was rotated"),) * 2:
            store.become(replace(store.fleet, notes=notes))
            app._tick()
            await pilot.pause()
        last = text_of(app).splitlines()[-3:]
        assert last[0].startswith(" the file has an error: word")
        assert last[-1].endswith("…")
        app.clear_notifications()
        while app.screen.query("Toast"):
            await pilot.pause()
        app._announce(store.fleet)
        await pilot.pause()
        assert [note.message for note in app._notifications] == ["a log was rotated"]


def test_a_note_is_told_once_also_where_older_ones_are_dropped_or_it_is_played_again() -> None:
    notices = Notices()

    def told(*notes: str) -> list[str]:
        notices.take(notes)
        return [note for note in iter(notices.next, None) if note]

    assert told("a", "b") == ["a", "b"]
    assert told("b", "c", "d") == ["c", "d"]
    assert told("b", "c", "d") == []
    assert told("b") == []  # a recording went back
    assert told("b", "c") == ["c"]
    assert told(*map(str, range(20))) == [str(n) for n in range(12, 20)]


@pytest.mark.parametrize(
    ("worst", "end"), [(Severity.FATAL, " · 1 more: f"), (Severity.NONE, " · 1 more")]
)
def test_news_counts_only_what_its_key_lists(worst: Severity, end: str) -> None:
    def news(severity: Severity) -> News:
        return News("k", "nan", severity, "box", "word", NOW)

    good = [news(Severity.NONE)] * 3 if worst is Severity.FATAL else []
    first, others = worst_of([*good, news(worst), news(worst)])
    assert bulletin(first, others, 80).endswith(end)


async def test_selecting_moves_every_pane(cockpit: Make, text_of: Read) -> None:
    app = cockpit()
    async with app.run_test(size=(160, 46)) as pilot:
        await pilot.pause()
        await pilot.press("down")
        await pilot.pause()
        assert "Vitals · runpod-4090" in text_of(app)
        await pilot.press("5", "J")
        await pilot.pause()
        assert "Vitals · runpod-h100" in text_of(app)
        assert "What follows is what was last seen." in text_of(app)


async def test_the_instances_filter_keeps_what_matches(cockpit: Make, text_of: Read) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("slash", *"tag:big")
        await pilot.pause()
        assert "1 Instances · 1 of 6" in text_of(app)
        await pilot.press("escape")
        await pilot.pause()
        assert "1 Instances · 6" in text_of(app)


async def test_a_filter_of_the_queue_says_what_it_left_and_how_to_leave_it(
    cockpit: Make, text_of: Read
) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("4", "slash", *"finished")
        await pilot.pause()
        assert "4 Queue · autodl-1 · 1 of 5" in text_of(app)
        await pilot.press(*"z" * 90)
        await pilot.pause()
        shown = text_of(app)
        assert "4 Queue · autodl-1 · 0 of 5" in shown
        assert "nothing matches finishedzzzzzzzzzzzzzzz…: esc empties the filter" in shown
        await pilot.press("escape")
        await pilot.pause()
        assert "4 Queue · autodl-1─" in text_of(app)


@pytest.mark.parametrize(
    ("wanted", "kept"),
    [
        ("!autodl", {"runpod-h100", "runpod-4090", "lab-cpu"}),
        ("/^[lr]/ !tag:big", {"runpod-4090", "lab-cpu"}),
        ("tag:ablation !/2 /", {"autodl-1"}),
        ("tag:abl", set()),
        ("", {"autodl-1", "autodl-2", "runpod-h100", "autodl-3", "runpod-4090", "lab-cpu"}),
    ],
)
def test_instances_filters(wanted: str, kept: set[str]) -> None:
    views = sweep().fleet.instances
    assert {view.name for view in fleet_text.kept(views, Filter(wanted))} == kept


async def test_a_broken_filter_is_said_in_instances_too(cockpit: Make, text_of: Read) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("slash", *"/[/")
        await pilot.pause()
        assert "not a regular expression" in text_of(app)
        assert "1 Instances · 6" in text_of(app)
        await pilot.press("escape")
        await pilot.pause()
        assert "not a regular expression" not in text_of(app)


async def test_a_slow_filter_shows_every_row_and_says_so(cockpit: Make, text_of: Read) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("slash", *"/(?R)/", "enter")
        await pilot.pause()
        assert "too slow: every row is shown" in text_of(app)
        assert "1 Instances · 6" in text_of(app)
        await pilot.press("slash", *" !/nan/")  # another filter is tried
        await pilot.press(*("backspace",) * 7, "home", *("delete",) * 6)
        await pilot.pause()
        assert "too slow" not in text_of(app)


async def test_the_selection_stays_among_the_rows(cockpit: Make, text_of: Read) -> None:
    app = cockpit(teardown=ScriptedTeardown(AUTODL.teardown, ScriptedLadder([])))
    async with app.run_test(size=(160, 46)) as pilot:
        await pilot.pause()
        assert "Vitals · autodl-1" in text_of(app)
        await pilot.press("slash", *"4090", "enter")
        await pilot.pause()
        assert "Vitals · runpod-4090" in text_of(app)
        await pilot.press("t")
        await pilot.pause()
        assert "Teardown · runpod-4090" in text_of(app)
        await pilot.press("escape", "slash", *"zzz", "enter", "t")
        await pilot.pause()
        assert isinstance(app.screen, Cockpit)
        assert "no instance passes the filter" in text_of(app)


async def test_a_finding_of_a_filtered_box_ends_the_filter(cockpit: Make, text_of: Read) -> None:
    app = cockpit()
    async with app.run_test(size=(160, 46)) as pilot:
        await pilot.pause()
        await pilot.press("slash", *"lab", "enter", "f", "enter")
        await pilot.pause()
        assert "Vitals · lab-cpu" not in text_of(app)
        assert "1 Instances · 6" in text_of(app)


async def test_a_finding_of_no_box_selects_no_other_box(cockpit: Make, text_of: Read) -> None:
    store = sweep()
    stray = finding("unlisted_instance", Severity.FATAL, "runpod:old", "you pay", "api:runpod")
    store.become(replace(store.fleet, findings=(stray, *store.fleet.findings)))
    app = cockpit(store)
    async with app.run_test(size=(160, 46)) as pilot:
        await pilot.pause()
        await pilot.press("slash", *"lab", "enter", "f", "g", "enter")
        await pilot.pause()
        assert isinstance(app.screen, Cockpit)
        assert app.screen.selected == "lab-cpu"  # the next key may be the one of a teardown
        assert "1 Instances · 1 of 6" in text_of(app)
        assert [note.message for note in app._notifications] == [
            "runpod:old is no box of the fleet file: there is no row"
        ]


async def test_keys_right_behind_the_slash_are_text(cockpit: Make) -> None:
    app = cockpit(teardown=ScriptedTeardown(AUTODL.teardown, ScriptedLadder([])))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        for key in ("5", "/", "t", "p"):  # at once, as a terminal hands over what was pasted
            app.post_message(events.Key({"/": "slash"}.get(key, key), key))
        await pilot.pause()
        assert isinstance(app.screen, Cockpit)
        assert app.screen.query_one("#log FilterBar", FilterBar).value == "tp"


async def test_enter_on_a_cell_asks_for_its_log(cockpit: Make, control: Any) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("4", "home", "enter")
        await pilot.pause()
        assert control.asked == [("follow", "autodl-1", "baseline")]
        assert shown(app) == {"instances", "log"}


async def test_a_finding_leads_to_its_line(cockpit: Make, text_of: Read) -> None:
    app = cockpit()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("f", "enter")
        await pilot.pause()
        log = app.screen.query_one(LogView)
        assert isinstance(app.screen, Cockpit)
        assert log.current == 61
        assert not log.following


async def test_the_chart_opens_on_the_gpu_and_says_how_much_is_recorded(
    cockpit: Make, text_of: Read
) -> None:
    store = sweep()
    view = store.fleet["autodl-1"]
    short = {
        "gpu": tuple(p for p in view.series["gpu"] if p[0] >= view.taken_at - 185),
        "bytes:/": view.series["gpu"],
    }
    store.become(fleet(replace(view, series=short)))
    app = cockpit(store)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("c")
        await pilot.pause()
        text = text_of(app)
        assert "GPU utilisation   last 10 min, 3 min of it recorded" in text
        assert "100%" in text
        await pilot.press("k")
        await pilot.pause()
        assert "bytes used on /   last 10 min   2 of 2" in text_of(app)
        more = {
            **short,
            "loss:no_aug": short["gpu"],
        }  # another cell began: it comes before the disks
        store.become(fleet(replace(view, series=more)))
        app._tick()
        await pilot.pause()
        assert "bytes used on /   last 10 min   3 of 3" in text_of(app)


async def test_acknowledging_hides_the_finding(cockpit: Make) -> None:
    store = sweep()
    first = store.fleet.findings[0]
    app = cockpit(store)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("f", "a")
        assert store.acknowledged == [first.id]


async def test_the_log_can_be_copied_and_saved(
    cockpit: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = sweep()
    app = cockpit(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("5", "y", "s")
        await app.workers.wait_for_complete()
        assert "loss nan" in app.clipboard
        source = LogSource("/root/autodl-tmp/runs/logs/no_aug.log", "no_aug")
        buffer = store.log("autodl-1", source)
        assert buffer is not None
        saved = (tmp_path / f"autodl-1-no_aug-{buffer.end}.log").read_text("utf-8")
        assert len(saved.splitlines()) == len(buffer)
        await pilot.press("s")
        await app.workers.wait_for_complete()
        assert "not saved: File exists" in [*app._notifications][-1].message


async def test_the_tour_walks_and_ends(cockpit: Make, text_of: Read) -> None:
    app = cockpit(tour=True)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        assert "1/10  Welcome" in text_of(app)
        await pilot.press("space", "enter", "enter")
        await pilot.pause()
        assert "4/10  Danger clocks" in text_of(app)
        assert shown(app) == {"instances", "clocks"}
        await pilot.press(*["space"] * 7)
        await pilot.pause()
        assert "Tour" not in text_of(app)


async def test_a_nan_loss_is_drawn_as_such(cockpit: Make, text_of: Read) -> None:
    store = sweep()
    assert any(math.isnan(c.loss or 0) for c in store.fleet["autodl-1"].queue.cells)
    app = cockpit(store)
    async with app.run_test(size=(160, 46)) as pilot:
        await pilot.pause()
        assert "NaN" in text_of(app)


async def test_a_bug_ends_the_app_and_is_not_swallowed(cockpit: Make) -> None:
    store = sweep()
    app = cockpit(store)

    def bug(now: float) -> FleetView:
        raise ZeroDivisionError

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            store.view = bug  # type: ignore[method-assign]
            store.touch("autodl-1")
            app.call_later(app._tick)
            await pilot.pause()

    with pytest.raises(ZeroDivisionError):
        await run()


async def test_a_narrow_tour_says_how_it_ends(cockpit: Make, text_of: Read) -> None:
    app = cockpit(tour=True)
    async with app.run_test(size=(40, 16)) as pilot:
        await pilot.pause()
        assert "enter: next · escape: end" in text_of(app)
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert "backspace: back" in text_of(app)


async def test_a_box_that_is_about_to_be_read_is_no_riddle(cockpit: Make, text_of: Read) -> None:
    store = connecting()
    one, *others = store.fleet.instances
    live = replace(one, link=LinkState("live", NOW))
    store.become(replace(store.fleet, instances=(live, *others)))
    app = cockpit(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        shown = text_of(app)
        assert f"◔ {len(others) + 1} connecting" in shown
        assert shown.count("◔ connecting") >= len(others) + 1
        assert "cannot tell" not in shown


def test_the_log_of_a_box_that_was_stopped_is_not_called_unreachable() -> None:
    view = sweep().fleet["autodl-3"]
    assert view.verdict is Verdict.OFF
    refused = replace(view, link=replace(view.link, state="refused", error="refused"))
    assert no_log(refused) == no_log(view) != no_log(replace(refused, verdict=Verdict.UNREACHABLE))
