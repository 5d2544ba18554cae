"""The end of a run, foretold from the places its counters went through."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_tui.core.eta import NEEDED, Eta, EtaWatch
from gpu_tui.core.place import Place

Point = tuple[float, float]  # at, done


def steady(
    pace: float, steps: int, *, jitter: float = 0.0, seed: int = 0, at: float = 0.0, first: int = 0
) -> Iterator[Point]:
    """A step every `pace` seconds, each off by up to `jitter` of it."""
    noise = random.Random(seed)
    for step in range(first, first + steps):
        yield at, float(step)
        at += pace * (1 + jitter * noise.uniform(-1, 1))


def watch(points: Iterator[Point] | list[Point], total: float, *, epochs: bool = False) -> EtaWatch:
    seen = EtaWatch()
    for at, done in points:
        seen.take(Place(done, total, epochs), at)
    return seen


def told(seen: EtaWatch, now: float) -> Eta:
    eta = seen.estimate(now)
    assert eta is not None
    return eta


@given(
    st.floats(0.05, 300), st.integers(20, 400), st.floats(0, 0.5), st.integers(0, 9), st.integers()
)
@settings(max_examples=60)
def test_a_steady_run_is_foretold_as_well_as_its_jitter_allows(
    pace: float, steps: int, jitter: float, more: int, seed: int
) -> None:
    total = steps * (2 + more)
    points = list(steady(pace, steps, jitter=jitter, seed=seed))
    if points[-1][0] < 2 * NEEDED:
        return
    left = (total - points[-1][1]) * pace
    eta = told(watch(points, total), points[-1][0])
    assert eta.seconds == pytest.approx(left, rel=0.05 + 2.2 * jitter / (steps / 2) ** 0.5)
    assert eta.low <= eta.seconds <= eta.high


def epochs_with_pauses(epochs: int, *, epoch_steps: int, pace: float, pause: float) -> list[Point]:
    at, points = 0.0, []
    for epoch in range(epochs):
        for step in range(1, epoch_steps + 1):
            at += pace
            points.append((at, epoch + step / epoch_steps))
        at += pause
    return points


@pytest.mark.parametrize("seen_epochs", [2, 3, 6])
@pytest.mark.parametrize("pause", [20.0, 100.0, 600.0])
@pytest.mark.parametrize("where", [0.0, 0.3, 0.9])
def test_the_pause_after_each_epoch_is_counted_once_for_each(
    seen_epochs: int, pause: float, where: float
) -> None:
    pace, epoch_steps, total = 1.5, 200, 10
    points = epochs_with_pauses(total, epoch_steps=epoch_steps, pace=pace, pause=pause)
    count = seen_epochs * epoch_steps + round(where * epoch_steps)
    at, _ = points[count - 1]
    left = points[-1][0] + pause - at
    eta = told(watch(points[:count], total, epochs=True), at)
    assert eta.seconds == pytest.approx(left, rel=0.05)
    assert eta.low <= left * 1.05
    assert eta.high >= left * 0.95


def test_checkpoints_every_so_many_steps_are_spread_over_the_way() -> None:
    at, points = 0.0, []
    for step in range(1, 2001):
        at += 0.5
        points.append((at, float(step)))
        if step % 250 == 0:
            at += 60
    half = 1125
    left = at - points[half - 1][0]  # with the checkpoint after the last step
    eta = told(watch(points[:half], 2000), points[half - 1][0])
    assert eta.seconds == pytest.approx(left, rel=0.1)


@pytest.mark.parametrize("factor", [0.2, 0.5, 2.0, 5.0, 20.0])
def test_another_speed_is_followed_within_a_window(factor: float) -> None:
    points = list(steady(2.0, 300))
    changed = list(
        steady(2.0 * factor, 65 * max(1, round(8 / factor)), at=points[-1][0] + 2, first=300)
    )
    done = changed[-1][1]
    eta = told(watch([*points, *changed], 10_000), changed[-1][0])
    assert eta.seconds == pytest.approx((10_000 - done) * 2.0 * factor, rel=0.1)


def test_a_run_that_becomes_slower_does_not_pause() -> None:
    points = epochs_with_pauses(3, epoch_steps=100, pace=1.0, pause=0.0)
    at, done = points[-1]
    slower = [(at + 6.0 * step, done + step / 100) for step in range(1, 31)]
    eta = told(watch([*points, *slower], 10, epochs=True), slower[-1][0])
    assert eta.seconds == pytest.approx((10 - 3.3) * 600, rel=0.1)


def test_one_long_pause_moves_nothing_but_the_pause() -> None:
    points = [*steady(1.0, 100), *steady(1.0, 30, at=1000.0, first=100)]
    eta = told(watch(points, 1000), points[-1][0])
    assert eta.low <= 870 * 1.02
    assert eta.seconds < 870 + 8 * 900


def test_a_log_that_arrives_in_chunks_is_as_good() -> None:
    points = [(math.ceil(at / 30.0) * 30.0, done) for at, done in steady(0.7, 2000)]
    at, done = points[-1]
    assert told(watch(points, 10_000), at).seconds == pytest.approx((10_000 - done) * 0.7, rel=0.1)


def test_polls_of_a_second_do_not_round_the_speed() -> None:
    points = [(float(math.ceil(at)), done) for at, done in steady(1.5, 200)]
    at, done = points[-1]
    assert told(watch(points, 1000), at).seconds == pytest.approx((1000 - done) * 1.5, rel=0.05)


def test_nothing_is_said_of_few_points_of_no_end_and_of_a_run_that_stands() -> None:
    points = list(steady(10.0, 50))
    now = points[-1][0]
    assert watch(points[: NEEDED - 1], 100).estimate(40.0) is None
    unknown = EtaWatch()
    for at, done in points:
        unknown.take(Place(done, None, False), at)
    assert unknown.estimate(now) is None
    assert unknown.estimate(now, epochs=100) is None
    standing = watch(points, 100)
    assert standing.estimate(now + 100) is not None
    assert standing.estimate(now + 121) is None
    assert standing.stalled(now + 121)


def test_nothing_stands_still_before_its_gait_is_known() -> None:
    seen = EtaWatch()
    seen.take(Place(1.0, 20.0, True), 0.0)
    assert not seen.stalled(10_000.0)


def test_a_run_that_counts_on_within_an_epoch_does_not_stand() -> None:
    seen = watch([(60.0 * epoch, float(epoch)) for epoch in range(8)], 20.0, epochs=True)
    seen.take(
        Place(7.0, 20.0, True), 420.0 + 900.0
    )  # the same epoch, further steps of unknown number
    assert not seen.stalled(420.0 + 910.0)


def test_a_clock_that_is_set_back_begins_anew() -> None:
    seen = watch([*steady(1.0, 100, at=5000.0), *steady(2.0, 20, at=100.0, first=100)], 1000)
    assert told(seen, 138.0).seconds == pytest.approx(881 * 2.0, rel=0.02)


def test_the_plan_gives_the_end_that_a_log_does_not_print() -> None:
    seen = EtaWatch()
    for epoch in range(1, 8):
        seen.take(Place(float(epoch), None, True), epoch * 100.0)
    eta = seen.estimate(700.0, epochs=20)
    assert eta is not None
    assert eta.seconds == pytest.approx(1300)


def test_a_restart_begins_anew() -> None:
    seen = watch(list(steady(1.0, 100)), 1000)
    seen.restart()
    assert seen.estimate(100.0) is None
    for at, done in steady(4.0, 20, at=200.0):
        seen.take(Place(done, 1000, False), at)
    assert told(seen, 276.0).seconds == pytest.approx(981 * 4.0, rel=0.02)


def test_another_end_begins_anew() -> None:
    seen = watch(list(steady(1.0, 100)), 1000)
    seen.take(Place(100.0, 5000, False), 100.0)
    assert seen.estimate(100.0) is None


def test_the_printed_eta_only_widens_the_range() -> None:
    seen = watch(list(steady(1.0, 100)), 1000)
    bare = told(seen, 100.0)
    seen.take(Place(100.0, 1000, False), 100.0, printed=1500.0)
    assert told(seen, 100.0).seconds == pytest.approx(bare.seconds, rel=0.01)
    assert told(seen, 100.0).high == 1500.0
    seen.take(Place(101.0, 1000, False), 101.0, printed=90_000.0)
    assert told(seen, 101.0).high < 1000


def test_where_counting_may_begin_at_zero_the_range_says_so() -> None:
    seen = EtaWatch()
    for epoch in range(7, 14):
        seen.take(Place(float(epoch), 20.0, True, slack=1.0), epoch * 60.0)
    eta = told(seen, 13 * 60.0)
    assert (eta.low, eta.seconds, eta.high) == pytest.approx((360, 420, 420))


@given(
    st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e7)), max_size=120),
    st.floats(1, 1e7),
    st.booleans(),
    st.floats(0, 2e6),
)
def test_whatever_comes_no_number_is_absurd(
    points: list[Point], total: float, epochs: bool, now: float
) -> None:
    def run() -> Eta | None:
        return watch(points, total, epochs=epochs).estimate(now)

    eta = run()
    assert eta == run()
    if eta is not None:
        assert 0 <= eta.low <= eta.seconds <= eta.high
        assert math.isfinite(eta.high)
