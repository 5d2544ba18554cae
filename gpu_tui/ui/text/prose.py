"""Markdown as lines."""

from __future__ import annotations

import io

from rich.console import Console
from rich.text import Text

from gpu_tui.ui.safe import safe
from gpu_tui.ui.text.marks import line


def markdown(body: str, width: int) -> list[Text]:
    """Prose as lines; links stay text and nothing in it can act."""
    from rich.markdown import Markdown  # heavy: loaded with the first page

    clean = "\n".join(safe(row.expandtabs(4)) for row in body.splitlines())
    console = Console(width=max(20, width), file=io.StringIO(), color_system=None)
    made = Markdown(clean, hyperlinks=False, code_theme="bw")
    return [
        line(*(Text(segment.text, _style(segment.style)) for segment in row))
        for row in console.render_lines(made, pad=False)
    ]


def _style(style: object) -> str:
    bold = getattr(style, "bold", False)
    colour = getattr(style, "color", None)
    if bold or (colour is not None and colour.name == "magenta"):  # of a heading of any depth
        return "heading"
    return "accent" if colour is not None else "text"
