"""What a key must not wait for."""

from __future__ import annotations

import gc
import platform
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.widgets import Input

from gpu_tui.core.logs import LogLine
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.state.log_document import LogDocument
from gpu_tui.state.logbuffer import LogBuffer
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.quiet import DUE, QUIET, SETTLED, Quiet
from gpu_tui.ui.text.logs import log_row
from gpu_tui.ui.theme import CockpitTheme
from gpu_tui.ui.widgets import logview
from gpu_tui.ui.widgets.field import Field
from gpu_tui.ui.widgets.logview import LogView


async def test_a_letter_of_a_filter_arranges_nothing_anew(
    cockpit: Callable[..., CockpitApp],
) -> None:
    app = cockpit()
    async with app.run_test(size=(140, 40)) as pilot:
        await pilot.press("slash", "z", "z")  # nothing fits any more
        await pilot.pause()
        arranged: list[object] = []
        app.screen.screen_layout_refresh_signal.subscribe(app, arranged.append, immediate=True)
        await pilot.press(*"long words that scroll past the edge " * 5)
        await pilot.pause()
        assert arranged == []
        assert app.focused is not None
        assert app.focused.scroll_x > 0  # and yet its end stays in sight


@pytest.fixture
def looked() -> Iterator[list[int]]:
    """A list that grows with each look of the collector at everything."""
    looks: list[int] = []

    def told(phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and info["generation"] == 2:
            looks.append(info["generation"])

    usual = gc.get_threshold()
    gc.set_threshold(0)
    gc.callbacks.append(told)
    try:
        gc.collect()
        looks.clear()
        yield looks
    finally:
        gc.callbacks.remove(told)
        gc.unfreeze()
        gc.set_threshold(*usual)


def test_garbage_is_looked_for_when_it_is_due_and_nobody_types(looked: list[int]) -> None:
    now = 100.0
    quiet = Quiet(lambda: now)
    now += QUIET * 2
    quiet.look()
    assert looked == []  # nothing is due
    for _ in range(DUE):
        gc.collect(1)
    quiet.typed()
    quiet.look()
    assert looked == []  # somebody types
    now += QUIET * 2
    quiet.look()
    quiet.look()
    assert looked == [2]  # once


def test_what_is_there_when_the_cockpit_has_settled_is_looked_through_once(
    looked: list[int],
) -> None:
    now, before = 100.0, gc.get_freeze_count()
    quiet = Quiet(lambda: now)

    def idle(seconds: float) -> int:
        nonlocal now
        now += seconds
        for _ in range(DUE):
            gc.collect(1)
        quiet.look()
        return gc.get_freeze_count() - before

    assert idle(SETTLED / 2) == 0
    kept = idle(SETTLED)
    assert kept > 0
    new = [[] for _ in range(1000)]  # type: ignore[var-annotated]
    assert idle(SETTLED) <= kept  # never again: what comes later may become garbage
    assert len(looked) == 3
    del new


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's heap gives back")
def test_holes_between_what_lives_are_given_back(looked: list[int]) -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    now, most = 100.0, 40_000_000
    quiet = Quiet(lambda: now)
    blocks = [bytes([number % 256]) * 1000 for number in range(most // 1000)]
    last = blocks[-1]  # above the hole: so the heap does not shrink by itself
    before = resident()
    blocks.clear()
    assert resident() > before - most / 2
    for _ in range(DUE):
        gc.collect(1)
    now += QUIET * 2
    quiet.look()
    assert resident() < before - most / 2
    assert len(last) == 1000


class Viewer(App[None]):
    """One log and nothing else."""

    def __init__(self, theme: CockpitTheme, document: LogDocument) -> None:
        super().__init__()
        self.register_theme(theme.textual)
        self.theme = theme.name
        self.console.push_theme(theme.rich)
        self.log_view, self.document = LogView(), document

    def compose(self) -> ComposeResult:
        yield self.log_view


async def test_a_row_of_the_log_that_only_moves_is_not_made_again(
    themes: tuple[CockpitTheme, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def counted(label: str | int, entry: LogLine, **ways: Any) -> Text:
        made.append(entry.text)
        return log_row(label, entry, **ways)

    monkeypatch.setattr(logview, "log_row", counted)
    buffer, reader = LogBuffer(), LogReader()
    app = Viewer(themes[0], LogDocument(buffer))
    async with app.run_test(size=(80, 3)) as pilot:

        async def rows_after(data: bytes) -> list[str]:
            made.clear()
            buffer.extend(reader.feed(data))
            app.log_view.look_at(app.document)
            await pilot.pause()
            lines = app.log_view.render_lines(Region(0, 0, 80, 3))
            return [line.text.partition("▏")[2].strip() for line in lines]

        one, two, three, four = (f"step {n}/9  loss 0.{n}  acc 0.25" for n in range(1, 5))
        assert await rows_after(f"{one}\n{two}\n{three[:12]}".encode()) == [one, two, three[:12]]
        assert len(made) == 3
        assert await rows_after(f"{three[12:]}\n{four}\n".encode()) == [two, three, four]
        assert made == [three, four]  # the open line is another one now, the second one only moved
        made.clear()
        app.log_view.turn_wrap()
        await pilot.pause()
        assert made == [two, three, four]


class OneField(App[None]):
    """A field, and what was sent from it."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []

    def compose(self) -> ComposeResult:
        yield Field()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.sent.append(event.value)


async def test_keys_that_come_together_count_in_the_order_they_were_typed() -> None:
    app = OneField()
    async with app.run_test() as pilot:
        for key in ("a", "b", "ctrl+u", "c", "d", "left", "backspace", "e", "enter", "f"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        assert app.sent == ["ed"]
