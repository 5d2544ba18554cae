"""The real climb, act, diary and journal in a small true world: whatever goes wrong at each of its steps.

Only the eyes and the provider are stand-ins, so that thousands of rides take seconds; the real ones have
tests of their own beside `teardown`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gate_faults import FAULTS
from gate_oracle import wrongs
from gate_world import World

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.evidence import Listed, Loaded, Pulled, Quiet
from gpu_tui.core.fleet import Instance, ProviderState, SshAccess
from gpu_tui.core.gate import State, StopPermit
from gpu_tui.core.profile import Verb
from gpu_tui.providers.base import Answer, AnswerKind
from gpu_tui.teardown.act import Pace
from gpu_tui.teardown.climb import Climb
from gpu_tui.teardown.journal import Journal, Record

PACE = Pace(pulse=0.001, poll=0.0005, poll_most=0.001, give_up=0.002)


@dataclass
class Road:
    """Counts the steps of a ride and does its trouble at one of them."""

    trouble: Callable[[], None] | None = None
    at: int = -1
    passed: list[str] = field(default_factory=list)

    def step(self, name: str) -> None:
        self.passed.append(name)
        if self.trouble is not None and len(self.passed) - 1 == self.at:
            self.trouble()


class Eyes:
    """What `Gather` is to a climb: each look is one step of the road."""

    def __init__(self, world: World, road: Road, clock: ManualClock, provider: Any) -> None:
        self.world, self.road, self.clock, self.provider = world, road, clock, provider
        self.instance = Instance("box", SshAccess("box"), "runpod")
        self.profile = None
        self.lost: str | None = None

    async def _look(self, name: str) -> World:
        await asyncio.sleep(0)
        self.road.step(name)
        self.world.boot, self.world.wall = self.clock.boot(), self.clock.now()
        return self.world

    def changed(self) -> str | None:
        return self.lost

    async def plan(self, verb: Verb, unresolved: str | None) -> object:
        world = await self._look("plan")
        world.planned, world.unresolved = (world.identity, world.basis, world.provider), unresolved
        world.met = world.logins
        return world.plan()

    async def quiet(self) -> object:
        world = await self._look("quiet")
        return Quiet(world.running, world.busy)

    async def inventory(self) -> object:
        return (await self._look("inventory")).inventory()

    async def pulled(self, manifest: object) -> object:
        world = await self._look("pulled")
        for path, text in world.box.items():
            world.put("here", path, text)
        return Pulled(len(world.box), 1)

    async def matched(self, manifest: object) -> object:
        return (await self._look("matched")).matched()

    async def loaded(self, manifest: object, *args: object, **kinds: object) -> Loaded:
        world = await self._look("loaded")
        world.loaded_by = world.verifier
        return world.verdicts()

    async def listed(self) -> Listed:
        world = await self._look("listed")
        return Listed(tuple(world.box), world.identity, world.running)

    async def recheck(self, wanted: object) -> object:
        await self._look("recheck begins")
        return self.world.look(lambda world: self.road.step("recheck ends"))


class Api:
    """The provider: judges each call by the truth of its moment, and does what it is told."""

    reads = True

    def __init__(self, world: World, road: Road, clock: ManualClock) -> None:
        self.world, self.road, self.clock = world, road, clock
        self.calls = 0
        self.crimes: list[str] = []

    def offers(self, verb: Verb) -> bool:
        return True

    def remember(self, id: str) -> None:
        pass

    async def stop(self, permit: StopPermit) -> Answer:
        self.world.boot = self.clock.boot()
        permit.redeem(self.world.identity.provider_id, self.clock.boot())
        self.crimes += wrongs(self.world)
        self.road.step("call before its effect")
        self.calls += 1
        self.world.provider = "gone"
        self.road.step("call after its effect")
        return Answer(AnswerKind.ACCEPTED, "accepted", status=200)

    async def read(self, id: str) -> ProviderState:
        await asyncio.sleep(0)
        self.road.step("read")
        return ProviderState(self.world.provider)


class Told(Journal):
    """The real journal, each record a step of the road before and after it is on disk."""

    road: Road

    def write(self, instance: str, event: str, evidence: str = "", **detail: object) -> Record:
        self.road.step(f"before {event}")
        record = super().write(instance, event, evidence, **detail)
        self.road.step(f"after {event}")
        return record


@dataclass
class Ride:
    """One climb to its end. `cancel` closes it, as a person does."""

    world: World
    directory: Path
    road: Road = field(default_factory=Road)
    clock: ManualClock = field(default_factory=ManualClock)
    api: Api = field(init=False)
    climb: Climb = field(init=False)
    raised: BaseException | None = None
    asked_again: bool = False  # nothing was sent, and the phrase is to be typed once more

    def __post_init__(self) -> None:
        self.api = Api(self.world, self.road, self.clock)
        self.journal = Told(self.directory, self.clock, "somebody@here")
        self.journal.road = self.road
        self.eyes = Eyes(self.world, self.road, self.clock, self.api)
        self.world.boot, self.world.wall = self.clock.boot(), self.clock.now()
        self.world.reopen()
        made: Any = lambda name, moved: self.eyes  # noqa: E731
        self.climb = Climb(self.world.gate, made, self.journal, self.clock, PACE)
        self._closing: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def cancel(self) -> None:
        """Somebody presses escape just now."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._close)

    def _close(self) -> None:
        self._closing = asyncio.ensure_future(self.climb.close())

    async def go(self) -> State:
        """Climb, type what must be typed, and see what comes of it."""
        self._loop, typed, gate = asyncio.get_running_loop(), False, self.world.gate
        try:
            async with asyncio.timeout(60):
                async for view in self.climb.views():
                    said = " ".join(line for rung in view.rungs for line in rung.lines)
                    if typed and "Confirm again" in said:
                        self.asked_again = True
                        break
                    if view.state != "ready" or typed:
                        continue
                    if not view.ready:
                        self.world.armed_at = self.clock.boot()
                        self.clock.advance(3.0)
                    else:
                        typed, self.world.typed_at = True, self.clock.boot()
                        await self.climb.confirm(view.phrase)
        except Exception as error:
            self.raised = error
        if self._closing is not None:
            await self._closing
        if self.climb._act_task is not None:
            await asyncio.wait({self.climb._act_task})
        return gate.state

    @property
    def events(self) -> list[str]:
        return [record.event for record in self.journal.read().records]


def fault(ride: Ride, name: str) -> Callable[[], None]:
    """One thing of the table happens to the ride's world."""
    return lambda: FAULTS[name](ride.world)


def raising(error: BaseException) -> Callable[[], None]:
    """The step fails."""

    def trouble() -> None:
        raise error

    return trouble
