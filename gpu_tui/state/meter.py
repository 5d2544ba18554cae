"""What an API told of an instance's price while we looked."""

from __future__ import annotations

from gpu_tui.core.fleet import Money, ProviderState

PRICES_KEPT = 100


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
