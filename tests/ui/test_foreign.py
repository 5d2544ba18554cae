"""What a box coloured can be read in every theme at every depth, and hides nothing."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from palettes import worst
from rich.color import Color
from rich.style import Style

from gpu_tui.core.findings import Severity
from gpu_tui.core.logs import LogLine, LogSource, Mark, Span
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.depth import Depth
from gpu_tui.ui.foreign import legible
from gpu_tui.ui.text.logs import MOST_INKS, log_row
from gpu_tui.ui.theme import CockpitTheme
from gpu_tui.ui.theme_file import load_theme
from gpu_tui.ui.widgets.logview import LogView
from screenshots.scenes import sweep

PLAIN = Mark("benign", Severity.NONE, alarm=False)
THEMES = Path(__file__).parents[2] / "themes"
NAMES = ("amber", "blue-orange", "contrast", "night", "day")
COLOURS = (
    "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white", "bright_black",
    "bright_yellow", "bright_white", "#0a0a0c", "#fbfaf7", "color(16)", "color(231)", "color(244)",
)  # fmt: skip
WRITTEN = (
    *COLOURS,
    *(f"bold {colour}" for colour in COLOURS),
    *(f"dim {colour}" for colour in COLOURS),
    *(f"{one} on {other}" for one, other in product(COLOURS, COLOURS)),
    "dim", "reverse", "on yellow", "on black", "dim on white",
)  # fmt: skip


def inks(theme: CockpitTheme) -> tuple[Color, Color]:
    return theme.styles["mark-none"].color or theme.base["foreground"], theme.base["background"]


@pytest.mark.parametrize("depth", [Depth.FULL, Depth.MANY, Depth.FEW])
@pytest.mark.parametrize("name", NAMES)
def test_every_colour_of_a_box_stands_out(name: str, depth: Depth) -> None:
    theme = load_theme(THEMES / f"{name}.yaml").at(depth)
    ink, paper = inks(theme)
    poor = []
    for written in WRITTEN:
        style = legible(written, ink, paper, depth)
        assert not style.dim
        found = worst(style, style.color or ink, style.bgcolor or paper, depth)
        if found < 3:
            poor.append(f"{written}: {found:.1f}:1")
    assert poor == []


def test_what_can_be_read_keeps_its_colour_and_what_cannot_its_hue() -> None:
    ink, paper = Color.parse("#cfd9e4"), Color.parse("#0e141b")
    assert legible("bold #ff8800", ink, paper, Depth.FULL) == Style.parse("bold #ff8800")
    assert legible("black on yellow", ink, paper, Depth.FULL).bgcolor == Color.parse("#cdcd00")
    blue = legible("blue", ink, paper, Depth.FULL).color
    assert blue is not None
    red, _, other = blue.get_truecolor()
    assert other > red + 60


def test_without_colours_only_attributes_are_left() -> None:
    ink, paper = Color.parse("#ffffff"), Color.parse("#000000")
    assert legible("bold red on black", ink, paper, Depth.NONE) == Style(bold=True)
    assert legible("underline reverse red", ink, paper, Depth.FEW).underline is None


@pytest.mark.parametrize("theme", NAMES)
async def test_no_line_of_a_log_is_hidden_on_screen(
    theme: str, cockpit: Callable[..., CockpitApp]
) -> None:
    hidden = "\x1b[30mnight\x1b[m \x1b[97mday\x1b[m \x1b[31;41mboth\x1b[m \x1b[38;5;16mcube\x1b[m"
    store = sweep()
    app = cockpit(store, theme=theme)
    async with app.run_test(size=(160, 46)) as pilot:
        view = app.screen.query_one(LogView)
        tail = view.document.tail
        assert isinstance(next(iter(store.fleet.instances[0].logs)).source, LogSource)
        tail.extend(LogReader().feed(f"{hidden}\n".encode()))
        view.look_at(view.document)
        await pilot.pause()
        seen = {}
        for y in range(view.size.height):
            for part in view.render_line(y):
                if part.style is not None and part.style.color is not None:
                    seen[part.text.strip()] = part.style
        for word in ("night", "day", "both", "cube"):
            ink, paper = seen[word].color, seen[word].bgcolor or app.worn.base["background"]
            assert ink is not None
            assert worst(seen[word], ink, paper, Depth.FULL) >= 3, word


def test_a_line_of_which_each_letter_has_its_own_colour_holds_up_nobody() -> None:
    spans = tuple(Span(at, at + 1, f"#{at:06x} on #{4096 - at:06x}") for at in range(4_096))
    entry = LogLine("x" * 4_096, PLAIN, spans=spans)
    asked: list[str] = []

    def ink(written: str) -> Style:
        asked.append(written)
        return Style(bold=True)

    for first, shift, part in ((0, 0, None), (4_000, 4_000, None), (2_000, 0, (2_000, 2_100))):
        asked.clear()
        row = log_row(0, entry, inks=ink, shift=shift, part=part)
        assert row.plain.endswith("xxx")
        assert len(asked) == MOST_INKS
        assert asked[0] == spans[first].style


def test_a_colour_that_comes_again_is_no_new_one() -> None:
    spans = tuple(Span(at, at + 1, ("red", "blue")[at % 2]) for at in range(200))
    row = log_row(0, LogLine("x" * 200, PLAIN, spans=spans))
    assert sum(str(span.style) in ("red", "blue") for span in row.spans) == 200
