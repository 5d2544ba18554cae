"""Signs of life by the box's own clock, and how long they usually keep away."""

from __future__ import annotations

import pytest

from gpu_tui.core.pulse import Pulse, stall_after
from gpu_tui.core.readings import FileStat

BEAT = 5.0


def seen(pulse: Pulse, at: float, mtime: float, size: int = 1) -> None:
    pulse.look(at, [FileStat("f", 1, size, mtime)])


def paused(pauses: list[float], *, look_every: float = BEAT) -> Pulse:
    """A file that moves after each pause, looked at on a beat."""
    pulse, at, moved = Pulse(), 1000.0, 1000.0
    seen(pulse, at, moved)
    for pause in pauses:
        end = at + pause
        while at + look_every < end:
            at += look_every
            seen(pulse, at, moved)
        at = moved = end
        seen(pulse, at, moved)
    return pulse


@pytest.mark.parametrize(
    ("pauses", "typical"),
    [
        ([600.0] * 5, 600.0),
        ([600.0] * 2, None),  # too few
        ([5.0] * 60, None),  # a stream has no pauses
        ([5.0] * 40 + [2400.0] * 3 + [5.0] * 40, 2400.0),  # bars, and a long validation
        ([300.0, 300.0, 9000.0, 300.0, 300.0], 300.0),  # one hang that ended moves nothing
    ],
)
def test_the_typical_gap(pauses: list[float], typical: float | None) -> None:
    assert paused(pauses).typical_gap == typical


def test_what_happened_between_looks_far_apart_is_no_gap() -> None:
    assert paused([900.0] * 10, look_every=900.0).typical_gap is None


def patrolled(gap: float, every: float, looks: int) -> Pulse:
    """A file that moves every `gap` seconds, each look by a program that knows only what the last one kept."""
    pulse = Pulse()
    for n in range(looks):
        at = 1000.0 + n * every
        before, pulse = pulse.memory(), Pulse()
        pulse.recall(before)
        seen(pulse, at, at - (at - 1000.0) % gap, size=int((at - 1000.0) // gap))
    return pulse


@pytest.mark.parametrize(("gap", "every"), [(1200.0, 300.0), (1500.0, 420.0), (45.0, 13.0)])
def test_patrols_learn_how_long_it_kept_still_and_went_on(gap: float, every: float) -> None:
    pulse = patrolled(gap, every, 40)
    assert pulse.typical_gap is not None
    assert gap - every <= pulse.typical_gap <= gap
    assert len(pulse.memory()) <= 3 + 16


@pytest.mark.parametrize(("gap", "every"), [(5.0, 300.0), (1200.0, 1200.0), (1e9, 300.0)])
def test_patrols_learn_no_pause_where_none_was_seen_to_end(gap: float, every: float) -> None:
    assert patrolled(gap, every, 40).typical_gap is None


def test_what_an_earlier_watch_kept_is_no_sign_of_life_by_itself() -> None:
    pulse = Pulse()
    pulse.recall((1000.0, 1.0, 1400.0, 600.0, 2.0))
    assert (pulse.last, list(pulse.gaps)) == (None, [600.0])
    seen(pulse, 1700.0, 1000.0)
    assert (pulse.quiet(1700.0), list(pulse.gaps)) == (700.0, [600.0])
    seen(pulse, 1710.0, 1705.0)
    assert list(pulse.gaps) == [600.0, 705.0]


def test_the_users_value_is_never_undercut() -> None:
    assert stall_after(900.0, None) == 900.0
    assert stall_after(900.0, 100.0) == 900.0
    assert stall_after(900.0, 600.0) == 1800.0


def test_a_time_from_the_future_counts_from_when_it_was_seen() -> None:
    pulse = Pulse()
    seen(pulse, 1000.0, 5000.0)
    seen(pulse, 1300.0, 5000.0)
    assert pulse.quiet(1300.0) == 300.0
    seen(pulse, 1305.0, 5300.0)
    assert pulse.quiet(1310.0) == 5.0


def test_nothing_seen_is_not_quiet() -> None:
    assert Pulse().quiet(5.0) is None
