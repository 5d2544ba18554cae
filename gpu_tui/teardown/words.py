"""The gate in words: what stands on each rung. Everything foreign in it is made harmless."""

from __future__ import annotations

import humanize

from gpu_tui.core.evidence import Inventory, Loaded, Loss, Matched, Plan, Pulled, Quiet
from gpu_tui.core.gate import ARTIFACTS, Gate, State, proves
from gpu_tui.core.ladder import GateView, Rung, RungState, RungView
from gpu_tui.core.plain import plain

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
METER = {
    "stops": "the meter stops",
    "partly": "only a part of the meter stops",
    "continues": "the meter goes on",
}
PRICE_AFTER = {
    "stops": "nothing after",
    "partly": "a part of it after",
    "continues": "unchanged after",
}
PROVEN = frozenset({"gone", "stopped", "verified"})
NEXT = {
    Rung.PLAN: "correct it, then open the ladder again",
    Rung.QUIESCE: "wait for it or end it, then open the ladder again",
    Rung.MANIFEST: "look at these files on the box, or abandon them",
    Rung.PULL: "open the ladder again: what is here already is kept",
    Rung.MATCH: "open the ladder again to pull the rest, or abandon what is missing",
    Rung.LOAD: "keep the file, look for the checkpoint before it, or abandon it",
    Rung.CONFIRM: "open the ladder again",
    Rung.ACT: "look at the provider's console, then open the ladder again",
    Rung.READ_BACK: "look at the provider's console",
}
READER = (
    "install what reads them where gpu-tui runs (in a checkout: make demo-verify, or "
    "pip install '.[verify]'), then open the ladder again: what is here is kept"
)
SHOWN = 8  # rows of one rung; how many more there are is always said


def paint(
    gate: Gate, now_boot: float, *, share: float | None = None, acted: tuple[str, ...] = ()
) -> GateView:
    """The whole ladder as it stands. `acted` is what the call and the read-back said so far."""
    verb = gate.verb
    closed = gate.because if gate.state in (State.BLOCKED, State.CLOSED) else None
    quiet = gate.of(Quiet)
    asks = quiet.running or () if quiet and gate.state is State.ACCEPTING else ()
    return GateView(
        instance=gate.instance,
        verb=verb.verb if verb else "pull",
        label=verb.label if verb else "pull and verify",
        state=gate.state.value,
        rungs=tuple(_rung(gate, rung, share, acted) for rung in Rung),
        phrase=gate.phrase,
        ready=gate.ready(now_boot),
        ready_at=gate.ready_at,
        expires_at=gate.expires_at,
        closed_because=closed,
        needs_acceptance=tuple(asks),
        lost_paths=lost(gate.loss) if gate.loss else (),
        abandon_phrase=gate.abandon_phrase,
        outcome=gate.outcome,
        outcome_lines=gate.outcome_lines,
        evidence=gate.digest,
    )


def lost(loss: Loss) -> tuple[str, ...]:
    """Everything that an abandonment gives up: files, cells, running work. Never shortened."""
    return (
        *(plain(path, 1_024) for path in loss.paths),
        *(f"cell {plain(line)}" for line in loss.cells),
        *(f"running: {plain(line)}" for line in loss.running),
    )


def _rung(gate: Gate, rung: Rung, share: float | None, acted: tuple[str, ...]) -> RungView:
    state = _state(gate, rung)
    lines = _lines(gate, rung, acted)
    here = rung is (gate.stuck or gate.rung)
    if state is RungState.BLOCKED and gate.because and here:
        lines = (*lines, gate.because)
    if gate.note and here:
        lines = (*lines, gate.note)
    return RungView(
        rung=rung,
        title=TITLES[rung],
        state=state,
        lines=lines,
        share=share if state is RungState.WORKING else None,
        next=_next(gate, rung) if state is RungState.BLOCKED else None,
    )


def _next(gate: Gate, rung: Rung) -> str:
    if rung is Rung.LOAD and _unread(gate.of(Loaded)):
        return READER
    return NEXT[rung] if gate.kind != "pull" else "correct it and pull again: what is here is kept"


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


def _lines(gate: Gate, rung: Rung, acted: tuple[str, ...]) -> tuple[str, ...]:
    match rung:
        case Rung.PLAN:
            return _plan(gate.of(Plan))
        case Rung.QUIESCE:
            return _quiet(gate.of(Quiet))
        case Rung.MANIFEST:
            return _manifest(gate.of(Inventory))
        case Rung.PULL:
            pulled = gate.of(Pulled)
            return (f"{pulled.files} files are here, {_size(pulled.bytes)}",) if pulled else ()
        case Rung.MATCH:
            return _match(gate)
        case Rung.LOAD:
            return _load(gate.of(Loaded))
        case Rung.CONFIRM:
            return _confirm(gate)
        case Rung.ACT:
            return acted[:1]
        case Rung.READ_BACK:
            return acted[1:]


def _plan(plan: Plan | None) -> tuple[str, ...]:
    if plan is None:
        return ()
    verb = plan.verb
    gone = [tier for tier in plan.tiers if tier.id in verb.deletes]
    kept = [tier for tier in plan.tiers if tier.id not in verb.deletes]
    lines = [
        f"{plain(verb.label)}: {METER.get(verb.meter, 'nobody knows whether the meter stops')}"
    ]
    if gone:
        lines.append(
            f"deletes {', '.join(f'{tier.label or tier.id} ({tier.path})' for tier in gone)}"
        )
    elif verb.deletes:
        lines.append(f"deletes {', '.join(verb.deletes)}")
    else:
        lines.append("deletes nothing" if verb.park else "take it that everything is deleted")
    if kept and (gone or verb.park):
        lines.append(
            f"keeps {', '.join(f'{tier.label or tier.id} ({tier.path})' for tier in kept)}"
        )
    if plan.price:
        after = PRICE_AFTER.get(verb.meter, "unknown after")
        lines.append(f"{plan.price.amount:.2f} {plan.price.currency}/h now, {after}")
    if plan.console:
        lines.append("no call is made from here: you get the steps for the provider's console")
    else:
        lines.append(f"the provider says: {plan.provider}")
    if plan.results and not verb.park:
        lines.append(
            f"only {plain(plan.results, 120)} comes home; nothing else on those disks does"
        )
    if plan.cells:
        lines += [f"not finished: {plain(name)} ({why})" for name, why in plan.cells.unfinished]
    return tuple(lines)


def _quiet(quiet: Quiet | None) -> tuple[str, ...]:
    if quiet is None:
        return ()
    if quiet.running is None:
        return (quiet.why or "the process table could not be read",)
    if not quiet.running and quiet.busy == ():
        return ("nothing works there and no result is being written",)
    return _first((*quiet.running, *(f"just written: {plain(path)}" for path in quiet.busy or ())))


def _manifest(inventory: Inventory | None) -> tuple[str, ...]:
    if inventory is None:
        return ()
    manifest = inventory.manifest
    lines = [
        f"{len(manifest.files)} files, {_size(manifest.total_bytes)}, hashed on the box",
        f"SHA-256 of the list {manifest.digest[:16]}…",
    ]
    return tuple(lines) + _first(tuple(f"{plain(p)}: {why}" for p, why in inventory.refused))


def _match(gate: Gate) -> tuple[str, ...]:
    matched, inventory = gate.of(Matched), gate.of(Inventory)
    if matched is None:
        return ()
    lines = [f"{len(matched.local.files)} files read again on both sides"]
    cells = inventory.cells if inventory else None
    if cells and gate.stuck is not Rung.MATCH:
        lines.append(f"all {len(cells.names)} cells have {' and '.join(ARTIFACTS)}")
    return tuple(lines)


def _load(loaded: Loaded | None) -> tuple[str, ...]:
    if loaded is None:
        return ()
    good = sum(verdict.load == "ok" for verdict in loaded.verdicts)
    plain_data = sum(v.load == "skipped" and proves(v) for v in loaded.verdicts)
    unread = _unread(loaded)
    skipped = (f"{unread} not read at all: no reader is installed",) if unread else ()
    notes = tuple(
        f"{plain(verdict.path)}: {plain(verdict.detail)}"
        for verdict in loaded.verdicts
        if verdict.nonfinite or verdict.load in ("failed", "refused")
    )
    return (f"{good} loaded, {plain_data} by hash alone", *skipped, *_first(notes))


def _unread(loaded: Loaded | None) -> int:
    """Checkpoints that nothing here could read."""
    if loaded is None:
        return 0
    return sum(v.load == "skipped" and not proves(v) for v in loaded.verdicts)


def _confirm(gate: Gate) -> tuple[str, ...]:
    if gate.state is State.READY:
        return (
            f"type {gate.phrase}",
            "until the provider acts a new job could still write: nothing locks a rented box",
        )
    if gate.state is State.RECHECKING:
        return ("looking once more at the box, the provider and the files here",)
    if gate.permit is None and not gate.called:
        return ()
    return ("given up by hand, path by path" if gate.loss else "typed by hand under this evidence",)


def _first(lines: tuple[str, ...]) -> tuple[str, ...]:
    more = len(lines) - SHOWN
    return (*lines[:SHOWN], f"and {more} more") if more > 0 else lines


def _size(count: int) -> str:
    return humanize.naturalsize(count)
