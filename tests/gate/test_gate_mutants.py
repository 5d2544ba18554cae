"""Gates with one check taken out: each must be caught by the tables. A check of the checkers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from gate_world import FAULTS, PARK, TERMINATE, World, armed_fault_destroy
from test_gate_rules import REFUSED, test_evidence_that_is_refused_never_leads_to_a_permit

from gpu_tui.core import evidence
from gpu_tui.core import gate as rules
from gpu_tui.core.evidence import Typed
from gpu_tui.core.gate import GateShut, State, StopPermit
from gpu_tui.core.manifest import Manifest, MatchReport, compare
from gpu_tui.core.profile import Verb

Patch = Callable[[pytest.MonkeyPatch], None]


def without_recheck(name: str) -> Patch:
    return lambda patch: patch.delitem(rules.RECHECKS, name)


def without_rule(kind: type) -> Patch:
    return lambda patch: patch.setitem(rules.RULES, kind, lambda gate, seen, now: None)


def setting(name: str, value: object) -> Patch:
    return lambda patch: patch.setattr(rules, name, value)


def sizes_only(there: Manifest, here: Manifest, cells: Any = ()) -> MatchReport:
    """Compares what `ls -l` would compare."""
    blind = [
        Manifest(tuple(file.__class__(file.path, file.bytes, "") for file in side.files))
        for side in (there, here)
    ]
    return compare(blind[0], blind[1])


def any_load(gate: rules.Gate, loaded: evidence.Loaded, now: float) -> str | None:
    good = any(verdict.load == "ok" for verdict in loaded.verdicts)
    return None if good else "nothing loads"


def typed_unbound(gate: rules.Gate, typed: Typed, now: float) -> str | None:
    return None if typed.text == gate.phrase else "no"


def reusable(self: StopPermit, provider_id: str | None, now_boot: float) -> None:
    if provider_id != self.provider_id:
        raise GateShut("no")


def skip_proof(patch: pytest.MonkeyPatch) -> None:
    rows = dict(rules.TRANSITIONS["stop"])
    rows[(State.QUIESCING, evidence.Quiet)] = (State.READY, State.BLOCKED)
    patch.setitem(rules.TRANSITIONS, "stop", rows)


MUTANTS: dict[str, Patch] = {
    **{f"no recheck of {name}": without_recheck(name) for name in rules.RECHECKS},
    "no TTL": setting("TTL", float("inf")),
    "no dwell": setting("DWELL", 0.0),
    "looks never age": setting("RECHECK_AGE", float("inf")),
    "permits never lapse": setting("PERMIT_LIFE", float("inf")),
    "sleep goes unnoticed": setting("SLEEP_GAP", float("inf")),
    "plan unchecked": without_rule(evidence.Plan),
    "work ignored": without_rule(evidence.Quiet),
    "empty set passes": without_rule(evidence.Inventory),
    "half a pull passes": without_rule(evidence.Pulled),
    "match unchecked": without_rule(evidence.Matched),
    "load unchecked": without_rule(evidence.Loaded),
    "sizes only": setting("compare", sizes_only),
    "any checkpoint is enough": lambda patch: patch.setitem(rules.RULES, evidence.Loaded, any_load),
    "confirmation not bound to evidence": lambda patch: patch.setitem(
        rules.RULES, Typed, typed_unbound
    ),
    "permit reusable": lambda patch: patch.setattr(StopPermit, "redeem", reusable),
    "every verb is a park": lambda patch: patch.setattr(Verb, "park", True),
    "proof skipped": skip_proof,
}


def _faults() -> None:
    for fault in FAULTS:
        for after in (False, True):
            assert not armed_fault_destroy(fault, after_typing=after), fault
        if not fault.startswith(("remote", "local", "queue")):
            assert not armed_fault_destroy(fault, after_typing=True, verb=PARK), fault


def _evidence() -> None:
    for case in REFUSED:
        test_evidence_that_is_refused_never_leads_to_a_permit(case)


def _bonds() -> None:
    """The look, the words, the permit and the sleep, each alone."""
    world = World()
    world.arm()
    world.beat(1.0)
    other = World()
    other.box["base/train.log"] = "ok epoch 2"
    other.arm()
    assert world.type(evidence=other.gate.digest) is State.READY
    look = world.recheck()
    world.beat(1.0)
    world.box["base/best.pth"] = "bad"
    world.type()
    assert world.press(look) is None

    world = World()
    world.arm()
    world.type()
    look = world.recheck()
    world.beat(11.0)
    assert world.press(look) is None

    world = World()
    world.arm()
    world.type()
    world.gate.confirmed = "other evidence"
    assert world.press() is None

    world = World()
    for _ in range(7):
        world.step()
    assert world.type() is not State.RECHECKING
    world.beat(3.0)
    world.boot += 100
    world.wall += 100
    assert world.type() is State.CLOSED

    world = World()
    world.arm()
    world.type()
    assert world.press(dawdle=15.0) is None

    world = World()
    world.arm()
    world.type()
    permit = world.press()
    assert permit is not None
    with pytest.raises(GateShut):
        permit.redeem("pod-4242", world.boot)


SUITES = (_faults, _evidence, _bonds)


def test_the_gate_as_it_is_passes_every_suite() -> None:
    for suite in SUITES:
        suite()


@pytest.mark.parametrize("mutant", MUTANTS)
def test_every_mutant_is_caught(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[mutant](monkeypatch)
    caught = []
    for suite in SUITES:
        try:
            suite()
        except (AssertionError, GateShut, pytest.fail.Exception):
            caught.append(suite.__name__)
    assert caught, f"nothing noticed that {mutant}"


def test_the_mutants_are_not_caught_by_accident() -> None:
    """A healthy climb still works in a mutant's world: the suites see the missing check, not a wreck."""
    world = World(TERMINATE)
    world.arm()
    world.type()
    assert world.press() is not None
