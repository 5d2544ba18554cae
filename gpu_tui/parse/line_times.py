"""Times that the lines of a log begin with, as `logging`, glog, Megatron and mmengine print them. Pure.

No zone is known, so a time says only how long after another one of the same log it was printed. A time of day without a
date is read only at the beginning of a line: after other words it may be a duration.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

HEAD = 64  # characters of a line that are searched for its time
DAY = 86_400.0
_CLOCK = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,](?P<part>\d{1,9}))?(?![\d:<])"
_DATED = re.compile(
    r"(?<!\d)(?:(?P<year>\d{4})[-/.](?P<month>\d\d)[-/.](?P<day>\d\d)|(?P<month2>\d\d)[-/]?(?P<day2>\d\d)(?:/\d{4})?)"
    rf"[ T_-]{_CLOCK}"
)
_TIMED = re.compile(rf"\W{{0,2}}{_CLOCK}")


def times_of(lines: Iterable[str]) -> list[float | None]:
    """By line, the seconds from the first time to its own; None if it has none.

    Where the clock was set back no time passes.
    """
    times: list[float | None] = []
    last: tuple[bool, float] | None = None
    passed = 0.0
    for line in lines:
        known = _time_of(line)
        if known is None:
            times.append(None)
            continue
        if last is not None and last[0] == known[0]:
            gap = known[1] - last[1]
            if not known[0] and gap < -DAY / 2:  # past midnight
                gap += DAY
            passed += max(0.0, gap)
        last = known
        times.append(passed)
    return times


def _time_of(line: str) -> tuple[bool, float] | None:
    """Whether the time has a date, and its seconds; None if the line has no time."""
    head = line[:HEAD]
    found = _DATED.search(head)
    match = found or _TIMED.match(head)
    if match is None:
        return None
    hour, minute, second = (int(match[name]) for name in ("hour", "minute", "second"))
    part = float(f"0.{match['part'] or 0}")
    if hour > 23 or minute > 59 or second > 59:
        return None
    clock = hour * 3600.0 + minute * 60.0 + second + part
    if found is None:
        return False, clock
    # Without a year a leap year is taken: it has every day.
    year, month, day = (
        int(found["year"] or 2000),
        int(found["month"] or found["month2"]),
        int(found["day"] or found["day2"]),
    )
    try:
        return True, datetime(year, month, day, tzinfo=UTC).timestamp() + clock
    except ValueError:
        return None
