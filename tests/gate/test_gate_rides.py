"""Trouble at every step of the real climb: it lands in a safe state, and the way is open again afterwards."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from gate_faults import FAULTS
from gate_rides import Ride, fault, raising
from gate_world import World

from gpu_tui.core.gate import State
from gpu_tui.teardown.box import BoxError
from gpu_tui.teardown.journal import JournalDamaged, open_ends
from gpu_tui.transport.base import LinkError

FULL = bool(os.environ.get("GPU_TUI_NIGHTLY"))
# The steps of a healthy climb, as the first test pins them: each look, each record before and after it is
# on disk, the call before and after its effect.
STEPS = (
    *("before open", "after open", "plan", "quiet", "before plan", "after plan"),
    *("inventory", "before manifest", "after manifest", "pulled", "before pulled", "after pulled"),
    *("matched", "before matched", "after matched", "loaded", "before loaded", "after loaded"),
    *("before confirmed", "after confirmed", "recheck begins", "recheck ends"),
    *(
        "before permit",
        "after permit",
        "before intent",
        "after intent",
        "before call",
        "after call",
    ),
    *("call before its effect", "call after its effect", "before answer", "after answer"),
    *(
        "read",
        "before read-back",
        "after read-back",
        "before confirmed-gone",
        "after confirmed-gone",
    ),
)
POINT_OF_NO_RETURN = STEPS.index("after intent")
Trouble = Callable[[Ride], Callable[[], None]]
TROUBLES: dict[str, Trouble] = {
    "the disk is full": lambda ride: raising(OSError(errno.ENOSPC, "No space left on device")),
    "the link breaks": lambda ride: raising(LinkError("the connection was lost")),
    "no answer in time": lambda ride: raising(TimeoutError()),
    "the box babbles": lambda ride: raising(BoxError("its answer makes no sense")),
    "the journal is damaged": lambda ride: raising(JournalDamaged("line 3 does not follow")),
    "a bug": lambda ride: raising(RuntimeError("a bug")),
    "somebody leaves": lambda ride: ride.cancel,
    "read-only is set": lambda ride: lambda: setattr(ride.eyes, "lost", "read-only was set"),
}
KINDS = list(TROUBLES)
CASES = [
    (step, kind)
    for number, step in enumerate(STEPS)
    for kind in (KINDS if FULL else (KINDS[number % 8], KINDS[(number + 5) % 8]))
]


async def test_a_healthy_climb_takes_these_steps_and_calls_once(tmp_path: Path) -> None:
    ride = Ride(World(), tmp_path)
    assert await ride.go() is State.DONE
    assert ride.raised is None
    assert tuple(ride.road.passed) == STEPS
    assert (ride.api.calls, ride.api.crimes, ride.world.gate.outcome) == (1, [], "gone")


@pytest.mark.nightly
@pytest.mark.parametrize(("step", "kind"), CASES)
async def test_trouble_at_every_step_lands_in_a_safe_state(
    step: str, kind: str, tmp_path: Path
) -> None:
    ride = Ride(World(), tmp_path)
    ride.road.trouble, ride.road.at = TROUBLES[kind](ride), STEPS.index(step)
    await ride.go()
    world, found = ride.world, ride.journal.read()
    assert world.gate.ended
    assert ride.api.calls <= 1
    assert ride.api.crimes == []
    assert found.damage is None
    racing = kind == "somebody leaves" and step in (
        "before permit",
        "after permit",
        "before intent",
    )
    if STEPS.index(step) < POINT_OF_NO_RETURN and not racing:
        assert ride.api.calls == 0
    if ride.api.calls == 0:
        assert world.gate.outcome in (None, "cancelled", "still-there", "unknown")
    if ride.api.calls:
        assert "intent" in ride.events
    await _again(ride, tmp_path)


async def _again(before: Ride, directory: Path) -> None:
    """Whoever opens the ladder next: what is there is stopped once, what is gone is never called again."""
    world = World(provider=before.world.provider)
    ride = Ride(world, directory)
    await ride.go()
    assert ride.raised is None
    assert ride.api.crimes == []
    if before.world.provider == "gone":
        assert (ride.api.calls, world.gate.state) == (0, State.CLOSED)
        assert "gone already" in (world.gate.because or "")
    else:
        assert (ride.api.calls, world.gate.outcome) == (1, "gone"), world.gate.because
    assert open_ends(ride.journal.read().records) == {}


@pytest.mark.parametrize(
    "name",
    [name for name in FAULTS if name not in ("modal closed", "slept", "ten minutes", "clock set")],
)
async def test_whatever_changes_before_the_last_look_ends_stops_nothing(
    name: str, tmp_path: Path
) -> None:
    for step in ("after confirmed", "recheck ends") if FULL else ("recheck ends",):
        ride = Ride(World(), tmp_path / step)
        (tmp_path / step).mkdir()
        ride.road.trouble, ride.road.at = fault(ride, name), STEPS.index(step)
        assert await ride.go() is State.CLOSED
        assert ride.api.calls == 0
        assert "intent" not in ride.events
