"""What an account at a provider holds, as its API lists it: every instance, what else bills, the balance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpu_tui.core.fleet import Money, ProviderState

Address = tuple[str, int]  # host and port of an ssh


@dataclass(frozen=True, slots=True)
class Listed:
    """One instance of the account. `price` is what it costs per hour now, its stored disk included.

    `state` is running (as the meter sees it), stopped, ended, gone or unknown (see ProviderState); `remark` is what a person must
    know of it, and the reason where the state is unknown. Times are epoch seconds; `first_seen` is None
    for what was there at our first look.
    """

    platform: str
    id: str
    name: str | None = None
    state: str = "unknown"
    price: Money | None = None
    started_at: float | None = None
    stopped_at: float | None = None
    ends_at: float | None = None
    first_seen: float | None = None
    addresses: tuple[Address, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    remark: str | None = None
    deadlines: Mapping[str, float] = field(default_factory=dict)  # clock id -> when it fires
    inner: tuple[str, ...] = ()  # its addresses in a private network
    parked: Money | None = None  # per hour once it is stopped, where the API tells enough
    lacks: tuple[str, ...] = ()  # tiers of the profile that it has not, where the API tells

    @property
    def label(self) -> str:
        """How a person finds it at the provider."""
        return f"{self.platform}:{self.name or self.id}"

    def seen(self, at: float | None) -> ProviderState:
        """The same as the state of an instance of the fleet, read `at`."""
        if self.state == "unknown":
            return ProviderState(error=self.remark or "the API does not say what state it is in")
        return ProviderState(
            state=self.state,
            read_at=at,
            price=self.price,
            started_at=self.started_at,
            stopped_at=self.stopped_at,
            ends_at=self.ends_at,
            facts=dict(self.facts),
            address=self.addresses[0] if self.addresses else None,
            addresses=self.addresses,
            inner=self.inner,
            remark=self.remark,
            deadlines=dict(self.deadlines),
            parked=self.parked,
            lacks=self.lacks,
        )


@dataclass(frozen=True, slots=True)
class Stored:
    """What bills beside the instances: a volume, a file system, a static address, a snapshot.

    `used` is whether an instance has it, `users` which; None where the API does not say. `price` is per hour.
    """

    platform: str
    kind: str
    id: str
    name: str | None = None
    price: Money | None = None
    used: bool | None = None
    size: str | None = None
    users: tuple[str, ...] | None = None

    @property
    def label(self) -> str:
        """How a person finds it at the provider."""
        return f"{self.platform}:{self.name or self.id}"


@dataclass(frozen=True, slots=True)
class Account:
    """One account at one moment. `key` is what tells two accounts apart, `key_env` the NAME of its key.

    `serves` names the instances of the fleet that the same key answers for. `complete` is true only
    after the last page: an instance that is not listed is not there then. `spend_at_least` is true where
    the price of something that bills is not known. `low_balance` is the limit that the provider itself
    warns at. `wait` is how many seconds the API wants to be left alone.
    `error` says why nothing newer is known; the rest is then the last good answer.
    """

    key: str
    platform: str
    key_env: str = ""
    serves: tuple[str, ...] = ()
    read_at: float | None = None
    listed: tuple[Listed, ...] = ()
    stored: tuple[Stored, ...] = ()
    complete: bool = False
    balance: Money | None = None
    low_balance: Money | None = None
    spend_per_hour: Money | None = None
    spend_at_least: bool = False
    why: Mapping[str, str] = field(default_factory=dict)  # what is not known -> why
    remark: str | None = None
    error: str | None = None
    wait: float | None = None

    @property
    def runway(self) -> float | None:
        """Seconds until the balance is gone at the present spend; None where either is not known.

        With `spend_at_least` it lasts at most that long.
        """
        if self.balance is None or self.spend_per_hour is None or self.spend_per_hour.amount <= 0:
            return None
        if self.balance.currency != self.spend_per_hour.currency:
            return None
        return max(0.0, self.balance.amount / self.spend_per_hour.amount * 3600)

    def find(self, id: str | None) -> Listed | None:
        """The instance called `id`."""
        return next((one for one in self.listed if one.id == id), None)


def spend(listed: tuple[Listed, ...], stored: tuple[Stored, ...]) -> tuple[Money | None, bool]:
    """What all of it costs per hour, and whether that is only a part; None where nothing has a price."""
    billing = [one.price for one in listed if one.state != "gone"]
    prices = [*billing, *(one.price for one in stored)]
    known = [price for price in prices if price is not None]
    currencies = {price.currency for price in known}
    if len(currencies) != 1:
        return None, bool(prices)
    return Money(sum(price.amount for price in known), currencies.pop()), len(known) < len(prices)
