"""The gate in words: what stands on each rung. Everything foreign in it is made harmless."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar, cast

from gpu_tui.core import units
from gpu_tui.core.evidence import (
    Coverage,
    FileVerdict,
    Inventory,
    Loaded,
    Loss,
    Matched,
    NotPulled,
    Plan,
    Pulled,
    Quiet,
    Recheck,
)
from gpu_tui.core.gate import MAX_LOOK_AGE_SECONDS, Gate, State
from gpu_tui.core.ladder import GateView, Rung, RungState, RungView
from gpu_tui.core.manifest import Manifest, home_path
from gpu_tui.core.plain import plain
from gpu_tui.core.proof import proves, some
from gpu_tui.core.transfer import Transfer
from gpu_tui.teardown.box import SETTLE
from gpu_tui.teardown.local import OWN
from gpu_tui.teardown.unreached import Unreached
from gpu_tui.teardown.words_next import next_step, unread
from gpu_tui.teardown.words_plan import capped, plan_lines, second_views

E = TypeVar("E")
T = TypeVar("T")
TITLES = {
    Rung.PLAN: "Plan",
    Rung.QUIESCE: "Quiesce",
    Rung.MANIFEST: "Manifest",
    Rung.PULL: "Pull",
    Rung.MATCH: "Match",
    Rung.LOAD: "Load",
    Rung.CONFIRM: "Confirm",
    Rung.ACT: "Act",
    Rung.READ_BACK: "Read back",
}
PROVEN = frozenset({"gone", "stopped", "verified", "cells-verified"})
SHOWN = 8  # rows of one rung; how many more there are is always said
LINE = 400  # characters of one row
Acted = tuple[tuple[str, ...], tuple[str, ...]]  # what rungs 8 and 9 say


class Kept:
    """What was said of evidence, as long as it is the very same: of many files that takes a while, each beat."""

    def __init__(self) -> None:
        self._said: dict[Callable[[Any], Any], tuple[object, Any]] = {}

    def of(self, say: Callable[[E], T], evidence: E) -> T:
        """`say(evidence)`, which no clock and nothing else has a part in."""
        known, said = self._said.get(say, (self, None))
        if known is not evidence:
            said = say(evidence)
            self._said[say] = evidence, said
        return cast("T", said)


def paint(
    gate: Gate,
    now_boot: float,
    *,
    transfer: Transfer | None = None,
    acted: tuple[str, ...] = (),
    read: tuple[str, ...] = (),
    kept: Kept | None = None,
    unreached: Unreached | None = None,
) -> GateView:
    """The whole ladder as it stands. `acted` is what became of the call, `read` what the read-back saw last,
    `kept` what was said of the same evidence before, `unreached` why there is no plan.
    """
    kept = kept or Kept()
    verb = gate.verb
    closed = gate.because if gate.state in (State.BLOCKED, State.CLOSED) else None
    quiet = gate.of(Quiet)
    asks = quiet.at_work or () if quiet and gate.state is State.ACCEPTING else ()
    return GateView(
        instance=gate.instance,
        verb=verb.verb if verb else "pull",
        label=verb.label if verb else "pull and verify",
        state=gate.state.value,
        rungs=_rungs(gate, transfer, (acted, read), kept, unreached),
        phrase=gate.phrase,
        ready=gate.ready(now_boot),
        ready_at=gate.ready_at,
        expires_at=gate.expires_at,
        closed_because=plain(closed, LINE) if closed else None,
        needs_acceptance=tuple(asks),
        lost_paths=lost(gate.loss) if gate.loss else (),
        lost_sizes=gate.loss.sizes if gate.loss else (),
        abandon_phrase=gate.abandon_phrase,
        outcome=gate.outcome,
        outcome_lines=_harmless(gate.outcome_lines),
        evidence=gate.digest,
        override_phrase=gate.override_phrase,
        override_lines=_harmless(gate.offer.lines()) if gate.override_phrase and gate.offer else (),
        seconds=tuple(
            replace(one, label=plain(one.label), lines=_harmless(one.lines))
            for one in second_views(gate)
        ),
        others=_others(gate.of(Inventory)),
    )


def _others(inventory: Inventory | None) -> tuple[tuple[str, str], ...]:
    others = inventory.others if inventory else ()
    return tuple((plain(name, 1_024), left) for name, left in others)


def lost(loss: Loss) -> tuple[str, ...]:
    """Everything that an abandonment gives up: files, cells, running work. Never shortened."""
    return (
        *(plain(path, 1_024) for path in loss.paths),
        *(f"cell {plain(line)}" for line in loss.cells),
        *(f"running: {plain(line)}" for line in loss.running),
    )


def _rungs(
    gate: Gate, transfer: Transfer | None, acted: Acted, kept: Kept, unreached: Unreached | None
) -> tuple[RungView, ...]:
    plan, *rest = (_rung(gate, rung, transfer, acted, kept) for rung in Rung)
    if unreached is not None and plan.state is RungState.BLOCKED and gate.of(Plan) is None:
        lines = (*_harmless(unreached.lines), *plan.lines)
        plan = replace(plan, lines=lines, next=unreached.next)
    return plan, *rest


def _rung(gate: Gate, rung: Rung, transfer: Transfer | None, acted: Acted, kept: Kept) -> RungView:
    state = _state(gate, rung)
    moving = transfer if state is RungState.WORKING else None
    lines = _lines(gate, rung, acted, kept)
    here = rung is (gate.stuck or gate.rung)
    if state is RungState.BLOCKED and gate.because and here:
        lines = (*lines, gate.because)
    if gate.note and here:
        lines = (*lines, gate.note)
    return RungView(
        rung=rung,
        title=TITLES[rung],
        state=state,
        lines=_harmless(lines),
        share=moving.share if moving else None,
        transfer=moving,
        next=next_step(gate, rung, kept.of(unread, gate.of(Loaded)))
        if state is RungState.BLOCKED
        else None,
    )


def _state(gate: Gate, rung: Rung) -> RungState:
    proof = Rung.MANIFEST <= rung <= Rung.LOAD
    if (gate.kind == "park" and proof) or (gate.kind == "pull" and not proof):
        return RungState.SKIPPED
    if gate.stuck is not None and gate.stuck <= rung <= Rung.LOAD:
        return RungState.BLOCKED if rung is gate.stuck else RungState.SKIPPED
    if gate.state is State.DONE:
        proven = gate.outcome in PROVEN
        return RungState.PASSED if proven or rung < Rung.READ_BACK else RungState.BLOCKED
    if rung < gate.rung:
        return RungState.PASSED
    if rung > gate.rung:
        return RungState.WAITING
    shut = gate.state in (State.BLOCKED, State.CLOSED)
    return RungState.BLOCKED if shut else RungState.WORKING


def _lines(gate: Gate, rung: Rung, acted: Acted, kept: Kept) -> tuple[str, ...]:
    match rung:
        case Rung.PLAN:
            plan = gate.of(Plan)
            return plan_lines(plan) if plan else ()
        case Rung.QUIESCE:
            return _quiet(gate.of(Quiet))
        case Rung.MANIFEST:
            return kept.of(_manifest, gate.of(Inventory))
        case Rung.PULL:
            return _pulled(gate.of(Pulled))
        case Rung.MATCH:
            return _match(gate, kept)
        case Rung.LOAD:
            return _load(gate, kept)
        case Rung.CONFIRM:
            return _confirm(gate)
        case Rung.ACT:
            return (*acted[0], *_window(gate))
        case Rung.READ_BACK:
            return acted[1]


def _quiet(quiet: Quiet | None) -> tuple[str, ...]:
    if quiet is None:
        return ()
    if quiet.running is None:
        return (quiet.why or "the process table could not be read",)
    if not quiet.at_work and quiet.busy == ():
        return ("nothing works there and no result is being written",)
    busy = (f"written within {SETTLE:.0f} s: {plain(path)}" for path in quiet.busy or ())
    cards = (f"{card}: {why}" for card, why in quiet.cards)
    return _first((*quiet.running, *cards, *busy))


def _manifest(inventory: Inventory | None) -> tuple[str, ...]:
    if inventory is None:
        return ()
    manifest = inventory.manifest
    lines = [
        f"{len(manifest.files)} files, {units.size(manifest.total_bytes)}, hashed on the box",
        f"SHA-256 of the list {manifest.digest[:16]}…",
    ]
    refused = _first(tuple(f"{plain(p)}: {why}" for p, why in inventory.refused))
    return (*lines, *refused, *_left(inventory.left), *_uncovered(inventory.coverage))


def _left(left: NotPulled) -> tuple[str, ...]:
    """What has no bytes and stays behind."""
    lines = []
    if left.links:
        names = some([f"{path} -> {target}" for path, target in left.links])
        count = len(left.links)
        lines.append(f"links not pulled, only what they lead to ({count}): {names}")
    if left.empty:
        lines.append(f"empty directories not pulled ({len(left.empty)}): {some(left.empty)}")
    return tuple(lines)


def _uncovered(coverage: Coverage | None) -> tuple[str, ...]:
    """What does not come home, as far as anybody looked."""
    if coverage is None:
        return ()
    lines = []
    if coverage.newest is not None and coverage.newest_age is not None:
        age = units.words(max(0.0, coverage.newest_age))
        lines.append(f"the newest of them is {plain(coverage.newest)}, written {age} before")
    if coverage.outside is None:
        lines.append("nobody looked what else lies on those disks")
    for path, size in (coverage.outside or ())[:SHOWN]:
        lines.append(f"not covered: {plain(path)}, {units.size(size)}, lies outside the results")
    if more := len(coverage.outside or ()) - SHOWN:
        lines += [f"not covered: {more} more large directories"] if more > 0 else []
    return tuple(lines)


def _pulled(pulled: Pulled | None) -> tuple[str, ...]:
    if pulled is None:
        return ()
    moved = tuple(
        f"another file stood at {plain(path)}: it is kept below {OWN}/replaced"
        for path in pulled.aside
    )
    files, size = pulled.files, units.size(pulled.bytes)
    into = plain(pulled.into, LINE) if pulled.into and files else None
    here = (
        f"{files} files are here in {into}, {size}" if into else f"{files} files are here, {size}"
    )
    return (here, *_first(moved))


def _match(gate: Gate, kept: Kept) -> tuple[str, ...]:
    matched, inventory = gate.of(Matched), gate.of(Inventory)
    if matched is None:
        return ()
    lines = [
        f"{len(matched.local.files)} files read again on both sides: equal bytes, whatever is in them"
        if gate.stuck is not Rung.MATCH
        else f"{len(matched.local.files)} files read again on both sides"
    ]
    cells = inventory.cells if inventory else None
    if cells and gate.stuck is not Rung.MATCH:
        files = " and ".join(cells.required.files)
        number = len(cells.names)
        lines.append(f"the cell has {files}" if number == 1 else f"all {number} cells have {files}")
    return (*lines, *_first(kept.of(_notes, matched.remote)))


def _notes(remote: Manifest) -> tuple[str, ...]:
    """Proofs that the box wrote of itself, and where they are."""
    return tuple(
        f"the box's own {plain(path)} is here as {plain(home_path(path))}: it proves nothing"
        for path in remote.renamed
    )


def _load(gate: Gate, kept: Kept) -> tuple[str, ...]:
    loaded = gate.of(Loaded)
    if loaded is None:
        return ()
    lines, notes = kept.of(_loads, loaded)
    allowed = (f"allowed by hand: {', '.join(sorted(gate.allowed))}",) if gate.allowed else ()
    number = kept.of(unread, loaded)
    unseen = (f"{number} not read at all: no reader is installed",) if number else ()
    return (*lines, *allowed, *unseen, *_first(notes))


def _loads(loaded: Loaded) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """How many were loaded, and what is to be said of single files."""
    verdicts = loaded.verdicts
    good = sum(verdict.load == "ok" for verdict in verdicts)
    there = sum(verdict.load == "ok-remote" for verdict in verdicts)
    by_hash = sum(v.load == "skipped" and proves(v) for v in verdicts)
    lines = [
        f"{good} loaded here, {by_hash} by hash alone: they can be read, which says not how good"
    ]
    if there:
        lines.append(f"{there} loaded by the box's own torch only: the weaker proof")
    notes = [
        f"{plain(verdict.path)}: {plain(words)}"
        for verdict in verdicts
        for words in (
            *((verdict.detail,) if _tells(verdict) else ()),
            *verdict.warnings,
        )
        if words
    ]
    return tuple(lines), tuple(dict.fromkeys(notes))


def _tells(verdict: FileVerdict) -> bool:
    """Its detail is something to read, not the usual."""
    return bool(verdict.nonfinite) or verdict.load in (
        *("failed", "incomplete", "refused", "ok-remote"),
    )


def _confirm(gate: Gate) -> tuple[str, ...]:
    if gate.state is State.READY:
        left, matched = len(gate.unseen), gate.of(Matched)
        asks = f"first acknowledge {left} more, one by one" if left else f"type {gate.phrase}"
        return (
            asks,
            *(_left(matched.left) if matched else ()),
            "then all of it is read once more, here and there; whatever changed shuts the gate",
            f"a file written in the {MAX_LOOK_AGE_SECONDS:.0f} s between that look and the call is not seen: "
            "a rented box cannot be locked, and a box that lies can hide files",
        )
    if gate.state is State.RECHECKING:
        return ("looking once more at the box, the provider and the files here",)
    if gate.permit is None and not gate.called:
        return ()
    return ("given up by hand, path by path" if gate.loss else "typed by hand under this evidence",)


def _window(gate: Gate) -> tuple[str, ...]:
    seen = gate.of(Recheck)
    if gate.window is None or seen is None:
        return ()
    return (
        f"the last look at the box ended {gate.window:.1f} s before the call left",
        *(
            f"change times (ctime) may not move on {plain(at, 60)} ({plain(kind, 20)}): the last look was made "
            "without them"
            for at, kind in seen.without_ctime
        ),
    )


def _harmless(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Whatever a room before this one forgot: nothing here may steer a terminal."""
    return tuple(plain(line, LINE) for line in lines)


def _first(lines: tuple[str, ...]) -> tuple[str, ...]:
    return capped(lines, SHOWN)
