"""What the cell layer writes leads a terminal to the same screen as what textual writes."""

from __future__ import annotations

import inspect
import os
import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import split_graphemes
from rich.color import ColorSystem
from rich.console import RenderableType
from rich.control import Control
from rich.segment import Segment
from rich.style import Style
from textual._compositor import CompositorUpdate, LayoutUpdate
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import Input

from gpu_tui.core.findings import Severity
from gpu_tui.core.logs import LogLine, Mark
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.terminal.cell_diff import Cells
from screenshots.builders import SceneStore
from screenshots.scenes import sweep

WORDS = (
    "loss 0.31", "训练中 第三轮", "é́tape", "👩‍💻 devs", "🫠 melted", "⚡ 300 W", "ดำเนินการ", "한국어 로그", "⚠️ hot",
    "━━━━╸", "a\u0301b", "日", " ",
)  # fmt: skip


MARKS = (Mark("none", Severity.NONE, False), Mark("nan_loss", Severity.FATAL, True))


class Wide(pyte.Screen):
    """Counts cells as rich does, and a wide character of which one half is overwritten is gone."""

    def draw(self, data: str) -> None:
        for start, end, width in split_graphemes(data)[0]:
            line, at = self.buffer[self.cursor.y], self.cursor.x
            if not width:
                lead = next((x for x in range(at - 1, -1, -1) if line[x].data), None)
                if lead is not None:
                    line[lead] = line[lead]._replace(data=line[lead].data + data[start:end])
                continue
            at = min(at, self.columns - width)
            if not line[at].data and at:
                line[at - 1] = line[at - 1]._replace(data=" ")
            for x in range(at, at + width):
                line[x] = self.cursor.attrs._replace(data=data[start:end] if x == at else "")
            if at + width < self.columns and not line[at + width].data:
                line[at + width] = line[at + width]._replace(data=" ")
            self.cursor.x = min(at + width, self.columns)


class Terminal:
    """Reads sequences and shows a screen."""

    def __init__(self, width: int, height: int) -> None:
        self._screen = Wide(width, height)
        self._stream = pyte.Stream(self._screen)
        self.bytes = 0
        self._stream.feed("\x1b[?7l\x1b[?25l")

    def feed(self, text: str) -> None:
        self.bytes += len(text.encode())
        self._stream.feed(text)

    def differs(self, other: Terminal) -> list[str]:
        """The lines that a person could tell from the other's."""
        mine, theirs = self._screen, other._screen
        return [
            f"{y}: {_text(mine, y)!r} is not {_text(theirs, y)!r}"
            for y in range(mine.lines)
            if mine.buffer[y] != theirs.buffer[y] and _seen(mine, y) != _seen(theirs, y)
        ]


def _text(screen: pyte.Screen, y: int) -> str:
    return "".join(screen.buffer[y][x].data for x in range(screen.columns))


def _seen(screen: pyte.Screen, y: int) -> list[tuple[object, ...]]:
    """Of a blank only its ground is to be seen, where nothing is drawn on it."""
    return [_visible(screen.buffer[y][x]) for x in range(screen.columns)]


def _visible(cell: Any) -> tuple[object, ...]:
    drawn = cell.underscore or cell.reverse or cell.strikethrough
    if not cell.data.strip() and not drawn:
        return (" ", cell.bg)
    return tuple(cell)


class Twin(CockpitApp):
    """Writes each frame twice: as textual does to one terminal, as the cell layer does to another."""

    CSS_PATH = Path(inspect.getfile(CockpitApp)).with_name("cockpit.tcss")
    stock: Terminal | None = None
    ours: Terminal
    cells: Cells
    frames = 0

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        if not isinstance(renderable, CompositorUpdate):
            return
        size = screen._compositor.size
        if self.stock is None or self.cells.size != size:
            self.stock, self.ours, self.cells = Terminal(*size), Terminal(*size), Cells(*size)
            if not isinstance(renderable, LayoutUpdate):
                renderable = screen._compositor.render_full_update()
        self.console._color_system = ColorSystem.TRUECOLOR  # styles keep the codes of one depth
        self.stock.feed(renderable.render_segments(self.console))
        self.ours.feed(self.cells.lead_to(self._segments(renderable), ColorSystem.TRUECOLOR))
        self.frames += 1
        assert self.ours.differs(self.stock) == [], f"frame {self.frames}"

    def _segments(self, update: Any) -> Iterable[object]:
        return update.__rich_console__(self.console, self.console.options)


KEYS = (
    "tab", "z", "j", "k", "down", "pagedown", "1", "2", "3", "4", "5", "c", "f", "p", "s", "question_mark",
    "escape", "q_", "ctrl+l", "T", "slash", "a", "backspace", "space", "n", "ctrl+p", "v",
)  # fmt: skip
SIZES = ((160, 45), (80, 24), (60, 20), (100, 30), (141, 41), (33, 9))


def _stir(store: SceneStore, chance: random.Random) -> None:
    """Something of the fleet changes, and a log gets lines in all kinds of letters."""
    shown = list(store.fleet.instances)
    at = chance.randrange(len(shown))
    other = shown[chance.randrange(len(shown))]
    shown[at] = replace(shown[at], verdict=other.verdict, because=chance.choice(WORDS))
    store.become(replace(store.fleet, instances=tuple(shown), sweep=chance.choice(WORDS)))
    for buffer in store.logs.values():
        lines = [
            LogLine(" ".join(chance.choices(WORDS, k=4)), chance.choice(MARKS))
            for _ in range(chance.randrange(4))
        ]
        buffer.extend(tuple(lines))


SEEDS = range(40) if os.environ.get("GPU_TUI_NIGHTLY") else range(2)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", SEEDS)
async def test_random_frames_look_the_same(
    cockpit: Callable[..., CockpitApp], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    monkeypatch.setitem(cockpit.__globals__, "CockpitApp", Twin)
    store = sweep()
    app = cockpit(store)
    assert isinstance(app, Twin)
    async with app.run_test(size=(160, 45)) as pilot:
        for _ in range(30):
            match chance.randrange(6):
                case 0:
                    await pilot.resize_terminal(*chance.choice(SIZES))
                case 1 | 2:
                    await pilot.press(chance.choice(KEYS))
                case 3:
                    app.notify(chance.choice(WORDS))
                case 4:
                    app.theme = chance.choice(list(app._themes))
                case _:
                    _stir(store, chance)
            app._tick()
            await pilot.pause()
    assert app.frames > 20
    assert app.stock is not None
    assert app.ours.bytes < app.stock.bytes / 2


# --- single updates -------------------------------------------------------------------------------

STYLES = tuple(
    Style.parse(words)
    for words in (
        "", "bold", "dim red", "italic #ff8800", "underline", "reverse blue", "bold dim on green",
        "strike white on #102030", "not bold", "default on default", "blink", "color(200)",
    )
)  # fmt: skip
LETTERS = (
    "a",
    "b",
    " ",
    ".",
    "─",
    "训",
    "日",
    "한",
    "é",
    "a\u0301",
    "日\u0301",
    "⚡",
    "🫠",
    "⚠\ufe0f",
    "👩\u200d💻",
)
texts = st.lists(
    st.tuples(
        st.lists(st.sampled_from(LETTERS), max_size=9).map("".join),
        st.sampled_from(STYLES),
    ),
    max_size=6,
)
WIDTH = 24


def _update(rows: list[list[tuple[str, Style]]]) -> list[Segment]:
    update = []
    for y, row in enumerate(rows):
        strip = Strip([Segment(text, style) for text, style in [("a", Style()), *row] if text])
        update += [Control.move_to(0, y).segment, *strip.adjust_cell_length(WIDTH)]
    return update


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(texts, min_size=3, max_size=3), min_size=1, max_size=4),
    st.sampled_from([ColorSystem.STANDARD, ColorSystem.EIGHT_BIT, ColorSystem.TRUECOLOR]),
)
def test_any_cells_after_any_others(
    frames: list[list[list[tuple[str, Style]]]], depth: ColorSystem
) -> None:
    stock, ours, cells = Terminal(WIDTH, 3), Terminal(WIDTH, 3), Cells(WIDTH, 3)
    for rows in frames:
        update = _update(rows)
        ours.feed(cells.lead_to(update, depth))
        for text, style, _ in update:
            if style:
                style._ansi = None  # it keeps the codes of whichever depth came first
            stock.feed(style.render(text, color_system=depth) if style else text)
        assert ours.differs(stock) == []


def test_what_is_shown_already_costs_nothing() -> None:
    cells = Cells(WIDTH, 1)
    update = _update([[("12:00:01", Style.parse("bold red")), (" 日 ok", Style())]])
    assert cells.lead_to(update, ColorSystem.TRUECOLOR)
    assert cells.lead_to(update, ColorSystem.TRUECOLOR) == ""


def test_a_clock_that_ticks_costs_a_digit() -> None:
    cells = Cells(WIDTH, 1)
    cells.lead_to(_update([[("12:00:01", STYLES[1])]]), ColorSystem.TRUECOLOR)
    ticked = cells.lead_to(_update([[("12:00:02", STYLES[1])]]), ColorSystem.TRUECOLOR)
    assert ticked == "\x1b[1;9H\x1b[1m2\x1b[m"


def test_a_line_with_letters_of_doubtful_width_is_written_whole() -> None:
    cells = Cells(WIDTH, 1)
    cells.lead_to(_update([[("👩‍💻 epoch 1", Style())]]), ColorSystem.TRUECOLOR)
    again = cells.lead_to(_update([[("👩‍💻 epoch 2", Style())]]), ColorSystem.TRUECOLOR)
    assert "👩‍💻" in again
    assert "epoch 2" in again


async def test_no_cursor_blinks_in_any_field(cockpit: Callable[..., CockpitApp]) -> None:
    app = cockpit()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("ctrl+p")
        await pilot.pause()
        assert isinstance(app.focused, Input)
        assert app.focused.cursor_blink is False
        await pilot.press("escape", "slash")
        await pilot.pause()
        assert isinstance(app.focused, Input)
        assert app.focused.cursor_blink is False
