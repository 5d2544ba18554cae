"""Findings about alert channels: a configured channel that cannot be used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpu_tui.core.findings import Severity
from gpu_tui.core.rules import Condition

KIND = "alert_channel"
ABOUT = "alerts"  # `alerts:webhook`: a fleet file cannot have an instance of this name


@dataclass(frozen=True, slots=True)
class AlertChannel:
    """One configured channel. `wrong` says why it cannot be used, None if it can; `next` says what to do.

    `waiting`: alerts in its outbox. `elsewhere`: another gpu-tui of this user could use it within the last hour.
    """

    name: str
    wrong: str | None = None
    next: str = ""
    waiting: int = 0
    elsewhere: bool = False


def channel_conditions(channels: Iterable[AlertChannel]) -> Iterator[tuple[str, Condition]]:
    """One finding for each channel that cannot be used; only a warning if another gpu-tui can use it."""
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
