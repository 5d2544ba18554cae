"""Findings that only the whole fleet shows: contradictions between the queues of a sweep, between accounts and the
fleet file, and alert channels that cannot be used. Pure; see `roster_rules`, `account_rules`, `alert_channel`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpu_tui.core.account_rules import account_conditions
from gpu_tui.core.alert_channel import channel_conditions
from gpu_tui.core.ending import ending_words
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Instance
from gpu_tui.core.fleet_now import FleetNow
from gpu_tui.core.roster_rules import roster_conditions
from gpu_tui.core.rules import Condition

OTHERS = 5  # aliases of one box that each entry names


def fleet_conditions(seen: FleetNow) -> Iterator[tuple[str, Condition]]:
    """All that is so now, each with the name of the instance that it is about (`platform:id` of one that
    no fleet file names).
    """
    yield from roster_conditions(seen)
    yield from account_conditions(seen)
    yield from _same_box(seen)
    yield from channel_conditions(seen.channels)
    for end in seen.ends:
        evidence = ending_words(end)
        yield end.instance, Condition("teardown", Severity.FATAL, evidence, "journal")


def _same_box(seen: FleetNow) -> Iterator[tuple[str, Condition]]:
    """Entries of the fleet file that reach one box and are not declared `same_box`."""
    boxes: defaultdict[tuple[str, ...], list[Instance]] = defaultdict(list)
    for member in seen.members:
        if member.box is not None:
            boxes[member.box].append(member.instance)
    for entries in boxes.values():
        for one in entries:
            others = [o.name for o in entries if o is not one and not o.said_to_be(one)]
            for other in others[:OTHERS]:
                text = (
                    f"{one.name} and {other} in the fleet file reach one box: the same host key, boot and "
                    "first process. Neither can be destroyed until that is put right"
                )
                yield one.name, Condition("same_box", Severity.SERIOUS, text, "fleet", part=other)
