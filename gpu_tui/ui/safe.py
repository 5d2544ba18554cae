"""The last gate before the terminal: whatever a box managed to say, only printable text leaves.

Text is sanitised when it arrives; this is the second layer, at the one place that all output passes.
"""

from __future__ import annotations

from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

REPLACEMENT = "\ufffd"


def safe(text: str) -> str:
    """`text` with every control, bidi, zero-width and surrogate character made visible; same length."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else REPLACEMENT for char in text)


@lru_cache(4096)
def plain_style(style: Style) -> Style:
    """`style` without hyperlinks and without actions on a click; where there is neither, itself."""
    if style.link or any(str(key).startswith("@") for key in style.meta):
        return style.clear_meta_and_links()
    return style


class LastFilter(LineFilter):
    """Rewrites every line just before it is drawn."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same line, with nothing in it that a terminal would obey."""
        return [
            Segment(safe(text), plain_style(style) if style else style)
            for text, style, control in segments
            if not control
        ]
