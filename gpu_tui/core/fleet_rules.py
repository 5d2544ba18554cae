"""Findings that only the whole fleet shows: what the queues of a sweep say of each other, and what the
accounts say of the fleet file. Pure; the rules stand in `roster_rules` and `account_rules`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpu_tui.core.account import Account, Listed
from gpu_tui.core.account_rules import account_conditions
from gpu_tui.core.ending import OpenEnd, ending_words
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Instance, ProviderState
from gpu_tui.core.roster_rules import roster_conditions
from gpu_tui.core.rules import Condition
from gpu_tui.core.sweep import Queue, Roster
from gpu_tui.core.thresholds import THRESHOLDS, Threshold


@dataclass(frozen=True, slots=True)
class Member:
    """What the fleet's rules look at of one instance. `roster` is None where no queue file was read."""

    instance: Instance
    queue: Queue
    roster: Roster | None
    provider: ProviderState
    live: bool


@dataclass(frozen=True, slots=True)
class FleetNow:
    """All members in fleet-file order, and all accounts that were asked."""

    now: float
    members: tuple[Member, ...]
    accounts: tuple[Account, ...] = ()
    unlisted: tuple[Listed, ...] = ()  # the accounts hold them, the fleet file does not
    platforms: Mapping[str, str] = field(default_factory=dict)  # platform id -> its name
    thresholds: tuple[Threshold, ...] = THRESHOLDS  # at which the end of the money is told
    ends: tuple[OpenEnd, ...] = ()  # of teardowns, whose instances the fleet file does not name


def fleet_conditions(seen: FleetNow) -> Iterator[tuple[str, Condition]]:
    """All that is so now, each with the name of the instance that it is about (`platform:id` of one that
    no fleet file names).
    """
    yield from roster_conditions(seen)
    yield from account_conditions(seen)
    for end in seen.ends:
        evidence = ending_words(end)
        yield end.instance, Condition("teardown", Severity.FATAL, evidence, "journal")
