"""The sketch against the first frame of the cockpit: it says nothing that does not stand there as well."""

from __future__ import annotations

from collections.abc import Callable

import pyte
import pytest
from rich.style import Style

from gpu_tui.core.fleet import Fleet, Instance, SshAccess
from gpu_tui.core.speech import Catalogue, say, speak
from gpu_tui.language import speak_in
from gpu_tui.resources import load_profiles, themes_dir
from gpu_tui.state.store import Store
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.depth import SYSTEMS, Depth
from gpu_tui.ui.layout import PANES, Preset
from gpu_tui.ui.panes.clocks import ClocksPane
from gpu_tui.ui.panes.instances import InstancesPane
from gpu_tui.ui.panes.log import LogPane
from gpu_tui.ui.panes.queue import QueuePane
from gpu_tui.ui.panes.vitals import VitalsPane
from gpu_tui.ui.sketch import TITLES, pens_of, sketch
from gpu_tui.ui.theme_file import load_themes

SIZES = [
    (200, 60),
    (160, 45),
    (140, 40),
    (139, 40),
    (120, 30),
    (100, 30),
    (80, 24),
    (60, 20),
    (50, 12),
    (20, 6),
]


def fleet(names: list[str], sweep: str | None = "night run") -> Fleet:
    return Fleet(sweep, tuple(Instance(name, SshAccess(name)) for name in names))


async def live(
    cockpit: Callable[..., CockpitApp], of: Fleet, size: tuple[int, int], **options: object
) -> list[list[str]]:
    """The cells of the cockpit before any box was asked."""
    app = cockpit(Store(of, load_profiles()), **options)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        strips = app.screen._compositor.render_strips()
        return cells(["".join(part.text for part in strip) for strip in strips], size)


def cells(lines: list[str], size: tuple[int, int]) -> list[list[str]]:
    """What a terminal shows of them."""
    screen = pyte.Screen(*size)
    stream = pyte.Stream(screen)
    for row, line in enumerate(lines, 1):
        stream.feed(f"\x1b[{row};1H{line}")
    return [[screen.buffer[y][x].data for x in range(size[0])] for y in range(size[1])]


def strangers(lines: list[str], there: list[list[str]], size: tuple[int, int]) -> list[object]:
    """Signs of the sketch that do not stand in the frame; a title may be longer there, over the line it is on."""
    return [
        (x, y, sign, there[y][x])
        for y, row in enumerate(cells(lines, size) if lines else [])
        for x, sign in enumerate(row)
        if sign not in (" ", there[y][x]) and not (sign == "─" and "─" in there[y])
    ]


@pytest.mark.parametrize(
    ("size", "preset"),
    [
        *((size, Preset.BALANCED) for size in SIZES),
        *((size, one) for one in Preset for size in SIZES[1:8:5] if one is not Preset.BALANCED),
    ],
    ids=str,
)
async def test_every_sign_of_it_stands_in_the_first_frame(
    cockpit: Callable[..., CockpitApp], size: tuple[int, int], preset: Preset
) -> None:
    of = fleet([f"box-{n}" for n in range(9, 0, -1)])
    there = await live(cockpit, of, size, preset=preset)
    lines = sketch(of.names, of.sweep, *size, preset, {})
    assert not strangers(lines, there, size)
    assert bool(lines) is (size != (20, 6)), "nothing where no pane has room"


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["a"],
        ["一台很远很远的机器" * 3, "x" * 60],
        [f"b{n:03}" for n in range(300)],
        [f"sweep-a100-node-{n:04}" for n in range(300)],
        [f"prod-sweep-{n}-and-a-long-end" for n in range(9)],
    ],
)
async def test_it_holds_for_any_fleet(cockpit: Callable[..., CockpitApp], names: list[str]) -> None:
    size = (160, 45)
    of = fleet(names, None)
    there = await live(cockpit, of, size)
    lines = sketch(of.names, None, *size, Preset.BALANCED, {})
    assert not strangers(lines, there, size)


async def test_it_speaks_the_language_of_the_screen(cockpit: Callable[..., CockpitApp]) -> None:
    speak_in("zh")
    try:
        of = fleet(["box-1"])
        there = await live(cockpit, of, (160, 45))
        lines = sketch(of.names, of.sweep, 160, 45, Preset.BALANCED, {})
        assert say("Instances") in lines[1]
        assert say("Instances") != "Instances"
        assert not strangers(lines, there, (160, 45))
    finally:
        speak(Catalogue())


def test_the_panes_are_called_as_they_are() -> None:
    panes = (InstancesPane, ClocksPane, VitalsPane, QueuePane, LogPane)
    assert [(pane.NAME, pane.TITLE) for pane in panes] == list(zip(PANES, TITLES, strict=True))


@pytest.mark.parametrize("depth", [Depth.FULL, Depth.MANY])
def test_it_wears_the_theme(depth: Depth) -> None:
    """Each bundled theme: frames and titles have the colours that the cockpit draws them in."""
    for theme in load_themes(themes_dir()):
        pens = pens_of((themes_dir() / f"{theme.name}.yaml").read_text(), depth)
        assert pens, theme.name
        worn = theme.at(depth)
        system = {Depth.FULL: "38;2;", Depth.MANY: "38;5;"}[depth]
        assert system in pens["border"]
        for name in ("border", "border-focus", "heading"):
            ground = Style(color=worn.base["foreground"], bgcolor=worn.base["background"])
            style = ground + worn.styles[name]
            style = Style(
                color=style.color, bgcolor=style.bgcolor, bold=style.bold
            )  # never drawn yet
            wanted = style.render("x", color_system=SYSTEMS[depth])
            assert wanted.startswith(f"{pens[name]}x"), (theme.name, name)


def test_no_colours_of_a_theme_that_needs_more_than_a_look() -> None:
    night = (themes_dir() / "night.yaml").read_text()
    for text, depth in (
        ("extends: night", Depth.FULL), ("", Depth.FULL), ("{", Depth.FULL), ("- 1", Depth.MANY),
        ("base: {background: no-colour}\nmeanings: {}", Depth.FULL),
        (night, Depth.FEW), (night, Depth.NONE),
    ):  # fmt: skip
        assert pens_of(text, depth) == {}
