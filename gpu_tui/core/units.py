"""Numbers to text: the only place where seconds, bytes, rates, money, shares and counts get their units. Pure.

| function | kind | forms |
|---|---|---|
| `age` | duration in a column of four cells | `45s` `12m` `5h` `9d` `3y` |
| `span` | duration in a column of seven cells | `45s` `1m 30s` `2h 05m` `3d 4h` `120d` |
| `words` | duration in an English sentence, which `told` translates | `45 s` `12 min` `2 h 05 min` `3 days 4 h` |
| `spoken` | duration in a sentence of the chosen language | `2 h 05 min` `2 小时 05 分` |
| `countdown` | what is left until a deadline, in a column | `13d 4h` `3h ago` |
| `position` | place in a recording | `12:30` `1:05:00` |
| `size`, `used_of`, `rate` | bytes | `61.0 GiB` `61.0 / 80.0 GiB` `83.1 MiB/s` |
| `short_size` | bytes in six cells | `443.8M` |
| `money` | amount with its currency | `¥2.08` `≥$1,234` `-3.10 SEK` `¥0.004` `<¥0.001` |
| `percent`, `count`, `hertz`, `number`, `day` | share, count, frequency, loss or metric, date | |

Durations are rounded down, and a second part of zero is left out: `2h`, not `2h 00m`. In columns the units are
Latin letters in every language, because no others fit. Sizes are binary, as those of `df -h` and `nvidia-smi`.
What is unknown, NaN or infinite is `?`, never zero. humanize writes sizes and frequencies; it has no short form
of a duration and knows no currencies. It is imported at first use.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING

from gpu_tui.core.speech import LANGUAGES, language, say, told

if TYPE_CHECKING:
    from datetime import datetime

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400
SIGNS = {"CNY": "¥", "USD": "$", "EUR": "€", "GBP": "£"}
UNKNOWN = "?"


def _known(write: Callable[[float], str]) -> Callable[[float | None], str]:
    """`write`, with `?` for what is unknown, NaN, infinite or beyond every float."""

    @wraps(write)
    def written(value: float | None) -> str:
        finite = _finite(value)
        return UNKNOWN if finite is None else write(finite)

    return written


def _finite(value: float | None) -> float | None:
    try:
        return float(value) if value is not None and math.isfinite(value) else None
    except OverflowError:
        return None


def _parts(seconds: float | None, *, fine: bool) -> list[tuple[str, str]]:
    """One or two numbers, each with its unit of y, d, h, m, s. Without `fine` no seconds from two minutes on."""
    value = _finite(seconds)
    if value is None:
        return [(UNKNOWN, "")]
    whole, sign = int(abs(value)), "-" if value <= -1 else ""
    if whole >= 1000 * DAY:
        return [(f"{sign}{whole // YEAR}" if whole < 99 * YEAR else f"{sign}99+", "y")]
    for large, small, units in ((DAY, HOUR, "dh"), (HOUR, MINUTE, "hm"), (MINUTE, 1, "ms")):
        if whole >= large:
            second = whole % large // small
            if (small == 1 and not fine and whole >= 2 * MINUTE) or whole >= 100 * DAY:
                second = 0
            parts = [(f"{sign}{whole // large}", units[0])]
            return (
                [*parts, (f"{second:0{1 if small == HOUR else 2}}", units[1])] if second else parts
            )
    return [(f"{sign}{whole}", "s")]


def age(seconds: float | None) -> str:
    """One unit in four cells: `3s`, `12m`, `5h`, `9d`, `3y`."""
    return "".join(_parts(seconds, fine=False)[0])


def span(seconds: float | None, *, fine: bool = True) -> str:
    """Two units in seven cells: `45s`, `1m 30s`, `2h 05m`, `3d 4h`; an estimate is not `fine`."""
    return " ".join(map("".join, _parts(seconds, fine=fine)))


def words(seconds: float | None, *, fine: bool = False) -> str:
    """English for a sentence: `45 s`, `12 min`, `2 h 05 min`, `3 days 4 h`; `fine` adds seconds below an hour."""
    parts = _parts(seconds, fine=fine)
    long = {"y": "years", "d": "day" if parts[0] == ("1", "d") else "days", "m": "min"}
    return " ".join(f"{number} {long.get(unit, unit)}" for number, unit in parts).rstrip()


def spoken(seconds: float | None, *, fine: bool = False) -> str:
    """`words` in the chosen language."""
    return told(words(seconds, fine=fine))


def countdown(seconds: float) -> str:
    """Time until a deadline, never in the form of a time of day: `13d 4h`, `26m 11s`; after it: `3h ago`."""
    return say("{age} ago", age=age(-seconds)) if seconds <= 0 else span(seconds)


@_known
def position(seconds: float) -> str:
    """A place in a recording: `12:30`, or `1:05:00` from an hour on."""
    minutes, left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def day(there: datetime, *, year: bool = False) -> str:
    """`5 Mar`, `5 Mar 2027`; where no English is spoken `03-05`, `2027-03-05`."""
    if language() != LANGUAGES[0]:
        return f"{there:%Y-%m-%d}" if year else f"{there:%m-%d}"
    return f"{there.day} {there:%b %Y}" if year else f"{there.day} {there:%b}"


@_known
def size(count: float) -> str:
    """Bytes in binary units: `61.0 GiB`."""
    from humanize import naturalsize

    return naturalsize(count, binary=True) if abs(count) >= 1024 else f"{count:.0f} B"


@_known
def short_size(count: float) -> str:
    """Bytes in six cells, as `ls -h` writes it: `512B`, `97.7K`, `443.8M`."""
    from humanize import naturalsize

    text = naturalsize(count, gnu=True, format="%.1f")
    return text if len(text) <= 6 else naturalsize(count, gnu=True, format="%.0f")


def used_of(used: float | None, total: float | None) -> str:
    """`61.0 / 80.0 GiB`; one side alone where the other is not known."""
    if used is None:
        return UNKNOWN if total is None else f"{UNKNOWN} / {size(total)}"
    if total is None:
        return size(used)
    left, right = size(used), size(total)
    number, _, unit = left.partition(" ")
    return f"{number} / {right}" if unit and right.endswith(f" {unit}") else f"{left} / {right}"


def rate(per_second: float | None) -> str:
    """Bytes per second: `83.1 MiB/s`."""
    return f"{size(per_second)}/s"


def money(
    amount: float | None, currency: str | None, *, at_least: bool = False, cents_to: float = 1000
) -> str:
    """`¥2.08`, `$1,234`, `3.10 SEK`; `at_least` is `≥¥2.08`, rounded down, and `?` below a cent.

    A small amount never looks like zero: `¥0.004`, `<¥0.001`. From `cents_to` on there are no cents.
    """
    value = _finite(amount)
    if value is None or (at_least and value < 0.01):
        return UNKNOWN
    much, bound = abs(value), "≥" if at_least else ""
    cents = 0 if much >= cents_to else 2
    if at_least:
        much = math.floor(much * 10**cents + 1e-6) / 10**cents
    elif 0 < much < 0.1:
        cents, much, bound = 3, max(much, 0.001), "<" if much < 0.001 else ""
    digits = f"{much:,.{cents}f}" if much < 1e9 else f"{much:.3g}"
    sign = SIGNS.get(currency or "")
    text = f"{sign}{digits}" if sign else f"{digits} {currency or ''}".rstrip()
    return f"{bound}{'-' if value < 0 else ''}{text}"


@_known
def percent(share: float) -> str:
    """0.934 -> `93%`."""
    return f"{share * 100:.0f}%"


@_known
def count(number: float) -> str:
    """`12`, `1.2M`, `191k`."""
    for factor, sign in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= factor * 0.9995:
            scaled = number / factor
            return f"{scaled:.0f}{sign}" if abs(scaled) >= 99.95 else f"{scaled:.1f}{sign}"
    return f"{number:.0f}"


@_known
def hertz(frequency: float) -> str:
    """`1.98 GHz`."""
    from humanize import metric

    return metric(frequency, "Hz", precision=3)


def number(value: float) -> str:
    """A loss or a metric in at most seven cells."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    magnitude = abs(value)
    if magnitude and (magnitude < 1e-3 or magnitude >= 1e5):
        return f"{value:.1e}"
    return f"{value:.4f}" if magnitude < 10 else f"{value:.1f}"
