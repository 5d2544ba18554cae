"""By which ways a verb is offered: two that nobody can tell apart are one, and none that cannot work here. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gpu_tui.core.profile import Tier, Verb

Group = tuple[object, ...]


def alike(verb: Verb, tiers: Iterable[Tier]) -> Group:
    """What two rows share that do the same thing by different ways; `tiers`: the disks that this one is about."""
    same = verb.verb, verb.effect, verb.deletes, verb.meter, verb.reversible
    return (*same, tuple(tier.id for tier in tiers))


def told_apart(
    rows: Iterable[Verb], able: Callable[[Verb], bool], group: Callable[[Verb], Group]
) -> tuple[Verb, ...]:
    """The rows that a call carries out (`able`) and those of the console. A row that a person must carry out
    without being one of the console's is the console's way under another name: it stands only where that is
    missing, and once.
    """
    rows = tuple(rows)
    by_console = {group(row) for row in rows if row.via == "console"}
    shown: list[Verb] = []
    by_hand: set[Group] = set()
    for row in rows:
        if not able(row) and row.via != "console":
            key = group(row)
            if key in by_console or key in by_hand:
                continue
            by_hand.add(key)
        shown.append(row)
    return tuple(shown)
