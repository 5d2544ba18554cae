"""Spans of time and money as words: `~` for the best guess, `≥` for a bound, `?` where nothing is known."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo

from rich.cells import chop_cells
from rich.text import Text

from gpu_tui.core import units
from gpu_tui.core.bounds import Span
from gpu_tui.core.campaign import Bill
from gpu_tui.core.speech import say
from gpu_tui.ui.text.marks import UNKNOWN, line

FARTHEST = 50 * 365 * 86400.0  # seconds: beyond it no calendar has a day for it
FAR = "in many years"
EXACT = 0.005  # of an amount: two that differ by less are written alike


def wall(at: float, now: float, zone: tzinfo | None) -> str:
    """A time of day in the person's zone, with the date where that is not today: `18:50`, `5 Mar 03:10`."""
    if not abs(at - now) < FARTHEST:
        return FAR
    there = datetime.fromtimestamp(at, UTC).astimezone(zone)
    today = datetime.fromtimestamp(now, UTC).astimezone(zone)
    clock = f"{there:%H:%M}"
    if there.date() == today.date():
        return clock
    return f"{units.day(there, year=there.year != today.year)} {clock}"


def left(span: Span) -> str:
    """Seconds to come: `~3h 10m`, `≥2h 00m`, `?`."""
    if span.best is not None:
        return f"~{units.span(span.best, fine=False)}" if span.best > 0 else units.span(0)
    return f"≥{units.span(span.low, fine=False)}" if span.low >= 1 else UNKNOWN


def ends(span: Span, now: float, zone: tzinfo | None, *, terse: bool = False) -> str:
    """When it ends: `~18:50`, `after 17:40` (in a column `≥17:40`), `?`."""
    if span.best is not None:
        return f"~{wall(now + span.best, now, zone)}"
    if span.low < 1:
        return UNKNOWN
    first = wall(now + span.low, now, zone)
    if first == FAR:
        return first
    return f"≥{first}" if terse else say("after {first}", first=first)


def between(span: Span, now: float, zone: tzinfo | None, *, terse: bool = False) -> str:
    """`between 17:40 and 20:10`, in a column `17:40–20:10`; nothing where there is no upper bound."""
    if span.best is None or span.high is None:
        return ""
    first, last = wall(now + span.low, now, zone), wall(now + span.high, now, zone)
    if first == last:
        return ""
    return f"{first}–{last}" if terse else say("between {first} and {last}", first=first, last=last)


def amount(span: Span, currency: str | None) -> str:
    """Money: `¥12.40` for sure, `~¥31.20`, `≥¥65.31`, `?`."""
    if span.best is not None:
        sure = span.high is not None and span.high - span.low <= EXACT * max(span.high, 0.01)
        return f"{'' if sure else '~'}{units.money(span.best, currency)}"
    return units.money(span.low, currency, at_least=True)


def spent(bills: Mapping[str, Bill]) -> str:
    """What is gone, each currency for itself; empty where nothing has a price."""
    return " + ".join(amount(bill.spent, unit) for unit, bill in bills.items())


def to_come(bills: Mapping[str, Bill]) -> str:
    """What the queues still cost to their ends, each currency for itself."""
    return " + ".join(amount(bill.to_come, unit) for unit, bill in bills.items())


def tone(span: Span) -> str:
    """The style of what may be believed so far."""
    return "strong" if span.best is not None else "unknown" if span.low < 1 else "level-watch"


def flow(pieces: list[Text], width: int, *, lead: Text | None = None, gap: int = 3) -> list[Text]:
    """Pieces side by side, `gap` cells apart, on as many lines as they need; `lead` stands before the first."""
    first = lead if lead is not None else line()
    indent = first.cell_len
    rows: list[Text] = []
    row, empty = first, True
    for piece in pieces:
        for number, part in enumerate(_parts(piece, width - indent)):
            apart = 0 if empty else gap
            if number or (not empty and row.cell_len + apart + part.cell_len > width):
                rows.append(row)
                row, apart = line(" " * indent), 0
            row = line(row, " " * apart, part)
            empty = False
    return [*rows, row] if not empty else rows


def _parts(piece: Text, room: int) -> list[Text]:
    """A piece that is longer than a line, broken between words: what it says of many names stands at its end."""
    parts: list[Text] = []
    while piece.cell_len > room > 0:
        fits = len(chop_cells(piece.plain, room)[0])
        at = piece.plain.rfind(" ", 1, fits + 1)
        if at < 0:
            break
        parts.append(piece[:at])
        piece = piece[at + 1 :]
    return [*parts, piece]
