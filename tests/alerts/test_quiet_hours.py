"""Quiet hours across midnight, and across the nights when the clocks change."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from gpu_tui.alerts.quiet import quiet_until

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("at", "hours", "ends"),
    [
        ("2026-11-20T22:59", (1380, 420), None),
        ("2026-11-20T23:00", (1380, 420), "2026-11-21T07:00"),
        ("2026-11-21T03:30", (1380, 420), "2026-11-21T07:00"),
        ("2026-11-21T07:00", (1380, 420), None),
        ("2026-11-20T13:00", (720, 840), "2026-11-20T14:00"),
        ("2026-11-20T14:00", (720, 840), None),
        ("2026-11-20T14:00", (840, 840), None),
        ("2026-03-28T23:30", (1380, 420), "2026-03-29T07:00"),  # one hour of this night is missing
        ("2026-10-24T23:30", (1380, 420), "2026-10-25T07:00"),  # and one of this one comes twice
    ],
)
def test_quiet_hours(at: str, hours: tuple[int, int], ends: str | None) -> None:
    now = datetime.fromisoformat(at).replace(tzinfo=BERLIN).timestamp()
    until = quiet_until(now, hours, BERLIN)
    shown = until and datetime.fromtimestamp(until, UTC).astimezone(BERLIN).strftime(
        "%Y-%m-%dT%H:%M"
    )
    assert shown == ends


def test_without_quiet_hours_nothing_is_quiet() -> None:
    assert quiet_until(0.0, None, BERLIN) is None
