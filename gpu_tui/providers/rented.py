"""One rented instance over its platform's API: read it, and carry out what the gate permits.

An answer is never proof. "Not found" means gone only for an instance that was seen before; a call is
sent once, and one that timed out may have had its effect: only a later read tells.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from gpu_tui.core.account import Stored
from gpu_tui.core.fleet import Instance, ProviderState
from gpu_tui.core.profile import Verb
from gpu_tui.providers.api import TOTAL_LIMIT
from gpu_tui.providers.base import Answer, AnswerKind, Means, ProviderError
from gpu_tui.providers.platform import Platform

if TYPE_CHECKING:
    from gpu_tui.core.gate import StopPermit


class Rented:
    """The control plane of one instance."""

    reads = True

    def __init__(
        self,
        platform: type[Platform],
        instance: Instance,
        means: Means,
        *,
        total_limit: float = TOTAL_LIMIT,
    ) -> None:
        """ProviderError for an instance that the API does not know, and for a base URL that leaks the key."""
        if why := platform.refuses(instance):
            raise ProviderError(why)
        self._clock = means.clock
        self._id = instance.provider.id
        self._platform = platform(means, instance.provider, total_limit=total_limit)
        self._seen: set[str] = set()
        self._state = "unknown"  # as it was read last

    def offers(self, verb: Verb) -> bool:
        """What the platform has a call for; nothing else of the account is touched."""
        return self._platform.offers(verb)

    def remember(self, id: str) -> None:
        """This instance existed once."""
        self._seen.add(id)

    def account(self) -> str | None:
        """The first bits of a hash over address, instance and key."""
        api, env = self._platform.api, self._platform.means.env
        key = env.get(api.key_env, "").strip()
        words = f"account {api.base} {self._id} {key}".encode("utf-8", "surrogateescape")
        return hashlib.sha256(words).hexdigest()[:8] if key else None

    async def read(self, id: str) -> ProviderState:
        """The instance now. Not found counts as gone only for one that was seen before.

        A server that finds nothing at all proves nothing: the whole list must be there, without it.
        """
        self._state = "unknown"
        try:
            found = await self._platform.show(id)
            if found is None and id in self._seen:
                listing = await self._platform.listing()
                found = next((one for one in listing if one.id == id), None)
        except ProviderError as error:
            return ProviderState(error=str(error))
        now = self._clock.now()
        if found is not None:
            self._seen.add(id)
            self._state = found.state
            return found.seen(now)
        if id in self._seen:
            return ProviderState("gone", read_at=now)
        return ProviderState(
            error="no such instance was ever seen with this key: check provider.id and the key's account"
        )

    async def beside(self, id: str) -> tuple[Stored, ...]:
        """Volumes, file systems, addresses, snapshots of this instance, and those of nobody knows whom."""
        await self._platform.listing()  # tells who mounts what
        rows = await self._platform.stored()
        return tuple(row for row in rows if row.users is None or id in row.users)

    async def stop(self, permit: StopPermit) -> Answer:
        """Send the one call this permit stands for. Never raises ProviderError and never repeats."""
        if self._id is None:
            return Answer(AnswerKind.REFUSED, "no provider.id in the fleet file: nothing was sent")
        return await self._platform.call(permit, self._id, self._state)
