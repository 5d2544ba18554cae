"""What hangs on an instance and has an end or a bill of its own: asked of the account, else of the profile.

The own disks of an instance are none of this: the whole ladder is about those.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpu_tui.core.account import Stored
from gpu_tui.core.evidence import SecondResource
from gpu_tui.core.plain import plain
from gpu_tui.core.profile import Tier, Verb
from gpu_tui.providers.base import HoldsMore, Provider, ProviderError

# What a control API calls it -> the tier of its platform's profile.
TIER_OF = {
    "network volume": "network-volume",
    "file system": "nfs",
    "volume": "volume",
    "snapshot": "snapshot",
    "shared drive": "shared-drive",
}


async def second_resources(
    provider: Provider, id: str | None, verb: Verb, tiers: Sequence[Tier]
) -> tuple[SecondResource, ...]:
    """Everything that must be acknowledged by itself before `verb`. A park deletes nothing: none.

    Where the account cannot be read, what the profile names has a fate that nobody knows.
    """
    if verb.park:
        return ()
    if not isinstance(provider, HoldsMore) or id is None:
        return tuple(_of_tier(tier, verb) for tier in separate(verb, tiers))
    try:
        rows = await provider.beside(id)
    except ProviderError as error:
        why = f"the account could not be read: {plain(str(error), 120)}"
        return tuple(_unread(tier, why) for tier in separate(verb, tiers))
    found = sorted((_of_row(row, verb) for row in rows), key=lambda one: one.key)
    listed = set(TIER_OF.values())
    found += [_of_tier(t, verb) for t in separate(verb, tiers) if t.id not in listed]
    return tuple(found)


def separate(verb: Verb, tiers: Sequence[Tier]) -> tuple[Tier, ...]:
    """The tiers that bill by themselves and are not merely the disk that this verb is about."""
    return tuple(
        tier
        for tier in tiers
        if verb.concerns(tier)
        and (tier.bills_when_stopped or "").lower().startswith("yes")
        and not (tier.id in verb.deletes and tier.survives_destroy is False)
    )


def _of_tier(tier: Tier, verb: Verb) -> SecondResource:
    survives = tier.survives_stop if verb.effect == "stop" else tier.survives_destroy
    fate = "bills-on" if survives else "unknown"
    if tier.id in verb.deletes:
        fate = "dies"
    note = f"its profile: bills {tier.bills_when_stopped}; nothing lists which one it is"
    return SecondResource(tier.id, "storage", tier.label or tier.id, fate, note=note)


def _unread(tier: Tier, why: str) -> SecondResource:
    return SecondResource(tier.id, "storage", tier.label or tier.id, "unknown", note=why)


def _of_row(row: Stored, verb: Verb) -> SecondResource:
    fate = "dies" if TIER_OF.get(row.kind) in verb.deletes else "bills-on"
    note = "nobody says which instance uses it" if row.users is None else row.size
    # A price that follows the bytes in it changes while it is looked at: it is told in the account's list.
    price = None if row.kind == "file system" else row.price
    return SecondResource(row.id, row.kind, row.label, fate, price, note)
