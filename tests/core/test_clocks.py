"""Danger clocks: a start that is only bounded says so, an unknown one never counts down."""

from __future__ import annotations

import pytest

from gpu_tui.core.anchors import Anchors
from gpu_tui.core.clocks import by_urgency, clocks_of, earliest
from gpu_tui.core.profile import ClockFact, Profile, Tier
from gpu_tui.core.thresholds import Threshold

DAY = 86400.0
NOW = 1_795_000_000.0


def fact(**changed: object) -> ClockFact:
    row: dict[str, object] = {
        "id": "release",
        "when": "stopped",
        "anchor": "stopped_at",
        "after": 15 * DAY,
        "effect": "destroys",
        "loses": ("data",),
        "severity": "critical",
        "avoid": "pull first",
        "source": "docs",
        "verified": "2026-08",
        "confidence": "high",
    }
    return ClockFact(**{**row, **changed})  # type: ignore[arg-type]


def profile(*facts: ClockFact) -> Profile:
    tier = Tier("data", "/data", True, False, label="data disk")
    return Profile("p", "P", "ssh-rental", storage=(tier,), clocks=facts)


def one(anchors: Anchors, row: ClockFact | None = None):  # type: ignore[no-untyped-def]
    return clocks_of(profile(row or fact()), "box", anchors, NOW)[0]


def test_a_known_stop_counts_to_the_second() -> None:
    clock = one(Anchors(power="stopped", stopped_at=NOW - 13 * DAY, stopped_basis="api"))
    assert clock.state == "running"
    assert clock.fires_at == pytest.approx(NOW + 2 * DAY)
    assert clock.loses == "data disk"
    assert clock.due(NOW)


def test_a_bounded_stop_has_only_an_earliest_firing() -> None:
    clock = one(Anchors(power="stopped", last_contact=NOW - DAY))
    assert clock.fires_at is None
    assert clock.earliest_fires_at == pytest.approx(NOW + 14 * DAY)
    assert clock.started_basis == "last-contact"


def test_an_unknown_stop_never_counts_down() -> None:
    clock = one(Anchors(power="stopped"))
    assert (clock.state, clock.earliest_fires_at) == ("unknown-start", None)
    assert not clock.due(NOW)


@pytest.mark.parametrize("power", ["running", "unknown", "gone"])
def test_a_box_that_is_not_known_to_be_stopped_only_arms_the_clock(power: str) -> None:
    assert one(Anchors(power=power, stopped_at=NOW - DAY)).state == "armed"


def test_a_clock_that_ran_out_has_fired() -> None:
    clock = one(Anchors(power="stopped", stopped_at=NOW - 16 * DAY, stopped_basis="api"))
    assert clock.state == "fired"
    assert clock.due(NOW)


def test_a_typed_deadline_wins() -> None:
    row = fact(id="rental", when="running", anchor="rental_end", after=None)
    clock = one(Anchors(power="running", manual_deadlines={"rental": NOW + 600}), row)
    assert clock.fires_at == NOW + 600
    assert clock.due(NOW)


def test_variants_and_old_facts() -> None:
    row = fact(applies_to=("tidal",), verified="2025-01")
    assert clocks_of(profile(row), "box", Anchors(), NOW, "pro") == ()
    assert clocks_of(profile(row), "box", Anchors(), NOW, "tidal")[0].stale_fact


def test_order_is_by_time_to_fire() -> None:
    soon = one(Anchors(power="stopped", stopped_at=NOW - 14 * DAY, stopped_basis="api"))
    late = one(Anchors(power="stopped", stopped_at=NOW - DAY, stopped_basis="api"))
    armed = one(Anchors(power="running"))
    fired = one(Anchors(power="stopped", stopped_at=NOW - 20 * DAY, stopped_basis="api"))
    assert by_urgency([armed, late, fired, soon]) == (fired, soon, late, armed)
    assert earliest([armed]) is None
    assert earliest([late, soon]) == soon


# --- every state and every anchor --------------------------------------------------------------

SEEN = {
    "stopped_at": {"stopped_at": NOW - DAY, "stopped_basis": "api"},
    "created_at": {"created_at": NOW - DAY, "created_basis": "api"},
    "last_contact": {"last_contact": NOW - DAY},
    "balance": {"balance_at": NOW - DAY, "balance_basis": "first-seen"},
    "rental_end": {"rental_end": NOW - DAY, "rental_basis": "api"},
    "manual": {"manual_starts": {"release": NOW - DAY}},
}
BASIS = {
    "stopped_at": ("api", "exact"),
    "created_at": ("api", "exact"),
    "last_contact": ("last-contact", "earliest"),
    "balance": ("first-seen", "latest"),
    "rental_end": ("api", "exact"),
    "manual": ("manual", "exact"),
}
# Where the power decides, it must be the clock's own; an account, a rental and a mark go on without it.
FREE = ("balance", "rental_end", "manual")


@pytest.mark.parametrize("power", ["running", "stopped", "unknown"])
@pytest.mark.parametrize("anchor", SEEN)
@pytest.mark.parametrize("when", ["running", "stopped", "account", "storage"])
def test_each_anchor_counts_in_each_state(when: str, anchor: str, power: str) -> None:
    clock = one(Anchors(power=power, **SEEN[anchor]), fact(when=when, anchor=anchor))  # type: ignore[arg-type]
    ticks = anchor in FREE or when in (power, "account", "storage")
    if anchor == "stopped_at":
        ticks = power == "stopped" and when != "running"
    if (when, anchor, power) == ("running", "last_contact", "unknown"):
        ticks = True  # it was running when it was last reached, and idle since then for all we know
    if (when, anchor, power) == ("running", "created_at", "unknown"):
        ticks = True  # if it still runs, its session ends then
    assert clock.state == ("running" if ticks else "armed")
    if ticks:
        assert (clock.started_basis, clock.bound) == BASIS[anchor]
        assert clock.deadline == NOW + 14 * DAY
        assert (clock.fires_at is None) == (clock.bound != "exact")
    else:
        assert (clock.deadline, clock.stage) == (None, None)


@pytest.mark.parametrize("anchor", ["balance", "rental_end", "manual", "signal", "reading"])
@pytest.mark.parametrize("power", ["running", "stopped", "unknown"])
def test_what_nobody_told_ticks_nowhere(anchor: str, power: str) -> None:
    row = fact(when="account", anchor=anchor)
    clock = one(Anchors(power=power, last_contact=NOW, created_at=NOW, stopped_at=NOW), row)
    assert (clock.state, clock.deadline) == ("armed", None)


@pytest.mark.parametrize("when", ["running", "stopped"])
def test_a_box_that_is_gone_has_no_clocks_but_those_of_account_and_storage(when: str) -> None:
    assert one(
        Anchors(power="gone", rental_end=NOW + DAY), fact(when=when, anchor="rental_end")
    ).off
    kept = one(Anchors(power="gone", rental_end=NOW), fact(when="account", anchor="rental_end"))
    assert kept.state == "running"


@pytest.mark.parametrize("basis", ["api", "reading", "first-seen"])
def test_a_session_out_of_sight_counts_to_its_end_and_not_beyond(basis: str) -> None:
    row = fact(when="running", anchor="created_at", after=12 * 3600.0)
    begun = {"created_at": NOW - 11 * 3600, "created_basis": basis}
    seen = one(Anchors(power="running", **begun), row)  # type: ignore[arg-type]
    lost = one(Anchors(power="unknown", **begun), row)  # type: ignore[arg-type]
    assert (lost.deadline, lost.bound, lost.stage) == (seen.deadline, seen.bound, "1h")
    assert lost.why == "if it still runs; nobody knows"
    over = {"created_at": NOW - 13 * 3600, "created_basis": basis}
    gone = one(Anchors(power="unknown", **over), row)  # type: ignore[arg-type]
    assert (gone.state, gone.deadline, gone.stage) == ("armed", None, None)
    bill = fact(when="running", anchor="created_at", after=None, effect="bills", loses=())
    assert one(Anchors(power="unknown", **begun), bill).state == "armed"  # type: ignore[arg-type]


def test_a_running_bill_is_billing_since_whenever() -> None:
    row = fact(when="stopped", after=None, effect="bills", loses=(), note="the disk")
    clock = one(Anchors(power="stopped"), row)
    assert (clock.state, clock.bills, clock.deadline) == ("running", "the disk", None)
    assert not clock.due(NOW)


@pytest.mark.parametrize(
    ("left", "stage"),
    [
        (4 * DAY, None),
        (3.75 * DAY, "25%"),
        (1.5 * DAY, "10%"),
        (3600, "1h"),
        (300, "5m"),
        (0, "fired"),
    ],
)
def test_the_stage_is_the_nearest_threshold_that_was_crossed(
    left: float, stage: str | None
) -> None:
    at = NOW + left - 15 * DAY
    clock = one(Anchors(power="stopped", stopped_at=at, stopped_basis="api"))
    assert clock.stage == stage
    assert clock.due(NOW) is (stage is not None)


def test_a_short_clock_is_not_told_at_its_own_length() -> None:
    row = fact(after=1800.0)
    fresh = one(Anchors(power="stopped", stopped_at=NOW, stopped_basis="api"), row)
    assert fresh.stage is None  # an hour before makes no sense of half an hour
    late = one(Anchors(power="stopped", stopped_at=NOW - 1400, stopped_basis="api"), row)
    assert late.stage == "25%"


def test_a_deadline_of_unknown_length_is_told_a_day_before() -> None:
    row = fact(id="end", anchor="rental_end", when="running", after=None)
    clocks = [
        one(Anchors(power="running", rental_end=NOW + hours * 3600, rental_basis="api"), row)
        for hours in (25, 23, 9, 0.9)
    ]
    assert [clock.stage for clock in clocks] == [None, "25%", "10%", "1h"]


def test_own_thresholds_take_the_place_of_the_four() -> None:
    seen = Anchors(power="stopped", stopped_at=NOW - 9 * DAY, stopped_basis="api")
    own = (Threshold("50%", share=0.5), Threshold("2d", seconds=2 * DAY))
    stages = [
        clocks_of(profile(fact()), "box", seen, NOW + days * DAY, None, own)[0].stage
        for days in (-2, 0, 4.5, 6)
    ]
    assert stages == [None, "50%", "2d", "fired"]
