"""Spikes and plateaus of a loss curve, as tables and as properties."""

from __future__ import annotations

import math
from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_tui.core.losses import IN_A_ROW, NEEDED, SAME_POINTS, SKIPS, WINDOW, LossWatch


def watched(losses: Iterable[float]) -> LossWatch:
    watch = LossWatch()
    for step, loss in enumerate(losses):
        watch.take(loss, (1, step))
    return watch


def curve(points: int, start: float = 8.0, floor: float = 2.0, noise: float = 0.05) -> list[float]:
    """A loss that falls as losses do, with a bell of noise of that share."""
    rng = Random(7)
    return [
        (floor + (start - floor) * math.exp(-n / 40)) * math.exp(rng.gauss(0, noise))
        for n in range(points)
    ]


@pytest.mark.parametrize(
    ("before", "jump", "points", "spikes"),
    [
        (curve(200), 3.0, IN_A_ROW, True),
        (curve(200), 3.0, IN_A_ROW - 1, False),  # an odd batch or two
        (curve(200), 1.5, 10, False),  # not far above
        (curve(NEEDED - 5), 5.0, 5, False),  # a run that has just begun
        (curve(200, noise=0.6), 3.0, 10, False),  # batches that differ this much always did
        (curve(200, noise=0.6), 300.0, 10, True),
        (curve(60, floor=0.4), 5.0, 5, True),  # one that still falls fast is not restless for that
        (curve(200, floor=0.02), 5.0, 5, True),
        ([-3.0 - n % 5 / 10 for n in range(100)], -3.0, 5, True),  # a likelihood: any sign
        ([1e-7 + n % 5 * 1e-9 for n in range(100)], 50.0, 5, True),
    ],
)
def test_what_is_a_spike(before: list[float], jump: float, points: int, spikes: bool) -> None:
    high = before[-1] * jump if before[-1] > 0 else abs(before[-1]) * abs(jump)
    found = watched([*before, *(high for _ in range(points))]).spike
    assert (found is not None) is spikes


def test_a_spike_ends_when_the_loss_is_back_and_counts_the_next_one() -> None:
    calm = [2.0 + n % 7 / 100 for n in range(80)]
    watch = watched([*calm, 9.0, 9.1, 9.2])
    assert watch.spike is not None
    assert (watch.spike.loss, round(watch.spike.usual, 1)) == (9.2, 2.0)
    for step, loss in enumerate([2.1, 2.2, 2.0], 100):
        watch.take(loss, (1, step))
    assert watch.spike is None
    for step in range(200, 203):
        watch.take(9.5, (1, step))
    assert watch.spike is not None
    assert watch.spike.times == 2


def test_high_points_do_not_become_the_usual() -> None:
    watch = watched([*(2.0 + n % 7 / 100 for n in range(80)), *(9.0 for _ in range(3 * WINDOW))])
    assert watch.spike is not None
    assert watch.spike.stays


def test_a_bar_that_is_drawn_again_is_one_point() -> None:
    watch = LossWatch()
    for _ in range(10 * SAME_POINTS):
        watch.take(0.6931, (1, 5))
    assert watch.plateau is None


@pytest.mark.parametrize(
    ("loss", "points", "still"),
    [
        (0.6931, SAME_POINTS, True),
        (0.6931, SAME_POINTS - 1, False),
        (0.01, SAME_POINTS, False),  # two digits: rounding alone may hold it
        (0.0, 1000, False),  # some objectives are 0 by design
    ],
)
def test_what_is_a_plateau(loss: float, points: int, still: bool) -> None:
    assert (watched([loss] * points).plateau is not None) is still


def test_skipped_steps_are_a_plateau_until_a_loss_moves() -> None:
    watch = watched([0.5, 0.49])
    for _ in range(SKIPS):
        watch.skip()
    assert watch.plateau is not None
    assert watch.plateau.skipped
    watch.take(0.49, (1, 50))  # a running mean without the skipped ones stands still
    assert watch.plateau is not None
    watch.take(0.48, (1, 51))
    assert watch.plateau is None


@given(st.lists(st.floats(), max_size=300))
def test_any_number_may_come(losses: list[float]) -> None:
    watch = watched(losses)
    assert watch.spike is None or math.isfinite(watch.spike.loss)


@settings(max_examples=30, deadline=None)
@given(st.randoms(use_true_random=False), st.floats(0.01, 0.4))
def test_a_falling_noisy_curve_never_spikes(rng: Random, noise: float) -> None:
    losses = [(2 + 6 * math.exp(-n / 50)) * (1 + rng.uniform(-noise, noise)) for n in range(400)]
    watch = LossWatch()
    for step, loss in enumerate(losses):
        watch.take(loss, (1, step))
        assert watch.spike is None
