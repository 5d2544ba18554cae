"""Durations as people write them, `15m` or `1h30m`, to seconds. A bare number is never a duration."""

from __future__ import annotations

import re

UNITS: dict[str, float] = {
    "w": 604_800.0,
    "d": 86_400.0,
    "h": 3_600.0,
    "m": 60.0,
    "s": 1.0,
    "ms": 0.001,
}
LONGEST = 3_660 * UNITS["d"]  # ten years: beyond it a unit was mistyped

_NUMBER = r"([0-9]{1,9}(?:\.[0-9]{1,3})?)"
_WHOLE = re.compile("".join(f"(?:{_NUMBER}{unit})?" for unit in UNITS), re.ASCII)


class DurationError(ValueError):
    """Not a duration. `text` says why, `next` how to write one."""

    def __init__(self, text: str, next: str = 'Write a number with its unit, like "15m".') -> None:
        super().__init__(text)
        self.text = text
        self.next = next


def parse_duration(text: str) -> float:
    """Seconds of `15m`, `1.5h`, `1h30m`, `500ms`, `15d`; units fall from w to ms, each at most once.

    Raises DurationError for everything else: no unit, a sign, spaces, more than ten years.
    """
    match = _WHOLE.fullmatch(text)
    if not text or match is None:
        raise DurationError(f"{text!r} is not a duration", _hint(text))
    parts = zip(match.groups(), UNITS.values(), strict=True)
    seconds = sum(float(number) * unit for number, unit in parts if number is not None)
    if seconds > LONGEST:
        raise DurationError(f"{text!r} is longer than ten years")
    return seconds


def _hint(text: str) -> str:
    if re.fullmatch(_NUMBER, text):
        return f'A number alone has no unit: write "{text}s", "{text}m", "{text}h" or "{text}d".'
    if re.fullmatch(r"[0-9]+(:[0-9]{2})+", text):
        return 'Clock times are not durations: write "1h30m" for an hour and a half.'
    tight = text.replace(" ", "").lower()
    if tight != text and tight and _WHOLE.fullmatch(tight):
        return f'Write it as "{tight}".'
    return 'Write numbers with the units w, d, h, m, s or ms, like "15m" or "1h30m".'
