"""Random people in a random world: whatever they do, every call was right at the moment it was made."""

from __future__ import annotations

from gate_world import FAULTS, PARK, TERMINATE, World, armed_fault_destroy
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gpu_tui.core.evidence import Relocked, Tick
from gpu_tui.core.gate import State


class Climbing(RuleBasedStateMachine):
    """One world, one ladder at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()

    @rule(park=st.booleans(), afresh=st.booleans())
    def open(self, park: bool, afresh: bool) -> None:
        if self.world.gate.called and not afresh:
            return
        if afresh:
            self.world = World(PARK if park else TERMINATE)
        else:
            self.world.verb = PARK if park else TERMINATE
            self.world.reopen()

    @rule(times=st.integers(1, 7))
    def climb(self, times: int) -> None:
        for _ in range(times):
            if self.world.gate.state not in (State.READY, State.RECHECKING, State.CALLED):
                self.world.step()

    @rule(seconds=st.sampled_from([0.5, 3.0, 20.0, 299.0, 600.0]))
    def wait(self, seconds: float) -> None:
        self.world.beat(seconds)

    @rule(seconds=st.sampled_from([-5.0, 40.0, 7_200.0]))
    def clock_jumps(self, seconds: float) -> None:
        self.world.boot += max(0.0, seconds)
        self.world.wall += seconds
        self.world.apply(Tick())

    @rule(text=st.sampled_from([None, None, None, "", "y", "box-4243"]))
    def type(self, text: str | None) -> None:
        if self.world.gate.state is State.READY:
            self.world.type(text)

    @rule(fault=st.sampled_from(sorted(FAULTS)))
    def something_happens(self, fault: str) -> None:
        FAULTS[fault](self.world)

    @rule()
    def modal_closed(self) -> None:
        self.world.apply(Relocked("closed"))

    @rule(dawdle=st.sampled_from([0.0, 0.0, 14.0, 16.0]))
    def press(self, dawdle: float) -> None:
        if self.world.press(dawdle=dawdle):
            assert self.world.wrongs() == []

    @rule(
        fault=st.sampled_from(sorted(FAULTS)),
        after=st.booleans(),
        verb=st.sampled_from([TERMINATE, TERMINATE, PARK]),
    )
    def arm_one_fault_destroy(self, fault: str, after: bool, verb: object) -> None:
        if verb is PARK and fault.startswith(("remote", "local", "queue")):
            return
        assert armed_fault_destroy(fault, after_typing=after, verb=verb) == []  # type: ignore[arg-type]

    @invariant()
    def at_most_one_call_per_ladder(self) -> None:
        assert self.world.calls <= 1 or self.world.gate.called

    @invariant()
    def a_permit_exists_only_behind_a_confirmation(self) -> None:
        if self.world.gate.permit is not None:
            assert self.world.typed_at is not None


TestClimbing = Climbing.TestCase
TestClimbing.settings = settings(max_examples=400, stateful_step_count=40, deadline=None)
