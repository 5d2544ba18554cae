"""Climbs with one guard taken out: each is missed by a ride or by the trouble that it stands against."""

from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from gate_rides import Ride, raising
from gate_world import World
from mutation import Mutant, mutants
from test_gate_rides import STEPS

from gpu_tui.core import gate as rules
from gpu_tui.core.gate import GateShut, State, StopPermit
from gpu_tui.providers.base import Answer
from gpu_tui.teardown import act, climb, settle
from gpu_tui.teardown.act import Act
from gpu_tui.teardown.climb import Climb
from gpu_tui.teardown.journal import Journal, JournalDamaged

Check = Callable[[Path], Awaitable[None]]


def _place(directory: Path, step: str) -> Path:
    place = directory / step.replace(" ", "-")
    place.mkdir(parents=True, exist_ok=True)
    return place


async def _ride(directory: Path, step: str, trouble: Callable[[Ride], Callable[[], None]]) -> Ride:
    ride = Ride(World(), _place(directory, step))
    ride.road.trouble, ride.road.at = trouble(ride), STEPS.index(step)
    await ride.go()
    return ride


def _damage(directory: Path) -> None:
    path = next(directory.glob("*.jsonl"))
    path.write_bytes(path.read_bytes().replace(b"open", b"OPEN") * 2)


async def full_disk(directory: Path) -> None:
    """What cannot be noted is not done."""
    for step in ("before permit", "before intent", "before open", "before confirmed"):
        full = raising(OSError(errno.ENOSPC, "No space left on device"))
        ride = await _ride(directory, step, lambda ride, full=full: full)  # type: ignore[misc]
        assert ride.raised is None
        assert (ride.api.calls, ride.world.gate.state) == (0, State.CLOSED)


async def damaged(directory: Path) -> None:
    """A journal that cannot be believed stops everything."""
    Journal(directory, Ride(World(), directory).clock).write("box", "open")
    _damage(directory)
    ride = Ride(World(), directory)
    await ride.go()
    assert (ride.api.calls, ride.world.gate.state) == (0, State.CLOSED)
    assert ride.world.gate.because
    provider: Any = ride.api
    with pytest.raises(JournalDamaged):
        await settle.settle(ride.journal, ride.eyes.instance, provider)


async def changed_at_the_end(directory: Path) -> None:
    """Read-only is set, or the link replaced, in the last milliseconds: nothing is sent."""
    for step in ("after confirmed", "recheck ends", "after intent", "after call"):
        ride = await _ride(
            directory,
            step,
            lambda ride: lambda: setattr(ride.eyes, "lost", "read-only was set"),
        )
        assert ride.api.calls == 0
        assert ride.journal.unresolved("box") is None
        assert ("call" in ride.events) is (step == "after call")


async def changed_while_it_waits(directory: Path) -> None:
    """While the gate waits for a person, the fleet may shut it."""
    ride = Ride(World(), directory)
    ride.road.trouble = lambda: setattr(ride.eyes, "lost", "the connection was lost")
    ride.road.at = STEPS.index("after loaded")
    await ride.go()
    assert "confirmed" not in ride.events
    assert ride.world.gate.because == "the connection was lost"


async def unseen_end(directory: Path) -> None:
    """A call whose end nobody saw: no second one while the provider does not say."""
    world = World()
    Journal(directory, Ride(world, directory).clock).write(
        "box", "intent", verb="terminate", effect="destroy", provider_id="pod-4242", watched=True
    )
    world.provider = "unknown"
    ride = Ride(world, directory)
    await ride.go()
    assert (ride.api.calls, world.gate.state) == (0, State.CLOSED)
    assert "never seen to end" in (world.gate.because or "")


async def settled_end(directory: Path) -> None:
    """A call whose end nobody saw, and the provider says that it had none: the way is open again."""
    world = World()
    Journal(directory, Ride(world, directory).clock).write(
        "box", "intent", verb="terminate", effect="destroy", provider_id="pod-4242", watched=True
    )
    ride = Ride(world, directory)
    await ride.go()
    assert (ride.api.calls, world.gate.outcome) == (1, "gone")
    assert ride.events[:3] == ["intent", "open", "still-there"]


async def call_under_way(directory: Path) -> None:
    """Another program wrote an intent while this one looked for the last time."""
    other = Journal(_place(directory, "recheck ends"), Ride(World(), directory).clock)

    def meanwhile() -> None:
        other.write("box", "intent", verb="terminate", effect="destroy", provider_id="pod-4242")

    ride = await _ride(directory, "recheck ends", lambda ride: meanwhile)
    assert ride.api.calls == 0
    assert "another gpu-tui" in (ride.world.gate.because or "")


async def broken_call(directory: Path) -> None:
    """However the call ends, it is read back, and a broken one is never sent again."""
    for step in ("call before its effect", "call after its effect"):
        ride = await _ride(directory, step, lambda ride: raising(RuntimeError("cut")))
        assert ride.raised is None
        assert "read-back" in ride.events
        assert ride.api.calls == (step == "call after its effect")
        assert ride.world.gate.outcome == ("gone" if ride.api.calls else "still-there")


async def late_permit(directory: Path) -> None:
    """The journal took its time: the permit has expired when the call should leave."""
    for step in ("after intent", "after call"):
        ride = await _ride(directory, step, lambda ride: lambda: ride.clock.advance(3.0))
        assert ride.api.calls == 0
        assert ride.asked_again
        assert ride.journal.unresolved("box") is None


async def slow_look(directory: Path) -> None:
    """The machine sleeps during the last look."""
    ride = await _ride(directory, "recheck ends", lambda ride: lambda: ride.clock.advance(3_600.0))
    assert (ride.api.calls, ride.world.gate.state) == (0, State.CLOSED)


async def two_at_once(directory: Path) -> None:
    """One ladder per instance of a state directory."""
    one = Ride(World(), directory)
    hold = one.journal.hold("box")
    try:
        two = Ride(World(), directory)
        await two.go()
    finally:
        hold.close()
    assert (two.api.calls, two.world.gate.state) == (0, State.CLOSED)


async def healthy(directory: Path) -> None:
    """All is well: one call, after the intent, and its end is proven."""
    ride = Ride(World(), directory)
    assert await ride.go() is State.DONE
    assert (ride.api.calls, ride.api.crimes, ride.world.gate.outcome) == (1, [], "gone")
    assert tuple(ride.road.passed) == STEPS


CHECKS: tuple[Check, ...] = (
    *(healthy, full_disk, damaged, changed_at_the_end, changed_while_it_waits, unseen_end),
    settled_end,
    *(call_under_way, broken_call, late_permit, slow_look, two_at_once),
)


# --- mutants, each with the check that must miss its guard ---


async def _no_hold(self: Climb) -> object:
    class Nothing:
        def close(self) -> None:
            pass

    return Nothing()


async def _call_and_forget(self: Act, permit: StopPermit) -> Answer:
    return await self._actor().stop(permit)


async def _twice(self: Act, permit: StopPermit) -> Answer:
    await self._actor().stop(permit)
    return await self._actor().stop(permit)


def _reusable(self: StopPermit, provider_id: str | None, now_boot: float) -> None:
    if provider_id != self.provider_id:
        raise GateShut("no")


async def _no_tick(self: Climb, gather: object) -> object:
    gate = self._gate
    return await gather.recheck(None if gate.park else gate.manifest)  # type: ignore[attr-defined]


def _sending_twice(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Act, "_call", _twice)
    patch.setattr(StopPermit, "redeem", _reusable)


def _patient(patch: pytest.MonkeyPatch) -> None:
    for name in ("SLEEP_GAP", "TTL", "MAX_LOOK_AGE_SECONDS"):
        patch.setattr(rules, name, 1e9)


Patch = Callable[[pytest.MonkeyPatch], None]
BY_HAND: dict[str, tuple[Patch, Check]] = {
    "no hold of the instance": (
        lambda patch: patch.setattr(Climb, "_take_hold", _no_hold),
        two_at_once,
    ),
    "a call that breaks off is let go": (
        lambda patch: patch.setattr(Act, "_call", _call_and_forget),
        broken_call,
    ),
    "the call is sent twice": (_sending_twice, healthy),
    "the journal's trouble is not noticed": (
        lambda patch: patch.setattr(climb, "TROUBLE", ()),
        full_disk,
    ),
    "an earlier call is never settled": (
        lambda patch: patch.setattr(climb, "settle", _settled),
        unseen_end,
    ),
    "nobody asks whether a call is under way": (
        lambda patch: patch.setattr(Journal, "unresolved", lambda self, instance: None),
        call_under_way,
    ),
    "permits never lapse": (
        lambda patch: patch.setattr(rules, "MAX_LOOK_AGE_SECONDS", 1e9),
        late_permit,
    ),
    "the last look may take for ever": (_patient, slow_look),
}


async def _settled(*args: object) -> None:
    return None


FOUND: dict[str, Mutant] = {
    mutant.name: mutant
    for found in (
        mutants(act, ("Act.carry_out", "Act._call")),
        mutants(climb, ("Climb._wait",)),
        mutants(settle, ("settle", "_open_end")),
    )
    for mutant in found
}
ROOM = (act, climb, settle)
# It tells the type checker what the state says already.
NEVER_NONE = frozenset({"Act.carry_out: no “if permit is None”"})


async def test_every_check_is_content_with_the_climb_as_it_is(tmp_path: Path) -> None:
    for check in CHECKS:
        await check(tmp_path / check.__name__)


@pytest.mark.parametrize("name", BY_HAND)
async def test_every_mutant_by_hand_is_caught(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    patch, check = BY_HAND[name]
    patch(monkeypatch)
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever the check says of it
        await check(tmp_path / "ride")


@pytest.mark.parametrize("name", [name for name in FOUND if name not in NEVER_NONE])
async def test_every_guard_is_missed(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    FOUND[name].apply(monkeypatch, ROOM)
    caught = False
    for check in CHECKS:
        try:
            await check(tmp_path / check.__name__)
        except (Exception, pytest.fail.Exception):
            caught = True
            break
    assert caught, f"nothing noticed: {name}"
