"""What was observed of one instance that a clock may start from, and how far each time may be believed.

Every time is this machine's epoch seconds: what a box says is brought to our clock before it comes here.
A basis is one word:

api           the provider says so: exact
manual        a person typed it: exact
last-contact  it was still so then, so the event came later: a deadline from it is the earliest possible
reading       the box's own start, as its processes show it: the event came at or before it
first-seen    we saw it then for the first time: the event came before it, so a deadline is the latest possible
rate          reckoned from a rate: right only while the rate stays
part-rate     reckoned from the part of a rate that is known: a deadline is the latest possible
unknown       nobody knows
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gpu_tui.core.profile import ClockFact

EXACT, EARLIEST, LATEST, RATE = "exact", "earliest", "latest", "rate"
BOUNDS = {
    "last-contact": EARLIEST,
    "first-seen": LATEST,
    "reading": LATEST,
    "rate": RATE,
    "part-rate": LATEST,
}

NO_DATE = "no date is known; mark it when you learn one"
NO_BEGINNING = "no beginning is known; mark it when you learn one"


@dataclass(frozen=True, slots=True)
class Anchors:
    """Epoch seconds, None where nobody knows.

    `power` is running, stopped, gone or unknown. `created_at` is when the present session, pod or boot
    began. `manual_deadlines` maps the id of a clock to the time at which a person says it fires,
    `told_deadlines` to that at which the provider says so.
    `manual_starts` says when its count began. `balance_at` is when the balance is gone (or was first seen gone: basis
    first-seen). `idle_since` is since when nothing works while the meter runs. `lost` = it cannot be
    reached, and whoever switched it off did not tell us.
    """

    power: str = "unknown"
    stopped_at: float | None = None
    stopped_basis: str = "unknown"
    created_at: float | None = None
    last_contact: float | None = None
    manual_deadlines: Mapping[str, float] | None = None
    told_deadlines: Mapping[str, float] = field(default_factory=dict)
    created_basis: str = "api"
    rental_end: float | None = None
    rental_basis: str = "unknown"
    balance_at: float | None = None
    balance_basis: str = "unknown"
    idle_since: float | None = None
    manual_starts: Mapping[str, float] = field(default_factory=dict)
    lost: bool = False
    stored: tuple[str, ...] = ()  # kinds of what the account pays for beside its instances


@dataclass(frozen=True, slots=True)
class Start:
    """Where one clock stands. `ticks`: what triggers it is so. `at` is what it counts from; `until` a
    deadline that is known without counting. `why` says what is missing. `off`: it is known not to tick,
    which is more than not known to tick.
    """

    ticks: bool
    at: float | None = None
    basis: str = "unknown"
    until: float | None = None
    why: str | None = None
    off: bool = False


def start_of(fact: ClockFact, seen: Anchors) -> Start:
    """What is observed of the trigger of one clock: `when` says in which state it ticks, `anchor` from where."""
    typed = (seen.manual_deadlines or {}).get(fact.id)
    if typed is not None:
        return Start(True, None, "manual", until=typed)
    if fact.id in seen.manual_starts:
        return Start(True, seen.manual_starts[fact.id], "manual")
    if fact.id in seen.told_deadlines:
        return Start(True, None, "api", until=seen.told_deadlines[fact.id])
    if seen.power == "gone" and fact.when not in ("account", "storage"):
        return Start(False, why="the provider no longer has this instance", off=True)
    if seen.power == "ended" and fact.when not in ("account", "storage"):
        return Start(False, why="the provider says that it ended for ever", off=True)
    if fact.anchor == "balance":
        return _balance(fact, seen)
    if fact.anchor == "rental_end":
        return _rental_end(fact, seen)
    if fact.anchor == "manual":
        return Start(False, why=NO_BEGINNING if fact.after else NO_DATE, off=True)
    if fact.anchor == "signal":
        return Start(False)  # it comes without a date
    if fact.anchor == "reading":
        return _reading(fact, seen)
    if fact.when in ("stopped", "running") and seen.power != fact.when and not _unseen(fact, seen):
        if _may_be_off(fact, seen):
            return Start(True, seen.last_contact, "last-contact", why="if it is off; nobody knows")
        return _not_so(fact.when, seen.power)
    if fact.anchor == "stopped_at":
        return _stopped(seen)
    if fact.anchor == "created_at":
        start = _known(seen.created_at, seen.created_basis, "nobody knows since when it runs")
        told = seen.power == "running" or seen.created_basis == "manual"
        return start if told else replace(start, why="if it still runs; nobody knows")
    return _known(seen.last_contact, "last-contact", "it was never reached")


def bound_of(basis: str) -> str:
    """What a deadline that was counted from this basis is worth: exact, earliest, latest or rate."""
    return BOUNDS.get(basis, EXACT)


def _unseen(fact: ClockFact, seen: Anchors) -> bool:
    """Out of sight a session goes on counting to its end: from its beginning, and idle from our last contact."""
    if fact.when != "running" or seen.power != "unknown":
        return False
    if fact.anchor == "created_at":
        lasting = fact.after is not None or seen.created_basis == "manual"
        return seen.created_at is not None and lasting
    return fact.anchor == "last_contact" and seen.last_contact is not None


def _may_be_off(fact: ClockFact, seen: Anchors) -> bool:
    """A box that does not answer may have been off since we last reached it: what counts from there may fire."""
    counts = fact.anchor == "stopped_at" and fact.after is not None
    return counts and seen.power == "unknown" and seen.lost and seen.last_contact is not None


def _known(at: float | None, basis: str, why: str) -> Start:
    return Start(True, why=why) if at is None else Start(True, at, basis)


def _not_so(when: str, power: str) -> Start:
    if power in ("running", "stopped"):
        return Start(False, off=True)  # everybody sees that it runs, or is off
    return Start(False, why=f"nobody knows whether it is {when}")


def _stopped(seen: Anchors) -> Start:
    if seen.power != "stopped":
        return _not_so("stopped", seen.power)
    if seen.stopped_at is not None:
        return Start(True, seen.stopped_at, seen.stopped_basis)
    return _known(seen.last_contact, "last-contact", "stopped, but nobody knows since when")


def _balance(fact: ClockFact, seen: Anchors) -> Start:
    if seen.balance_at is None:
        return Start(False, why="the balance is not known: no account is asked")
    if fact.after:
        return Start(True, seen.balance_at, seen.balance_basis)
    return Start(True, None, seen.balance_basis, until=seen.balance_at)


def _rental_end(fact: ClockFact, seen: Anchors) -> Start:
    if seen.rental_end is None:
        return Start(False, why="no end of the rental is known; mark it when you know one")
    if fact.after:
        return Start(True, seen.rental_end, seen.rental_basis)
    return Start(True, None, seen.rental_basis, until=seen.rental_end)


# A running bill that counts from idleness, by a word of its id.
IDLE_WORDS = ("idle", "bleed", "forgotten")


def counts_idleness(id: str) -> bool:
    """Whether what this clock bills is a box that runs and does nothing."""
    return any(word in id for word in IDLE_WORDS)


def _reading(fact: ClockFact, seen: Anchors) -> Start:
    if fact.effect != "bills":
        return Start(False)
    if fact.when == "storage":
        if any(kind in (fact.note or "") for kind in seen.stored):
            return Start(True)
        return Start(False)
    if not counts_idleness(fact.id):
        return Start(False)
    if seen.power == "running" and seen.idle_since is not None:
        return Start(True, seen.idle_since, "reading")
    return Start(False)
