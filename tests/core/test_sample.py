"""Fresh, stale, absent and unknown never look alike."""

from __future__ import annotations

from gpu_tui.core.levels import Level, level, share
from gpu_tui.core.sample import Absent, Failure, FailureKind, Freshness, Reading, Track
from gpu_tui.core.series import Series


def test_the_four_states_and_what_moves_between_them() -> None:
    track: Track[int] = Track()
    assert track.freshness(0) is Freshness.UNKNOWN
    track = track.follow(Reading(5, 100.0, period=2.0))
    assert track.freshness(106.0) is Freshness.FRESH
    assert track.freshness(106.1) is Freshness.STALE
    assert track.freshness(101.0, live=False) is Freshness.STALE
    failed = track.follow(Failure(FailureKind.HUNG, "df does not return", 103.0))
    assert (failed.value, failed.freshness(103.0)) == (5, Freshness.STALE)
    assert failed.age(110.0) == 10.0
    gone = failed.follow(Absent("no cgroup", 104.0))
    assert (gone.value, gone.freshness(104.0)) == (None, Freshness.ABSENT)
    assert gone.why == "no cgroup"


def test_a_reading_from_before_a_clock_was_set_back_is_not_fresh() -> None:
    track: Track[int] = Track().follow(Reading(1, 10_000.0, 1.0))
    assert track.freshness(10_000.0) is Freshness.FRESH
    assert track.freshness(9_998.0) is Freshness.FRESH
    assert track.freshness(6_400.0) is Freshness.STALE


def test_no_number_has_no_level() -> None:
    assert level("bytes", None) is Level.NONE
    assert level("bytes", 0.0) is Level.OK
    assert level("inodes", 0.96) is Level.ACT
    assert share(5, None) is None
    assert share(None, 5) is None
    assert share(0, 5) == 0.0


def test_a_series_keeps_gaps_and_is_bounded() -> None:
    series = Series(3)
    for at, value in [(1.0, 1.0), (2.0, None), (3.0, 5.0), (4.0, 7.0), (3.5, 9.0)]:
        series.add(at, value)
    assert list(series) == [(2.0, None), (3.0, 5.0), (4.0, 7.0)]
    assert series.rate() == 2.0
    assert Series().rate() is None
