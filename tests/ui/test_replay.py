"""The cockpit on a recording: its badge, its keys, and that nothing in it acts."""

from __future__ import annotations

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.fleet import Fleet
from gpu_tui.resources import themes_dir
from gpu_tui.state.store import Store
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.screens.cockpit import Cockpit
from gpu_tui.ui.theme_file import load_themes


class Tape:
    """Notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    def badge(self) -> str:
        return "replay ×4"

    def play(self) -> None:
        self.asked.append("play")

    def faster(self, by: int) -> None:
        self.asked.append(("faster", by))

    def skip(self, seconds: float) -> None:
        self.asked.append(("skip", seconds))

    def next_finding(self) -> None:
        self.asked.append("next finding")


async def test_the_keys_of_a_replay_reach_the_tape_and_none_acts_outside() -> None:
    tape = Tape()
    app = CockpitApp(
        Store(Fleet("made", ()), {}),
        ManualClock(),
        control=None,
        teardown=None,
        profiles={},
        themes=load_themes(themes_dir()),
        theme="night",
        read_only=True,
        playback=tape,
    )
    async with app.run_test(size=(140, 40)) as pilot:
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
