"""What the accounts say of the fleet file: who bills and is in no file, who is gone, how long the money lasts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gpu_tui.core.account import Account, Listed
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Instance
from gpu_tui.core.rules import Condition

if TYPE_CHECKING:
    from gpu_tui.core.fleet_rules import FleetNow


def unlisted(accounts: Iterable[Account], instances: Iterable[Instance]) -> tuple[Listed, ...]:
    """What an account holds and no instance of the fleet file names."""
    named = {(one.platform, one.provider.id) for one in instances}
    return tuple(
        listed
        for account in accounts
        for listed in account.listed
        if listed.state != "gone" and (listed.platform, listed.id) not in named
    )


def account_conditions(seen: FleetNow) -> Iterator[tuple[str, Condition]]:
    """Instance name and condition."""
    for listed in seen.unlisted:
        yield (
            listed.label,
            Condition(
                "unlisted_instance",
                Severity.FATAL,
                f"you are paying for this one: {listed.label} ({listed.state}) is in no fleet file",
                f"api:{listed.platform}",
            ),
        )
