"""Random people in a random world: whatever they do, every call was right at the moment it was made."""

from __future__ import annotations

import os

import pytest
from gate_faults import FAULTS, MOMENTS, WAYS, confirm, fault_on_the_way
from gate_oracle import wrongs
from gate_world import ADDRESS, PARK, TERMINATE, VOLUME, World
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gpu_tui.core.evidence import Relocked, Tick
from gpu_tui.core.gate import State

FULL = bool(os.environ.get("GPU_TUI_NIGHTLY"))
WORDS = st.sampled_from([None, None, None, "", "y", "box-4243", "abandon", "load"])
OPEN = (State.READY, State.BLOCKED, State.RECHECKING, State.CALLED)


class Climbing(RuleBasedStateMachine):
    """One world, one ladder at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()

    # --- a person ---

    @rule(
        park=st.booleans(),
        seconds=st.sampled_from([(), (), (VOLUME,), (VOLUME, ADDRESS)]),
        torch=st.sampled_from([True, True, False]),
        late=st.sampled_from(["ok late", "ok late", "needs foo.Bar x", "needs os.system x", "bad"]),
        stopped=st.booleans(),
    )
    def rent(
        self, park: bool, seconds: tuple[object, ...], torch: bool, late: str, stopped: bool
    ) -> None:
        """Another world, with whatever hangs on it."""
        self.world = World(
            PARK if park else TERMINATE,
            seconds=seconds,  # type: ignore[arg-type]
            torch=torch,
            provider="stopped" if stopped else "running",
        )
        self.world.box["late/best.pth"] = late

    @rule(park=st.booleans())
    def reopen(self, park: bool) -> None:
        if not self.world.gate.called:
            self.world.verb = PARK if park else TERMINATE
            self.world.reopen()

    @rule(times=st.integers(1, 9))
    def climb(self, times: int) -> None:
        for _ in range(times):
            if self.world.gate.state not in OPEN or self.world.gate.state is State.BLOCKED:
                self.world.step()

    @rule(seconds=st.sampled_from([0.5, 3.0, 3.0, 20.0, 299.0, 600.0]))
    def wait(self, seconds: float) -> None:
        self.world.beat(seconds)

    @rule(text=WORDS)
    def type(self, text: str | None) -> None:
        self.world.type(text)

    @rule(text=WORDS)
    def abandon(self, text: str | None) -> None:
        self.world.abandon(text)

    @rule(text=WORDS)
    def override(self, text: str | None) -> None:
        self.world.override(text)

    @rule(which=st.sampled_from([VOLUME, ADDRESS]), text=WORDS)
    def acknowledge(self, which: object, text: str | None) -> None:
        self.world.acknowledge(which, text)  # type: ignore[arg-type]

    @rule()
    def modal_closed(self) -> None:
        self.world.apply(Relocked("cancelled"))

    # --- the world ---

    @rule(fault=st.sampled_from(sorted(FAULTS)))
    def something_happens(self, fault: str) -> None:
        FAULTS[fault](self.world)

    @rule(seconds=st.sampled_from([-5.0, 40.0, 7_200.0]))
    def clock_is_set(self, seconds: float) -> None:
        self.world.jump(seconds)
        self.world.apply(Tick())

    @rule(seconds=st.sampled_from([12.0, 7_200.0]))
    def machine_sleeps(self, seconds: float) -> None:
        self.world.sleep(seconds)

    # --- the act ---

    @rule(
        dawdle=st.sampled_from([0.0, 0.0, 14.0, 16.0]),
        fault=st.sampled_from([None, None, *sorted(FAULTS)]),
    )
    def press(self, dawdle: float, fault: str | None) -> None:
        """The last look, during which anything may happen, and the call."""
        world = self.world
        if world.gate.state is not State.RECHECKING:
            return
        if world.press(world.look(FAULTS[fault] if fault else None), dawdle):
            assert wrongs(world) == []

    @rule(
        way=st.sampled_from(sorted(WAYS)),
        fault=st.sampled_from(sorted(FAULTS)),
        moment=st.sampled_from(MOMENTS),
    )
    def arm_one_fault_destroy(self, way: str, fault: str, moment: str) -> None:
        assert fault_on_the_way(way, fault, moment) == []

    @rule(
        way=st.sampled_from(sorted(WAYS)),
        faults=st.lists(st.sampled_from(sorted(FAULTS)), min_size=2, max_size=4),
        moment=st.sampled_from(MOMENTS),
    )
    def arm_several_faults_destroy(self, way: str, faults: list[str], moment: str) -> None:
        """Two changes may look as if nothing had changed."""
        world = World()
        WAYS[way](world)
        for fault in faults[1:]:
            FAULTS[fault](world)
        confirm(world)
        look = None
        if moment == MOMENTS[2]:
            look = world.look(FAULTS[faults[0]])
        elif moment == MOMENTS[1]:
            FAULTS[faults[0]](world)
        if world.press(look):
            assert wrongs(world) == []

    @precondition(lambda self: not self.world.gate.called)
    @rule(way=st.sampled_from(sorted(WAYS)))
    def a_box_that_is_well_again_opens(self, way: str) -> None:
        """Whatever happened before: from a healthy world the call is always a few steps away."""
        old = self.world
        world = World(boot=old.boot, wall=old.wall, local=dict(old.local), meta=dict(old.meta))
        for path in set(world.local) - set(world.box):
            world.put("here", path, None)  # what is too much here is taken away by hand
        WAYS[way](world)
        assert confirm(world) is State.RECHECKING
        assert world.press() is not None
        assert wrongs(world) == []

    # --- always ---

    @invariant()
    def at_most_one_call_per_world(self) -> None:
        assert self.world.calls <= 1 or self.world.gate.called

    @invariant()
    def a_permit_exists_only_behind_a_confirmation(self) -> None:
        if self.world.gate.permit is not None:
            assert self.world.typed_at is not None

    @invariant()
    def what_is_shut_says_why(self) -> None:
        if self.world.gate.state in (State.CLOSED, State.BLOCKED):
            assert self.world.gate.because


TestClimbing = Climbing.TestCase
TestClimbing.pytestmark = [pytest.mark.nightly, pytest.mark.timeout(3_600 if FULL else 120)]  # type: ignore[attr-defined]
TestClimbing.settings = settings(
    max_examples=10_000 if FULL else 200,  # about half an hour
    stateful_step_count=50 if FULL else 40,
    deadline=None,
)
