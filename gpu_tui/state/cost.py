"""What an instance costs per hour now, and what its run has cost so far. Unknown is never zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_tui.core.fleet import Money, ProviderState
from gpu_tui.state.views import Cost

if TYPE_CHECKING:
    from gpu_tui.state.instance import InstanceState

PRICES_KEPT = 100
NO_PRICE = "no price in the fleet file, and none from an API"
STORAGE = "it is stopped: what its storage costs is not known, and not zero"


class Meter:
    """The prices of the present run as the API told them, each with the time from which it counts."""

    def __init__(self) -> None:
        self._started: float | None = None
        self._prices: list[tuple[float, Money]] = []

    def take(self, state: ProviderState, at: float) -> None:
        """One answer of the API. A stop, another start or another currency begins a new run."""
        if state.error:
            return
        price = state.price
        if state.state != "running" or state.started_at != self._started:
            self._prices.clear()
            self._started = state.started_at
        if state.state != "running" or price is None:
            return
        if self._prices and self._prices[-1][1].currency != price.currency:
            self._prices.clear()
        if not self._prices or self._prices[-1][1] != price:
            self._prices.append((at, price))
            del self._prices[1 : len(self._prices) - PRICES_KEPT]

    @property
    def changed(self) -> bool:
        """The price changed while we looked."""
        return len(self._prices) > 1

    def spent(self, since: float, now: float) -> float | None:
        """From `since` to `now`: each hour at its price, those before our first look at the first."""
        if not self._prices:
            return None
        ends = [at for at, _ in self._prices[1:]] + [now]
        begins = [since, *ends[:-1]]
        return sum(
            max(0.0, end - max(begin, since)) / 3600 * price.amount
            for begin, end, (_, price) in zip(begins, ends, self._prices, strict=True)
        )


def cost_of(kept: InstanceState, now: float) -> Cost:
    """The instance's cost at `now`: by the API's price, else by the one in the fleet file."""
    told, typed = kept.provider.price, kept.instance.price
    price = told or typed
    currency = price.currency if price else None
    since = kept.provider.started_at
    if since is None:
        seen = kept.history.anchor(kept.instance.name, "first_seen")
        since = seen[0] if seen else None
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
