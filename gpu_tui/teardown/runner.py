"""Where teardowns start: one ladder per instance at a time; there is no batch."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_tui.core.clock import Clock
from gpu_tui.core.events import ProviderRead
from gpu_tui.core.fleet import Instance, ProviderState
from gpu_tui.core.profile import Profile, Verb
from gpu_tui.providers.base import OfAccount, Provider
from gpu_tui.providers.manual import Manual
from gpu_tui.state.views import InstanceView
from gpu_tui.teardown.journal import Journal
from gpu_tui.teardown.ways import Group, alike, told_apart
from gpu_tui.transport.base import Connection

if TYPE_CHECKING:
    from gpu_tui.core.gate import Gate
    from gpu_tui.core.ladder import GateView, Way
    from gpu_tui.core.ports import Sink
    from gpu_tui.core.transfer import Transfer
    from gpu_tui.providers.inside import Inside
    from gpu_tui.teardown.act import Pace
    from gpu_tui.teardown.climb import Climb
    from gpu_tui.teardown.gather import Gather
    from gpu_tui.teardown.inventory import Hashed

LOOK = 2.0  # seconds that the list of verbs waits for the box at most
NO_KEY = "its API needs a key, and none is set: without one the ladder does not open"


class Runner:
    """Opens ladders. `fleet`: every instance that is watched now, for two of them may be one box."""

    def __init__(
        self,
        *,
        view: Callable[[str], InstanceView],
        connection: Callable[[str], Connection | None],
        providers: Mapping[str, Provider] | Callable[[Instance], Provider],
        profiles: Mapping[str, Profile],
        journal_dir: Path,
        clock: Clock,
        read_only: bool = False,
        pace: Pace | None = None,
        sink: Sink | None = None,
        ended: Callable[[], Awaitable[object]] | None = None,
        fleet: Callable[[], Iterable[Instance]] = tuple,
    ) -> None:
        self.read_only = read_only
        self.clock = clock
        self.pace = pace
        self.journal = Journal(journal_dir, clock)
        self._sink = sink
        self.ended = ended
        self._view = view
        self._connection = connection
        self._providers = providers
        self._profiles = profiles
        self._fleet = fleet
        self._open: dict[str, Climb] = {}
        self._bare: set[str] = set()  # boxes that were seen to have no program that ends them
        self._hashed: dict[str, Hashed] = {}  # what a climb that was cut short need not do again

    def verbs(self, instance: str) -> Sequence[Verb]:
        """The verbs that this instance's profile and variant offer, each way once; no stop for what is stopped."""
        view = self._view(instance)
        rows = self._rows(instance)
        if view.provider.state == "stopped" and not view.link.live:
            rows = tuple(row for row in rows if row.effect != "stop") or rows
        try:
            provider = self._provider(view.instance)
        except KeyError:
            return rows
        return told_apart(
            rows,
            lambda row: provider.offers(row) and instance not in self._bare,
            lambda row: self._alike(instance, row),
        )

    def way(self, instance: str, verb: Verb) -> Way:
        """Whether a call would be made for it: not without an id, nor without the key of its account."""
        from gpu_tui.core.ladder import Way
        from gpu_tui.providers.inside import NO_PROGRAM

        try:
            provider = self._provider(self._view(instance).instance)
        except KeyError:
            return Way()
        bare = instance in self._bare
        if provider.offers(verb) and not bare:
            keyless = isinstance(provider, OfAccount) and provider.account() is None
            return Way(why=NO_KEY if keyless else None)
        lacks = provider.why if isinstance(provider, Manual) else NO_PROGRAM if bare else None
        group = self._alike(instance, verb)
        rows = (row for row in self._rows(instance) if self._alike(instance, row) == group)
        return Way(by_hand=True, why=lacks if any(row.via != "console" for row in rows) else None)

    def look(self, instance: str) -> Coroutine[Any, Any, None] | None:
        """What must be asked of the box before its verbs are listed, or None: whether it has a program that ends it."""
        from gpu_tui.providers.inside import Inside

        try:
            provider = self._provider(self._view(instance).instance)
        except KeyError:
            return None
        live = self._connection(instance) is not None
        return self._look(instance, provider) if live and isinstance(provider, Inside) else None

    async def _look(self, instance: str, provider: Inside) -> None:
        from gpu_tui.providers.inside import NO_PROGRAM

        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK):
                state = await provider.look_inside()
                (self._bare.add if state.error == NO_PROGRAM else self._bare.discard)(instance)

    def _rows(self, instance: str) -> tuple[Verb, ...]:
        """All rows of its profile that its variant has."""
        described = self._view(instance).instance
        profile = self._profiles.get(described.platform)
        variant = described.provider.variant
        return tuple(
            verb
            for verb in (profile.teardown if profile else ())
            if not verb.applies_to or variant is None or variant in verb.applies_to
        )

    def _alike(self, instance: str, verb: Verb) -> Group:
        described = self._view(instance).instance
        profile = self._profiles.get(described.platform)
        return alike(verb, profile.tiers_under(verb, described.provider.variant) if profile else ())

    def open(self, instance: str, verb: str) -> Climb:
        """Start climbing; raises nothing: a refusal is a closed view with its reason."""
        from gpu_tui.core.gate import Gate

        refusal = None
        row: Verb | None = None
        try:
            rows = (*self.verbs(instance), *self._rows(instance))
            row = next((row for row in rows if verb in (row.key, row.verb)), None)
        except KeyError:
            refusal = "no such instance"
        before = self._open.get(instance)
        if before is not None and not before.over:
            refusal = "another ladder is open for it"
        elif refusal is None and row is None:
            refusal = f"its platform has no “{verb}”"
        unknown = Verb(verb, verb, (), "unknown", reversible=False, via="console", effect="destroy")
        climb = self._climb(Gate(instance, row or unknown), refusal)
        if refusal is None:
            self._open[instance] = climb
        return climb

    async def pull_only(self, instance: str, cells: Sequence[str] = ()) -> AsyncGenerator[GateView]:
        """Rungs 3 to 6 alone; the last view's outcome is `verified`, or it says what is not.

        With `cells` it is about these alone, and the outcome is `cells-verified`. UnknownCells for other names.
        """
        from gpu_tui.core.gate import Gate

        only = tuple(sorted(set(cells)))
        async for view in self._climb(Gate(instance, only=only), None).views():
            yield view

    def is_read_only(self, instance: str) -> bool:
        """Read-only by the command line or by the fleet file; the stricter wins."""
        return self.read_only or self._view(instance).instance.read_only

    def _climb(self, gate: Gate, refusal: str | None) -> Climb:
        from gpu_tui.teardown.act import Pace
        from gpu_tui.teardown.climb import Climb

        return Climb(
            gate,
            self._gather,
            self.journal,
            self.clock,
            self.pace or Pace(),
            refusal=refusal,
            told=self._told,
            ended=self.ended,
        )

    def _kept(self, instance: str) -> Hashed:
        from gpu_tui.teardown.hash_file import hash_file_of
        from gpu_tui.teardown.inventory import Hashed

        return Hashed(hash_file_of(self.journal.path.parent / "hashes", instance))

    def _told(self, instance: str, state: ProviderState) -> None:
        """What the provider says after the call is news for the whole screen, at once."""
        if self._sink is not None:
            self._sink(ProviderRead(instance, self.clock.now(), state))

    def _provider(self, instance: Instance) -> Provider:
        providers = self._providers
        return providers(instance) if callable(providers) else providers[instance.name]

    def _gather(self, instance: str, share: Callable[[Transfer], None]) -> Gather:
        from gpu_tui.teardown.gather import Gather

        described = self._view(instance).instance
        return Gather(
            name=instance,
            view=self._view,
            connection=self._connection,
            provider=self._provider(described),
            profile=self._profiles.get(described.platform),
            clock=self.clock,
            read_only=lambda: self.is_read_only(instance),
            share=share,
            hashed=self._hashed.setdefault(instance, self._kept(instance)),
            fleet=self._fleet,
        )
