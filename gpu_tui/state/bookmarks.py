"""Bookmarks of logs, kept from one start to the next: the file, about where in it, and what stood there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from gpu_tui.core.logs import LogSource
from gpu_tui.state.history import History

MOST = 50  # of one log; the oldest make room
TEXT = 120  # characters that are kept of the line


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A line of the file `file` (an inode) that begins about at `byte`."""

    file: int
    byte: int
    text: str


def kept_bookmarks(history: History, instance: str, source: LogSource) -> tuple[Bookmark, ...]:
    """What was kept of one log; what cannot be read is none."""
    try:
        rows = json.loads(history.counter(instance, _name(source)) or "[]")
    except (ValueError, RecursionError):
        return ()
    return tuple(
        Bookmark(file, byte, text)
        for file, byte, text in (
            row for row in (rows if isinstance(rows, list) else []) if _fits(row)
        )
    )[-MOST:]


def keep_bookmarks(
    history: History, instance: str, source: LogSource, marks: Sequence[Bookmark], at: float
) -> None:
    """Keep these instead."""
    rows = [(mark.file, mark.byte, mark.text[:TEXT]) for mark in marks[-MOST:]]
    history.set_counter(instance, _name(source), json.dumps(rows), at)


def _name(source: LogSource) -> str:
    return f"bookmarks:{source.path}"


def _fits(row: object) -> bool:
    return (
        isinstance(row, list)
        and len(row) == 3
        and type(row[0]) is int
        and type(row[1]) is int
        and isinstance(row[2], str)
    )
