"""The cockpit on a recording: its badge, its keys, and that nothing in it acts."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from textual.widgets._toast import Toast

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Fleet
from gpu_tui.core.playhead import Playhead, TapeMark
from gpu_tui.resources import themes_dir
from gpu_tui.state.store import Store
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.ports import FleetStore
from gpu_tui.ui.screens.cockpit import Cockpit
from gpu_tui.ui.screens.replay import ReplayCockpit
from gpu_tui.ui.text.tape import tape_line
from gpu_tui.ui.theme_file import load_themes
from gpu_tui.ui.widgets.paint import OneLine
from screenshots.scenes import sweep


class Tape:
    """Notes what it was asked."""

    paused = False

    def __init__(self) -> None:
        self.asked: list[object] = []
        self.seeking = self.without = False
        self.ids = frozenset({"a"})

    def badge(self) -> str:
        return "replay ▸▸" if self.seeking else "replay ×4"

    def play(self) -> None:
        self.asked.append("play")

    def faster(self, by: int) -> None:
        self.asked.append(("faster", by))

    def skip(self, seconds: float) -> None:
        self.asked.append(("skip", seconds))

    def seek(self, place: str) -> str | None:
        self.asked.append(("seek", place))
        return None if place != "nowhere" else "a place"

    def next_finding(self) -> None:
        self.asked.append("next finding")

    def finding_before(self) -> None:
        self.asked.append("finding before")

    def head(self) -> Playhead:
        marks = (TapeMark(600.0, Severity.FATAL, self.ids),)
        seeking, without = self.seeking, self.without
        return Playhead(750.0, 3_600.0, 4.0, self.paused, seeking, 1_800.0, marks, without=without)


def replayed(tape: Tape, store: FleetStore | None = None) -> CockpitApp:
    return CockpitApp(
        store or Store(Fleet("made", ()), {}),
        ManualClock(),
        control=None,
        teardown=None,
        profiles={},
        themes=load_themes(themes_dir()),
        theme="night",
        read_only=True,
        playback=tape,
    )


async def test_the_keys_of_a_replay_reach_the_tape_and_none_acts_outside() -> None:
    tape = Tape()
    app = replayed(tape)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        line = app.screen.query_one("#tape", OneLine)
        assert line.region.y == 22
        assert line.line.plain.startswith(" ▸ 12:30/1:00:00 ×4 ")
        assert line.line.plain.index("✗") < line.line.plain.index("█")
        keys = ("P", "F", "b", "left_parenthesis", "right_parenthesis", "at", *"nowhere", "enter")
        await pilot.press(*keys)
        assert tape.asked == [
            "play", "next finding", "finding before", ("seek", "start"), ("seek", "end"),
            ("seek", "nowhere"),
        ]  # fmt: skip
        assert app.screen.query_one("ReplayCockpit > PlaceBar").has_class("-open")
        await pilot.press(*"5m", "enter")
        assert tape.asked.pop() == ("seek", "5m")
        assert not app.screen.query_one("ReplayCockpit > PlaceBar").has_class("-open")
        tape.asked.clear()
        keys = ("P", "F", "full_stop", "comma", "right_curly_bracket", "left_curly_bracket")
        await pilot.press(*keys, "greater_than_sign", "less_than_sign", "t")
        assert tape.asked == [
            "play", "next finding", ("skip", 30), ("skip", -30), ("skip", 600), ("skip", -600),
            ("faster", 1), ("faster", -1),
        ]  # fmt: skip
        screen = app.screen
        assert isinstance(screen, Cockpit)
        assert screen.READ_ONLY
        assert screen.badges() == ("replay ×4",)
        await pilot.press("question_mark")
        assert app.screen is not screen


async def test_the_footer_says_what_a_key_does_now_and_none_asks_a_box() -> None:
    tape = Tape()
    app = replayed(tape, sweep())
    async with app.run_test(size=(200, 46)) as pilot:
        await pilot.pause()
        await pilot.press("5")
        footer = app.screen.query_one("#footer", OneLine)
        assert "P pause" in footer.line.plain
        assert "B search" not in footer.line.plain
        assert "reconnect" not in footer.line.plain
        tape.paused = True
        await pilot.press("P")
        assert "P go on" in footer.line.plain
        await pilot.press("B")
        await pilot.pause()
        assert [note.message for note in app._notifications] == [
            "a recording has only what was recorded: nothing to ask the box"
        ]
        assert not app.screen.query_one("#log FilterBar").has_class("-open")


@pytest.mark.parametrize(("key", "said"), [("F", "no further finding"), ("b", "no finding before")])
async def test_a_finding_that_is_not_there_is_said_to_be_missing_once_it_is_known(
    key: str, said: str
) -> None:
    tape = Tape()
    app = replayed(tape)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press(key)
        assert len(app._notifications) == 0  # there is one
        tape.seeking = tape.without = True
        await pilot.press(key)
        assert len(app._notifications) == 0  # still looking
        screen = app.screen
        assert isinstance(screen, ReplayCockpit)
        header = screen.query_one("#header", OneLine)
        assert "replay ▸▸" in header.line.plain
        tape.seeking = False
        screen._draw_line()
        screen._draw_line()
        await pilot.pause()
        assert [
            note.message.partition(" this")[0].partition(":")[0] for note in app._notifications
        ] == [said]
        assert "replay ×4" in header.line.plain
        tape.without = False
        await pilot.press("full_stop")  # elsewhere, what was said is no longer true
        assert len(app._notifications) == 0


async def test_the_box_of_the_finding_that_was_gone_to_is_selected_once_it_is_there() -> None:
    tape, store = Tape(), sweep()
    app = replayed(tape, store)
    async with app.run_test(size=(140, 40)) as pilot:
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, ReplayCockpit)
        first = screen.selected
        (one, *_) = [one for one in store.fleet.findings if one.instance != first]
        tape.ids, tape.seeking = frozenset({one.id}), True
        await pilot.press("F")
        screen._draw_line()
        assert screen.selected == first  # still looking
        tape.seeking = False
        screen._draw_line()
        assert screen.selected == one.instance
        await pilot.press("J" if screen.selected == first else "K")
        chosen = screen.selected
        screen._draw_line()
        assert screen.selected == chosen  # a hand's choice stands
        tape.ids = frozenset({"of no box that is here"})
        await pilot.press("b")
        screen._draw_line()
        assert screen.selected == chosen


@pytest.mark.parametrize("width", [20, 40, 60, 80, 160])
def test_the_line_of_the_tape_fits_and_tells_what_is_known(width: int) -> None:
    marks = (TapeMark(100.0, Severity.WARN, frozenset("a")),)
    head = Playhead(0.0, 3_600.0, 1.0, True, False, 900.0, marks, "the file was cut")
    text = tape_line(head, width)
    assert text.cell_len == width
    assert "0:00/1:00:00" in text.plain
    assert width < 40 or "ends early" in text.plain
    assert width < 80 or "┄" in text.plain  # not searched yet
    known = tape_line(replace(head, known_to=3_600.0), width)
    assert "┄" not in known.plain


@pytest.mark.parametrize("size", [(60, 20), (80, 24)])
async def test_what_is_said_by_the_way_does_not_cover_the_line_of_the_tape(
    size: tuple[int, int],
) -> None:
    app = replayed(Tape())
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause()
        app.notify(
            "no further finding: this is the end of the recording, and it has three lines " * 3
        )
        async with asyncio.timeout(60):
            while not (toasts := [one for one in app.screen.query(Toast) if one.region.height]):
                await pilot.pause()
        (toast,) = toasts
        tape = app.screen.query_one("#tape").region
        assert toast.region.height == 3
        assert toast.region.bottom <= tape.y
