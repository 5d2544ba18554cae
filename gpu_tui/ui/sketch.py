"""The cockpit before anything is known: its frames, and the names of the boxes. Pure, and without textual.

It stands while the screen is still being loaded, in the places and colours that everything will have; nothing
is on it that the first frame of the cockpit does not say as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

import yaml
from rich.cells import cell_len
from rich.style import Style

from gpu_tui.core.plain import plain
from gpu_tui.core.speech import say
from gpu_tui.ui.depth import SYSTEMS, Depth, fitted
from gpu_tui.ui.layout import (
    FRAMED,
    PANES,
    Layout,
    Preset,
    grid_shares,
    instances_row,
    layout_for,
    panes_in,
)
from gpu_tui.ui.text.names import CUT, common, cut_name

TITLES = ("Instances", "Danger clocks", "Vitals", "Queue", "Log")
VITALS = {Preset.QUEUE: 8, Preset.VITALS: 13}  # of 20 parts of the width
NAME, NAME_MOST = 12, 18  # cells of the column of names
LONGEST = 200  # characters of a name that are looked at
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DEPTHS = {Depth.FULL: None, Depth.MANY: "256"}  # and what a theme changes for it

Pens = Mapping[
    str, str
]  # the sequence that sets the colours of a meaning; empty: the terminal's own


@dataclass(frozen=True, slots=True)
class Place:
    """Where a pane stands, in cells."""

    left: int
    top: int
    width: int
    height: int


def sketch(
    names: Sequence[str], sweep: str | None, width: int, height: int, preset: Preset, pens: Pens
) -> list[str]:
    """The lines of a screen of that size; none where no pane has room."""
    layout = layout_for(width, height)
    if layout is Layout.NONE:
        return []
    board = _Board(width, height)
    board.fill(0, "panel")
    board.fill(height - 1, "panel")
    board.write(0, 0, " gpu-tui ", "brand")
    title = plain(sweep or say("no sweep"), width)
    board.write(10, 0, title, "strong on panel")
    if names:
        state = f"◔ {len(names)} {say('connecting')}"
        board.write(12 + cell_len(title), 0, state, "muted on panel")
    for pane, place in places(layout, len(names), width, height, preset).items():
        number = PANES.index(pane)
        more = f" · {len(names)}" if pane == "instances" and names else ""
        board.frame(place, f"{number + 1} {say(TITLES[number])}{more}", held=pane == "instances")
        if pane == "instances" and names:
            edge = 2 if width >= FRAMED else 0
            x, y = place.left + edge + 2, place.top + 1
            board.write(x, y, say("instance"), "faint")
            room = place.height - (3 if width >= FRAMED else 2)
            called = [plain(name, LONGEST) for name in names]
            for at, name in enumerate(sorted(called)[:room], 1):
                board.write(x, y + at, _cut(name, called), "strong")
    lines = [board.line(y, pens) for y in range(height)]
    if pens:
        lines[0] = f"{pens['ground']}\x1b[2J{lines[0]}"  # the ground of all that is left out
    return lines


def places(
    layout: Layout, count: int, width: int, height: int, preset: Preset
) -> Mapping[str, Place]:
    """Where each pane stands that is in sight: what cockpit.tcss says, between the lines above and below."""
    shown = panes_in(layout, "instances", preset.pane, zoomed=False)
    room = height - 2
    if layout is Layout.WIDE:
        rows = _edges(room, grid_shares(preset))
        if first := instances_row(room, count or 2, preset):
            below = _edges(room - first, grid_shares(preset)[1:])
            rows = (0, *(first + edge for edge in below))
        upper, lower = _edges(width, (13, 7)), _edges(width, (v := VITALS.get(preset, 11), 20 - v))
        sides = {
            "instances": (upper, 0, 0), "clocks": (upper, 1, 0),
            "vitals": (lower, 0, 1), "queue": (lower, 1, 1), "log": ((0, width), 0, 2),
        }  # fmt: skip
        return {
            pane: Place(
                edges[column], 1 + rows[row],
                edges[column + 1] - edges[column], rows[row + 1] - rows[row],
            )
            for pane, (edges, column, row) in sides.items()
        }  # fmt: skip
    if len(shown) == 1:
        return {shown[0]: Place(0, 1, width, room)}
    most = max(5, int(room * preset.share))
    first = min((count or 2) + (3 if width >= FRAMED else 2), most)
    return {
        shown[0]: Place(0, 1, width, first),
        shown[1]: Place(0, 1 + first, width, room - first),
    }


def pens_of(theme: str, depth: Depth) -> Pens:
    """The pens of a theme file's text at a depth of colours; none where that takes more than a look at it."""
    try:
        found = yaml.load(theme, Loader=LOADER)
        if depth not in DEPTHS or "extends" in found:
            return {}
        changed = found.get(DEPTHS[depth] or "", {})
        base = found["base"] | changed.get("base", {})
        styles = found["meanings"] | changed.get("meanings", {})
        ground = Style.parse(f"{base['foreground']} on {base['background']}")
        worn = {
            name: ground + Style.parse(str(styles[name]))
            for name in ("strong", "heading", "faint", "border", "border-focus", "brand")
        }
        worn |= {"ground": ground, "panel": ground + Style.parse(f"on {base['panel']}")}
        for name in ("strong", "muted"):
            worn[f"{name} on panel"] = worn["panel"] + Style.parse(str(styles[name]))
    except Exception:  # what is wrong with a theme is said by who reads it whole
        return {}
    return {
        name: fitted(style, depth).render("x", color_system=SYSTEMS[depth]).partition("x")[0]
        for name, style in worn.items()
    }


class _Board:
    """Cells of a screen, each with the name of its pen."""

    def __init__(self, width: int, height: int) -> None:
        self._texts = [[" "] * width for _ in range(height)]
        self._pens = [["ground"] * width for _ in range(height)]

    def fill(self, y: int, pen: str) -> None:
        self._pens[y] = [pen] * len(self._pens[y])

    def write(self, x: int, y: int, text: str, pen: str) -> None:
        """As far as it fits; the second half of a wide character is an empty cell."""
        row, pens = self._texts[y], self._pens[y]
        for char in text:
            wide = cell_len(char)
            if x + wide > len(row):
                return
            if wide:
                row[x : x + wide] = [char, *[""] * (wide - 1)]
                pens[x : x + wide] = [pen] * wide
                x += wide

    def frame(self, place: Place, title: str, *, held: bool) -> None:
        """A box with its title on top; on a narrow screen a rule."""
        pen, heading = ("border-focus", "border-focus") if held else ("border", "heading")
        last = place.width - 1
        if len(self._texts[0]) < FRAMED:
            self.write(place.left, place.top, "─" * place.width, pen)
            self.write(place.left + 1, place.top, title, heading)
            return
        bottom = place.top + place.height - 1
        self.write(place.left, place.top, f"╭{'─' * (last - 1)}╮", pen)
        self.write(place.left, bottom, f"╰{'─' * (last - 1)}╯", pen)
        for y in range(place.top + 1, bottom):
            self.write(place.left, y, "│", pen)
            self.write(place.left + last, y, "│", pen)
        self.write(place.left + 2, place.top, f" {title} ", heading)

    def line(self, y: int, pens: Pens) -> str:
        """With the sequences that draw it; over the bare ground they only lead on."""
        cells = zip(self._texts[y], self._pens[y], strict=True)
        drawn = []
        for pen, run in groupby(cells, lambda cell: cell[1] if cell != (" ", "ground") else ""):
            text = "".join(char for char, _ in run)
            if not pen:
                drawn.append(f"\x1b[{len(text)}C")
            else:
                drawn.append(f"\x1b[m{pens[pen]}{text}" if pens else text)
        return "".join(drawn)


def _edges(length: int, shares: Sequence[int]) -> tuple[int, ...]:
    """Where parts of a length begin and end that take so many shares of it."""
    whole = sum(shares)
    return (0, *(length * part // whole for part in accumulate(shares)))


def _cut(name: str, names: Sequence[str]) -> str:
    """So much of a name as stands there in any case."""
    if cell_len(name) <= NAME:
        return name
    cells = range(NAME, NAME_MOST + 1)
    heads = [cut_name(name, width, names).partition(CUT)[0] for width in cells]
    return heads[0][: common(heads)]
