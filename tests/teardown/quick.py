"""A whole ladder in milliseconds: the real gate, climb, act and journal over a small true world.

Every port is counted: `points.hit(name)` runs before each, and after the one that has an effect.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

sys.path.insert(0, str(Path(__file__).parents[1] / "gate"))

from gate_world import MACHINE, TERMINATE, World

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.evidence import Event, Listed, Pulled, Quiet
from gpu_tui.core.fleet import Instance, ProviderAccess, ProviderState, SshAccess
from gpu_tui.core.gate import DWELL, Gate, StopPermit
from gpu_tui.core.ladder import GateView
from gpu_tui.core.manifest import Manifest
from gpu_tui.core.profile import Verb
from gpu_tui.providers.base import Answer, AnswerKind, Provider
from gpu_tui.teardown.act import Pace
from gpu_tui.teardown.climb import Climb
from gpu_tui.teardown.gather import Gather
from gpu_tui.teardown.journal import Hold, Journal, Reading, Record

BOX = Instance("box", SshAccess("h"), "runpod", provider=ProviderAccess(MACHINE.provider_id))
PHRASE = "box-4242"
QUICK = Pace(0.001, 0.0005, 0.001, 0.003)


class Points:
    """Counts; a test says what happens at one of them."""

    def __init__(self, act: Callable[[int, str], object] = lambda number, name: None) -> None:
        self.seen: list[str] = []
        self._act = act

    def hit(self, name: str) -> object:
        """One point is reached; what comes back takes the place of the port's answer."""
        self.seen.append(name)
        return self._act(len(self.seen), name)


class PointedJournal(Journal):
    """The real one, counted."""

    points = Points()

    def write(self, instance: str, event: str, evidence: str = "", **detail: object) -> Record:
        self.points.hit(f"journal {event}")
        return super().write(instance, event, evidence, **detail)

    def read(self) -> Reading:
        self.points.hit("journal read")
        return super().read()

    def hold(self, instance: str) -> Hold:
        self.points.hit("journal hold")
        return super().hold(instance)


@dataclass
class QuickProvider:
    """An API whose one effect is a line in a file: what a restart finds is what really happened."""

    effects: Path
    clock: ManualClock
    points: Points
    silent: bool = False
    reads: bool = True

    def offers(self, verb: Verb) -> bool:
        return verb.via == "http"

    def remember(self, id: str) -> None:
        return

    async def read(self, id: str) -> ProviderState:
        garbled = self.points.hit("provider read")
        if isinstance(garbled, ProviderState):
            return garbled
        if self.silent:
            return ProviderState(error="no answer within 30 s")
        return ProviderState("gone" if self.done else "running")

    @property
    def done(self) -> int:
        """How often the instance was really ended."""
        return len(self.effects.read_bytes().splitlines()) if self.effects.exists() else 0

    async def stop(self, permit: StopPermit) -> Answer:
        assert isinstance(permit, StopPermit)
        permit.redeem(MACHINE.provider_id, self.clock.boot())
        self.points.hit("provider stop")
        fd = os.open(self.effects, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(fd, f"{permit.verb} {permit.evidence}\n".encode())
        os.close(fd)
        garbled = self.points.hit("provider stopped")
        return (
            garbled if isinstance(garbled, Answer) else Answer(AnswerKind.ACCEPTED, "accepted", 204)
        )


@dataclass
class QuickGather:
    """Evidence from the world; each look is a point."""

    world: World
    clock: ManualClock
    provider: Provider
    points: Points
    instance: Instance = BOX
    profile: None = None

    def _see(self, name: str) -> Event | None:
        self.world.boot, self.world.wall = self.clock.boot(), self.clock.now()
        if isinstance(self.provider, QuickProvider):
            self.world.provider = "gone" if self.provider.done else "running"
        return cast("Event | None", self.points.hit(name))

    def changed(self) -> str | None:
        return None

    async def plan(self, verb: Verb, unresolved: str | None) -> Event:
        garbled = self._see("plan")
        self.world.unresolved = unresolved
        return garbled or self.world.plan()

    async def quiet(self) -> Event:
        return self._see("quiet") or Quiet(())

    async def inventory(self) -> Event:
        return self._see("inventory") or self.world.inventory()

    async def pulled(self, manifest: Manifest) -> Event:
        garbled = self._see("pull")
        self.world.local = dict(self.world.box)
        return garbled or Pulled(len(manifest.files), manifest.total_bytes)

    async def matched(self, manifest: Manifest) -> Event:
        return self._see("match") or self.world.matched()

    async def loaded(
        self, manifest: Manifest, allowed: frozenset[str], *, on_box: bool = False
    ) -> Event:
        return self._see("load") or self.world.verdicts()

    async def listed(self) -> Event:
        return self._see("list") or Listed(tuple(self.world.box), self.world.identity, ())

    async def recheck(self, wanted: Manifest | None) -> Event:
        return self._see("recheck") or self.world.look()


@dataclass
class Quick:
    """One start of gpu-tui on a state directory."""

    state: Path
    points: Points = field(default_factory=Points)
    clock: ManualClock = field(default_factory=ManualClock)
    silent: bool = False

    def __post_init__(self) -> None:
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.journal = PointedJournal(self.state / "journal", self.clock, "me@here")
        self.journal.points = self.points
        effects = self.state / "effects"
        self.provider = QuickProvider(effects, self.clock, self.points, self.silent)

    def climb(self, verb: Verb = TERMINATE, provider: Provider | None = None) -> Climb:
        """One ladder, not yet begun."""
        gate = Gate("box", verb)
        world = World(verb)
        world.gate = gate
        gather = QuickGather(world, self.clock, provider or self.provider, self.points)

        def make(name: str, share: Any) -> Gather:
            return cast("Gather", gather)

        return Climb(gate, make, self.journal, self.clock, QUICK)

    async def to_the_end(self, climb: Climb) -> list[GateView]:
        """Climb and confirm as soon as that would be taken; every view that was shown."""
        shown: list[GateView] = []
        async for view in climb.views():
            before = shown[-1].state if shown else ""
            shown.append(view)
            if view.state == "ready" and before != "ready":
                self.clock.advance(DWELL)
                await climb.confirm(PHRASE)
        return shown


async def first(views: AsyncGenerator[GateView], *states: str) -> GateView:
    """The first view in one of these states, or the last there is."""
    last = None
    async for view in views:
        last = view
        if view.state in states:
            break
    assert last is not None
    return last
