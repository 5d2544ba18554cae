"""Danger-clock arithmetic: from a platform's fact and an observed event to a deadline. Pure.

A clock starts from what was observed. Where the start is only bounded ("last seen running at"), the
earliest possible firing is what is shown; where nothing is known the clock says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from gpu_tui.core.profile import ClockFact, Profile, fact_is_stale

SEVERITY_RANK = {"critical": 0, "high": 1, "medium": 2, "low": 3}
DUE_SHARE = 0.25  # a clock becomes a finding when this share of its time is left


@dataclass(frozen=True, slots=True)
class Anchors:
    """What was observed of one instance; epoch seconds, None where nobody knows.

    `power` is running, stopped, gone or unknown. `manual` maps a clock's anchor word to a time that a
    person typed. `stopped_basis` is api, last-contact or manual.
    """

    power: str = "unknown"
    stopped_at: float | None = None
    stopped_basis: str = "unknown"
    created_at: float | None = None
    last_contact: float | None = None
    manual_deadlines: dict[str, float] | None = None
    balance_runway: float | None = None


@dataclass(frozen=True, slots=True)
class DangerClock:
    """One clock of one instance, as contracts name it. Times are epoch seconds.

    `state` is running, armed, unknown-start or fired. `fires_at` is set where the start is known;
    `earliest_fires_at` also where it is only bounded.
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

    def due(self, now: float) -> bool:
        """True where the clock should be a finding now."""
        if self.state == "fired":
            return True
        if self.state != "running" or self.earliest_fires_at is None:
            return False
        left = self.earliest_fires_at - now
        return left <= max((self.after or 0.0) * DUE_SHARE, 3600.0)


def clocks_of(
    profile: Profile, instance: str, anchors: Anchors, now: float, variant: str | None = None
) -> tuple[DangerClock, ...]:
    """All clocks of one instance: those that tick, and those that are armed."""
    return tuple(
        _clock(profile, fact, instance, anchors, now)
        for fact in profile.clocks
        if _applies(fact, variant)
    )


def _applies(fact: ClockFact, variant: str | None) -> bool:
    return not fact.applies_to or variant is None or variant in fact.applies_to


def _clock(
    profile: Profile, fact: ClockFact, instance: str, anchors: Anchors, now: float
) -> DangerClock:
    started, basis, ticking = _start(fact, anchors)
    fires = earliest = None
    if ticking and fact.after is not None and started is not None:
        earliest = started + fact.after
        fires = None if basis == "last-contact" else earliest
    if fact.anchor in ("rental_end", "manual") and anchors.manual_deadlines:
        typed = anchors.manual_deadlines.get(fact.id)
        if typed is not None:
            started, basis, ticking, fires, earliest = typed, "manual", True, typed, typed
    if not ticking:
        state = "armed"
    elif started is None:
        state = "unknown-start"
    elif earliest is not None and earliest <= now:
        state = "fired"
    else:
        state = "running"
    lost = ", ".join(_tier_name(profile, tier) for tier in fact.loses) or None
    today = datetime.fromtimestamp(now, UTC).date()
    return DangerClock(
        id=fact.id,
        instance=instance,
        state=state,
        starts=fact.when,
        started_at=started,
        started_basis=basis,
        fires_at=fires,
        earliest_fires_at=earliest,
        loses=lost if fact.effect != "bills" else None,
        bills=(fact.note or lost or "goes on billing") if fact.effect == "bills" else None,
        severity=fact.severity,
        avoid=fact.avoid,
        source=fact.source,
        verified=fact.verified,
        confidence=fact.confidence,
        stale_fact=fact_is_stale(fact.verified, today),
        after=fact.after,
    )


def _start(fact: ClockFact, anchors: Anchors) -> tuple[float | None, str, bool]:
    """Start time, its basis, and whether the clock ticks now."""
    if fact.when == "stopped":
        if anchors.power == "running":
            return None, "unknown", False
        if anchors.power != "stopped":
            return None, "unknown", False
        if anchors.stopped_at is not None:
            return anchors.stopped_at, anchors.stopped_basis, True
        if anchors.last_contact is not None:
            return anchors.last_contact, "last-contact", True
        return None, "unknown", True
    if fact.when == "running" and anchors.power == "running":
        if fact.anchor == "created_at":
            return anchors.created_at, "api" if anchors.created_at else "unknown", True
        return None, "unknown", False
    return None, "unknown", False


def _tier_name(profile: Profile, tier_id: str) -> str:
    tier = profile.tier(tier_id)
    return (tier.label or tier.id) if tier else tier_id


def by_urgency(clocks: Iterable[DangerClock]) -> tuple[DangerClock, ...]:
    """Clocks that fire soonest first; then unknown starts; then armed ones by severity."""
    order = {"fired": 0, "running": 1, "unknown-start": 2, "armed": 3}

    def key(clock: DangerClock) -> tuple[int, float, int, str]:
        fires = clock.earliest_fires_at
        timed = 1 if fires is not None else order[clock.state]
        return (
            0 if clock.state == "fired" else timed,
            fires if fires is not None else float("inf"),
            SEVERITY_RANK.get(clock.severity, 9),
            clock.id,
        )

    return tuple(sorted(clocks, key=key))


def earliest(clocks: Iterable[DangerClock]) -> DangerClock | None:
    """The clock that fires next, or None."""
    timed = [replace(clock) for clock in clocks if clock.earliest_fires_at is not None]
    return min(timed, key=lambda clock: clock.earliest_fires_at or 0.0, default=None)
