"""What an instance had cost when it was last known to run: its end takes it out of no sum. Pure but for the history."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from gpu_tui.core.fleet import Instance, Money
from gpu_tui.state.history import History

COUNTER = "paid"


@dataclass(frozen=True, slots=True)
class Paid:
    """At least this much, from `since` (epoch seconds) until it was last seen running."""

    money: Money
    since: float


def remember(history: History, instance: Instance, paid: Paid | None, at: float) -> None:
    """Keep it for the next run, bound to the id: another box of that name paid nothing of it."""
    money, since = (paid.money, paid.since) if paid else (None, 0.0)
    row = [instance.provider.id, float(money.amount), money.currency, float(since)] if money else []
    history.set_counter(instance.name, COUNTER, json.dumps(row), at)


def remembered(history: History, instance: Instance) -> Paid | None:
    """What an earlier run kept of this very box; None where there is nothing, or nothing whole."""
    try:
        id, amount, currency, since = json.loads(history.counter(instance.name, COUNTER) or "[]")
    except (ValueError, TypeError):
        return None
    numbers = all(isinstance(one, float) and math.isfinite(one) for one in (amount, since))
    if id != instance.provider.id or not numbers or not isinstance(currency, str):
        return None
    return Paid(Money(amount, currency), since)
