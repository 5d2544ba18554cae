"""What an instance costs per hour now, and what its run has cost so far. Unknown is never zero."""

from __future__ import annotations

from gpu_tui.state.history import Anchored
from gpu_tui.state.instance import InstanceState
from gpu_tui.state.views import Cost

NO_PRICE = "no price in the fleet file, and none from an API"
STORAGE = "it is stopped: what its storage costs is not known, and not zero"


def cost_of(kept: InstanceState, now: float, anchored: Anchored) -> Cost:
    """The instance's cost at `now`: by the API's price, else by the one in the fleet file."""
    told, typed = kept.provider.price, kept.instance.price
    price = told or typed
    currency = price.currency if price else None
    since = kept.provider.started_at
    if since is None and "first_seen" in anchored:
        since, _ = anchored["first_seen"]
    if kept.provider.state == "gone":
        return Cost(0.0, currency, None, since, "api")
    if kept.provider.state == "stopped":
        # What is typed is the price of a box that runs.
        if told is None:
            return Cost(None, currency, None, since, why={"per_hour": STORAGE})
        return Cost(told.amount, currency, None, since, "api")
    if price is None:
        return Cost(why={"per_hour": NO_PRICE})
    spent, why = None, {}
    if since is not None:
        spent = max(0.0, now - since) / 3600 * price.amount
        if told is not None and kept.meter.changed:
            spent = kept.meter.spent(since, now)
            why["spent"] = "the price changed meanwhile: each hour at the price it had"
    return Cost(price.amount, currency, spent, since, "api" if told else "fleet-file", why)


def price_of(cost: Cost, seconds: float) -> str | None:
    """What `seconds` cost, as text; None where that is not known."""
    if cost.per_hour is None:
        return None
    return f"{cost.per_hour * seconds / 3600:.2f} {cost.currency}"
