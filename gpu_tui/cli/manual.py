"""A page of the manual as `man` would show it: what its Markdown means, in the width there is.

Bold is written as a letter over itself, which every pager knows, and a pager of letters alone takes away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len

WIDEST = 100  # cells of a line that is comfortably read
INDENT = 3
GAP = 2  # cells between the columns of a table
NARROWEST = 6  # cells of a column

_BOLD = re.compile(r"`([^`]+)`|\*\*(.+?)\*\*")
_ITEM = re.compile(r"(\*|\d+\.) +")
# What may not be torn: a word, or one character of a script that is written without spaces, with what may begin no line.
_PIECE = re.compile(r"(?:[^\s\u2e80-\uffff]+|[\u2e80-\uffff])[，。：；、？！）”》」]*\s*")
_MARK = "\x00"  # stands around bold words until they are laid out


def rendered(page: str, width: int) -> str:
    """The page in lines of at most `width` cells; what is to be typed or copied keeps its own."""
    room = max(20, min(width, WIDEST) - 1)
    return "\n".join(_overstruck(row) for row in _rows(page.splitlines(), room)) + "\n"


def _rows(lines: Sequence[str], room: int) -> Iterator[str]:
    at = 0

    def run(belongs: Callable[[str], bool]) -> list[str]:
        nonlocal at
        start = at
        while at < len(lines) and belongs(lines[at]):
            at += 1
        return list(lines[start:at])

    while at < len(lines):
        line = lines[at]
        if line.startswith("#"):
            at += 1
            yield from _wrapped(_bold(line.lstrip("# ")), room)
        elif line.startswith("```"):
            at += 1
            yield from (" " * (INDENT + 2) + row for row in run(lambda row: row != "```"))
            at += 1
        elif line.startswith("|"):
            yield from _table(run(lambda row: row.startswith("|")), room)
        elif line.startswith("  "):
            yield from run(lambda row: row.startswith("  "))
        elif line:
            at += 1
            yield from _prose([line, *run(_goes_on)], room)
        else:
            at += 1
            yield ""


def _goes_on(row: str) -> bool:
    """This is more of the paragraph or the item above."""
    return bool(row) and not row.startswith(("#", "|", "```", "    ")) and not _ITEM.match(row)


def _prose(lines: Sequence[str], room: int) -> Iterator[str]:
    item = _ITEM.match(lines[0])
    lead = item[0] if item else ""
    text = _joined([lines[0].removeprefix(lead), *lines[1:]])
    before = " " * INDENT + lead
    for row in _wrapped(_inline(text), room - INDENT - len(lead)):
        yield before + row
        before = " " * (INDENT + len(lead))


def _joined(lines: Sequence[str]) -> str:
    """One paragraph; between two characters of a script without spaces stands none."""
    text = ""
    for line in map(str.strip, lines):
        tight = not text or (cell_len(text[-1]) == 2 and cell_len(line[:1]) == 2)
        text += line if tight else f" {line}"
    return text


def _table(lines: Sequence[str], room: int) -> Iterator[str]:
    rows = [[_inline(cell.strip()) for cell in line.strip("|").split("|")] for line in lines]
    head, body = [_bold(cell) for cell in rows[0]], rows[2:]
    widths = _shares(
        [max(map(_width, column)) for column in zip(head, *body, strict=True)], room - INDENT
    )
    for row in (head, *body):
        cells = [_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
        for parts in zip_longest(*cells, fillvalue=""):
            padded = (
                part + " " * (width - _width(part))
                for part, width in zip(parts, widths, strict=True)
            )
            yield (" " * INDENT + (" " * GAP).join(padded)).rstrip()


def _shares(wanted: Sequence[int], room: int) -> list[int]:
    """How wide each column is: as it wants, and the widest give way until all have room."""
    widths = list(wanted)
    room -= GAP * (len(widths) - 1)
    while sum(widths) > room and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


# --- bold, and breaking lines --------------------------------------------------------------------


def _bold(text: str) -> str:
    return f"{_MARK}{text.replace(_MARK, '')}{_MARK}" if text else ""


def _inline(text: str) -> str:
    return _BOLD.sub(lambda found: _bold(found[1] or found[2].replace("`", "")), text)


def _width(text: str) -> int:
    return cell_len(text.replace(_MARK, ""))


def _wrapped(text: str, room: int) -> list[str]:
    """`text` in rows; bold that goes on in the next row ends in each and begins again."""
    rows, row = [], ""
    words = _PIECE.findall(text)
    for piece in [part for word in words for part in _torn(word, room)]:
        if row and _width((row + piece).rstrip()) > room:
            rows.append(row.rstrip())
            row = ""
        row += piece
    rows.append(row.rstrip())
    bold, whole = False, []
    for row in rows:
        opened = _MARK + row if bold else row
        bold = opened.count(_MARK) % 2 == 1
        whole.append(opened + _MARK if bold else opened)
    return whole


def _torn(piece: str, room: int) -> list[str]:
    """A word that is wider than the room there is, letter by letter."""
    if _width(piece.rstrip()) <= room:
        return [piece]
    return re.findall(rf"{_MARK}*[^{_MARK}]{_MARK}*", piece)


def _overstruck(row: str) -> str:
    plain, *rest = row.split(_MARK)
    parts = [plain]
    for number, part in enumerate(rest):
        bold = number % 2 == 0
        parts.append("".join(f"{c}\b{c}" if c != " " else c for c in part) if bold else part)
    return "".join(parts).rstrip()
