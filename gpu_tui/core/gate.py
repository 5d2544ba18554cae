"""Every rule that stands between a person and a stopped meter, in this one file. Pure.

Nine rungs, climbed in order and only with evidence; anything that cannot be evaluated keeps the gate
shut. The only `StopPermit` that exists is minted here, and a provider takes nothing else.

How to read it: TRANSITIONS is the whole climb, one row per (state, evidence): the rule that judges
the evidence, where it leads, and where a refusal leads. A rule returns the reason to stay shut, or
None; a `Late` one leads back to the confirmation. RECHECKS is what must hold again within seconds of the call.
There is no other way up. What one
verdict or roster proves stands in `proof`, what a person may allow by hand in `allowance`, and what one
climb has seen so far in `seen`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass, field, replace
from enum import StrEnum
from typing import Any, NoReturn, TypeVar

from gpu_tui.core.allowance import offer
from gpu_tui.core.evidence import (
    Abandoned,
    Accepted,
    Acknowledged,
    Event,
    IntentWritten,
    Inventory,
    Listed,
    Loaded,
    Matched,
    Overridden,
    Plan,
    Pulled,
    Quiet,
    ReadBack,
    Recheck,
    Relocked,
    Tick,
    Typed,
    Unsent,
)
from gpu_tui.core.ladder import GateView as GateView
from gpu_tui.core.ladder import Rung as Rung
from gpu_tui.core.ladder import RungState as RungState
from gpu_tui.core.ladder import RungView as RungView
from gpu_tui.core.profile import Verb
from gpu_tui.core.proof import (
    blank_of,
    by_reason,
    cells_refusal,
    changed,
    difference,
    holds_weights,
    home,
    misnamed,
    named,
    shrunk,
    some,
)
from gpu_tui.core.proof import proves as proves
from gpu_tui.core.seen import Seen
from gpu_tui.core.seen import phrase_of as phrase_of
from gpu_tui.core.seen import second_phrase as second_phrase

E = TypeVar("E")

TTL = 600.0  # boot seconds that evidence waits for a person once all of it is there
DWELL = 3.0  # boot seconds before a confirmation is taken
# Boot seconds from the last byte of the last look at the box until the call is written: what changes there
# in between is not seen.
MAX_LOOK_AGE_SECONDS = 2.0
WALL_JUMP = 60.0  # wall and boot clock may drift apart by this much during one climb
SLEEP_GAP = 10.0  # no beat for this long while armed: the machine slept
SECONDS_MOST = 200  # things beside an instance, each acknowledged by itself: nobody reads more
HERE = " (here)"  # after the name of a file that was touched on this machine
NOWHERE = "no results directory: results.remote must be on the box, results.local named"
OUTCOMES = frozenset({"gone", "stopped", "still-there", "unknown", "steps"})


class State(StrEnum):
    """Where one climb stands. Before CALLED everything can still be called off."""

    PLANNING = "planning"
    QUIESCING = "quiescing"
    LISTING = "listing"
    PULLING = "pulling"
    MATCHING = "matching"
    LOADING = "loading"
    ACCEPTING = "accepting"
    READY = "ready"
    RECHECKING = "rechecking"
    PERMITTED = "permitted"
    CALLED = "called"
    BLOCKED = "blocked"
    CLOSED = "closed"
    DONE = "done"


# --- the climb: (state, evidence) -> (state when its rule is content, state when it refuses) ---

_TO_PROOF: dict[tuple[State, type[Event]], tuple[State, State]] = {
    (State.LISTING, Inventory): (State.PULLING, State.BLOCKED),
    (State.PULLING, Pulled): (State.MATCHING, State.BLOCKED),
    (State.MATCHING, Matched): (State.LOADING, State.BLOCKED),
}
_TO_CALL: dict[tuple[State, type[Event]], tuple[State, State]] = {
    (State.READY, Acknowledged): (State.READY, State.READY),
    (State.READY, Typed): (State.RECHECKING, State.READY),
    (State.RECHECKING, Recheck): (State.PERMITTED, State.CLOSED),
    (State.PERMITTED, IntentWritten): (State.CALLED, State.CLOSED),
    (State.CALLED, Unsent): (State.READY, State.CALLED),
    (State.CALLED, ReadBack): (State.DONE, State.DONE),
}
TRANSITIONS: dict[str, dict[tuple[State, type[Event]], tuple[State, State]]] = {
    # What deletes or may delete: all nine rungs; below BLOCKED lie only what is typed: the override that
    # leads back to LOADING, and the abandonment.
    "stop": {
        (State.PLANNING, Plan): (State.QUIESCING, State.CLOSED),
        (State.QUIESCING, Quiet): (State.LISTING, State.BLOCKED),
        **_TO_PROOF,
        (State.LOADING, Loaded): (State.READY, State.BLOCKED),
        (State.BLOCKED, Listed): (State.BLOCKED, State.BLOCKED),
        (State.BLOCKED, Overridden): (State.LOADING, State.BLOCKED),
        (State.BLOCKED, Acknowledged): (State.BLOCKED, State.BLOCKED),
        (State.BLOCKED, Abandoned): (State.RECHECKING, State.BLOCKED),
        **_TO_CALL,
    },
    # What the profile says deletes nothing and can be undone: rungs 1, 2, 7, 8, 9.
    "park": {
        (State.PLANNING, Plan): (State.QUIESCING, State.CLOSED),
        (State.QUIESCING, Quiet): (State.ACCEPTING, State.BLOCKED),
        (State.ACCEPTING, Accepted): (State.READY, State.CLOSED),
        **_TO_CALL,
    },
    # Rungs 3 to 6 alone; nothing in it leads to a permit.
    "pull": {**_TO_PROOF, (State.LOADING, Loaded): (State.DONE, State.BLOCKED)},
}

STATE_RUNG: Mapping[State, Rung] = {
    State.PLANNING: Rung.PLAN,
    State.QUIESCING: Rung.QUIESCE,
    State.ACCEPTING: Rung.QUIESCE,
    State.LISTING: Rung.MANIFEST,
    State.PULLING: Rung.PULL,
    State.MATCHING: Rung.MATCH,
    State.LOADING: Rung.LOAD,
    State.READY: Rung.CONFIRM,
    State.RECHECKING: Rung.CONFIRM,
    State.PERMITTED: Rung.ACT,
    State.CALLED: Rung.READ_BACK,
}
FINAL = frozenset({State.CLOSED, State.DONE})
# What a person types. A wrong word changes nothing, and says what was wrong with it.
ACTS = (Overridden, Acknowledged, Typed, Abandoned)
# What is judged by the evidence shown, and is no part of it.
JUDGED = (Typed, Abandoned, Recheck, IntentWritten, Unsent, ReadBack)


class GateShut(Exception):
    """A permit was asked to do what it does not permit."""


class PermitExpired(GateShut):
    """The last look at the box is too old. Raised only before a byte of the call was written."""


class Late(str):
    """A reason that voids the permit and no evidence: nothing was sent, and the person may confirm again."""

    __slots__ = ()


_MINT = object()


@dataclass(frozen=True, slots=True)
class StopPermit:
    """The right to make one call. Only the gate can make one; it cannot be copied, and works once.

    `expires_at` is a boot-clock second, `evidence` the digest of everything it rests on.
    """

    instance: str
    provider_id: str | None
    verb: str
    effect: str
    evidence: str
    expires_at: float
    token: InitVar[object]
    _spent: list[bool] = field(default_factory=list, repr=False, compare=False, init=False)

    def __post_init__(self, token: object) -> None:
        if token is not _MINT:
            raise GateShut("only the gate mints a permit")

    def redeem(self, provider_id: str | None, now_boot: float) -> None:
        """Spend it, or raise GateShut. A provider does this before it sends a byte."""
        if self._spent:
            raise GateShut("this permit was used already")
        self._spent.append(True)
        if provider_id != self.provider_id:
            raise GateShut("this permit is for another instance")
        self.hold_to(now_boot)

    def hold_to(self, now_boot: float) -> None:
        """PermitExpired once the last look is too old. Asked again right before the request is written: a slow
        connection, or a lid that was closed, takes its time in between.
        """
        if not now_boot < self.expires_at:
            raise PermitExpired("this permit has expired")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a permit cannot be copied")


# --- rules: each returns the reason to stay shut, or None ---


def _plan_rule(gate: Gate, plan: Plan, now: float) -> str | None:
    if plan.instance != gate.instance or plan.verb != gate.verb:
        return "this plan is for something else"
    if plan.read_only:
        return "read-only: nothing may be stopped from here"
    if plan.unresolved:
        return plan.unresolved
    if not plan.identity.host_key or not plan.identity.boot_id:
        return "the box did not say which machine it is (host key, boot id)"
    if not phrase_of(plan.instance, plan.identity):
        return "neither provider id nor host key gives a phrase to type"
    if plan.provider == "gone":
        return "the provider says that it is gone already"
    if plan.provider == "ended":
        return "the provider says that it ended for ever: there is nothing left to end"
    if plan.verb.effect == "stop" and plan.provider == "stopped":
        return "the provider says that it is stopped already"
    if plan.elsewhere:
        return plan.elsewhere
    if not plan.console and plan.provider not in ("running", "stopped"):
        return plan.provider_error or "the control API does not say what state it is in"
    if not plan.basis:
        return "what the fleet file and the profile say of it could not be noted"
    if len(plan.seconds) > SECONDS_MOST:
        return (
            f"{len(plan.seconds)} things hang on this account, and nobody reads more than {SECONDS_MOST}: "
            "delete those that are not needed at the provider's console, or end the instance there"
        )
    if plan.verb.park:
        lost = [tier.label or tier.id for tier in plan.tiers if tier.survives_stop is not True]
        return f"the profile is not sure that these survive: {some(lost)}" if lost else None
    if not plan.results:
        return NOWHERE
    return None


def _quiet_rule(gate: Gate, quiet: Quiet, now: float) -> str | None:
    if quiet.running is None:
        return quiet.why or "the process table could not be read"
    if gate.park:
        return None
    if quiet.running:
        return f"still at work: {some(quiet.running)}"
    if quiet.busy is None:
        return "the box does not say whether files are still being written"
    if quiet.busy:
        return f"still being written: {some(quiet.busy)}"
    return None


def _accept_rule(gate: Gate, accepted: Accepted, now: float) -> str | None:
    quiet = gate.of(Quiet)
    if quiet is None or accepted.running != quiet.at_work:
        return "what runs is not what was accepted"
    return None


def _inventory_rule(gate: Gate, inventory: Inventory, now: float) -> str | None:
    plan = gate.of(Plan)
    if plan is not None and inventory.identity != plan.identity:
        return "this is another machine, or it was rebooted"
    if inventory.only != gate.only:
        return "these are not the cells that were asked for"
    if inventory.refused:
        return f"cannot be pulled: {some([f'{path} ({why})' for path, why in inventory.refused])}"
    if not inventory.manifest.files:
        return "there is no result file on the box"
    if odd := misnamed(inventory.manifest):
        return f"no honest list of files: {some(odd)}"
    if gone := shrunk(plan.cells if plan else None, inventory):
        return f"the queue named these when it was planned, and does not now: {some(gone)}"
    return None


def _pulled_rule(gate: Gate, pulled: Pulled, now: float) -> str | None:
    if pulled.failed:
        return f"not pulled: {some([f'{path} ({why})' for path, why in pulled.failed])}"
    if pulled.files != len(gate.manifest.files):
        return f"pulled {pulled.files} of {len(gate.manifest.files)} files"
    return None


def _matched_rule(gate: Gate, matched: Matched, now: float) -> str | None:
    if matched.remote != gate.manifest:
        names = changed(gate.manifest, matched.remote)
        return named("files on the box changed while they were pulled", names)
    if not matched.stamps:
        return "it was not noted when the files were last changed"
    gate.report = report = home(matched.remote.at_home, matched.local)
    if not report.ok:
        return difference(report)
    inventory = gate.of(Inventory)
    covered = gate.covered
    if inventory is None or inventory.cells is None or covered is None:
        return "the roster is not known: name results.cells or queue.file in the fleet file"
    # Only whom a person must accept by name before the call may lack what the others have.
    asked = {name for one in gate.waivers if one.kind == "missing" for name in one.names}
    if refusal := cells_refusal(inventory.cells, covered, asked):
        return refusal
    # Before a destruction a person is asked (`waiver`); a pull has nobody to ask.
    if gate.kind == "pull" and covered.unnamed:
        return f"no cell is called {some([name for name, _ in covered.unnamed])}"
    return None


def _loaded_rule(gate: Gate, loaded: Loaded, now: float) -> str | None:
    gate.offer = None
    expected = {file.path: file.sha256 for file in gate.manifest.files}
    judged = {verdict.path: verdict.sha256 for verdict in loaded.verdicts}
    if judged != expected or len(loaded.verdicts) != len(expected):
        return "not every file was judged"
    if not loaded.verifier:
        return "it was not noted what read the files"
    bad = [verdict for verdict in loaded.verdicts if not proves(verdict, on_box=gate.on_box)]
    if bad:
        gate.offer = offer(loaded.verdicts, gate.allowed, on_box=gate.on_box)
        return f"not verified: {by_reason(bad)}"
    if not any(holds_weights(verdict) for verdict in loaded.verdicts):
        return "no checkpoint is among the results"
    # A destruction asks for an exception (`waiver`); a pull has no such step.
    if gate.kind == "pull" and (blank := [v for v in loaded.verdicts if v.blank is not None]):
        return f"not verified: {by_reason([replace(v, detail=blank_of(v) or '') for v in blank])}"
    return None


def _listed_rule(gate: Gate, listed: Listed, now: float) -> str | None:
    plan = gate.of(Plan)
    known = plan is not None and listed.running is not None and listed.identity == plan.identity
    gate.loss = gate.losses(listed) if known else None
    return None


# --- what a person types: under the evidence that is shown, after the time it takes to read it ---


def _read_first(gate: Gate, evidence: str, now: float) -> str | None:
    if gate.ready_at is None or now < gate.ready_at:
        return "too early: read what stands here first"
    if evidence != gate.digest:
        return "the evidence changed while it was typed"
    return None


def _override_rule(gate: Gate, override: Overridden, now: float) -> str | None:
    if gate.override_phrase is None:
        return "nothing here can be allowed by hand"
    if reason := _read_first(gate, override.evidence, now):
        return reason
    return (
        None if override.text == gate.override_phrase else f"that is not “{gate.override_phrase}”"
    )


def _acknowledge_rule(gate: Gate, seen: Acknowledged, now: float) -> str | None:
    resource = next((one for one in gate.asked if one.key == seen.resource_id), None)
    if resource is None:
        return "there is no such second resource or exception"
    if reason := _read_first(gate, seen.evidence, now):
        return reason
    phrase = second_phrase(resource)
    return None if seen.typed == phrase else f"that is not {phrase}"


def _typed_rule(gate: Gate, typed: Typed, now: float) -> str | None:
    if reason := _read_first(gate, typed.evidence, now):
        return reason
    if left := gate.unseen:
        return f"not yet acknowledged: {some([one.label for one in left])}"
    if not gate.phrase or typed.text != gate.phrase:
        return f"that is not {gate.phrase}"
    return None


def _abandoned_rule(gate: Gate, abandoned: Abandoned, now: float) -> str | None:
    if gate.loss is None:
        return "there is nothing to abandon"
    if reason := _read_first(gate, abandoned.evidence, now):
        return reason
    if left := gate.unseen:
        return f"not yet acknowledged: {some([one.label for one in left])}"
    if abandoned.text != gate.abandon_phrase:
        return f"that is not “{gate.abandon_phrase}”"
    return None


def _recheck_rule(gate: Gate, seen: Recheck, now: float) -> str | None:
    for check in RECHECKS.values():
        if (reason := check(gate, seen, now)) is not None:
            return reason
    return None


def _intent_rule(gate: Gate, intent: IntentWritten, now: float) -> str | None:
    if gate.permit is None or intent.evidence != gate.permit.evidence:
        return "the journal's intent is for other evidence"
    return _late(gate.of(Recheck), now)


def _unsent_rule(gate: Gate, unsent: Unsent, now: float) -> str | None:
    return None if _late(gate.of(Recheck), now) else "the permit has not expired"


def _read_back_rule(gate: Gate, seen: ReadBack, now: float) -> str | None:
    outcome = seen.outcome if seen.outcome in OUTCOMES else "unknown"
    if outcome == "stopped" and gate.verb is not None and gate.verb.effect != "stop":
        outcome = "still-there"  # switched off is not destroyed: it goes on billing
    gate.outcome, gate.outcome_lines = outcome, seen.lines
    return None


# --- what must hold again within seconds of the call ---


def _still_writable(gate: Gate, seen: Recheck, now: float) -> str | None:
    return "read-only: nothing may be stopped from here" if seen.read_only else None


def _fresh(gate: Gate, seen: Recheck, now: float) -> str | None:
    if gate.confirmed_at is None or seen.began_at < gate.confirmed_at:
        return "the last look is older than the confirmation"
    if seen.read_at > now:
        return "the last look at the box ended in the future"
    return None


def _late(seen: Recheck | None, now: float) -> Late | None:
    """The reason that voids the permit once the last look is too old; None in time."""
    if seen is not None and 0 <= now - seen.read_at < MAX_LOOK_AGE_SECONDS:
        return None
    age = now - seen.read_at if seen else MAX_LOOK_AGE_SECONDS
    return Late(
        f"nothing was sent: the last look at the box was {age:.1f} s old, and the call must follow within "
        f"{MAX_LOOK_AGE_SECONDS:.0f} s. Confirm again"
    )


def _in_time(gate: Gate, seen: Recheck, now: float) -> str | None:
    return _late(seen, now)


def _unchanged_meanwhile(gate: Gate, seen: Recheck, now: float) -> str | None:
    """Refuses files that changed while the program of the last look ran; an abandonment lists those that may."""
    if gate.park:
        return None
    changed_now = seen.changing
    if gate.loss is not None:
        safe = {file.path for file in gate.loss.proven.files}
        changed_now = tuple(path for path in seen.changing if path in safe)
    return f"changed during the last look: {some(changed_now)}" if changed_now else None


def _same_evidence(gate: Gate, seen: Recheck, now: float) -> str | None:
    if gate.confirmed != gate.digest:
        return "the evidence is not what was confirmed"
    return None


def _same_machine(gate: Gate, seen: Recheck, now: float) -> str | None:
    plan = gate.of(Plan)
    if plan is None or seen.identity != plan.identity:
        return "this is another machine, or it was rebooted"
    return None


def _same_address(gate: Gate, seen: Recheck, now: float) -> str | None:
    return seen.elsewhere


def _same_provider(gate: Gate, seen: Recheck, now: float) -> str | None:
    plan = gate.of(Plan)
    if plan is None or seen.provider != plan.provider:
        return f"the provider now says {seen.provider}"
    return None


def _same_basis(gate: Gate, seen: Recheck, now: float) -> str | None:
    plan = gate.of(Plan)
    if plan is None or not seen.basis or seen.basis != plan.basis:
        return "the fleet file or the profile was edited"
    return None


def _same_seconds(gate: Gate, seen: Recheck, now: float) -> str | None:
    if len(seen.seconds) != len(gate.seconds) or set(seen.seconds) != set(gate.seconds):
        return "what hangs on the instance (volumes, addresses) changed"
    return None


def _same_verifier(gate: Gate, seen: Recheck, now: float) -> str | None:
    loaded = gate.of(Loaded)
    if gate.park or (gate.loss is not None and not gate.loss.proven.files):
        return None
    if loaded is None or not seen.verifier or seen.verifier != loaded.verifier:
        return "what read the checkpoints is not installed any more as it was"
    return None


def _same_stamps(gate: Gate, seen: Recheck, now: float) -> str | None:
    matched = gate.of(Matched)
    if gate.park or gate.loss is not None:
        return None
    if matched is None or not seen.stamps or seen.stamps != matched.stamps:
        return named("a file was touched since it was compared, here or on the box", seen.moved)
    return None


def _still_quiet(gate: Gate, seen: Recheck, now: float) -> str | None:
    if seen.at_work is None:
        return "the process table could not be read again"
    allowed = set(gate.allowed_work)
    if new := [work for work in seen.at_work if work not in allowed]:
        return f"work started: {some(new)}"
    if gate.park:
        return None
    if gate.loss is not None:
        safe = {file.path for file in gate.loss.proven.files}
        again = [path for path in seen.busy or () if path in safe]
        return f"being written again: {some(again)}" if again else None
    if seen.busy is None:
        return "the box no longer says whether files are being written"
    if seen.busy:
        return f"being written again: {some(seen.busy)}"
    return None


def _nobody_new(gate: Gate, seen: Recheck, now: float) -> str | None:
    plan = gate.of(Plan)
    before = plan.logins if plan else ()
    if seen.logins is None:
        return None if before is None else "the box no longer says who is logged in"
    new = [one for one in seen.logins if one not in (before or ())]
    return f"logged in since the plan: {some(new)}" if new else None


def _same_queue(gate: Gate, seen: Recheck, now: float) -> str | None:
    inventory = gate.of(Inventory)
    if gate.park or gate.loss is not None:
        return None
    if inventory is None or seen.cells is None or seen.cells != inventory.cells:
        return "the queue changed"
    return None


def _same_remote(gate: Gate, seen: Recheck, now: float) -> str | None:
    if gate.park:
        return None
    if gate.loss is not None:
        if seen.paths is None:
            return "the files on the box could not be listed again"
        safe = {file.path for file in gate.loss.proven.files}
        if new := sorted(set(seen.paths) - safe - set(gate.loss.paths)):
            return f"not in the list that was abandoned: {some(new)}"
        if seen.remote is None or not set(gate.loss.proven.files) <= set(seen.remote.files):
            names = changed(gate.loss.proven, seen.remote, touched=seen.touched)
            return named("files on the box changed", [name for name in names if name in safe])
        return None
    expected = {file.path for file in gate.manifest.files}
    if seen.paths is None or set(seen.paths) != expected or seen.remote != gate.manifest:
        names = changed(gate.manifest, seen.remote, seen.paths, seen.touched)
        return named("files on the box changed", names)
    return None


def _same_local(gate: Gate, seen: Recheck, now: float) -> str | None:
    if gate.park:
        return None
    if gate.loss is not None:
        proven = gate.loss.proven.at_home
        here = set(seen.local.files) if seen.local else set()
        if set(proven.files) <= here:
            return None
        names = [] if seen.local is None else changed(proven, seen.local)
        safe = {file.path for file in proven.files}
        return named("files here changed", [name for name in names if name in safe])
    if seen.local is None:
        names = [name for name in seen.moved if name.endswith(HERE)]
        return named("the files here changed meanwhile, or cannot be read again", names)
    report = home(gate.manifest.at_home, seen.local)
    return None if report.ok else f"files here changed: {difference(report)}"


RECHECKS: dict[str, Callable[[Gate, Recheck, float], str | None]] = {
    "read-only": _still_writable,
    "fresh": _fresh,
    "evidence": _same_evidence,
    "identity": _same_machine,
    "address": _same_address,
    "provider": _same_provider,
    "basis": _same_basis,
    "seconds": _same_seconds,
    "quiet": _still_quiet,
    "logins": _nobody_new,
    "queue": _same_queue,
    "remote": _same_remote,
    "local": _same_local,
    "stamps": _same_stamps,
    "changing": _unchanged_meanwhile,
    "verifier": _same_verifier,
    # The last: whatever shuts the gate for good is said before what voids only the permit.
    "in time": _in_time,
}


# The rule that judges each piece of evidence. What has no rule cannot be applied.
RULES: dict[type[Event], Callable[[Gate, Any, float], str | None]] = {
    Plan: _plan_rule,
    Quiet: _quiet_rule,
    Accepted: _accept_rule,
    Inventory: _inventory_rule,
    Pulled: _pulled_rule,
    Matched: _matched_rule,
    Loaded: _loaded_rule,
    Listed: _listed_rule,
    Overridden: _override_rule,
    Acknowledged: _acknowledge_rule,
    Typed: _typed_rule,
    Abandoned: _abandoned_rule,
    Recheck: _recheck_rule,
    IntentWritten: _intent_rule,
    Unsent: _unsent_rule,
    ReadBack: _read_back_rule,
}


class Gate(Seen):
    """One climb. Feed it evidence with `apply`; when it says PERMITTED, `permit` is there.

    `because` says why it is blocked or closed, `rung` where it stands or stopped.
    """

    def __init__(self, instance: str, verb: Verb | None = None, only: tuple[str, ...] = ()) -> None:
        """A gate for `verb`, or for a pull alone where `verb` is None: of the cells `only`, or of everything."""
        super().__init__(instance, verb)
        assert verb is None or not only, only
        self.only = only
        self.state = State.LISTING if verb is None else State.PLANNING
        self.rung = STATE_RUNG[self.state]
        self.because: str | None = None
        self.note: str | None = None  # what was wrong with the last thing typed
        self.stuck: Rung | None = None  # the rung whose evidence was refused
        self.permit: StopPermit | None = None
        self.ready_at: float | None = None
        self.expires_at: float | None = None
        self.confirmed: str | None = None
        self.confirmed_at: float | None = None
        self.outcome: str | None = None
        self.outcome_lines: tuple[str, ...] = ()
        self.window: float | None = None  # boot seconds from the last look to the call
        self._hashing: float | None = None  # boot second at which the comparison began
        self._hashed = 0.0  # boot seconds that it took
        self._beat: float | None = None
        self._offset: float | None = None  # wall minus boot, when it was armed

    @property
    def ended(self) -> bool:
        """Nothing more can happen here."""
        return self.state in (State.CLOSED, State.DONE)

    @property
    def called(self) -> bool:
        """The call has left, or may have."""
        return self.state is State.CALLED or (self.state is State.DONE and self.kind != "pull")

    @property
    def override_phrase(self) -> str | None:
        """What must be typed to load what was refused, or None where nothing may be allowed."""
        armed = self.state is State.BLOCKED and self.ready_at is not None
        if self.offer is None or not armed or not self.phrase:
            return None
        return self.offer.phrase(self.phrase)

    @property
    def abandon_phrase(self) -> str | None:
        """What must be typed to give up the listed paths, or None where nothing may be given up."""
        if self.loss is None or self.state is not State.BLOCKED or not self.phrase or self.unseen:
            return None
        return f"abandon {len(self.loss.paths)} files on {self.phrase}"

    def ready(self, now_boot: float) -> bool:
        """A confirmation would be taken now."""
        waited = self.ready_at is not None and now_boot >= self.ready_at
        return self.state is State.READY and waited and not self.unseen

    def apply(self, event: Event, now_boot: float, now_wall: float) -> State:
        """Take one piece of evidence at this time and return the new state.

        Evidence that does not belong here shuts the gate: a runner that lost its place proves nothing.
        What a person typed a moment too late changes nothing.
        """
        self._watch_time(now_boot, now_wall)
        if self.ended or isinstance(event, Tick):
            return self.state
        if isinstance(event, Relocked):
            if self.state is not State.CALLED:
                self._close(event.reason)
            return self.state
        leads = TRANSITIONS[self.kind].get((self.state, type(event)))
        if leads is None:
            if self.state is not State.CALLED and not isinstance(event, (*ACTS, Accepted)):
                self._close(f"{type(event).__name__} came while {self.state}")
            return self.state
        up, shut = leads
        if not isinstance(event, ACTS):
            self.keep(event)
        reason = RULES[type(event)](self, event, now_boot)
        self.note = None
        if reason is not None and isinstance(event, ACTS):
            self.note = reason
        elif reason is None:
            self._enter(up, event, now_boot, now_wall)
        elif isinstance(reason, Late):
            self._confirm_again(reason, now_boot)
        elif shut is State.CLOSED:
            self._close(reason)
        else:
            self.state, self.because, self.stuck = shut, reason, self.rung
        if not isinstance(event, JUDGED):
            self.digest = self.digest_now()
        if isinstance(event, Listed) and (self.loss or self.offer):
            self._arm(now_boot, now_wall)
        return self.state

    def _enter(self, state: State, event: Event, now_boot: float, now_wall: float) -> None:
        before, quiet = self.state, self.of(Quiet)
        if state is State.ACCEPTING and quiet is not None and not quiet.at_work:
            state = State.READY
        self.state = state
        self.rung = STATE_RUNG.get(state, self.rung)
        match event:
            case Pulled():
                self._hashing = now_boot
            case Matched() if self._hashing is not None:
                self._hashed = now_boot - self._hashing
            case Overridden():
                self._allow()
            case Acknowledged():
                self.acknowledged |= {event.resource_id}
            case Typed() | Abandoned():
                self.confirmed, self.confirmed_at = event.evidence, now_boot
                # The evidence is read anew now. That takes as long as the comparison did.
                self.expires_at = now_boot + TTL + 2 * self._hashed
            case Unsent():
                self._confirm_again(_late(self.of(Recheck), now_boot) or "", now_boot, state)
            case IntentWritten():
                seen = self.of(Recheck)
                self.window = now_boot - seen.read_at if seen else None
        if state is State.ACCEPTING or (
            state is State.READY and before not in (State.READY, State.CALLED)
        ):
            self._arm(now_boot, now_wall)
        elif state is State.PERMITTED:
            self.permit = self._mint()
        elif state is State.DONE and self.kind == "pull":
            self.outcome = "cells-verified" if self.only else "verified"

    def _allow(self) -> None:
        """Back to loading, with what was allowed; what a refusal led to is forgotten."""
        if self.offer is not None:
            self.allowed |= frozenset(self.offer.names)
            self.on_box = self.on_box or bool(self.offer.unread)
        self.offer = self.loss = self.because = self.stuck = None
        self.ready_at = self.expires_at = None
        self.forget(Listed)

    def _confirm_again(self, reason: str, now_boot: float, to: State = State.READY) -> None:
        """Back to where the phrase is typed, under the same evidence: the call did not leave in time."""
        self.state = to if self.loss is None else State.BLOCKED
        self.rung = Rung.CONFIRM if self.loss is None else self.stuck or Rung.CONFIRM
        self.permit = self.confirmed = self.confirmed_at = self.window = None
        self.note, self.ready_at, self._beat = reason, now_boot + DWELL, now_boot

    def _arm(self, now_boot: float, now_wall: float) -> None:
        plan, waits = self.of(Plan), TTL
        if plan is not None and plan.ends_at is not None and plan.ends_at > now_wall:
            waits = min(waits, plan.ends_at - now_wall)  # then the provider takes it by itself
        if self.of(Accepted) is None or self.expires_at is None:
            self.expires_at = now_boot + waits
        self.ready_at = now_boot + DWELL
        self._beat, self._offset = now_boot, now_wall - now_boot

    def _watch_time(self, now_boot: float, now_wall: float) -> None:
        """Shut an armed gate whose evidence is too old, or whose clocks cannot be believed."""
        if self.expires_at is None or self.state in (State.CALLED, *FINAL):
            return
        beat, self._beat = self._beat, now_boot
        if now_boot >= self.expires_at:
            late = self.state in (State.RECHECKING, State.PERMITTED)
            self._close(
                "the last look took too long" if late else "the evidence is older than ten minutes"
            )
        elif beat is not None and not 0 <= now_boot - beat <= SLEEP_GAP:
            self._close("this machine slept; what was seen before proves nothing now")
        elif self._offset is not None and abs(now_wall - now_boot - self._offset) > WALL_JUMP:
            self._close("the clock of this machine jumped")

    def _close(self, reason: str) -> None:
        self.state, self.because, self.permit = State.CLOSED, reason, None

    def _mint(self) -> StopPermit:
        plan, seen = self.of(Plan), self.of(Recheck)
        if plan is None or seen is None or self.expires_at is None:
            raise GateShut("no plan was seen")
        return StopPermit(
            instance=self.instance,
            provider_id=plan.identity.provider_id,
            verb=plan.verb.verb,
            effect=plan.verb.effect,
            evidence=self.digest,
            expires_at=min(self.expires_at, seen.read_at + MAX_LOOK_AGE_SECONDS),
            token=_MINT,
        )
