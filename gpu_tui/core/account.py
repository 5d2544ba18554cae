"""What an account at a provider holds, as its API lists it: every instance that bills, and the balance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpu_tui.core.fleet import Money


@dataclass(frozen=True, slots=True)
class Listed:
    """One instance of the account. `price` is what it costs per hour now, its stored disk included."""

    platform: str
    id: str
    name: str | None = None
    state: str = "unknown"  # running | stopped | gone | unknown
    price: Money | None = None
    started_at: float | None = None
    stopped_at: float | None = None
    address: tuple[str, int] | None = None
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """How a person finds it at the provider."""
        return f"{self.platform}:{self.name or self.id}"


@dataclass(frozen=True, slots=True)
class Account:
    """One account at one moment. `key` is what tells two accounts apart: platform and env-var name.

    `complete` is true only after the last page: an instance that is not listed is not there then.
    `error` says why nothing newer is known; the rest is then the last good answer.
    """

    key: str
    platform: str
    read_at: float | None = None
    listed: tuple[Listed, ...] = ()
    complete: bool = False
    balance: Money | None = None
    spend_per_hour: Money | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None

    @property
    def runway(self) -> float | None:
        """Seconds until the balance is gone at the present spend; None where either is not known."""
        if self.balance is None or self.spend_per_hour is None or self.spend_per_hour.amount <= 0:
            return None
        if self.balance.currency != self.spend_per_hour.currency:
            return None
        return max(0.0, self.balance.amount / self.spend_per_hour.amount * 3600)
