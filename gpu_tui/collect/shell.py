"""Text of a remote POSIX sh program: paths of the fleet file as words, of which nothing is ever run."""

from __future__ import annotations

import shlex
from functools import cache

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


@cache
def terse(program: str) -> str:
    """A program of ours as it is sent: without indentation, empty lines and lines that are comments.

    On 64 kbit/s each kilobyte is an eighth of a second before the first reading. For programs as they stand
    in this code alone: in a path or a quoted text that is filled in, such a line would be more than layout.
    """
    lines = map(str.lstrip, program.split("\n"))
    return "\n".join(line for line in lines if line and not line.startswith("# ")) + "\n"
