"""Foreign words in a Markdown text: one line each, neutral, capped. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpu_tui.core.clock import rfc3339
from gpu_tui.core.plain import plain
from gpu_tui.core.speech import say
from gpu_tui.core.sweep import Cell

TEXT = 300  # characters of one value
NAMES = 12  # that one line holds

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#])")


def md(text: str) -> str:
    """Foreign text as one line of Markdown that is only text."""
    return _SPECIAL.sub(r"\\\1", plain(text, TEXT))


def code(line: str) -> list[str]:
    """One command as a block of its own."""
    return ["```sh", plain(line, 1_000).replace("```", "'''"), "```"]


def time(at: float | None) -> str:
    """An epoch time in UTC; `?` where none is known."""
    return (rfc3339(at) or "?").replace("T", " ").replace("Z", " UTC")


def names(given: Iterable[str]) -> str:
    """Some names, and how many more there are."""
    listed = [md(name) for name in given]
    shown, more = ", ".join(listed[:NAMES]), len(listed) - NAMES
    return say("{shown} and {names} more", shown=shown, names=more) if more > 0 else shown


def indexed(cells: Iterable[Cell]) -> str:
    """Cells with the index that the queue script counts."""
    return names(f"{cell.index} {cell.name}" for cell in cells)
