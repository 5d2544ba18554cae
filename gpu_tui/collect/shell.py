"""Paths of the fleet file as words of a remote POSIX sh program: nothing in them is ever run."""

from __future__ import annotations

import shlex

CELL = "{cell}"


def quote_path(path: str) -> str:
    """One shell word. A leading `~` is the box's $HOME; everything else is literal."""
    if path == "~":
        return '"$HOME"'
    if path.startswith("~/"):
        return '"$HOME"/' + (shlex.quote(path[2:]) if path[2:] else "")
    return shlex.quote(path)


def quote_pattern(path: str) -> str:
    """As `quote_path`, but `{cell}` matches any name: it becomes the only unquoted `*`."""
    first, *rest = path.split(CELL)
    return "*".join(
        [quote_path(first) if first else "", *(shlex.quote(p) if p else "" for p in rest)]
    )
