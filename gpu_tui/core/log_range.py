"""What may be asked of a log beside its tail: a stretch of older bytes, a place, a search on the box.

Positions are bytes from the start of the file, lines are counted from 0. A file is known by its inode
and by a few bytes of it (`Anchor`): what is read of another file is never taken for this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_tui.core.logs import LogLine

STRETCH = 131_072  # bytes that are read at once: a second or two of a slow link
HITS_MOST = 500
HIT_BYTES = 400  # of a line that was found, for the list
ANCHOR = 64


class LogUnread(Exception):
    """A part of a log cannot be had; the text says why, in a person's words."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """Bytes that are known to stand at `at`."""

    at: int
    text: bytes


@dataclass(frozen=True, slots=True)
class LogAsk:
    """The whole lines within [start, stop). With `line` both count from where that line begins."""

    start: int
    stop: int
    line: int | None = None
    file: int = 0  # the inode that it must be; 0: whichever it is
    anchor: Anchor | None = None


@dataclass(frozen=True, slots=True)
class LogPart:
    """Whole lines of [start, end) of a file of `size` bytes. `line` is the number of the first one,
    where it is known. `at` is where the asked line begins (without one: the asked start).
    """

    file: int
    start: int
    end: int
    size: int
    lines: Sequence[LogLine]
    line: int | None = None
    at: int = 0
    head: bytes = b""  # the first bytes as they are in the file

    @property
    def anchor(self) -> Anchor | None:
        """What tells this file from another one."""
        return Anchor(self.start, self.head) if self.head else None


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a search: a literal or an extended regular expression; case never counts."""

    text: str
    regex: bool = False
    wanted: bool = True


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that was found: its number, its byte where the box's grep says it, its safe text."""

    line: int
    byte: int | None
    text: str


@dataclass(frozen=True, slots=True)
class LogHits:
    """What a search of a whole file found, in order; `more`: it stopped at the most that it may tell,
    `cut`: it ran out of time before the end.
    """

    file: int
    size: int
    hits: tuple[Hit, ...]
    more: bool = False
    cut: bool = False
