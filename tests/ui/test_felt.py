"""What a key must not wait for."""

from __future__ import annotations

from collections.abc import Callable
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
