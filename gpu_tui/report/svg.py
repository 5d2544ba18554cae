"""The SVG of a screen as Textual exports it, made smaller and safe for other converters."""

from __future__ import annotations

import html
import re

from rich.cells import cell_len

TOUCHING = 0.2  # pixels between two rectangles of a row that are one

# One text of an exported screen. The groups: head, x, attributes, textLength, attributes, content, end.
TEXT = re.compile(
    r'(<text [^>]*?)x="([\d.]+)"([^>]*?) textLength="([\d.]+)"([^>]*>)([^<]*)(</text>)'
)
_CLIPS = re.compile(
    r' clip-path="url\(#[^)]*-line-\d+\)"|<clipPath id="[^"]*-line-\d+">.*?</clipPath>\s*',
    re.DOTALL,
)
_BACKGROUNDS = re.compile(r"(?:<rect [^>]*/>){2,}")
_BACKGROUND = re.compile(
    r'<rect fill="([^"]*)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"([^>]*)/>'
)


def plain_svg(svg: str) -> str:
    """The SVG with its spaces kept and without web fonts, which converters cannot load.

    It is a third of the size: clip paths at the ends of lines are dropped, and touching backgrounds are joined.
    """
    svg = svg.replace("&#160;", " ").replace("<text ", '<text xml:space="preserve" ')
    svg = re.sub(r"@font-face\s*\{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"terminal-(\d+)-", r"t\1-", _CLIPS.sub("", svg))
    return TEXT.sub(_measured, _BACKGROUNDS.sub(_joined, svg))


def _measured(found: re.Match[str]) -> str:
    """A text as long as its cells: Rich counts each character as one cell, which squeezes wide ones."""
    head, x, middle, length, tail, content, end = found.groups()
    text = html.unescape(content)
    if cell_len(text) == len(text):
        return found[0]
    wanted = float(length) / len(text) * cell_len(text)
    return f'{head}x="{x}"{middle} textLength="{wanted:.5g}"{tail}{content}{end}'


def _joined(found: re.Match[str]) -> str:
    """Rectangles that touch in a row and have one colour, as one."""
    rows: list[list[str]] = []
    for one in _BACKGROUND.finditer(found[0]):
        fill, x, y, width, *_ = rect = list(one.groups())
        last = rows[-1] if rows else None
        alike = last is not None and (last[0], last[2]) == (fill, y)
        if last and alike and abs(float(last[1]) + float(last[3]) - float(x)) < TOUCHING:
            last[3] = f"{float(x) + float(width) - float(last[1]):.5g}"
            continue
        rows.append(rect)
    return "".join(
        f'<rect fill="{fill}" x="{x}" y="{y}" width="{width}" height="{height}"{more}/>'
        for fill, x, y, width, height, more in rows
    )
