"""A moment as a person types it: a time with a zone, a local time, or a distance from now. Pure.

A local time that the clocks never showed, or showed twice, is refused with the two ways to say it: to
guess would move a deadline by an hour.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from gpu_tui.parse.duration import DurationError, parse_duration

FORMS = "2026-11-08T21:30+08:00, 2026-11-08 21:30, 21:30, 3h ago, in 2d, or now"
EARLIEST, LATEST = 946_684_800.0, 4_102_444_800.0  # of 2000 and 2100
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?", re.ASCII)
_DAY = re.compile(r"[0-9]{4}-?(?:[0-9]{2}-?[0-9]{2}|W[0-9]{2}(?:-?[1-7])?)", re.ASCII)
_WALL = "%Y-%m-%d %H:%M"


class MomentError(ValueError):
    """Not a moment. `text` says why, `next` how to write one."""

    def __init__(self, text: str, next: str = f"Write it like {FORMS}.") -> None:
        super().__init__(text)
        self.text = text
        self.next = next


def parse_moment(text: str, now: float, zone: tzinfo | None = None) -> float:
    """Epoch seconds of `text`; a time without a zone is in `zone` (None: this machine's own).

    Raises MomentError.
    """
    at = _moment(text, now, zone)
    if not EARLIEST <= at < LATEST:
        raise MomentError(f"{text!r} is not a time of this century")
    return at


def _moment(text: str, now: float, zone: tzinfo | None) -> float:
    words = " ".join(text.split())
    if words.lower() == "now":
        return now
    if words.lower().endswith(" ago"):
        return now - _distance(words[:-4], text)
    if words.lower().startswith("in "):
        return now + _distance(words[3:], text)
    match = _CLOCK.fullmatch(words)
    if match:
        hour, minute, second = (int(part or 0) for part in match.groups())
        today = _wall_of(now, zone)
        return _epoch(today.replace(hour=hour, minute=minute, second=second, microsecond=0), zone)
    if _DAY.fullmatch(words):
        raise MomentError(f"{text!r} is a day, not a time", f"Add the time: {words} 21:30.")
    try:
        at = datetime.fromisoformat(words)
    except ValueError:
        raise MomentError(f"{text!r} is no time") from None
    if at.tzinfo is not None:
        return at.timestamp()
    return _epoch(at, zone)


def _distance(words: str, text: str) -> float:
    try:
        return parse_duration(words.replace(" ", ""))
    except DurationError as error:
        raise MomentError(f"{text!r}: {error.text}", error.next) from None


def _wall_of(at: float, zone: tzinfo | None) -> datetime:
    """What the clock on the wall shows."""
    moment = datetime.fromtimestamp(at, UTC)
    return moment.astimezone(zone).replace(tzinfo=None)


def _epoch(wall: datetime, zone: tzinfo | None) -> float:
    """Epoch seconds of a wall time. Raises MomentError where there is none, or two."""
    try:
        first, second = (_as_if(wall, zone, fold) for fold in (0, 1))
    except (OverflowError, ValueError, OSError):
        raise MomentError(f"{wall:{_WALL}} is outside of what a clock can show") from None
    if first == second:
        return first
    # Before a step forward both readings miss the wall time; after a step back both hit it.
    if _wall_of(first, zone) != wall:
        earlier, later = sorted((_wall_of(first, zone), _wall_of(second, zone)))
        raise MomentError(
            f"{wall:{_WALL}} does not exist: the clocks go forward over it",
            f"Write {earlier:%H:%M} or {later:%H:%M}, or add the zone.",
        )
    ways = " or ".join(_zoned(wall, at) for at in (first, second))
    raise MomentError(
        f"{wall:{_WALL}} comes twice: the clocks go back over it", f"Add the zone: {ways}."
    )


def _as_if(wall: datetime, zone: tzinfo | None, fold: int) -> float:
    return wall.replace(tzinfo=zone, fold=fold).timestamp()


def _zoned(wall: datetime, at: float) -> str:
    offset = wall.replace(tzinfo=UTC).timestamp() - at
    return wall.replace(tzinfo=timezone(timedelta(seconds=offset))).isoformat(timespec="minutes")
