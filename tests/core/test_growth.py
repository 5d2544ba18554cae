"""Steady growth is forecast; a single rise, noise and rotated checkpoints are not."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from gpu_tui.core.growth import steady_rate
from gpu_tui.core.series import Series

GIB = 2**30
BEAT = 20.0


def rate(values: Sequence[float], capacity: float = 1000.0, beat: float = BEAT) -> float | None:
    series = Series()
    for number, value in enumerate(values):
        series.add(1.7e9 + number * beat, value * GIB)
    found = steady_rate(series.points, values[-1] * GIB, capacity * GIB)
    return None if found is None else found / GIB


def checkpoints(keep: int, each: int, count: int, size: float = 10.0) -> list[float]:
    """Sizes while `count` checkpoints are written in four beats each and the oldest of more than `keep` is deleted."""
    used, held, values = 300.0, 0, []
    for _ in range(count):
        for _ in range(each):
            values.append(used)
        for _ in range(4):
            used += size / 4
            values.append(used)
        held += 1
        if held > keep:
            used, held = used - size, keep
    return values


def test_a_leak_goes_on() -> None:
    assert rate([300 + 0.1 * n for n in range(60)]) == pytest.approx(0.1 / BEAT, rel=0.05)


def test_checkpoints_that_are_all_kept_fill_the_disk() -> None:
    assert rate(checkpoints(keep=99, each=20, count=6)) is not None


@pytest.mark.parametrize("beats", [16, 30, 50, 80, 200])
def test_one_checkpoint_is_no_trend(beats: int) -> None:
    values = [300.0] * beats + [302.5, 305.0, 307.5, 310.0]
    assert rate(values) is None
    assert rate([*values, *[310.0] * (beats // 2)]) is None


@pytest.mark.parametrize("keep", [1, 2, 3])
@pytest.mark.parametrize("cut", range(0, 24, 3))
def test_checkpoints_that_are_rotated_are_no_trend(keep: int, cut: int) -> None:
    values = checkpoints(keep=keep, each=20, count=9)[24 * keep :]
    assert rate(values[: len(values) - cut]) is None


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_no_trend(seed: int) -> None:
    chance = random.Random(seed)
    assert rate([500 + chance.uniform(-0.2, 0.2) for _ in range(60)]) is None


def test_a_download_that_is_over_is_no_trend() -> None:
    assert rate([100 + 2 * n for n in range(50)] + [200.0] * 60) is None


def test_a_short_watch_or_a_small_growth_gives_no_forecast() -> None:
    assert rate([300 + n for n in range(5)]) is None
    assert rate([300 + 0.0005 * n for n in range(60)]) is None
    assert rate([999.2 + 0.002 * n for n in range(60)]) is not None  # but little is left
