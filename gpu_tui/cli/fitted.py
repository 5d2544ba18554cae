"""Fits lines of text to a terminal: wraps between words, and repeats the first line if it has scrolled away."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TextIO

INDENT = 4  # cells of a continued line, besides its own


def on_terminal(lines: Sequence[str], stream: TextIO) -> list[str]:
    """The lines wrapped for the terminal of `stream`; unchanged if `stream` is no terminal."""
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return list(lines)
    return fitted(lines, size.columns, size.lines)


def fitted(lines: Sequence[str], columns: int, rows: int) -> list[str]:
    """Rows of at most `columns` cells. If they do not fit above the next prompt, the first line is repeated at the end."""
    if columns < 2 * INDENT:
        return list(lines)
    first, *rest = ([*_wrapped(line, columns)] for line in lines)
    shown = [*first, *(row for part in rest for row in part)]
    return [*shown, *first] if len(shown) >= rows > len(first) else shown


def _wrapped(line: str, columns: int) -> Iterator[str]:
    indent = len(line) - len(line.lstrip(" "))
    row, used = " " * indent, indent
    begin = " " * min(indent + INDENT, columns // 2)
    empty = True
    for word in line.split():
        for piece in _pieces(word, columns - len(begin)):
            cells = _cells(piece)
            if not empty and used + 1 + cells > columns:
                yield row
                row, used, empty = begin, len(begin), True
            row, used = (
                (row + piece, used + cells) if empty else (f"{row} {piece}", used + 1 + cells)
            )
            empty = False
    yield row


def _pieces(word: str, room: int) -> Iterator[str]:
    """Parts of a word, each at most `room` cells wide; a Chinese sentence is one word."""
    piece, used = "", 0
    for char in word:
        cells = _cells(char)
        if used + cells > room:
            yield piece
            piece, used = "", 0
        piece, used = piece + char, used + cells
    yield piece


def _cells(text: str) -> int:
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )
