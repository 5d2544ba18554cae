"""Danger-clock arithmetic: from a platform's fact and an observed event to a deadline. Pure.

A clock starts from what was observed. Where the start is only bounded ("last seen running at"), the
earliest possible firing is what is shown; where nothing is known the clock says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from gpu_tui.core import units
from gpu_tui.core.anchors import EARLIEST, EXACT, LATEST, RATE, Anchors, Start, bound_of, start_of
from gpu_tui.core.profile import ClockFact, Profile, fact_is_stale
from gpu_tui.core.thresholds import THRESHOLDS, UNMEASURED_SPAN, Threshold, crossed

SEVERITY_RANK = {"critical": 0, "high": 1, "medium": 2, "low": 3}
FIRED = "fired"
SHORT = (
    "pace"  # the stage of a clock before its first threshold: what it ends does not come to its end
)
OVERRUN = 60.0  # seconds that a running box may be over its end before the clock is taken for not in force


@dataclass(frozen=True, slots=True)
class DangerClock:
    """One clock of one instance, as contracts name it. Times are epoch seconds.

    `state` is running, armed, unknown-start or fired. `fires_at` is set where the deadline is known (or,
    with the bound `rate`, reckoned); `earliest_fires_at` also where only its earliest time is;
    `latest_fires_at` also where only its latest is. `stage` is the threshold that was crossed last,
    or `fired`; None before the first. `kind` is the finding that a stage makes. `subject` names what of the
    instance it is about (a mount, a job). `after` is the seconds from start to deadline. `why` says what
    keeps it from counting. `short` says how far a job comes that does not end before it.
    """

    id: str
    instance: str
    state: str
    starts: str
    started_at: float | None
    started_basis: str
    fires_at: float | None
    earliest_fires_at: float | None
    loses: str | None
    bills: str | None
    severity: str
    avoid: str
    source: str
    verified: str
    confidence: str
    stale_fact: bool
    after: float | None = None
    latest_fires_at: float | None = None
    bound: str = EXACT
    anchor: str = "reading"
    effect: str = "stops"
    kind: str = "clock"
    subject: str | None = None
    note: str | None = None
    why: str | None = None
    stage: str | None = None
    early: bool = True  # it is told before it fires
    off: bool = False  # armed because it is known not to tick, not for want of knowing
    only: tuple[str, ...] = ()  # variants that have it, where the instance's own is not known
    short: str | None = None

    @property
    def deadline(self) -> float | None:
        """What the countdown counts to: the deadline, else its earliest, else its latest time."""
        for at in (self.fires_at, self.earliest_fires_at, self.latest_fires_at):
            if at is not None:
                return at
        return None

    @property
    def key(self) -> str:
        """What tells the clocks of one instance apart."""
        return f"{self.id}:{self.subject}" if self.subject else self.id

    @property
    def ticks(self) -> bool:
        """Its trigger is so."""
        return self.state != "armed"

    @property
    def what(self) -> str:
        """What it does, in a few words."""
        if self.loses:
            return f"loses {self.loses}"
        if self.bills:
            return f"bills {self.bills}"
        return self.note or ("stops the instance" if self.effect == "stops" else self.id)

    def due(self, now: float) -> bool:
        """True where the clock should be a finding now."""
        over = self.ticks and self.deadline is not None and self.deadline <= now
        return over or self.stage is not None


def clocks_of(
    profile: Profile,
    instance: str,
    anchors: Anchors,
    now: float,
    variant: str | None = None,
    thresholds: Sequence[Threshold] = THRESHOLDS,
) -> tuple[DangerClock, ...]:
    """All clocks of one instance that the profile knows: those that tick, and those that are armed."""
    today = datetime.fromtimestamp(now, UTC).date()
    return staged(
        (
            _clock(profile, fact, instance, anchors, now, variant, today)
            for fact in profile.clocks
            if applies(fact, variant)
        ),
        now,
        thresholds,
    )


def applies(fact: ClockFact, variant: str | None) -> bool:
    """Whether an instance of this variant has the clock; where the variant is not known it may."""
    return not fact.applies_to or variant is None or variant in fact.applies_to


def staged(
    clocks: Iterable[DangerClock],
    now: float,
    thresholds: Sequence[Threshold] = THRESHOLDS,
    held: Mapping[str, str] | None = None,
) -> tuple[DangerClock, ...]:
    """The clocks with the threshold that each has crossed. `held`: what each had crossed at the last look."""
    return tuple(_staged(clock, now, thresholds, (held or {}).get(clock.key)) for clock in clocks)


def _staged(
    clock: DangerClock, now: float, thresholds: Sequence[Threshold], held: str | None
) -> DangerClock:
    deadline = clock.deadline
    if clock.state == "fired":
        return replace(clock, stage=FIRED)
    if clock.state != "running" or deadline is None or not clock.early:
        return clock
    wavers = held if clock.bound == RATE else None
    stage = crossed(deadline - now, clock.after, thresholds, held=wavers)
    stage = stage or (SHORT if clock.short else None)
    return replace(clock, stage=stage) if stage else clock


def _clock(
    profile: Profile,
    fact: ClockFact,
    instance: str,
    anchors: Anchors,
    now: float,
    variant: str | None,
    today: date,
) -> DangerClock:
    start = start_of(fact, anchors)
    deadline = start.until
    if deadline is None and start.ticks and start.at is not None and fact.after is not None:
        deadline = start.at + fact.after
    bound = bound_of(start.basis)
    state, why = _state(fact, start, deadline, anchors, now)
    off = state == "armed" and (start.off or start.ticks)
    if state == "armed":
        start, deadline = Start(False), None
    lost = ", ".join(_tier_name(profile, tier) for tier in fact.loses) or None
    return DangerClock(
        id=fact.id,
        instance=instance,
        state=state,
        starts=fact.when,
        started_at=start.at,
        started_basis=start.basis,
        fires_at=deadline if bound in (EXACT, RATE) else None,
        earliest_fires_at=deadline if bound != LATEST else None,
        latest_fires_at=deadline if bound != EARLIEST else None,
        loses=lost if fact.effect != "bills" else None,
        bills=(fact.note or lost or "goes on billing") if fact.effect == "bills" else None,
        severity=fact.severity,
        avoid=fact.avoid,
        source=fact.source,
        verified=fact.verified,
        confidence=fact.confidence,
        stale_fact=fact_is_stale(fact.verified, today),
        after=fact.after,
        bound=bound,
        anchor=fact.anchor,
        effect=fact.effect,
        kind="low_balance" if fact.anchor == "balance" else "clock",
        note=fact.note,
        why=why,
        off=off,
        only=fact.applies_to if variant is None else (),
    )


def _state(
    fact: ClockFact, start: Start, deadline: float | None, anchors: Anchors, now: float
) -> tuple[str, str | None]:
    if not start.ticks:
        return "armed", start.why
    bills = fact.effect == "bills" and not fact.after
    if deadline is None and start.at is None and not bills:
        return "unknown-start", start.why
    if deadline is None or deadline > now:
        return "running", start.why
    counted = fact.when == "running" and fact.anchor in ("created_at", "last_contact")
    if counted and anchors.power == "running" and now - deadline > OVERRUN:
        return "armed", "its time is over and the box still runs: it is not in force here"
    if counted and start.why and anchors.power == "unknown" and fact.anchor == "created_at":
        return "armed", "nobody knows whether it is running"  # and that session is over by now
    return "fired", start.why


def _tier_name(profile: Profile, tier_id: str) -> str:
    tier = profile.tier(tier_id)
    return (tier.label or tier.id) if tier else tier_id


def by_urgency(clocks: Iterable[DangerClock]) -> tuple[DangerClock, ...]:
    """Clocks that fire soonest first; then running bills and unknown starts; then armed ones by severity."""
    order = {"fired": 0, "running": 2, "unknown-start": 3, "armed": 4}

    def key(clock: DangerClock) -> tuple[int, float, int, str, str]:
        fires = clock.deadline
        group = order[clock.state]
        return (
            1 if clock.state == "running" and fires is not None else group,
            fires if fires is not None else float("inf"),
            SEVERITY_RANK.get(clock.severity, 9),
            clock.key,
            clock.instance,
        )

    return tuple(sorted(clocks, key=key))


def earliest(clocks: Iterable[DangerClock]) -> DangerClock | None:
    """The clock that fires next, or None."""
    timed = [clock for clock in clocks if clock.ticks and clock.deadline is not None]
    return min(timed, key=lambda clock: clock.deadline or 0.0, default=None)


BOUND_WORDS = {
    EARLIEST: "at the earliest",
    LATEST: "at the latest",
    RATE: "at the present rate",
}


def clock_words(clock: DangerClock, left: float) -> str:
    """What a finding says of a clock that is due; the same words until the next threshold is crossed."""
    bound = f" {BOUND_WORDS[clock.bound]}" if clock.bound in BOUND_WORDS else ""
    if clock.state == "fired" or left <= 0:
        word = "fired" if clock.bound == EXACT else "may have fired"
        return f"{word}: {clock.what}"
    if clock.stage == SHORT:
        return f"{clock.subject}: {clock.short}"
    share = clock.stage or ""
    if share.endswith("%") and clock.after:
        share = f"{share} of its {units.words(clock.after)}"
    elif share.endswith("%"):
        share = units.words(UNMEASURED_SPAN * float(share[:-1]) / 100)
    told = f"less than {share} left{bound}: {clock.what}"
    return f"{told}; {clock.short}" if clock.short else told
