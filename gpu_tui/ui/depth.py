"""How many colours a terminal has, and what a colour becomes there. Pure.

The sixteen are written as the exact values that rich knows them by, so that on the way out each becomes
the colour that was named and no other: a nearest match would turn a dark grey into black on black.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from rich.color import Color, ColorSystem, ColorType
from rich.color_triplet import ColorTriplet
from rich.palette import Palette
from rich.style import Style

CUBE = (0, 95, 135, 175, 215, 255)  # the steps of the colour cube of 256 colours

# The sixteen as the Linux console draws them, and as rich takes them to be.
LINUX = Palette([
    (0, 0, 0), (170, 0, 0), (0, 170, 0), (170, 85, 0),
    (0, 0, 170), (170, 0, 170), (0, 170, 170), (170, 170, 170),
    (85, 85, 85), (255, 85, 85), (85, 255, 85), (255, 255, 85),
    (85, 85, 255), (255, 85, 255), (85, 255, 255), (255, 255, 255),
])  # fmt: skip
# Terminals of more than 16 colours whose names do not say so; over ssh nothing else does.
MANY_TERMS = ("alacritty", "foot", "contour", "rio", "wezterm", "xterm-ghostty", "xterm-direct")
MONO_TERMS = ("vt100", "vt102", "vt220", "vt320", "vt420", "vt520", "xterm-mono", "linux-m")


class Depth(StrEnum):
    """How many colours there are."""

    FULL = "truecolor"
    MANY = "256"
    FEW = "16"
    NONE = "none"


SYSTEMS = {
    Depth.FULL: ColorSystem.TRUECOLOR,
    Depth.MANY: ColorSystem.EIGHT_BIT,
    Depth.FEW: ColorSystem.STANDARD,
    Depth.NONE: ColorSystem.STANDARD,
}
_NAMED = {"truecolor": Depth.FULL, "256": Depth.MANY, "standard": Depth.FEW, "windows": Depth.FEW}


def depth_of(env: Mapping[str, str]) -> Depth:
    """The depth of the terminal that `env` describes: https://no-color.org, $COLORTERM, then $TERM."""
    if "NO_COLOR" in env:
        return Depth.NONE
    if named := _NAMED.get(env.get("TEXTUAL_COLOR_SYSTEM", "").lower()):
        return named
    term = env.get("TERM", "").strip().lower()
    if env.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit"):
        return Depth.FULL
    if term.startswith(MONO_TERMS):
        return Depth.NONE
    if term.endswith(("-256color", "kitty")) or term.startswith(MANY_TERMS):
        return Depth.MANY
    return Depth.FEW


def fitted(style: Style, depth: Depth) -> Style:
    """`style` in the colours that `depth` has. Without colours a background becomes an inversion."""
    if depth is Depth.FULL:
        return style
    if depth is Depth.NONE:
        return Style(
            bold=style.bold, underline=style.underline, reverse=bool(style.bgcolor) or style.reverse
        )
    colours = Style.from_color(
        drawn(style.color, depth) if style.color else None,
        drawn(style.bgcolor, depth) if style.bgcolor else None,
    )
    return style.without_color + colours


def drawn(colour: Color, depth: Depth) -> Color:
    """`colour` as `depth` draws it, written as a value that the way out leaves as it is."""
    if depth is Depth.NONE:
        return colour
    if colour.type is ColorType.STANDARD and colour.number is not None:
        return Color.from_triplet(LINUX[colour.number])
    triplet = colour.get_truecolor()
    if depth is Depth.FULL:
        return Color.from_triplet(triplet)
    if depth is Depth.MANY:
        return Color.from_triplet(nearest(triplet))
    return Color.from_triplet(LINUX[LINUX.match(triplet)])


def nearest(colour: ColorTriplet) -> ColorTriplet:
    """The nearest of 256 colours: a corner of the cube or a grey, whichever is closer.

    rich's own choice turns the dark ground of a panel into a bright blue.
    """
    corner = ColorTriplet(*(min(CUBE, key=lambda step: abs(step - part)) for part in colour))
    grey = 8 + 10 * min(23, max(0, round((sum(colour) / 3 - 8) / 10)))
    return min((corner, ColorTriplet(grey, grey, grey)), key=lambda other: _distance(colour, other))


def _distance(one: ColorTriplet, other: ColorTriplet) -> float:
    return float(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)))
