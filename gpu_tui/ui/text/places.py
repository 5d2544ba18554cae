"""A place in a log as a person types it: `1200`, `+12`, `50%`, `120M`, `14:05`, `2026-03-04 10:4`."""

from __future__ import annotations

import re
from dataclasses import dataclass

UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_BYTES = re.compile(r"@?(\d{1,12}(?:\.\d{1,3})?)([kmgt])(?:i?b)?", re.IGNORECASE)
_TIME = re.compile(r"(?:\d{4}-\d\d-\d\d[T ]?)?\d\d:\d\d(?::\d\d)?|\d{4}-\d\d-\d\d")
HINT = "line 1200 · +12 since reading began · byte 120M · 50% · time 14:05"


@dataclass(frozen=True, slots=True)
class Place:
    """One of these: a line of the file or of the tail (both from 0), a byte, a share of the file, words
    that a line with the wanted time has.
    """

    line: int | None = None
    seen: int | None = None
    byte: int | None = None
    share: float | None = None
    words: str | None = None


def later(words: str) -> str | None:
    """What a stamp with seconds looks like that is later on the day than the time that was typed; None for a date."""
    typed = re.fullmatch(r"(.*?)(\d\d):(\d\d)(?::\d\d)?", words)
    if typed is None:
        return None
    day, hour, minute = typed[1], int(typed[2]), int(typed[3])
    minutes = [f"{hour:02}:{_above(minute, 59)}"] if minute < 59 else []
    hours = [f"{_above(hour, 23)}:[0-5][0-9]"] if hour < 23 else []
    if not minutes + hours:
        return None
    before = day.rstrip("T ") + "[T ]" if day else "(^|[^0-9:])"
    return f"{before}({'|'.join(minutes + hours)}):[0-5][0-9]"


def _above(number: int, most: int) -> str:
    """Every number of two digits above `number`, to `most`."""
    return f"({'|'.join(f'{n:02}' for n in range(number + 1, most + 1))})"


def place_of(text: str) -> Place | None:
    """What was meant; None where this is no place."""
    text = text.strip()
    if text.isascii() and text.isdigit() and len(text) <= 15:
        return Place(line=max(0, int(text) - 1))
    if text[:1] == "+" and text[1:].isascii() and text[1:].isdigit() and len(text) <= 15:
        return Place(seen=max(0, int(text[1:]) - 1))
    if (match := re.fullmatch(r"(\d{1,3}(?:\.\d{1,3})?)%", text)) and float(match[1]) <= 100:
        return Place(share=float(match[1]) / 100)
    if text[:1] == "@" and text[1:].isascii() and text[1:].isdigit() and len(text) <= 16:
        return Place(byte=int(text[1:]))
    if match := _BYTES.fullmatch(text):
        return Place(byte=int(float(match[1]) * UNITS[match[2].lower()]))
    return Place(words=text) if _TIME.fullmatch(text) else None
