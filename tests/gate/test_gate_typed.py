"""What a person types: bound to what is shown, after the time it takes to read, and each for itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gate_faults import WAYS, confirm
from gate_oracle import wrongs
from gate_world import ADDRESS, MACHINE, PARK, TERMINATE, VOLUME, World

from gpu_tui.core import gate as rules
from gpu_tui.core.evidence import (
    Abandoned,
    Acknowledged,
    Identity,
    Overridden,
    Plan,
    Quiet,
    ReadBack,
    Relocked,
)
from gpu_tui.core.gate import Gate, GateShut, State
from gpu_tui.core.profile import Verb


def _refused(needs: str = "foo.Bar") -> World:
    """One file names something; it is listed what an abandonment would lose."""
    world = World()
    world.box["late/best.pth"] = f"needs {needs} x"
    world.climb(State.BLOCKED)
    return world


PHRASE = "load 1 file with foo.Bar on box-4242"


def test_an_override_leads_back_to_loading_and_opens_the_gate() -> None:
    world = _refused()
    assert world.gate.override_phrase is None  # not before the list of what else could be done
    world.step()
    assert world.gate.override_phrase == PHRASE
    world.beat(3.0)
    assert world.override() is State.LOADING
    assert world.gate.allowed == frozenset({"foo.Bar"})
    assert (world.gate.because, world.gate.loss, world.gate.override_phrase) == (None, None, None)
    assert world.gate.ready_at is None
    assert world.arm() is State.READY
    confirm(world)
    assert world.press() is not None
    assert wrongs(world) == []


@pytest.mark.parametrize("text", ["", "load", "load 1 file with foo.Baz on box-4242", "box-4242"])
def test_an_override_is_the_whole_sentence(text: str) -> None:
    world = _refused()
    world.step()
    world.beat(3.0)
    assert world.override(text) is State.BLOCKED
    assert PHRASE in (world.gate.note or "")
    assert world.gate.allowed == frozenset()
    assert world.gate.because is not None
    assert world.gate.because.startswith("not verified")


def test_an_override_waits_and_counts_for_what_is_shown() -> None:
    world = _refused()
    world.step()
    assert world.override() is State.BLOCKED
    assert "too early" in (world.gate.note or "")
    world.beat(3.0)
    assert world.apply(Overridden(PHRASE, "older")) is State.BLOCKED
    assert "changed" in (world.gate.note or "")


def test_what_is_found_after_an_override_is_asked_again() -> None:
    world = _refused()
    world.step()
    world.beat(3.0)
    world.override()
    world.put("box", "late/best.pth", None)  # only here: the box is not read again before the end
    world.put("here", "late/best.pth", "needs foo.Other x")
    world.box["late/best.pth"] = "needs foo.Bar x"
    assert world.climb(State.BLOCKED) is State.BLOCKED
    world.step()
    assert world.gate.override_phrase == "load 1 file with foo.Other on box-4242"
    assert world.gate.allowed == frozenset({"foo.Bar"})


def test_what_runs_programs_is_never_offered() -> None:
    world = _refused("os.system")
    world.step()
    world.beat(3.0)
    assert world.gate.override_phrase is None
    assert world.override(PHRASE) is State.BLOCKED
    assert world.gate.abandon_phrase is not None


def test_a_box_s_own_word_is_a_weaker_proof_and_is_typed_for() -> None:
    world = World(torch=False)
    world.climb(State.BLOCKED)
    world.step()
    world.beat(3.0)
    assert world.gate.override_phrase == "trust the box's own load of 3 files on box-4242"
    assert any("weaker proof" in line for line in world.gate.offer.lines())  # type: ignore[union-attr]
    assert not world.gate.on_box
    assert world.override() is State.LOADING
    assert world.gate.on_box
    assert world.arm() is State.READY


def test_an_override_is_offered_neither_to_a_pull_nor_to_a_park() -> None:
    for kind in ("pull", "park"):
        assert all(event is not Overridden for _, event in rules.TRANSITIONS[kind])


def test_an_override_that_was_not_offered_is_no_way_up() -> None:
    world = World()
    world.box["late/best.pth"] = "bad"
    world.climb(State.BLOCKED)
    world.step()
    world.beat(3.0)
    assert world.apply(Overridden(PHRASE, world.gate.digest)) is State.BLOCKED
    assert "nothing here can be allowed" in (world.gate.note or "")


# --- second resources ---


@pytest.mark.parametrize("way", ["plain_way", "park_way", "abandoned_way"])
def test_each_second_resource_is_acknowledged_by_its_own_word(way: str) -> None:
    world = World(PARK if way == "park_way" else World().verb, seconds=(VOLUME, ADDRESS))
    if way == "abandoned_way":
        world.box["wide/best.pth"] = "bad"
        world.climb(State.BLOCKED)
        world.step()
    else:
        world.climb()
    before = world.gate.state
    assert world.acknowledge(VOLUME) is before
    assert "too early" in (world.gate.note or "")
    world.beat(3.0)
    assert not world.gate.ready(world.boot)
    assert world.gate.abandon_phrase is None
    assert world.acknowledge(VOLUME, "address-ip9") is before
    assert "that is not volume-77aa" in (world.gate.note or "")
    assert world.gate.unseen == (VOLUME, ADDRESS)
    world.acknowledge(VOLUME)
    assert world.gate.unseen == (ADDRESS,)
    confirm(world)
    assert world.gate.state is before
    assert "not yet acknowledged: 192.0.2.9" in (world.gate.note or "")
    world.acknowledge(ADDRESS)
    assert confirm(world) is State.RECHECKING
    assert world.press() is not None
    assert wrongs(world) == []


def test_an_abandonment_too_waits_for_every_word() -> None:
    world = World(seconds=(VOLUME,))
    world.box["wide/best.pth"] = "bad"
    world.climb(State.BLOCKED)
    world.step()
    world.beat(3.0)
    text = "abandon 1 files on box-4242"
    assert world.apply(Abandoned(text, world.gate.digest)) is State.BLOCKED
    assert "not yet acknowledged" in (world.gate.note or "")


def test_an_acknowledgement_counts_for_what_is_shown_and_for_what_there_is() -> None:
    world = World(seconds=(VOLUME,))
    world.climb()
    world.beat(3.0)
    assert world.apply(Acknowledged(VOLUME.key, "volume-77aa", "older")) is State.READY
    assert "changed" in (world.gate.note or "")
    assert world.apply(Acknowledged("ip:9", "ip-9", world.gate.digest)) is State.READY
    assert "no such second resource" in (world.gate.note or "")
    assert world.gate.unseen == (VOLUME,)


def test_an_acknowledgement_neither_makes_evidence_younger_nor_waits_again() -> None:
    world = World(seconds=(VOLUME,))
    world.climb()
    ends = world.gate.expires_at
    world.beat(60.0)
    world.acknowledge(VOLUME)
    assert (world.gate.expires_at, world.gate.ready(world.boot)) == (ends, True)


def test_where_no_phrase_is_known_nothing_can_be_typed() -> None:
    """With the plan's own rule off: an empty word is no word."""
    for way in ("plain_way", "abandoned_way"):
        world = World()
        WAYS[way](world)
        plan = world.gate.of(Plan)
        assert plan is not None
        world.gate.keep(replace(plan, identity=Identity("…", "…", "boot-1")))
        before = world.gate.state
        assert world.gate.phrase == ""
        assert (world.gate.abandon_phrase, world.gate.override_phrase) == (None, None)
        confirm(world)
        assert world.gate.state is before
    world = _refused()
    world.step()
    plan = world.gate.of(Plan)
    assert plan is not None
    world.gate.keep(replace(plan, identity=Identity("…", "…", "boot-1")))
    assert world.gate.override_phrase is None


def test_what_cannot_be_listed_surely_is_not_abandoned() -> None:
    world = _refused()
    world.running = None
    world.step()
    world.beat(3.0)
    assert world.gate.override_phrase is not None
    assert world.abandon("abandon 1 files on box-4242") is State.BLOCKED
    assert world.gate.note == "there is nothing to abandon"


def test_what_was_abandoned_is_not_asked_again() -> None:
    world = World()
    WAYS["abandoned_way"](world)
    assert world.gate.abandon_phrase is not None
    confirm(world)
    assert world.gate.abandon_phrase is None


# --- time ---


def test_what_is_over_stays_as_it_ended() -> None:
    world = World()
    world.arm()
    world.sleep(40.0)
    assert world.apply(world.look()) is State.CLOSED
    why = world.gate.because or ""
    assert "slept" in why
    assert world.apply(Relocked("something else")) is State.CLOSED
    assert world.gate.because == why
    world = World()
    world.arm()
    world.type()
    world.press()
    world.apply(ReadBack("gone", ("the provider: gone",)))
    for event in (Relocked("closed"), Quiet(()), ReadBack("unknown")):
        assert world.apply(event) is State.DONE
    assert (world.gate.outcome, world.gate.because) == ("gone", None)


@pytest.mark.parametrize(
    ("verb", "said", "outcome"),
    [
        (TERMINATE, "gone", "gone"),
        (TERMINATE, "stopped", "still-there"),
        (TERMINATE, "ended", "unknown"),
        (PARK, "ended", "unknown"),
        (TERMINATE, "GONE", "unknown"),
        (TERMINATE, "", "unknown"),
        (TERMINATE, "steps", "steps"),
        (PARK, "stopped", "stopped"),
        (PARK, "still-there", "still-there"),
    ],
)
def test_only_a_proven_end_is_called_one(verb: Verb, said: str, outcome: str) -> None:
    world = World(verb)
    world.arm()
    world.type()
    assert world.press() is not None
    world.apply(ReadBack(said))
    assert world.gate.outcome == outcome


def test_accepting_work_does_not_make_what_was_seen_younger() -> None:
    world = World(PARK, running=("python train.py (pid 7)",))
    world.climb(State.ACCEPTING)
    world.beat(599.0)
    assert world.step() is State.READY
    world.beat(2.0)
    assert world.gate.state is State.CLOSED


def test_evidence_ends_when_the_provider_takes_the_box_by_itself() -> None:
    for left, state in ((100.0, State.CLOSED), (-5.0, State.READY)):
        world = World()
        world.apply(replace(world.plan(), ends_at=world.wall + left))
        world.climb()
        world.beat(110.0)
        assert world.gate.state is state


def test_a_last_look_may_take_as_long_as_the_comparison_did_but_not_for_ever() -> None:
    """Hundreds of gigabytes are hashed again after the words: that is younger evidence, not older."""
    for hashing, looking, called in (
        (4_000.0, 7_000.0, True),
        (4_000.0, 8_700.0, False),
        (0.0, 700.0, False),
    ):
        world = World()
        world.climb(State.MATCHING)
        world.boot += hashing
        world.wall += hashing
        assert world.arm() is State.READY
        world.type()
        look = world.look(lambda w: w.beat(looking))  # noqa: B023
        assert (world.press(look) is not None) is called
        assert called or "too long" in (world.gate.because or "")


@pytest.mark.parametrize("way", WAYS)
def test_a_second_climb_remembers_nothing_of_the_first(way: str) -> None:
    world = World()
    WAYS[way](world)
    world.reopen()
    gate = world.gate
    assert (gate.allowed, gate.on_box, gate.acknowledged, gate.permit) == (
        frozenset(),
        False,
        frozenset(),
        None,
    )


def test_a_gate_that_is_shut_offers_nothing_to_type() -> None:
    world = _refused()
    world.step()
    world.beat(3.0)
    assert world.gate.override_phrase == PHRASE
    assert world.gate.abandon_phrase is not None
    assert world.apply(Relocked("the connection was lost")) is State.CLOSED
    assert (world.gate.override_phrase, world.gate.abandon_phrase) == (None, None)


def test_a_blocked_gate_that_waits_for_words_is_not_ready_for_the_confirmation() -> None:
    world = _refused()
    world.step()
    world.beat(3.0)
    assert (world.gate.state, world.gate.unseen) == (State.BLOCKED, ())
    assert not world.gate.ready(world.boot)


def test_a_call_has_left_from_the_intent_on() -> None:
    """Until then the gate can be shut; from then on nothing takes it back."""
    world, seen = World(), {}
    for _ in range(9):
        seen[world.gate.state] = world.gate.called
        world.step()
    world.beat(3.0)
    world.type()
    seen[world.gate.state] = world.gate.called
    assert world.press() is not None
    seen[world.gate.state] = world.gate.called
    world.apply(ReadBack("gone"))
    seen[world.gate.state] = world.gate.called
    over = (State.CALLED, State.DONE)
    assert {state for state, called in seen.items() if called} == set(over)
    assert len(seen) == 10
    pull = Gate("box")
    pull.state = State.DONE
    assert not pull.called  # a pull that is over sent nothing


def test_a_permit_is_over_at_the_very_time_at_which_it_ends() -> None:
    world = World()
    world.arm()
    world.type()
    world.apply(world.look())
    permit = world.gate.permit
    assert permit is not None
    permit.hold_to(permit.expires_at - 0.001)
    with pytest.raises(GateShut):
        permit.hold_to(permit.expires_at)
    with pytest.raises(GateShut):
        permit.redeem(MACHINE.provider_id, permit.expires_at)
