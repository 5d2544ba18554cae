"""Danger clocks: a start that is only bounded says so, an unknown one never counts down."""

from __future__ import annotations

import pytest

from gpu_tui.core.anchors import Anchors
from gpu_tui.core.clocks import by_urgency, clocks_of, earliest
from gpu_tui.core.profile import ClockFact, Profile, Tier

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
