"""Base units to human words: the only place where bytes, seconds, shares and money get a unit."""

from __future__ import annotations

from datetime import datetime

import humanize

from gpu_tui.core.number import floored
from gpu_tui.core.speech import LANGUAGES, language, say

MINUTE, HOUR, DAY = 60, 3600, 86400
SIGNS = {"CNY": "¥", "USD": "$", "EUR": "€", "GBP": "£"}


def day(there: datetime, *, year: bool = False) -> str:
    """`5 Mar`, `5 Mar 2027`; where no English is spoken `03-05`, `2027-03-05`."""
    if language() != LANGUAGES[0]:
        return f"{there:%Y-%m-%d}" if year else f"{there:%m-%d}"
    return f"{there.day} {there:%b %Y}" if year else f"{there.day} {there:%b}"


def percent(share: float) -> str:
    """0.934 -> `93%`."""
    return f"{share * 100:.0f}%"


def size(count: float) -> str:
    """Bytes in binary units: `61.0 GiB`."""
    return humanize.naturalsize(count, binary=True, format="%.1f")


def used_of(used: int | None, total: int | None) -> str:
    """`61.0 / 80.0 GiB`; one side alone where the other is not known."""
    if used is None:
        return "?" if total is None else f"? / {size(total)}"
    if total is None:
        return size(used)
    left, right = size(used).split(" "), size(total)
    return f"{left[0]} / {right}" if right.endswith(left[1]) else f"{' '.join(left)} / {right}"


def count(number: float) -> str:
    """`12`, `1.2M`."""
    if abs(number) < 1000:
        return f"{number:.0f}"
    for factor, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= factor:
            scaled = number / factor
            return f"{scaled:.0f}{sign}" if scaled >= 100 else f"{scaled:.1f}{sign}"
    return str(number)


def hertz(frequency: float) -> str:
    """`1.98 GHz`."""
    return humanize.metric(frequency, "Hz", precision=3)


def age(seconds: float) -> str:
    """One unit, four cells at most: `3s`, `12m`, `5h`, `9d`."""
    if seconds < MINUTE:
        return f"{max(0, int(seconds))}s"
    if seconds < HOUR:
        return f"{int(seconds // MINUTE)}m"
    if seconds < DAY:
        return f"{int(seconds // HOUR)}h"
    return f"{int(seconds // DAY)}d"


def span(seconds: float) -> str:
    """Two units, seven cells: `45s`, `1m 30s`, `2h 05m`, `3d 4h`."""
    whole = max(0, int(seconds))
    if whole < MINUTE:
        return f"{whole}s"
    if whole < HOUR:
        return f"{whole // MINUTE}m {whole % MINUTE:02}s"
    if whole < DAY:
        return f"{whole // HOUR}h {whole % HOUR // MINUTE:02}m"
    return f"{whole // DAY}d {whole % DAY // HOUR}h"


def countdown(seconds: float) -> str:
    """What is left, never like a time of day: `13d 4h`, `6h 26m`, `26m 11s`; what is over: `3h ago`."""
    return span(seconds) if seconds > 0 else say("{age} ago", age=age(-seconds))


def rough(seconds: float) -> str:
    """The same for an estimate, without seconds from one minute on: `45s`, `12m`, `2h 05m`."""
    return age(seconds) if seconds < HOUR else span(seconds)


def money(amount: float, currency: str | None, *, cents_to: float = 1000) -> str:
    """`¥2.08`, `$0.69`, `3.10 SEK`; from `cents_to` on without what stands behind the point."""
    digits = f"{amount:,.2f}" if abs(amount) < cents_to else f"{amount:,.0f}"
    if currency in SIGNS:
        return f"{SIGNS[currency]}{digits}"
    return f"{digits} {currency}" if currency else digits


def least(amount: float, currency: str | None, *, cents_to: float = 1000) -> str | None:
    """A lower bound of money: `≥¥2.08`, rounded down; None below a cent, which says nothing."""
    known = floored(amount, 2 if abs(amount) < cents_to else 0)
    return f"≥{money(known, currency, cents_to=cents_to)}" if known > 0 else None


def number(value: float) -> str:
    """A loss or a metric in at most seven cells."""
    if value != value:
        return "NaN"
    if abs(value) == float("inf"):
        return "Inf" if value > 0 else "-Inf"
    magnitude = abs(value)
    if magnitude and (magnitude < 1e-3 or magnitude >= 1e5):
        return f"{value:.1e}"
    return f"{value:.4f}" if magnitude < 10 else f"{value:.1f}"
