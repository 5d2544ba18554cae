"""The channels that alerts leave by, as this program finds them: a configured one that cannot be used is a finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpu_tui.core.findings import Severity
from gpu_tui.core.rules import Condition

KIND = "alert_channel"
ABOUT = "alerts"  # `alerts:webhook` is no name that a fleet file can hold


@dataclass(frozen=True, slots=True)
class AlertChannel:
    """One configured channel. `wrong` says why no alert leaves by it, None where it is usable, and `next` what to do.

    `waiting` alerts are due by it. `elsewhere`: another gpu-tui of this user could use it within the last hour.
    """

    name: str
    wrong: str | None = None
    next: str = ""
    waiting: int = 0
    elsewhere: bool = False


def channel_conditions(channels: Iterable[AlertChannel]) -> Iterator[tuple[str, Condition]]:
    """A finding for each channel that no alert leaves by; only a warning where another gpu-tui can use it."""
    for one in channels:
        if one.wrong is None:
            continue
        severity = Severity.WARN if one.elsewhere else Severity.SERIOUS
        text = one.wrong
        if one.elsewhere:
            text += "; another gpu-tui of yours sends by it"
        elif one.waiting:
            text += f"; not sent so far: {one.waiting}"
        found = Condition(KIND, severity, text, "config", part=one.name, remedy=one.next or None)
        yield f"{ABOUT}:{one.name}", found
