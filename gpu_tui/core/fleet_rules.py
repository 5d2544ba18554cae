"""Findings that only the whole fleet shows: what the queues of a sweep say of each other, and what the
accounts say of the fleet file. Pure; the rules stand in `roster_rules` and `account_rules`.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_tui.core.account_rules import account_conditions
from gpu_tui.core.ending import ending_words
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet_now import FleetNow
from gpu_tui.core.roster_rules import roster_conditions
from gpu_tui.core.rules import Condition


def fleet_conditions(seen: FleetNow) -> Iterator[tuple[str, Condition]]:
    """All that is so now, each with the name of the instance that it is about (`platform:id` of one that
    no fleet file names).
    """
    yield from roster_conditions(seen)
    yield from account_conditions(seen)
    for end in seen.ends:
        evidence = ending_words(end)
        yield end.instance, Condition("teardown", Severity.FATAL, evidence, "journal")
