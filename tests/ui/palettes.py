"""What terminals really draw: the sixteen colours of xterm and of the Linux console, and WCAG contrast."""

from __future__ import annotations

from rich.color import Color, ColorSystem
from rich.style import Style

from gpu_tui.ui.depth import SYSTEMS, Depth

Rgb = tuple[int, int, int]


def _rgb(*written: str) -> tuple[Rgb, ...]:
    return tuple((int(one[:2], 16), int(one[2:4], 16), int(one[4:], 16)) for one in written)


XTERM = _rgb(
    "000000", "cd0000", "00cd00", "cdcd00", "0000ee", "cd00cd", "00cdcd", "e5e5e5",
    "7f7f7f", "ff0000", "00ff00", "ffff00", "5c5cff", "ff00ff", "00ffff", "ffffff",
)  # fmt: skip
LINUX = _rgb(
    "000000", "aa0000", "00aa00", "aa5500", "0000aa", "aa00aa", "00aaaa", "aaaaaa",
    "555555", "ff5555", "55ff55", "ffff55", "5555ff", "ff55ff", "55ffff", "ffffff",
)  # fmt: skip


def contrast(one: Rgb, other: Rgb) -> float:
    """https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio"""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(rgb: Rgb) -> float:
    parts = [part / 255 for part in rgb]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def worst(style: Style, ink: Color, paper: Color, depth: Depth) -> float:
    """The least contrast of `ink` on `paper` that any terminal of that depth may draw.

    With sixteen colours bold text of the first eight is drawn in the brighter eight, or is not: that is
    the terminal's choice. The Linux console has the first eight backgrounds only.
    """
    if depth is Depth.NONE:
        return 21.0  # the terminal's own two colours
    system = SYSTEMS[depth]
    if system is not ColorSystem.STANDARD:
        return contrast(_sent(ink, system), _sent(paper, system))
    front, back = _number(ink), _number(paper)
    fronts = {front, front + 8} if style.bold and front < 8 else {front}
    found = [contrast(XTERM[one], XTERM[back]) for one in fronts]
    found += [contrast(LINUX[one], LINUX[back % 8]) for one in fronts]
    return min(found)


def _sent(colour: Color, system: ColorSystem) -> Rgb:
    sent = colour.downgrade(system).get_truecolor()
    return (sent.red, sent.green, sent.blue)


def _number(colour: Color) -> int:
    number = colour.downgrade(ColorSystem.STANDARD).number
    assert number is not None
    return number
