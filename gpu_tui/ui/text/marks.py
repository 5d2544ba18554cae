"""Small drawings made of characters: bars, sparklines, and the four ways a value may be known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby

from rich.cells import cell_len
from rich.text import Span, Text

from gpu_tui.core.levels import Level, share
from gpu_tui.core.readings import Mount
from gpu_tui.core.sample import Freshness
from gpu_tui.core.units import percent
from gpu_tui.ui.safe import safe

BLOCKS = "▁▂▃▄▅▆▇█"
SHARE = 4  # cells of a share
Piece = str | Text | tuple[str, str]
ABSENT, UNKNOWN, STALE = "–", "?", "~"
WATCH, ACT = "△", "▲"


def line(*pieces: Piece) -> Text:
    """One line of pieces; a string is text and never markup."""
    words: list[str] = []
    spans: list[Span] = []
    at = 0
    for piece in pieces:
        inner: Sequence[Span] = ()
        if isinstance(piece, Text):
            word, style, inner = piece.plain, piece.style, piece.spans
        elif isinstance(piece, str):
            word, style = safe(piece), ""
        else:
            word, style = safe(piece[0]), piece[1]
        if style and word:
            spans.append(Span(at, at + len(word), style))
        for begin, end, kind in inner:
            spans.append(Span(at + begin, at + end, kind))
        at += len(word)
        words.append(word)
    return Text("".join(words), no_wrap=True, end="", spans=spans)


def fit(text: Text, width: int, *, right: bool = False) -> Text:
    """`text` in exactly `width` cells, cut with an ellipsis, padded on the other side."""
    return line(*fitted(text, width, right=right))


def fitted(piece: Text | tuple[str, str], width: int, *, right: bool = False) -> tuple[Piece, ...]:
    """The same as pieces of a longer line."""
    pad = width - cell_len(piece.plain if isinstance(piece, Text) else safe(piece[0]))
    if pad > 0:
        return (" " * pad, piece) if right else (piece, " " * pad)
    if pad < 0:
        text = line(piece)
        text.truncate(width, overflow="ellipsis")
        return (text,)
    return (piece,)


def wrap(
    text: str, width: int, style: str, *, indent: int = 0, most: int | None = None
) -> list[Text]:
    """`text` broken at spaces into lines of `width` cells, each indented; the last of `most` is cut with
    an ellipsis where more would follow.
    """
    room = max(8, width - indent)
    rows = _broken(text, room)
    if most is not None and len(rows) > most:
        last = fit(line(" ".join(rows[most - 1 : most + 1])), room)  # both have no room in one
        rows = (*rows[: most - 1], last.plain)
    return [line(" " * indent, (row, style)) for row in rows]


@lru_cache(256)  # what a platform's profile says stands there for hours
def _broken(text: str, room: int) -> tuple[str, ...]:
    rows: list[str] = []
    row = ""
    for word in safe(text).split():
        for part in _chop(word, room):
            joined = f"{row} {part}" if row else part
            if cell_len(joined) <= room:
                row = joined
            else:
                rows.append(row)
                row = part
    rows.append(row)
    return tuple(row for row in rows if row)


def _chop(word: str, room: int) -> Iterable[str]:
    """A word in pieces that fit; most words are one piece. Chinese text breaks anywhere."""
    if cell_len(word) <= room:
        return [word]
    parts, part = [], ""
    for char in word:
        if cell_len(part + char) > room:  # together: a heart with its selector is wider than both
            parts.append(part)
            part = ""
        part += char
    return [*parts, part]


def bar(share: float, width: int, style: str) -> Text:
    """A thin bar `width` cells long, half a cell fine; a used share is never drawn as nothing."""
    return line(*_beam(share, width, style))


def _beam(share: float, width: int, style: str) -> tuple[Piece, Piece]:
    halves = round(min(1.0, max(0.0, share)) * width * 2)
    if share > 0:
        halves = max(1, halves)
    full, half = divmod(halves, 2)
    rest = width - full - half
    return ("━" * full + "╸" * half, style), ("─" * rest, "track")


def spark(values: Sequence[float | None], width: int, style: str, top: float | None = None) -> Text:
    """The newest `width` values as blocks from 0 to `top` (default: the span of the values).

    A gap is a dot on the baseline, so that it is never taken for a zero.
    """
    shown = list(values[-width:])
    known = [value for value in shown if value is not None]
    if not known:
        return line(("·" * min(width, len(shown)), "faint"))
    low, high = (0.0, top) if top is not None else (min(known), max(known))
    room = (high - low) or 1.0

    def block(value: float | None) -> str:
        if value is None:
            return "·"
        return BLOCKS[int((min(high, max(low, value)) - low) / room * (len(BLOCKS) - 1) + 0.5)]

    return line(
        *(
            ("".join(map(block, run)), "faint" if gap else style)
            for gap, run in groupby(shown, lambda value: value is None)
        )
    )


def level_mark(level: Level) -> str:
    """The sign in front of a number that asks for a look or for a hand: no colour says it alone."""
    return {Level.WATCH: WATCH, Level.ACT: ACT}.get(level, "")


def level_style(level: Level) -> str:
    """The style of a level."""
    return f"level-{level}"


def believed(text: Text | None, freshness: Freshness) -> Text:
    """A value with what is known of its truth: plain, `~` and dim, `–`, or `?`; never a zero."""
    if text is not None and freshness is Freshness.FRESH:
        return text
    return line(_said(text.plain if text is not None else None, "", freshness))


def _said(text: str | None, style: str, freshness: Freshness) -> tuple[str, str]:
    if freshness is Freshness.UNKNOWN:
        return UNKNOWN, "unknown"
    if freshness is Freshness.ABSENT or text is None:
        return ABSENT, "absent"
    return (STALE + text, "stale") if freshness is Freshness.STALE else (text, style)


def gauge(
    share: float | None, level: Level, freshness: Freshness, width: int = 0, cells: int = SHARE
) -> Text:
    """A share as `93%`, `△91%` or `▲96%`, followed by a bar of `width` cells where there is room for one.

    Its first `cells` are the number's; a marked `▲100` has its percent sign in five.
    """
    value = None
    if share is not None:
        stale = freshness is Freshness.STALE
        text, mark = percent(share), "" if stale else level_mark(level)
        if len(text) > cells - len(STALE if stale else mark):
            text = text.removesuffix("%")
        value = mark + text
    shown = fitted(_said(value, level_style(level), freshness), cells, right=True)
    if not width:
        return line(*shown)
    if share is None or freshness in (Freshness.ABSENT, Freshness.UNKNOWN):
        return line(*shown, " " * (width + 1))
    style = "stale" if freshness is Freshness.STALE else level_style(level)
    return line(*shown, " ", *_beam(share, width, style))


def of_mounts(mounts: Sequence[Mount], axis: str, freshness: Freshness) -> Freshness:
    """How far what is told of the `bytes` or `inodes` of mounts may be believed: where `df` was refused none is."""
    unread = (share(*one.counts(axis)) is None and not one.lacks(axis) for one in mounts)
    fresh = freshness in (Freshness.FRESH, Freshness.STALE)
    return Freshness.UNKNOWN if fresh and any(unread) else freshness


def arrow(*, falling: bool) -> str:
    """Which way a column is sorted."""
    return "↓" if falling else "↑"


def more_below(hidden: tuple[int, int]) -> str:
    """Words for what is out of sight."""
    above, below = hidden
    words = [f"▲ {above}"] if above else []
    return "  ".join([*words, f"▼ {below}"] if below else words)
