"""Terminal output that writes only the cells that changed. Pure.

textual repaints every dirty region whole: a clock that ticks costs its whole line. `Cells` keeps what the terminal
shows, cell by cell, and turns an update into the shortest moves, colours and characters that lead to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from rich.cells import get_character_cell_size, split_graphemes
from rich.color import ColorSystem
from rich.segment import ControlType, Segment
from rich.style import Style

BOLD, DIM, ITALIC, UNDERLINE, BLINK, BLINK2, REVERSE, CONCEAL, STRIKE = (1 << n for n in range(9))
UNDERLINE2, FRAME, ENCIRCLE, OVERLINE = (1 << n for n in range(9, 13))
ON = ("1", "2", "3", "4", "5", "6", "7", "8", "9", "21", "51", "52", "53")  # by bit
NAMES = (
    "bold", "dim", "italic", "underline", "blink", "blink2", "reverse", "conceal", "strike",
    "underline2", "frame", "encircle", "overline",
)  # fmt: skip
OFF = (
    (BOLD | DIM, "22"), (ITALIC, "23"), (UNDERLINE | UNDERLINE2, "24"), (BLINK | BLINK2, "25"),
    (REVERSE, "27"), (CONCEAL, "28"), (STRIKE, "29"), (FRAME | ENCIRCLE, "54"), (OVERLINE, "55"),
)  # fmt: skip
ON_BLANK = REVERSE | UNDERLINE | UNDERLINE2 | STRIKE | FRAME | ENCIRCLE | OVERLINE


class Pen(NamedTuple):
    """How a cell is drawn: a bit for each attribute, and the parameters of SGR for both colours ("" = default)."""

    attributes: int
    colour: str
    ground: str


PLAIN = Pen(0, "", "")


class Cell(NamedTuple):
    """One place of the terminal; the second half of a wide character has no text.

    Of an odd one terminals do not agree how wide it is: a cluster, or an emoji.
    """

    text: str
    pen: Pen
    odd: bool = False


Row = list[Cell | None]  # None: nobody knows what stands there


class Cells:
    """What a terminal of one size shows, and the way from there to what it should show."""

    def __init__(self, width: int, height: int) -> None:
        self.size = self.width, self.height = width, height
        self.whole = False  # every cell is known
        self._rows: list[Row] = [[None] * width for _ in range(height)]
        self._odd = [False] * height  # something odd stands in that row

    def lead_to(self, update: Iterable[object], depth: ColorSystem) -> str:
        """The sequences that bring the terminal to `update`; it begins and ends with the plain pen.

        An update is moves of the cursor, each followed by the text that goes there. Raises ValueError where it is
        not.
        """
        wanted: dict[int, Row] = {}
        for x, y, run in _runs(update):
            if 0 <= y < self.height:
                _lay(wanted.setdefault(y, self._rows[y].copy()), x, run, depth)
        out = _Writer(self.width)
        for y, row in wanted.items():
            before = self._rows[y]
            changed = [
                x
                for x, (old, new) in enumerate(zip(before, row, strict=True))
                if old is not new and old != new
            ]
            if changed:
                self._rows[y] = row
                out.row(y, row, range(len(row)) if self._turns_odd(y, changed) else changed)
        self.whole = self.whole or not any(None in row for row in self._rows)
        return out.text()

    def _turns_odd(self, y: int, changed: Iterable[int]) -> bool:
        """Whether something odd was or is in a row: then the whole row has to be written."""
        row, was = self._rows[y], self._odd[y]
        cells = row if was else [row[x] for x in changed]
        self._odd[y] = any(cell is not None and cell.odd for cell in cells)
        return was or self._odd[y]


class _Writer:
    """Collects sequences; knows where the cursor is, where it can be known, and which pen is set."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._parts: list[str] = []
        self._at: tuple[int, int] | None = None
        self._pen = PLAIN

    def text(self) -> str:
        """Everything, with the plain pen at the end."""
        return "".join(self._parts) + _change(self._pen, PLAIN)

    def row(self, y: int, row: Row, places: Iterable[int]) -> None:
        """The cells of one line at these places, from left to right."""
        written = 0  # so far
        for place in places:
            x, cell = place, row[place]
            if x < written or cell is None:
                continue
            while x and not cell.text and (lead := row[x - 1]) is not None:
                x, cell = x - 1, lead  # half a wide character cannot be written
            self._go(x, y, row)
            written = self._put(x, y, cell, row)

    def _put(self, x: int, y: int, cell: Cell, row: Row) -> int:
        """Write the cell at `x`; the column after it."""
        self._dip(cell)
        self._parts.append(cell.text or " ")
        x += 1
        while cell.text and x < len(row) and (rest := row[x]) is not None and not rest.text:
            x += 1
        sure = x < self._width and not cell.odd
        self._at = (x, y) if sure else None
        return x

    def _go(self, x: int, y: int, row: Row) -> None:
        """Bring the cursor to a place the short way; a small gap of the same pen is written again."""
        if self._at == (x, y):
            return
        if self._at is not None and self._at[1] == y and self._at[0] < x:
            start = self._at[0]
            step = "\x1b[C" if x - start == 1 else f"\x1b[{x - start}C"
            gap = row[start:x]
            if len(gap) <= len(step) and all(
                cell is not None and len(cell.text) == 1 and cell.text.isascii()
                and self._dipped(cell) == self._pen
                for cell in gap
            ):  # fmt: skip
                self._parts += [cell.text for cell in gap if cell is not None]
            else:
                self._parts.append(step)
        else:
            self._parts.append(f"\x1b[{y + 1}H" if x == 0 else f"\x1b[{y + 1};{x + 1}H")
        self._at = (x, y)

    def _dipped(self, cell: Cell) -> Pen:
        """The pen for a cell: of a blank only the ground is to be seen."""
        if cell.text != " " or cell.pen.attributes:
            return cell.pen
        return Pen(self._pen.attributes & ~ON_BLANK, self._pen.colour, cell.pen.ground)

    def _dip(self, cell: Cell) -> None:
        pen = self._dipped(cell)
        if pen != self._pen:
            self._parts.append(_change(self._pen, pen))
            self._pen = pen


# --- from segments to cells -----------------------------------------------------------------------


def _runs(update: Iterable[Any]) -> Iterator[tuple[int, int, list[Segment]]]:
    """(x, y, segments) of each piece of text that a move of the cursor begins."""
    x = y = -1
    run: list[Segment] = []
    for segment in update:
        text, _, control = segment
        if control:
            yield x, y, run
            ((kind, x, y),) = control
            run = []
            if kind is not ControlType.CURSOR_MOVE_TO:
                raise ValueError(kind)
        elif text != "\n":  # the next piece begins with a move of its own
            if y < 0:
                raise ValueError(text)
            run.append(segment)
    yield x, y, run


def _lay(row: Row, x: int, run: Iterable[Segment], depth: ColorSystem) -> None:
    """Put the cells of a piece of text into a line, from `x` on."""
    width = len(row)
    if 0 < x < width and (first := row[x]) is not None and not first.text:
        row[x - 1] = None  # its other half may be lost
    begin = x
    for segment in run:
        joins, cells = _cells(segment.text, _pen(segment.style, depth))
        if joins and x > begin:
            _join(row, x, joins)
        if x + len(cells) > width:
            cells = cells[: max(0, width - x)]
        row[x : x + len(cells)] = cells
        x += len(cells)
    while x < width and (cut := row[x]) is not None and not cut.text:
        row[x] = None
        x += 1


def _join(row: Row, x: int, text: str) -> None:
    """What has no width of its own joins the character before it."""
    while x and (cell := row[x - 1]) is not None:
        x -= 1
        if cell.text:
            row[x] = _cell(cell.text + text, cell.pen)
            return


@lru_cache(2048)
def _cells(text: str, pen: Pen) -> tuple[str, Sequence[Cell]]:
    """The cells of one text in one pen, and before them what joins the character before it."""
    if text.isascii():
        return "", tuple([_cell(char, pen) for char in text])
    joins = ""
    cells: Row = []
    spans, _ = split_graphemes(text)
    for start, end, width in spans:
        if width:
            cells += [_cell(text[start:end], pen), *(_cell("", pen) for _ in range(width - 1))]
        elif cells:
            _join(cells, len(cells), text[start:end])
        else:
            joins += text[start:end]
    return joins, tuple([cell for cell in cells if cell is not None])


@lru_cache(8192)
def _cell(text: str, pen: Pen) -> Cell:
    """One cell, the same object each time; nothing of a blank is to be seen but its ground."""
    if text == " " and not pen.attributes & ON_BLANK:
        return Cell(text, Pen(0, "", pen.ground))
    return Cell(text, pen, _odd(text))


@lru_cache(2048)
def _pen(style: Style | None, depth: ColorSystem) -> Pen:
    """The pen for a style of rich at this depth of colour."""
    if style is None:
        return PLAIN
    colours = []
    for colour, front in ((style.color, True), (style.bgcolor, False)):
        codes = () if colour is None else colour.downgrade(depth).get_ansi_codes(front)
        colours.append("" if codes in ((), ("39",), ("49",)) else ";".join(codes))
    return Pen(sum(1 << n for n, name in enumerate(NAMES) if getattr(style, name)), *colours)


@lru_cache(4096)
def _change(old: Pen, new: Pen) -> str:
    """The shortest sequence from one pen to another."""
    if old == new:
        return ""
    if new == PLAIN:
        return "\x1b[m"
    lost, gained = old.attributes & ~new.attributes, new.attributes & ~old.attributes
    codes = []
    for group, off in OFF:
        if lost & group:
            codes.append(off)
            gained |= new.attributes & group
    codes += _attributes(gained)
    if old.colour != new.colour:
        codes.append(new.colour or "39")
    if old.ground != new.ground:
        codes.append(new.ground or "49")
    afresh = ["0", *_attributes(new.attributes), *(c for c in (new.colour, new.ground) if c)]
    return f"\x1b[{min(';'.join(codes), ';'.join(afresh), key=len)}m"


def _attributes(bits: int) -> Iterable[str]:
    return (code for n, code in enumerate(ON) if bits & 1 << n)


def _odd(text: str) -> bool:
    """It may be of another width in another terminal: a cluster, or an emoji."""
    if text.isascii():
        return False
    if len(text) > 1:
        return True
    return get_character_cell_size(text) != 1 and not "\u2e80" <= text <= "\uffe6"
