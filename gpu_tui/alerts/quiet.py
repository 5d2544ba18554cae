"""Quiet hours by the wall clock of whoever sleeps. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo

DAY = 1_440  # minutes


def quiet_until(now: float, hours: tuple[int, int] | None, zone: tzinfo | None) -> float | None:
    """When the quiet hours that hold `now` end, in epoch seconds; None outside of them.

    `hours` are minutes after local midnight, from and to; `zone` None is the machine's own.
    """
    if hours is None or hours[0] == hours[1]:
        return None
    local = datetime.fromtimestamp(now, zone)
    minute = local.hour * 60 + local.minute
    begin, end = hours
    if (minute - begin) % DAY >= (end - begin) % DAY:
        return None
    ends = local.replace(hour=end // 60, minute=end % 60, second=0, microsecond=0)
    if ends <= local:
        ends += timedelta(days=1)
    return ends.timestamp()
