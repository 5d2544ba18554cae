"""Colours that a box wrote into a log, as far as they can be read on the ground of the theme.

A box knows nothing of our ground: its yellow is made for a dark one, its black hides on it, and red on red
hides anywhere. A colour keeps its hue and moves towards our own ink until it stands out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from rich.color import Color, ColorSystem, ColorType, blend_rgb
from rich.color_triplet import ColorTriplet
from rich.palette import Palette
from rich.style import Style
from textual.app import App

from gpu_tui.ui.depth import LINUX, SYSTEMS, Depth, drawn
from gpu_tui.ui.theme import CockpitTheme

LEAST = 3.0  # to 1, as https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio counts it
STEPS = 5  # from the colour that was written to our ink
DIM = 0.4  # of the way to the ground


XTERM = Palette([
    (0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0),
    (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229),
    (127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0),
    (92, 92, 255), (255, 0, 255), (0, 255, 255), (255, 255, 255),
])  # fmt: skip
LINEAR = tuple(
    part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
    for part in (number / 255 for number in range(256))
)
BLACK, WHITE = Color.from_ansi(0), Color.from_ansi(15)


def inks_of(app: App[Any]) -> Callable[[str], Style | str]:
    """What draws a style that a box wrote, in the theme that this app wears."""
    theme = getattr(app, "worn", None)
    if not isinstance(theme, CockpitTheme):
        return str
    ink = theme.styles["mark-none"].color or theme.base["foreground"]
    paper, depth = theme.base["background"], theme.depth
    return lambda written: legible(written, ink, paper, depth)


@lru_cache(1024)
def legible(written: str, ink: Color, paper: Color, depth: Depth) -> Style:
    """The style that `written` names, on `paper` or a ground of its own, at 3:1 or more."""
    style = Style.parse(written)
    plain = Style(bold=style.bold, reverse=style.reverse, strike=style.strike)
    if depth is not Depth.FEW:  # whose Linux console draws these as colours
        plain += Style(italic=style.italic, underline=style.underline)
    if depth is Depth.NONE:
        return plain
    ground = style.bgcolor and _ground(style.bgcolor, depth)
    back = ground or paper
    ends = [ink] if ground is None else [BLACK, WHITE]
    front = style.color or ink
    if style.dim and depth is not Depth.FEW:
        front = Color.from_triplet(blend_rgb(_rgb(front), _rgb(back), DIM))
    for colour in _tries(front, ends, depth):
        if contrast(colour, back, depth, bold=bool(style.bold)) >= LEAST:
            return plain + Style(color=colour, bgcolor=ground)
    return plain + Style(color=drawn(ink, depth))  # a ground on which nothing stands out


def _tries(front: Color, ends: Sequence[Color], depth: Depth) -> Iterator[Color]:
    if depth is Depth.FEW:
        yield from (drawn(colour, depth) for colour in (front, *ends))
        return
    for step in range(STEPS + 1):
        for end in ends:
            mixed = blend_rgb(_rgb(front), _rgb(end), step / STEPS)
            yield drawn(Color.from_triplet(mixed), depth)


def _ground(colour: Color, depth: Depth) -> Color:
    if depth is Depth.FEW:  # of which the Linux console has eight
        number = drawn(colour, depth).downgrade(ColorSystem.STANDARD).number or 0
        return drawn(Color.from_ansi(number % 8), depth)
    return drawn(Color.from_triplet(_rgb(colour)), depth)


def contrast(front: Color, back: Color, depth: Depth, *, bold: bool = False) -> float:
    """Of two colours as `drawn`; with sixteen the least that xterm or the Linux console draws.

    Bold text of the first eight is drawn in the brighter eight, or is not: that is the terminal's choice.
    """
    if depth is not Depth.FEW:
        sent = (_rgb(colour.downgrade(SYSTEMS[depth])) for colour in (front, back))
        return _contrast(*sent)
    one, other = (
        front.downgrade(ColorSystem.STANDARD).number or 0,
        back.downgrade(ColorSystem.STANDARD).number or 0,
    )
    fronts = {one, one + 8} if bold and one < 8 else {one}
    pairs = [(palette[number], palette[other]) for palette in (XTERM, LINUX) for number in fronts]
    return min(_contrast(*pair) for pair in pairs)


def _rgb(colour: Color) -> ColorTriplet:
    if colour.type is ColorType.STANDARD and colour.number is not None:
        return XTERM[colour.number]
    return colour.get_truecolor()


def _contrast(one: ColorTriplet, other: ColorTriplet) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: ColorTriplet) -> float:
    red, green, blue = colour
    return 0.2126 * LINEAR[red] + 0.7152 * LINEAR[green] + 0.0722 * LINEAR[blue]
