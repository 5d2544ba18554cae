"""Gates with one guard taken out: each must be caught. A check of the checkers.

The guards are found in the code by themselves (`mutation`); what is no `if` is listed here by hand. A
mutant that nobody catches fails: either the guard needs a test, or it guards nothing and goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType

import pytest
import test_gate_evidence
import test_gate_faults
import test_gate_rechecks
import test_gate_rules
import test_gate_typed
import test_gate_waivers
from mutation import Mutant, cases, mutants

from gpu_tui.core import allowance, evidence, manifest, proof, seen, waiver
from gpu_tui.core import gate as rules
from gpu_tui.core.gate import State, StopPermit
from gpu_tui.core.manifest import Manifest, MatchReport, compare
from gpu_tui.core.profile import Verb

Patch = Callable[[pytest.MonkeyPatch], None]
QUICK = (
    test_gate_rechecks,
    test_gate_evidence,
    test_gate_typed,
    test_gate_rules,
    test_gate_waivers,
)
TESTS = (*QUICK, test_gate_faults)
ROOM: tuple[ModuleType, ...] = (rules, seen, proof, allowance, manifest, waiver, *TESTS)
CASES = [case for module in QUICK for case in cases(module).values()]
CLIMBS = list(cases(test_gate_faults).values())  # each is many climbs: nine tenths of the time

# --- found in the code ---

RULES = dict.fromkeys(
    rule.__name__ for rule in (*rules.RULES.values(), *rules.RECHECKS.values(), rules._read_first)
)
METHODS = (
    *("StopPermit.__post_init__", "StopPermit.redeem", "Gate.ready", "Gate.apply", "Gate._enter"),
    *("Gate._arm", "Gate._watch_time", "Gate._mint"),
)
FOUND: dict[str, Mutant] = {
    mutant.name: mutant
    for found in (
        mutants(rules, (*RULES, *METHODS)),
        mutants(rules, ("Gate.override_phrase", "Gate.abandon_phrase"), none_refuses=True),
        mutants(
            seen,
            (
                *(
                    "Seen.unseen",
                    "Seen.losses",
                    "Seen.allowed_work",
                    "Seen.digest_now",
                    "Seen.keep",
                ),
                "phrase_of",
            ),
        ),
        mutants(
            proof,
            (
                *("proves", "misnamed", "shrunk", "cells_refusal", "missing_artifacts", "unproven"),
                "ended_ill",
                *("home", "cover", "tops"),
            ),
        ),
        mutants(waiver, ("waivers", "Waiver.phrase")),
        mutants(allowance, ("offer", "may_allow"), none_refuses=True),
    )
    for mutant in found
}
# They tell the type checker what the order of the climb says already: no rule runs before its evidence.
NEVER_NONE = frozenset(
    (
        *("_accept_rule: without “quiet is None”", "_intent_rule: without “gate.permit is None”"),
        *("_fresh: without “gate.confirmed_at is None”", "_same_machine: without “plan is None”"),
        *("_same_provider: without “plan is None”", "_same_basis: without “plan is None”"),
        *("_matched_rule: without “inventory is None”", "_matched_rule: without “covered is None”"),
        *("_same_queue: without “inventory is None”", "_same_stamps: without “matched is None”"),
        *(
            "_same_verifier: without “loaded is None”",
            "_read_first: without “gate.ready_at is None”",
        ),
        *("Gate._mint: without “plan is None”", "Gate._mint: without “self.expires_at is None”"),
        "Gate._mint: without “seen is None”",
        "Gate._mint: no “if plan is None or seen is None or self.expires_at is None”",
    )
)

# --- listed by hand ---


def setting(name: str, value: object) -> Patch:
    return lambda patch: patch.setattr(rules, name, value)


def without_recheck(name: str) -> Patch:
    return lambda patch: patch.delitem(rules.RECHECKS, name)


def without_rule(kind: type) -> Patch:
    return lambda patch: patch.setitem(rules.RULES, kind, lambda gate, seen, now: None)


def leading(kind: str, row: tuple[State, type], leads: tuple[State, State]) -> Patch:
    return lambda patch: patch.setitem(
        rules.TRANSITIONS, kind, rules.TRANSITIONS[kind] | {row: leads}
    )


def without_waiver(kind: str) -> Patch:
    real = waiver.waivers
    return lambda patch: patch.setattr(
        seen, "waivers", lambda *found: tuple(one for one in real(*found) if one.kind != kind)
    )


def sizes_only(there: Manifest, here: Manifest, cells: Iterable[str] = ()) -> MatchReport:
    """Compares what `ls -l` would compare."""
    blind = [
        Manifest(tuple(file.__class__(file.path, file.bytes, "") for file in side.files))
        for side in (there, here)
    ]
    return compare(blind[0], blind[1])


def any_load(gate: rules.Gate, loaded: evidence.Loaded, now: float) -> str | None:
    good = any(verdict.load == "ok" for verdict in loaded.verdicts)
    return None if good else "nothing loads"


def copyable(patch: pytest.MonkeyPatch) -> None:
    patch.delattr(StopPermit, "__reduce__")


REFUSALS = {
    f"{kind}: {row[1].__name__} leads up from {row[0]} although it is refused": leading(
        kind, row, (up, up)
    )
    for kind, table in rules.TRANSITIONS.items()
    for row, (up, shut) in table.items()
    if up is not shut and row[1] not in rules.ACTS
}
SHORT_CUTS = {
    f"{kind}: {row[1].__name__} leads from {row[0]} past {up}": leading(kind, row, (beyond, shut))
    for kind, table in (("stop", rules.TRANSITIONS["stop"]), ("park", rules.TRANSITIONS["park"]))
    for row, (up, shut) in table.items()
    for (after, _), (beyond, _) in table.items()
    if (after is up and beyond not in (up, row[0], State.READY)) or (after is up is State.LOADING)
}
MUTANTS: dict[str, Patch] = {
    **{f"no recheck of {name}": without_recheck(name) for name in rules.RECHECKS},
    **{
        f"{kind.__name__} unchecked": without_rule(kind)
        for kind in rules.RULES
        if kind not in (evidence.Listed, evidence.ReadBack)
    },
    **REFUSALS,
    **SHORT_CUTS,
    "no TTL": setting("TTL", float("inf")),
    "no dwell": setting("DWELL", 0.0),
    "looks never age": setting("MAX_LOOK_AGE_SECONDS", float("inf")),
    "permits never lapse": lambda patch: patch.setattr(
        rules.StopPermit, "hold_to", lambda self, now_boot: None
    ),
    "sleep goes unnoticed": setting("SLEEP_GAP", float("inf")),
    "clocks may jump": setting("WALL_JUMP", float("inf")),
    "sizes only": lambda patch: patch.setattr(proof, "compare", sizes_only),
    "no exception is needed": lambda patch: patch.setattr(seen, "waivers", lambda *seen: ()),
    **{
        f"{kind} is no exception": without_waiver(kind)
        for kind in ("unfinished", "unsynced", "missing", "unclosed", "unnamed", "fewer", "memory")
    },
    "any checkpoint is enough": lambda patch: patch.setitem(rules.RULES, evidence.Loaded, any_load),
    "every verb is a park": lambda patch: patch.setattr(Verb, "park", True),
    "permits can be copied": copyable,
    "any name may be allowed": lambda patch: patch.setattr(
        allowance, "may_allow", lambda name: True
    ),
    "no loader is known": lambda patch: patch.setattr(allowance, "_BUILDERS", {}),
    "every end is believed": setting(
        "OUTCOMES", frozenset({"gone", "stopped", "GONE", "", "steps"})
    ),
    "a box's word is always enough": lambda patch: patch.setattr(
        rules, "proves", lambda verdict, on_box=False: proof.proves(verdict, on_box=True)
    ),
}


def _caught() -> bool:
    """Whether some case fails now. Of the quick ones and of the slow ones, the last to catch a mutant comes first."""
    for known in (CASES, CLIMBS):
        for number, case in enumerate(known):
            try:
                case()
            except (Exception, pytest.fail.Exception):
                known.insert(0, known.pop(number))
                return True
    return False


def test_the_gate_as_it_is_passes_every_case() -> None:
    for case in (*CASES, *CLIMBS):
        case()


@pytest.mark.parametrize("mutant", MUTANTS)
def test_every_mutant_by_hand_is_caught(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[mutant](monkeypatch)
    assert _caught(), f"nothing noticed: {mutant}"


@pytest.mark.parametrize("mutant", [name for name in FOUND if name not in NEVER_NONE])
def test_every_guard_is_missed(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    FOUND[mutant].apply(monkeypatch, ROOM)
    assert _caught(), f"nothing noticed: {mutant}"


def test_the_list_of_what_is_never_none_is_no_list_of_excuses() -> None:
    assert set(FOUND) >= NEVER_NONE
    assert all("is None" in name for name in NEVER_NONE)
    assert len(FOUND) + len(MUTANTS) > 200
