"""Hands, cats and terminals on a real ladder: whatever is pressed, clicked, pasted or resized, nothing is called."""

from __future__ import annotations

import os
from datetime import UTC
from random import Random

import pytest
from rented import PROFILES, Scene
from textual import events
from textual.geometry import Offset, Size

from gpu_tui.resources import themes_dir
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.screens.cockpit import Cockpit
from gpu_tui.ui.screens.teardown import TeardownScreen
from gpu_tui.ui.theme_file import load_themes
from gpu_tui.ui.widgets.phrase import PhraseField
from screenshots.builders import SceneStore, fleet

PHRASE = "pod-4n6p"
SHORT, LONG = 160, 10_000
EVERY = 4  # so many of them until one looks at the screen
# What terminals answer to queries, as it arrives: each as one burst, some with what leads back to a key.
REPLIES = (
    "\x1b[?1;2c", "\x1b[0n", "\x1b[24;80R", "\x1b[8;24;80t", "\x1b[>0;276;0c", "\x1bP>|tmux 3.3a\x1b\\",
    "\x1b]11;rgb:0000/0000/0000\x1b\\", "\x1b[?2026;2$y", "\x1b[?62;4c", "\x1bP1$r0m\x1b\\",
    "\x1b]l" + PHRASE + "\x1b\\", "\x1bP0$r" + PHRASE + "\r\x1b\\",
)  # fmt: skip
KEYS = (
    *"abcdefghijklmnoprstuvwxyz0123456789-_/?.!,", *PHRASE, *PHRASE, "tab", "tab", "tab", "tab",
    "shift+tab", "enter", "space", "backspace", "up", "down", "left", "right",
    "pageup", "pagedown", "home", "end", "ctrl+v", "ctrl+y", "ctrl+d", "ctrl+l", "delete",
)  # fmt: skip
SIZES = ((80, 24), (100, 30), (160, 45), (60, 20), (60, 12))


def key(name: str) -> events.Key:
    named = {"-": "minus", "_": "underscore", "/": "slash", "?": "question_mark", ".": "full_stop",
             "!": "exclamation_mark", ",": "comma"}  # fmt: skip
    special = {"enter": "\r", "tab": "\t", "space": " "}
    return events.Key(named.get(name, name), name if len(name) == 1 else special.get(name))


def click(app: CockpitApp, at: Offset) -> list[events.Event]:
    made = [
        kind(None, at.x, at.y, 0, 0, 1, False, False, False, screen_x=at.x, screen_y=at.y)
        for kind in (events.MouseMove, events.MouseDown, events.MouseUp)
    ]
    return list(made)


def burst(text: str) -> list[events.Event]:
    """What a terminal types: the parser of the terminal makes keys of what it does not know."""
    rest = text.replace("\x1b", "").replace("\\", "")
    return [key("enter" if char == "\r" else char) for char in rest]


class Masher:
    """Makes one random event after another, and keeps the ladder open to them."""

    def __init__(self, app: CockpitApp, scene: Scene, seed: int) -> None:
        self.app, self.scene, self.random = app, scene, Random(seed)
        self.made = self.opened = self.asked = self.typed = 0

    def events(self) -> list[events.Event]:
        random = self.random
        match random.randrange(20):
            case 0:
                return [events.Paste(random.choice((PHRASE, PHRASE + "\n", "\r", "y")))]
            case 1:
                return burst(random.choice(REPLIES))
            case 2:
                return burst(PHRASE + "\r")
            case 3 | 4:
                width, height = self.app.size
                return click(self.app, Offset(random.randrange(width), random.randrange(height)))
            case 6:  # a hand that changes its mind
                return [key("tab"), *(key(char) for char in PHRASE[: random.randint(1, 5)])]
            case 5 if random.random() < 0.3:
                size = Size(*random.choice(SIZES))
                return [events.Resize(size, size)]
        return [key(random.choice(KEYS))]

    async def step(self, pilot) -> None:  # type: ignore[no-untyped-def]
        app = self.app
        if isinstance(app.screen, Cockpit):
            if app.size.height < 20:
                await pilot.resize_terminal(80, 24)
            await pilot.press("1", "t", *(["down"] * self.random.choice((1, 1, 1, 2))), "enter")
            self.opened += isinstance(app.screen, TeardownScreen)
            return
        made = self.events()
        by_hand = isinstance(made[0], events.Key) and made[0].key == "tab"
        for event in made:
            waits = (0.6,) if by_hand else (0.0, 0.001, 0.02, 0.2, 0.7, 4.0)
            self.scene.clock.advance(self.random.choice(waits))
            event.time = self.scene.clock.boot()  # it arrives as fast as the clock goes
            if isinstance(app.screen, Cockpit):
                break  # it was left in the middle: what a key does there is not asked here
            app.post_message(event)
            if by_hand:
                await pilot.pause()
        self.made += 1
        if not by_hand and self.made % EVERY:
            return  # the next one comes before the screen has settled, as it does from a cat
        await pilot.pause()
        for field in app.screen.query(PhraseField):
            self.asked += field.display
            self.typed += bool(field.typed)


@pytest.mark.parametrize(
    "steps",
    [SHORT, pytest.param(LONG, marks=[pytest.mark.nightly, pytest.mark.timeout(3_600)])],
    ids=["short", "long"],
)
async def test_nothing_that_is_mashed_calls_the_provider(scene: Scene, steps: int) -> None:
    if steps == LONG and not os.environ.get("GPU_TUI_NIGHTLY"):
        pytest.skip("ten thousand events are for the night: GPU_TUI_NIGHTLY=1")
    app = CockpitApp(
        SceneStore(fleet(scene.view("pod"))), scene.clock, control=None, teardown=scene.runner(),
        profiles=PROFILES, themes=load_themes(themes_dir()), theme="night", zone=UTC,
    )  # fmt: skip
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        masher = Masher(app, scene, seed=steps)
        for _ in range(steps):
            await masher.step(pilot)
        while not isinstance(app.screen, Cockpit):
            await pilot.press("escape")
    assert scene.server.calls == []
    assert not {"permit", "intent", "call"} & set(scene.events())
    assert masher.opened > 2
    assert masher.asked > 5  # the question stood there, and keys reached its field
    assert masher.typed > 1
