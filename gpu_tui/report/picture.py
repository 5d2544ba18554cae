"""Masks the picture of a hand-over: every text in it, also one that changes of style cut into pieces."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len

from gpu_tui.core.mask import masked
from gpu_tui.report.svg import TEXT
from gpu_tui.state.views import FleetView

_LINES = frozenset("│┃║▏")  # vertical borders of panes
_Y = re.compile(r'\by="([\d.]+)"')


def masked_view(view: FleetView, mask: Callable[[str], str]) -> FleetView:
    """The view with every text masked, before a narrow pane cuts or wraps it; logs are left out.

    Names of instances stay, because they lead from one part of a view to another.
    """
    names = {one.name for one in view.instances}

    def hidden(text: str) -> str:
        return text if text in names else mask(text)

    bare = replace(
        view,
        instances=tuple(replace(one, logs=()) for one in view.instances),
        notes=(),
        unmet=frozenset(),
    )
    return masked(bare, hidden)


def masked_svg(svg: str, mask: Callable[[str], str]) -> str:
    """The SVG with the text of every row masked, also one that changes of style cut into pieces.

    Each pane's part of a row is masked by itself. A replacement is as wide as the text that it replaces.
    """
    rows: dict[str, list[_Piece]] = {}
    for found in TEXT.finditer(svg):
        text = html.unescape(found[6])
        if not (width := cell_len(text)):  # the line end that Rich draws
            continue
        step = float(found[4]) / width
        y = _Y.search(found[3])
        place = round(float(found[2]) / step)
        rows.setdefault(y[1] if y else "", []).append(_Piece(found.span(6), place, text))
    changes: list[tuple[tuple[int, int], str]] = []
    for pieces in rows.values():
        cells = [" "] * max(one.place + cell_len(one.text) for one in pieces)
        for one in pieces:
            cells[one.place : one.place + cell_len(one.text)] = _cells_of(one.text)
        hidden = _masked_row(cells, mask)
        for one in pieces:
            part = slice(one.place, one.place + cell_len(one.text))
            if hidden[part] != cells[part]:
                changes.append((one.span, html.escape("".join(hidden[part]))))
    for (start, end), text in sorted(changes, reverse=True):
        svg = svg[:start] + text + svg[end:]
    return svg


@dataclass(frozen=True, slots=True)
class _Piece:
    """One text of a picture: the span of its content in the SVG, and the column where it begins."""

    span: tuple[int, int]
    place: int
    text: str


def _cells_of(text: str) -> list[str]:
    """One character for each cell; after a wide character an empty string."""
    cells: list[str] = []
    for sign in text:
        width = cell_len(sign)
        if width:
            cells += [sign, *[""] * (width - 1)]
        elif cells:
            cells[-1] += sign
    return cells


def _masked_row(cells: Sequence[str], mask: Callable[[str], str]) -> list[str]:
    row: list[str] = []
    part: list[str] = []
    for cell in (*cells, None):
        if cell is not None and cell not in _LINES:
            part.append(cell)
            continue
        text = "".join(part)
        hidden = mask(text)
        if hidden != text:
            new = _cells_of(hidden)[: len(part)]
            part = new + [" "] * (len(part) - len(new))
        row += part if cell is None else [*part, cell]
        part = []
    return row
