"""What the accounts say of the fleet file: who bills and is in no file, who is gone, how long the money lasts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_tui.core import units
from gpu_tui.core.account import Account, Listed
from gpu_tui.core.clock import rfc3339
from gpu_tui.core.ending import OwnEnd
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Instance, Money, ProviderState
from gpu_tui.core.fleet_now import FleetNow, Member
from gpu_tui.core.rules import Condition
from gpu_tui.core.thresholds import crossed

JUST_MADE = 90.0  # seconds: who makes a box needs a moment to write it into the fleet file
SILENT = 600.0  # seconds without a good listing after which nobody knows what bills
LOW, EMPTY = 24 * 3600.0, 4 * 3600.0  # seconds of runway

Found = tuple[str, Condition]


def provider_state(account: Account, instance: Instance, *, known: bool) -> ProviderState | None:
    """What one reading of an account says of one instance; None where it does not speak of it.

    Missing from a whole list means gone only for an instance that was `known` before.
    """
    if instance.name not in account.serves or instance.provider.id is None:
        return None
    if account.error:
        return ProviderState(error=account.error)
    found = account.find(instance.provider.id)
    if found is not None:
        return found.seen(account.read_at)
    if not account.complete:
        return ProviderState(error="the list of the account was not read to its end")
    if known:
        return ProviderState("gone", read_at=account.read_at)
    return ProviderState(
        error="the account holds no such instance, and none was ever seen: check provider.id "
        f"and whose key ${account.key_env} is"
    )


def unlisted(
    accounts: Iterable[Account], instances: Iterable[Instance], now: float
) -> tuple[Listed, ...]:
    """What an account holds and no instance of the fleet file names, by its id or by its address."""
    fleet = tuple(instances)
    named = {(one.platform, one.provider.id) for one in fleet}
    return tuple(
        listed
        for account in accounts
        for listed in account.listed
        if listed.state != "gone"
        and (listed.platform, listed.id) not in named
        and not any(_at_its_address(one, listed) for one in fleet)
        and not _just_made(listed, now)
    )


def account_conditions(seen: FleetNow) -> Iterator[Found]:
    """Instance name and condition."""
    for listed in seen.unlisted:
        yield _unlisted(listed, seen)
    for account in seen.accounts:
        yield from _ids(account, seen)
        yield from _money(account, seen)
        yield from _left_behind(account, seen)
        yield from _silent(account, seen)
    for member in seen.members:
        yield from _differs(member, seen)


def _unlisted(listed: Listed, seen: FleetNow) -> Found:
    bills = listed.price is None or listed.price.amount > 0
    title, bill = _title(seen, listed.platform), _bill(listed, seen.now)
    text = f"{title}: {listed.name or listed.id}, {bill}, and it is in no fleet file"
    nameless = [
        member.instance.name
        for member in seen.members
        if member.instance.platform == listed.platform and member.instance.provider.id is None
    ]
    if nameless:
        text += f"; if it is {' or '.join(nameless[:3])}, write provider.id: {listed.id} there"
    severity = Severity.FATAL if bills else Severity.WARN
    if bills and nameless:
        severity = Severity.SERIOUS
    if bills:
        text = f"you are paying for this one: {text}"
    return listed.label, Condition(
        "unlisted_instance", severity, text, f"api:{listed.platform}", part=listed.id
    )


def _ids(account: Account, seen: FleetNow) -> Iterator[Found]:
    """An instance without an id whose address the account knows."""
    for member in seen.members:
        instance = member.instance
        for listed in account.listed:
            if instance.provider.id is None and _at_its_address(instance, listed):
                yield (
                    instance.name,
                    Condition(
                        "unlisted_instance",
                        Severity.WARN,
                        f"{listed.label} answers at its address: write provider.id: {listed.id} "
                        "into the fleet file",
                        f"api:{listed.platform}",
                        part=listed.id,
                    ),
                )


def _money(account: Account, seen: FleetNow) -> Iterator[Found]:
    title, balance = _title(seen, account.platform), account.balance
    name, source = f"{account.platform}:account", f"api:{account.platform}"
    if account.remark:
        yield (
            name,
            Condition("low_balance", Severity.SERIOUS, account.remark, source, part="remark"),
        )
    if balance is None:
        return
    left = account.runway
    # Each threshold that is crossed is told anew.
    stage = None if left is None else crossed(left, None, seen.thresholds)
    part = f"{account.key}@{stage}" if stage else account.key
    severity, text = None, f"{title}: {_written(balance)} left"
    if left is not None and account.spend_per_hour is not None:
        most = "at most " if account.spend_at_least else ""
        text += f", {most}{units.words(left)} at {_written(account.spend_per_hour)}/h"
    if balance.amount <= 0 or (left is not None and left < EMPTY):
        severity = Severity.FATAL
    elif stage is not None or (left is not None and left < LOW):
        severity = Severity.SERIOUS
    elif (limit := account.low_balance) is not None and balance.amount < limit.amount:
        severity, text = Severity.WARN, f"{text}, below the {_written(limit)} that you set there"
    if severity is not None:
        yield name, Condition("low_balance", severity, text, source, part=part)


def _left_behind(account: Account, seen: FleetNow) -> Iterator[Found]:
    for stored in account.stored:
        if stored.used is not False or (stored.price is not None and stored.price.amount <= 0):
            continue
        price = "what it costs is not known" if stored.price is None else _per_hour(stored.price)
        size = f" of {stored.size}" if stored.size else ""
        yield (
            stored.label,
            Condition(
                "idle_billing",
                Severity.WARN,
                f"a {stored.kind}{size} that no instance uses goes on billing: {price}",
                f"api:{stored.platform}",
                part=stored.id,
            ),
        )


def _silent(account: Account, seen: FleetNow) -> Iterator[Found]:
    """A list that cannot be read hides what bills."""
    if account.error and (account.read_at is None or seen.now - account.read_at > SILENT):
        since = "" if account.read_at is None else f" for {units.words(seen.now - account.read_at)}"
        yield (
            f"{account.platform}:account",
            Condition(
                "unlisted_instance",
                Severity.WARN,
                f"what bills at {_title(seen, account.platform)} is not known{since}: {account.error}",
                f"api:{account.platform}",
                part=account.key,
            ),
        )


def _differs(member: Member, seen: FleetNow) -> Iterator[Found]:
    """What the API says of an instance of the file, and what else is known of it."""
    instance, state = member.instance, member.provider
    title, source = _title(seen, instance.platform), f"api:{instance.platform}"
    if member.live and state.state in ("stopped", "ended", "gone"):
        yield (
            instance.name,
            Condition(
                "unlisted_instance",
                Severity.WARN,
                f"{title} says {state.state}, yet the box answers: check provider.id",
                source,
                part="differs",
            ),
        )
    elif state.state == "gone" and (own := _own_end(member)) is not None:
        when = rfc3339(own.at) or "an earlier day"
        text = f"your own “{own.verb}” ended it, {when}; {title} no longer has it"
        yield instance.name, Condition("torn_down", Severity.WARN, text, "journal")
    elif state.state == "gone":
        yield (
            instance.name,
            Condition(
                "unlisted_instance",
                Severity.WARN,
                f"{title} no longer has {instance.provider.id}: take it out of the fleet file, or "
                "check provider.id",
                source,
                part="gone",
            ),
        )
    elif state.state == "ended":
        yield (
            instance.name,
            Condition(
                "unlisted_instance",
                Severity.WARN,
                f"{title} says that {instance.provider.id} ended for ever, and still lists it: "
                "take it out of the fleet file once it is gone there",
                source,
                part="gone",
            ),
        )
    if state.remark:
        bills = state.state == "running" and state.price is not None
        severity = Severity.SERIOUS if bills else Severity.WARN
        yield (
            instance.name,
            Condition("idle_billing", severity, state.remark, source, part="remark"),
        )


def _own_end(member: Member) -> OwnEnd | None:
    """The teardown that ended this very box; None where nobody here did."""
    own, id = member.own_end, member.instance.provider.id
    return own if own is not None and id is not None and own.provider_id == id else None


def _written(money: Money) -> str:
    return units.money(money.amount, money.currency)


def _per_hour(price: Money | None) -> str:
    return "at a price that is not known" if price is None else f"{_written(price)}/h"


def _bill(listed: Listed, now: float) -> str:
    """State, price, and what it came to, as far as the API tells."""
    state = "in a state that is not known" if listed.state == "unknown" else listed.state
    rate, began = _per_hour(listed.price), listed.started_at
    if listed.state != "running" or began is None or now <= began:
        return f"{state}, {rate}"
    if listed.price is None:
        return f"{state}, {rate}, for {units.words(now - began)}"
    spent = Money(listed.price.amount * (now - began) / 3600, listed.price.currency)
    return f"{state}, {rate}, for {units.words(now - began)} (about {_written(spent)})"


def _title(seen: FleetNow, platform: str) -> str:
    return seen.platforms.get(platform, platform)


def _at_its_address(instance: Instance, listed: Listed) -> bool:
    """True where the fleet file itself says the address; an alias of ~/.ssh/config leads anywhere."""
    return (
        instance.platform == listed.platform
        and instance.provider.id is None
        and (instance.ssh.host, instance.ssh.port or 22) in listed.addresses
    )


def _just_made(listed: Listed, now: float) -> bool:
    """True where it appeared a moment ago, by its own start or between two of our looks."""
    return any(
        at is not None and 0 <= now - at < JUST_MADE
        for at in (listed.started_at if listed.state == "running" else None, listed.first_seen)
    )
