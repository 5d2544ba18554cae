"""The climb: order, time, words, abandonment, the permit."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace

import pytest
from gate_faults import FAULTS
from gate_oracle import wrongs
from gate_world import PARK, TERMINATE, World

from gpu_tui.core import gate as rules
from gpu_tui.core.evidence import (
    Abandoned,
    Accepted,
    Cells,
    Identity,
    IntentWritten,
    Listed,
    Loaded,
    Overridden,
    Pulled,
    Quiet,
    ReadBack,
    Relocked,
    Tick,
    Typed,
)
from gpu_tui.core.gate import Gate, GateShut, State, StopPermit, phrase_of
from gpu_tui.core.profile import Verb

Make = Callable[[World], object]


def _at(state: State) -> World:
    world = World()
    for _ in range(7):
        if world.gate.state is not state:
            world.step()
    assert world.gate.state is state
    return world


def test_a_box_full_of_text_alone_is_not_proof() -> None:
    world = World(cells=Cells(("a",)), box={"a/x.log": "ok"})
    world.step()
    for _ in range(5):
        world.step()
    assert world.gate.state is State.BLOCKED


@pytest.mark.parametrize(
    ("verb", "states"),
    [
        (TERMINATE, "quiescing listing pulling matching loading ready"),
        (PARK, "quiescing ready"),
    ],
)
def test_no_rung_is_left_out(verb: Verb, states: str) -> None:
    world = World(verb)
    assert " ".join(world.step() for _ in states.split()) == states
    world.beat(3.0)
    assert world.type() is State.RECHECKING
    assert world.gate.permit is None
    assert world.apply(world.look()) is State.PERMITTED
    assert world.gate.permit is not None
    assert world.apply(IntentWritten(world.gate.permit.evidence)) is State.CALLED


def test_a_healthy_box_opens_in_bounded_steps_and_calls_once() -> None:
    world = World()
    assert world.arm() is State.READY
    assert world.type() is State.RECHECKING
    permit = world.press()
    assert permit is not None
    assert wrongs(world) == []
    assert (permit.instance, permit.provider_id, permit.verb) == ("box", "pod-4242", "terminate")
    with pytest.raises(GateShut, match="used already"):
        permit.redeem("pod-4242", world.boot)
    assert world.apply(ReadBack("gone")) is State.DONE
    assert world.gate.outcome == "gone"


def test_the_wrong_words_change_nothing_and_the_right_ones_are_needed() -> None:
    world = World()
    world.arm()
    for text in ("", "box", "box-4243", "BOX-4242", "box-4242 ", "y"):
        assert world.type(text) is State.READY
        assert "box-4242" in (world.gate.note or "")
    assert world.type("box-4242") is State.RECHECKING


def test_too_early_is_not_taken() -> None:
    world = _at(State.READY)
    assert not world.gate.ready(world.boot)
    assert world.type() is State.READY
    world.beat(2.9)
    assert world.type() is State.READY
    world.beat(0.2)
    assert world.gate.ready(world.boot)
    assert world.type() is State.RECHECKING


@pytest.mark.parametrize("seconds", [11.0, 599.0 - 5.0])
def test_a_machine_that_slept_must_climb_again(seconds: float) -> None:
    world = World()
    world.arm()
    world.boot += seconds
    world.wall += seconds
    assert world.type() is State.CLOSED
    assert "slept" in (world.gate.because or "")


@pytest.mark.parametrize("jump", [-86_400.0, 61.0])
def test_a_wall_clock_that_jumps_shuts_the_gate(jump: float) -> None:
    world = World()
    world.arm()
    world.wall += jump
    assert world.apply(Tick()) is State.CLOSED


def test_a_boot_clock_that_goes_back_shuts_the_gate() -> None:
    world = World()
    world.arm()
    world.boot -= 1
    assert world.apply(Tick()) is State.CLOSED


def test_a_permit_lapses_while_the_caller_dawdles() -> None:
    world = World()
    world.arm()
    world.type()
    assert world.press(dawdle=15.0) is None


def test_a_look_from_before_the_confirmation_does_not_count() -> None:
    world = World()
    world.arm()
    look = world.look()
    world.beat(1.0)
    world.box["base/best.pth"] = "bad"
    world.type()
    assert world.press(look) is None


def test_a_look_that_is_eleven_seconds_old_does_not_count() -> None:
    world = World()
    world.arm()
    world.type()
    look = world.look()
    world.beat(11.0)
    assert world.press(look) is None


@pytest.mark.parametrize("reason", ["the connection was lost", "read-only was set"])
def test_a_relock_shuts_every_state_before_the_call(reason: str) -> None:
    for state in (State.PLANNING, State.QUIESCING, State.LISTING, State.LOADING, State.READY):
        world = _at(state)
        assert world.apply(Relocked(reason)) is State.CLOSED
        assert world.gate.because == reason


def test_nothing_calls_off_what_was_called() -> None:
    world = World()
    world.arm()
    world.type()
    assert world.press() is not None
    world.boot += 10_000
    for event in (Relocked("closed"), Tick(), Quiet(("x",)), Typed("box-4242", world.gate.digest)):
        assert world.apply(event) is State.CALLED


def test_evidence_out_of_order_shuts_the_gate() -> None:
    for event in (Loaded(()), IntentWritten("x"), ReadBack("gone"), Quiet(()), Pulled(1, 1)):
        world = World()
        assert world.apply(event) is State.CLOSED


def test_what_is_typed_a_moment_too_late_changes_nothing() -> None:
    for state in (State.PLANNING, State.LISTING, State.LOADING, State.READY):
        world = _at(state)
        for event in (
            Accepted(()),
            Abandoned("abandon 1 files on box-4242", world.gate.digest),
            Overridden("load 1 file with a.b on box-4242", world.gate.digest),
            *((Typed("box-4242", world.gate.digest),) if state is not State.READY else ()),
        ):
            assert world.apply(event) is state


def test_a_park_climbs_by_acceptance_and_needs_no_files() -> None:
    world = World(PARK, running=("python train.py (pid 7)",), box={})
    world.step()
    assert world.step() is State.ACCEPTING
    assert world.apply(Accepted(())) is State.CLOSED
    world.reopen()
    assert world.arm() is State.READY
    world.type()
    assert world.press() is not None


def test_a_park_with_more_work_than_was_accepted_is_shut() -> None:
    world = World(PARK, running=("a",))
    world.arm()
    world.type()
    world.running = ("a", "b")
    assert world.press() is None


def test_only_a_row_that_deletes_nothing_is_a_park() -> None:
    assert Gate("box", PARK).kind == "park"
    for row in (
        replace(PARK, deletes=("disk",)),
        replace(PARK, reversible=False),
        replace(PARK, effect="destroy"),
        TERMINATE,
    ):
        assert Gate("box", row).kind == "stop"


def test_a_pull_never_reaches_a_permit() -> None:
    assert all(
        state not in (State.READY, State.PERMITTED) for state, _ in rules.TRANSITIONS["pull"]
    )
    world = World()
    world.gate = Gate("box")
    world.local = dict(world.box)
    for event in (
        world.inventory(),
        Pulled(len(world.box), 1),
        world.matched(),
        world.verdicts(),
    ):
        world.apply(event)
    assert (world.gate.state, world.gate.outcome) == (State.DONE, "verified")
    assert not world.gate.called


# --- abandonment ---


def _blocked() -> World:
    """One checkpoint that does not load, one cell that never ran."""
    world = World(cells=Cells(("base", "wide"), (("late", "exit 1"),)))
    world.box["wide/best.pth"] = "bad"
    for _ in range(7):
        world.step()
    assert world.gate.state is State.BLOCKED
    assert world.gate.loss is not None
    return world


def test_an_abandonment_lists_what_is_not_proven_and_nothing_else() -> None:
    gate = _blocked().gate
    assert gate.loss is not None
    assert gate.loss.paths == ("wide/best.pth",)
    assert gate.loss.cells == ("wide (finished): best.pth not proven here",)
    assert gate.abandon_phrase == "abandon 1 files on box-4242"


def test_an_abandonment_is_typed_after_the_list_and_rechecked() -> None:
    world = _blocked()
    gate = world.gate
    phrase = gate.abandon_phrase or ""
    assert world.apply(Abandoned(phrase, gate.digest)) is State.BLOCKED  # too early
    world.beat(3.0)
    assert world.apply(Abandoned(gate.phrase, gate.digest)) is State.BLOCKED
    assert world.apply(Abandoned(phrase, "older")) is State.BLOCKED
    assert world.apply(Abandoned(phrase, gate.digest)) is State.RECHECKING
    assert world.press() is not None


@pytest.mark.parametrize(
    "fault",
    ["remote grows", "remote changes", "local changes", "rebooted", "job starts", "read-only"],
)
def test_one_fault_after_an_abandonment(fault: str) -> None:
    world = _blocked()
    world.beat(3.0)
    world.apply(Abandoned(world.gate.abandon_phrase or "", world.gate.digest))
    FAULTS[fault](world)
    assert world.press() is None


def test_an_abandonment_expires() -> None:
    world = _blocked()
    world.beat(600.0)
    assert world.gate.state is State.CLOSED


@pytest.mark.parametrize(
    "listed",
    [
        Listed(("x",), Identity("pod-4242", "SHA256:abcdEFGH", "boot-1"), None),
        Listed(("x",), Identity("pod-4242", "SHA256:abcdEFGH", "boot-2"), ()),
    ],
)
def test_what_cannot_be_listed_surely_cannot_be_abandoned(listed: Listed) -> None:
    world = World(running=("python train.py",))
    world.step()
    world.step()
    world.apply(listed)
    assert world.gate.abandon_phrase is None
    assert world.apply(Abandoned("abandon 1 files on box-4242", world.gate.digest)) is State.BLOCKED


def test_a_park_offers_no_abandonment() -> None:
    world = World(PARK, running=None)
    world.step()
    assert world.step() is State.BLOCKED
    assert world.step() is State.CLOSED


# --- the permit ---


def _permit() -> StopPermit:
    world = World()
    world.arm()
    world.type()
    world.apply(world.look())
    assert world.gate.permit is not None
    return world.gate.permit


def test_only_the_gate_mints() -> None:
    fields = {
        "instance": "box",
        "provider_id": "pod-4242",
        "verb": "terminate",
        "effect": "destroy",
        "evidence": "e",
        "expires_at": 1e12,
    }
    for token in (None, object(), "x"):
        with pytest.raises(GateShut):
            StopPermit(**fields, token=token)  # type: ignore[arg-type]


def test_a_permit_cannot_be_copied_or_changed() -> None:
    permit = _permit()
    for attempt in (
        lambda: copy.copy(permit),
        lambda: copy.deepcopy(permit),
        lambda: pickle.dumps(permit),
        lambda: replace(permit, provider_id="other"),
    ):
        with pytest.raises((TypeError, ValueError)):
            attempt()
    with pytest.raises(AttributeError):
        permit.provider_id = "other"  # type: ignore[misc]


def test_a_permit_is_for_one_instance() -> None:
    with pytest.raises(GateShut, match="another instance"):
        _permit().redeem("pod-9", 0.0)


@pytest.mark.parametrize(
    ("identity", "phrase"),
    [
        (Identity("pod-0123abcd", "SHA256:zzzz", "b"), "box-abcd"),
        (Identity("i-9", "SHA256:zzzz", "b"), "box-i9"),
        (Identity(None, "SHA256:ab/cd+ef==", "b"), "box-cdef"),
        (Identity(None, "\x1b[2J—", "b"), "box-2J"),
        (Identity("…", "…", "b"), ""),
    ],
)
def test_the_phrase(identity: Identity, phrase: str) -> None:
    assert phrase_of("box", identity) == phrase
