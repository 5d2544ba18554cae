"""Every scene at every size: nothing breaks, nothing is told by colour alone, and the text is the golden one."""

from __future__ import annotations

import ast
import asyncio
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from palettes import contrast, worst
from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.color import Color as TextualColor

from gpu_tui import ui
from gpu_tui.core.levels import Level
from gpu_tui.core.sample import Freshness
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.depth import Depth
from gpu_tui.ui.glyphs import BRAILLE, TABLES, Glyphs, Redrawn, Uncoloured, glyphs_of
from gpu_tui.ui.panes.pane import Pane
from gpu_tui.ui.plot import render_plot
from gpu_tui.ui.text.marks import BLOCKS, gauge
from gpu_tui.ui.text.signs import SEVERITY_GLYPH, VERDICTS
from gpu_tui.ui.text.sweep import STATES
from gpu_tui.ui.theme import CockpitTheme
from gpu_tui.ui.widgets.rows import Rows
from screenshots.render import VIEWS
from screenshots.scenes import SCENES

Make = Callable[..., CockpitApp]
Read = Callable[[CockpitApp], str]
Golden = Callable[[str, str], None]

KEPT = (
    "clocks", "vitals", "queue", "findings", "themes", "columns",
    "connecting", "unreachable", "off", "no-gpu", "empty",
)  # fmt: skip
SIZES = ((200, 60), (160, 45), (140, 40), (100, 30), (80, 24), (60, 20), (40, 12), (1, 1), (80, 24))


@pytest.mark.parametrize("name", KEPT)
async def test_a_scene_is_the_golden_one(
    name: str, cockpit: Make, text_of: Read, golden: Golden
) -> None:
    scene, steps = VIEWS[name]
    app = cockpit(scene())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await steps(pilot, app)
        await pilot.pause()
        golden(f"scene-{name}", text_of(app))


@pytest.mark.parametrize("name", ["sweep", "empty", "crowd"])
async def test_the_selection_and_the_place_survive_every_size(
    name: str, cockpit: Make, text_of: Read
) -> None:
    app = cockpit(SCENES[name]())
    async with app.run_test(size=SIZES[0]) as pilot:
        await pilot.pause()
        await pilot.press("down", "down")
        await pilot.pause()
        chosen = app.screen.query_one("#instance-rows", Rows).key
        for width, height in SIZES:
            await pilot.resize_terminal(width, height)
            await pilot.pause()
            async with asyncio.timeout(60):
                while app.screen.size != (width, height):
                    await pilot.pause()
            lines = text_of(app).split("\n")
            assert max(cell_len(line) for line in lines) <= width
            assert len(lines) <= height
        rows = app.screen.query_one("#instance-rows", Rows)
        assert rows.key == chosen
        if chosen is not None:
            assert any(text.plain for text in rows.lines)


EMPTY = ("connecting", "unreachable", "off", "no-gpu", "empty")


@pytest.mark.parametrize("name", EMPTY)
async def test_a_pane_without_content_says_why(name: str, cockpit: Make) -> None:
    app = cockpit(SCENES[name]())
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.pause()
        for pane in app.screen.query(Pane):
            said = "\n".join(
                "".join(part.text for part in strip)
                for strip in app.screen._compositor.render_strips()
            )
            area = pane.content_region
            lines = said.split("\n")[area.y : area.bottom]
            words = " ".join(line[area.x : area.right] for line in lines).split()
            assert len([word for word in words if word.isalpha()]) >= 3, (pane.NAME, words)


def test_how_far_a_number_may_be_believed_is_told_without_any_colour() -> None:
    told = {
        gauge(0.96, Level.OK, Freshness.FRESH).plain,
        gauge(0.96, Level.WATCH, Freshness.FRESH).plain,
        gauge(0.96, Level.ACT, Freshness.FRESH).plain,
        gauge(0.96, Level.ACT, Freshness.STALE).plain,
        gauge(None, Level.NONE, Freshness.UNKNOWN).plain,
        gauge(None, Level.NONE, Freshness.ABSENT).plain,
    }
    assert told == {" 96%", "△96%", "▲96%", "~96%", "   ?", "   –"}
    assert gauge(1.0, Level.ACT, Freshness.FRESH).plain == "▲100"
    assert gauge(1.0, Level.ACT, Freshness.STALE).plain == "~100"
    assert gauge(1.0, Level.OK, Freshness.FRESH).plain == "100%"


@pytest.mark.parametrize("glyphs", [Glyphs.ASCII, Glyphs.CONSOLE])
def test_signs_that_mean_different_things_stay_different(glyphs: Glyphs) -> None:
    redrawn = Redrawn(glyphs)
    verdicts = [glyph for glyph, *_ in VERDICTS.values()]
    assert len({redrawn.text(glyph) for glyph in verdicts}) == len(verdicts)
    severities = [glyph for glyph in SEVERITY_GLYPH.values() if glyph.strip()]
    assert len({redrawn.text(glyph) for glyph in severities}) == len(severities)
    assert len({redrawn.text(sign) for sign in ("~", "?", "–", "△", "▲", "●")}) == 6
    states = {glyph: word for glyph, word, _ in STATES.values()}
    assert len({redrawn.text(glyph) for glyph in states}) == len(states)
    if glyphs is Glyphs.ASCII:
        assert redrawn.text(BLOCKS).isascii()
        assert len(set(redrawn.text(BLOCKS))) == len(BLOCKS)
    for sign, other in TABLES[glyphs].items():
        assert cell_len(other) == cell_len(sign), sign


@pytest.mark.parametrize("glyphs", [Glyphs.ASCII, Glyphs.CONSOLE])
def test_a_bound_is_no_arrow_where_signs_are_few(glyphs: Glyphs) -> None:
    redrawn = Redrawn(glyphs)
    told = "spent ≥12.40 → 13:57, ≤3"
    assert redrawn.text(told) == "spent>=12.40 > 13:57,<=3"
    parts = [Segment("spent "), Segment("≥12.40 → 13:57,"), Segment(" "), Segment("≤3")]
    shown = "".join(part.text for part in redrawn.apply(parts, TextualColor(0, 0, 0)))
    assert shown == redrawn.text(told)
    assert redrawn.text("15 of ≥20 done   6 running") == "15 of >=20 done  6 running"
    assert redrawn.text("spent ≥$5 + ≥$1   to") == "spent >=$5 + >=$1 to"
    assert redrawn.text("ends  ≥2h   ?") == "ends >=2h   ?"


def test_every_sign_of_ours_has_a_form_for_terminals_that_lack_it() -> None:
    """And so have the blocks of the progress bars that people's programs draw."""
    ours = set("".join(strings_of(Path(ui.__file__).parent))) | set("▏▎▍▌▋▊▉█✔✘⚠•")
    signs = {
        sign for sign in ours if not (sign.isascii() or sign.isalnum()) and cell_len(sign) == 1
    }
    signs -= {"\N{REPLACEMENT CHARACTER}", *map(chr, BRAILLE)}
    for glyphs in (Glyphs.ASCII, Glyphs.CONSOLE):
        assert {sign for sign in signs if "?" in Redrawn(glyphs).text(sign)} == set()


def strings_of(room: Path) -> Iterator[str]:
    """What its modules may put on a screen: their strings, but for scenes' and docstrings."""
    for path in room.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        said = [node for node in ast.walk(tree) if isinstance(node, ast.Expr)]
        beside = {id(node.value) for node in said}
        if "scene" not in path.name:
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and id(node) not in beside:
                    yield str(node.value)


def test_a_chart_is_drawn_in_ascii_too() -> None:
    waves = [(float(at), 50.0 + 45 * math.sin(at / 3)) for at in range(200)]
    for glyphs in (Glyphs.ASCII, Glyphs.CONSOLE):
        assert "?" not in Redrawn(glyphs).text(render_plot(waves, 60, 12, top=100.0).plain)


@pytest.mark.parametrize("name", ["sweep", "crowd"])
async def test_ascii_draws_the_same_screen_in_ascii(
    name: str, cockpit: Make, text_of: Read
) -> None:
    store = SCENES[name]
    plain, ascii_only = cockpit(store()), cockpit(store(), filters=(Redrawn(Glyphs.ASCII),))
    shown = []
    for app in (plain, ascii_only):
        async with app.run_test(size=(140, 40)) as pilot:
            await pilot.pause()
            shown.append(painted(app))
    assert all(line.isascii() for line in shown[1])
    assert [cell_len(line) for line in shown[0]] == [cell_len(line) for line in shown[1]]


def segments(app: CockpitApp) -> list[list[Segment]]:
    """What goes to the terminal: every line behind the last filter."""
    ground = app.screen.styles.background
    lines = []
    for strip in app.screen._compositor.render_strips():
        made = list(strip)
        for one in app.get_line_filters():
            made = one.apply(made, ground)
        lines.append(made)
    return lines


def painted(app: CockpitApp) -> list[str]:
    return ["".join(part.text for part in line) for line in segments(app)]


PLACES: dict[str, tuple[str, ...]] = {
    "cockpit": (), "filter": ("slash", "a"), "palette": ("ctrl+p",), "findings": ("f",), "help": ("question_mark",),
}  # fmt: skip


@pytest.mark.parametrize("depth", [Depth.FULL, Depth.MANY, Depth.FEW])
async def test_every_letter_on_screen_is_readable(
    depth: Depth, themes: tuple[CockpitTheme, ...], cockpit: Make
) -> None:
    """What really leaves, also of the parts that are not ours: fields, the palette, toasts."""
    poor: set[str] = set()
    app = cockpit(themes=[one.at(depth) for one in themes])
    async with app.run_test(size=(140, 40), notifications=True) as pilot:
        await pilot.pause()
        app.notify("a word", timeout=600)
        for place, keys in PLACES.items():
            await pilot.press(*keys)
            for theme in themes:
                app.theme = theme.name
                await pilot.pause()
                poor |= {f"{theme.name} {place}: {one}" for one in faint_letters(app, depth)}
            await pilot.press("escape", "escape")
    assert sorted(poor) == []


def faint_letters(app: CockpitApp, depth: Depth) -> set[str]:
    found = set()
    ink, paper = Color.parse("white"), Color.parse("black")
    for line in segments(app):
        for text, style, _ in line:
            if style is None or not any(char.isalnum() for char in text):
                continue
            front, back = style.color or ink, style.bgcolor or paper
            if style.reverse:
                front, back = back, front
            if (least := worst(style, front, back, depth)) < 3.0:
                found.add(f"{text.strip()!r} {front.name} on {back.name} {least:.1f}:1")
    return found


async def test_without_colours_none_is_sent(
    cockpit: Make, themes: tuple[CockpitTheme, ...]
) -> None:
    worn = [one.at(Depth.NONE) for one in themes]
    app = cockpit(themes=worn, filters=(Uncoloured(),))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        styles = [style for line in segments(app) for _, style, _ in line if style]
        assert all(style.color is None and style.bgcolor is None for style in styles)
        inverted = [
            text for line in segments(app) for text, style, _ in line if style and style.reverse
        ]
        assert any("autodl-1" in text for text in inverted)  # the cursor
        assert any("gpu-tui" in text for text in inverted)
        assert Style(bold=True) in styles


@pytest.mark.parametrize(
    ("env", "encoding", "glyphs"),
    [
        ({"LANG": "en_US.UTF-8"}, "utf-8", Glyphs.ALL),
        ({"LANG": "C"}, "utf-8", Glyphs.ASCII),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, "utf-8", Glyphs.ASCII),
        ({"LC_ALL": "C.UTF-8", "LANG": "C"}, "utf-8", Glyphs.ALL),
        ({"LANG": "de_DE.ISO-8859-1"}, "utf-8", Glyphs.ASCII),
        ({}, "utf-8", Glyphs.ALL),
        ({}, "ascii", Glyphs.ASCII),
        ({"LANG": "zh_CN.utf8", "TERM": "linux"}, "UTF-8", Glyphs.CONSOLE),
    ],
)
def test_the_signs_follow_the_locale(env: dict[str, str], encoding: str, glyphs: Glyphs) -> None:
    assert glyphs_of(env, encoding) is glyphs


def test_contrast_is_that_of_wcag() -> None:
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21.0)


async def test_the_palette_has_no_sign_that_ascii_lacks(cockpit: Make, text_of: Read) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+p")
        await pilot.pause()
        drawn = Redrawn(Glyphs.ASCII).text(text_of(app))
        assert "Search for commands" in drawn
        assert "??" not in drawn
