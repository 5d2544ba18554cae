"""What became of a call whose end nobody saw: asked of the provider, and never guessed."""

from __future__ import annotations

import asyncio

from gpu_tui.core.clock import rfc3339
from gpu_tui.core.ending import OpenEnd, proofs
from gpu_tui.core.fleet import Instance
from gpu_tui.core.plain import plain
from gpu_tui.providers.base import OfAccount, Provider, SeenFromInside, state_of
from gpu_tui.teardown.journal import Held, Journal, JournalDamaged, open_ends

# An outcome of the read-back -> the journal's word for it; anything else is `unknown`.
ENDS = {"gone": "confirmed-gone", "stopped": "confirmed-gone", "still-there": "still-there"}


def place_of(instance: Instance) -> str:
    """Where an id means this instance: with another key or in another cluster it is something else."""
    access, scope = instance.provider, instance.scheduler_scope
    parts = [instance.platform, access.key_env, access.base_url]
    if instance.scheduler is not None:
        parts += [instance.ssh.host, scope.context, scope.namespace]
    return " ".join(plain(part or "-") for part in parts)


def account_of(provider: Provider) -> str | None:
    """With which key it is asked; None where there is none."""
    return provider.account() if isinstance(provider, OfAccount) else None


async def settle(
    journal: Journal, instance: Instance, provider: Provider, evidence: str = ""
) -> str | None:
    """Settle an earlier call of this instance by what can be seen now, or say why it cannot be settled.

    The caller holds the instance. Raises JournalDamaged where the journal cannot be believed, OSError
    where it cannot be used.
    """
    end = await _open_end(journal, instance.name)
    if end is None:
        return None
    word, why = await _seen(end, instance, provider)
    if word is not None and (end.blocks or word == "confirmed-gone"):
        await asyncio.to_thread(
            journal.write, instance.name, word, evidence, settles=end.seq, verb=end.verb
        )
        return None
    if not end.blocks:
        return None
    return f"the call of {rfc3339(end.at) or 'an earlier day'} was never seen to end{why}"


async def look_again(journal: Journal, instance: Instance, provider: Provider) -> bool:
    """The same for a teardown that nobody has open: true where the journal learned something.

    Nothing is settled while a ladder of this instance is open here or elsewhere, nor by a look that is
    older than the end of one.
    """
    before = await _open_end(journal, instance.name)
    if before is None:
        return False
    try:
        (await asyncio.to_thread(journal.hold, instance.name)).close()
        word, _ = await _seen(before, instance, provider)
        if word is None or (word == "still-there" and not before.blocks):
            return False
        hold = await asyncio.to_thread(journal.hold, instance.name)
    except Held:
        return False
    try:
        if await _open_end(journal, instance.name) != before:
            return False
        await asyncio.to_thread(
            journal.write, instance.name, word, settles=before.seq, verb=before.verb
        )
    finally:
        hold.close()
    return True


async def _open_end(journal: Journal, name: str) -> OpenEnd | None:
    found = await asyncio.to_thread(journal.read)
    if found.damage:
        raise JournalDamaged(f"the journal is damaged ({found.damage}): nothing may be stopped")
    return open_ends(found.records).get(name)


async def _seen(end: OpenEnd, instance: Instance, provider: Provider) -> tuple[str | None, str]:
    """The journal's word for what became of it; or None, and how the sentence goes on that says so."""
    inside = isinstance(provider, SeenFromInside)
    if end.place not in (None, place_of(instance)):
        return None, (
            ", and its id was of another account or cluster: put the fleet file back as it was, "
            "then look again"
        )
    account = account_of(provider)
    if None not in (end.account, account) and account != end.account:
        return None, (
            ", and its key or address is another one now, which may not know it: set the one of then, "
            f"or look at the console, then gpu-tui journal {instance.name} --settle"
        )
    if not end.watched or not (inside or (end.provider_id is not None and provider.reads)):
        return None, f": look at the console, then gpu-tui journal {instance.name} --settle"
    if end.provider_id is not None:
        provider.remember(end.provider_id)
    state = await state_of(provider, end.provider_id)
    if state.state == "unknown":
        return None, f", and now: {plain(state.error or 'nobody can tell')}"
    return ("confirmed-gone" if state.state in proofs(end.effect) else "still-there"), ""
