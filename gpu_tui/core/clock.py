"""Time is passed in. `now` is for people and deadlines, `boot` is for how long something took."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

# Epoch seconds. A calendar ends with the year 9999, and in the zones east of Greenwich sooner.
LATEST = 253_400_000_000.0


class Clock(Protocol):
    """Two readings of time; both are floats in seconds."""

    def now(self) -> float:
        """Seconds since the Unix epoch, UTC."""
        ...

    def boot(self) -> float:
        """Seconds that never jump and go on counting while the machine is suspended."""
        ...


@dataclass(slots=True)
class ManualClock:
    """A clock that a test moves by hand."""

    wall: float = 1_763_700_000.0
    uptime: float = 1_000.0

    def now(self) -> float:
        """Wall seconds, as set."""
        return self.wall

    def boot(self) -> float:
        """Boot seconds, as set."""
        return self.uptime

    def advance(self, seconds: float) -> None:
        """Move both readings forward."""
        self.wall += seconds
        self.uptime += seconds


def rfc3339(at: float | None) -> str | None:
    """An epoch time as RFC 3339 in UTC with whole seconds; None stays None, as does what no calendar names."""
    if at is None or not 0 <= at < LATEST:
        return None
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
