"""What became of a call whose end nobody saw: asked of the provider, and never guessed."""

from __future__ import annotations

import asyncio

from gpu_tui.core.ending import proofs
from gpu_tui.core.fleet import Instance
from gpu_tui.core.plain import plain
from gpu_tui.providers.base import Provider
from gpu_tui.teardown.journal import Journal, JournalDamaged

# An outcome of the read-back -> the journal's word for it; anything else is `unknown`.
ENDS = {"gone": "confirmed-gone", "stopped": "confirmed-gone", "still-there": "still-there"}


def place_of(instance: Instance) -> str:
    """Where an id means this instance: with another key or in another cluster it is something else."""
    access, scope = instance.provider, instance.scheduler_scope
    parts = [instance.platform, access.key_env, access.base_url]
    if instance.scheduler is not None:
        parts += [instance.ssh.host, scope.context, scope.namespace]
    return " ".join(plain(part or "-") for part in parts)


async def settle(
    journal: Journal, instance: Instance, provider: Provider, evidence: str = ""
) -> str | None:
    """Settle an earlier call of this instance by the provider's word, or say why it cannot be settled.

    Raises JournalDamaged where the journal cannot be believed, OSError where it cannot be used.
    """
    intent = await asyncio.to_thread(journal.unresolved, instance.name)
    damage = (await asyncio.to_thread(journal.read)).damage
    if damage:
        raise JournalDamaged(f"the journal is damaged ({damage}): nothing may be stopped")
    if intent is None:
        return None
    id, place = intent.detail.get("provider_id"), place_of(instance)
    if intent.detail.get("place", place) != place:
        return (
            f"the call of {intent.at} was never seen to end, and its id was of another account or "
            "cluster: put the fleet file back as it was, then look again"
        )
    if not isinstance(id, str) or not provider.reads:
        return f"the call of {intent.at} was never seen to end"
    provider.remember(id)
    state = await provider.read(id)
    if state.state == "unknown":
        return f"the call of {intent.at} was never seen to end, and the API does not say"
    ended = state.state in proofs(str(intent.detail.get("effect")))
    event = "confirmed-gone" if ended else "still-there"
    await asyncio.to_thread(
        journal.write,
        instance.name,
        event,
        evidence,
        provider=state.state,
        settles=intent.seq,
    )
    return None
