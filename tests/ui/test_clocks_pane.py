"""The danger clocks on screen: what a countdown is worth, who shares a row, the calendar, first contact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gpu_tui.core.anchors import Anchors
from gpu_tui.core.clocks import DangerClock, by_urgency, clocks_of
from gpu_tui.core.profile import ClockFact
from gpu_tui.state.acquaintance import Acquaintance
from gpu_tui.state.history import NoHistory
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.text.deadlines import armed, clock_lines, clocks, rows_of
from screenshots.builders import AUTODL, DAY, NOW, RUNPOD, SceneStore
from screenshots.scene_edges import connecting
from screenshots.scenes import sweep

Make = Callable[..., CockpitApp]
Read = Callable[[CockpitApp], str]


def drawn(clock: DangerClock, width: int = 78) -> str:
    return "\n".join(row.plain for one in rows_of([clock]) for row in clock_lines(one, NOW, width))


def release(**seen: object) -> DangerClock:
    return clocks_of(AUTODL, "box", Anchors(**seen), NOW)[0]  # type: ignore[arg-type]


def test_every_bound_says_what_its_countdown_is_worth() -> None:
    assert "         ▲ 1d  ▌box" in drawn(
        release(power="stopped", stopped_at=NOW - 14 * DAY, stopped_basis="api")
    )
    bounded = drawn(release(power="stopped", last_contact=NOW - 14 * DAY))
    assert "≥1d  ▌box" in bounded
    assert "at the earliest, counted from the last contact" in bounded
    balance = Anchors("running", balance_at=NOW + 7200, balance_basis="rate")
    reckoned = drawn(clocks_of(RUNPOD, "box", balance, NOW)[0])
    assert "~2h  ▌box" in reckoned
    assert "at the present rate" in reckoned
    unknown = drawn(release(power="stopped"))
    assert "            ?  ▌box" in unknown
    assert "nobody knows since when" in unknown


def test_a_clock_that_boxes_share_is_one_row_and_a_subject_is_not_shared() -> None:
    seen = Anchors("running", balance_at=NOW + 7200, balance_basis="rate")
    shared = [clocks_of(RUNPOD, f"pod-{n}", seen, NOW)[0] for n in range(5)]
    (row,) = rows_of(shared)
    assert row.instances == ("pod-0", "pod-1", "pod-2", "pod-3", "pod-4")
    first = clock_lines(row, NOW, 100)[0].plain
    assert "▌pod-0 ▌pod-1 ▌pod-2 +2" in first
    jobs = [replace(clock, id="job-time-limit", subject="train") for clock in shared]
    assert len(rows_of(jobs)) == 5
    later = replace(shared[1], fires_at=NOW + 7300, earliest_fires_at=NOW + 7300)
    assert len(rows_of([shared[0], later])) == 2


@pytest.mark.parametrize("width", [20, 40, 76])
def test_no_line_is_wider_than_the_pane(width: int) -> None:
    names = Anchors("stopped", NOW - 14 * DAY, "api")
    long = [
        replace(clock, instance="a-box-with-a-long-name")
        for clock in clocks_of(AUTODL, "x", names, NOW)
    ]
    for row in rows_of(long):
        lines = clock_lines(row, NOW, width)
        assert all(line.cell_len <= max(width, 37) for line in lines)


def test_words_of_a_box_are_drawn_as_words() -> None:
    evil = "[@click=app.quit]x[/nope]\x1b[2J\u202e"
    clock = replace(release(power="stopped"), subject=evil, loses=evil, avoid=evil, why=evil)
    text = drawn(clock)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[@click=app.quit]" in text


def test_what_ticks_stands_before_what_is_armed_and_bills_after_deadlines() -> None:
    fact = ClockFact("autodl-bill", "stopped", "stopped_at", None, "bills", (), "critical", "x",
                     "d", "2026-02", "high")  # fmt: skip
    profile = replace(AUTODL, clocks=(fact, *AUTODL.clocks))
    found = by_urgency(clocks_of(profile, "b", Anchors("stopped", NOW - DAY, "api"), NOW))
    assert [clock.id for clock in found] == [
        "autodl-release-15d", "autodl-bill", "autodl-paid-disk-bills-off",
    ]  # fmt: skip


async def test_a_new_platform_introduces_itself_once(cockpit: Make, text_of: Read) -> None:
    store = sweep()
    store.become(replace(store.fleet, unmet=frozenset({"autodl"})))
    app = cockpit(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("2")
        await pilot.pause()
        text = text_of(app)
        assert "press i: first time on AutoDL, 1 convenience and 1 trap to know" in text
        assert "21h 36m" in text  # what is at stake is not covered
        await pilot.press("i")
        await pilot.pause()
        assert store.fleet.unmet == frozenset()
        assert "+ Downloads from the file storage cost nothing" in text_of(app)
        await pilot.press("i")
        app._tick()
        await pilot.pause()
        assert "first time" not in text_of(app)
        assert "21h 36m" in text_of(app)
        await pilot.press("i")  # on demand, whenever
        await pilot.pause()
        assert "good to know on AutoDL" in text_of(app)


async def test_the_calendar_is_one_key_away(
    cockpit: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = cockpit()
    async with app.run_test(size=(160, 46)) as pilot:
        await pilot.press("2", "s")
        await pilot.pause()
        (note,) = app._notifications
        assert note.message.startswith("1 deadline saved to")
    text = (tmp_path / "gpu-deadlines.ics").read_text("utf-8")
    assert "SUMMARY:autodl-3: loses system disk\\, data disk" in text


async def test_a_calendar_that_cannot_be_written_says_why(
    cockpit: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gpu-deadlines.ics").mkdir()
    app = cockpit()
    async with app.run_test(size=(160, 46)) as pilot:
        await pilot.press("2", "s")
        await pilot.pause()
        (note,) = app._notifications
        assert note.message.startswith("not saved: Is a directory")


def test_what_was_read_is_remembered_by_the_next_run() -> None:
    views = sweep().fleet.instances
    history = NoHistory()
    first = Acquaintance(history)
    assert first.unmet(views) == {"autodl", "runpod"}
    first.meet("autodl")
    assert first.unmet(views) == Acquaintance(history).unmet(views) == {"runpod"}
    assert Acquaintance(None).unmet(views) == frozenset()


def test_a_fleet_without_any_clock_says_so() -> None:
    empty = SceneStore(replace(sweep().fleet, clocks=())).fleet
    assert [row.plain for row in clocks(empty, None, 60)] == ["✓ no clock is ticking"]
    unread = connecting().fleet
    assert [row.plain for row in clocks(unread, None, 90)] == [
        "? no clock is known to tick, but 4 of 4 boxes were not read so far"
    ]


async def test_clocks_are_filtered_by_their_box_and_by_what_they_say(
    cockpit: Make, text_of: Read
) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("2", "slash", *"bills")
        await pilot.pause()
        shown = text_of(app)
        assert "2 Danger clocks · 1 of 2 ticking" in shown
        assert "bills the paid part" in shown
        assert "loses system disk" not in shown
        await pilot.press(*" !autodl-3")
        await pilot.pause()
        assert "0 of 2 ticking" in text_of(app)  # that there are any is never hidden
        assert "esc empties the filter" in text_of(app)
        await pilot.press("escape")
        await pilot.pause()
        assert "loses system disk" in text_of(app)


def test_a_clock_that_only_some_boxes_have_says_so_also_while_it_does_not_count() -> None:
    """A bare box with a root read as one that is taken away in 30 s."""
    fleet = sweep().fleet
    view = fleet.instances[0]
    spot = DangerClock(
        "gen-cloud-spot", view.name, "armed", "running", None, "unknown", None, None,
        "root file system", None, "high", "Checkpoint on a timer.", "s", "2026-06", "medium",
        stale_fact=False, after=30.0, anchor="signal", effect="destroys", only=("cloud-spot",),
    )  # fmt: skip
    told = " ".join(row.plain.strip() for row in armed(replace(fleet, clocks=(spot,)), view, 80))
    assert "any time, 30 s of warning: loses root file system" in told
    assert "only if it is cloud-spot (provider.variant is not set)" in told
    known = replace(spot, only=())
    told = " ".join(row.plain for row in armed(replace(fleet, clocks=(known,)), view, 80))
    assert "only if" not in told
