"""Histories beside a plain list of all that was added."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.core.series import Point, Points, Series

VALUES = st.none() | st.floats(-1e6, 1e6)
ADDED = st.lists(st.tuples(st.integers(0, 200), VALUES), max_size=120)


@given(st.integers(1, 12), ADDED)
def test_a_series_holds_the_newest_and_what_it_handed_out_stays(
    size: int, added: list[tuple[int, float | None]]
) -> None:
    series, kept = Series(size), list[Point]()
    handed: list[tuple[Points, list[Point]]] = []
    for at, value in added:
        series.add(at, value)
        if not kept or at >= kept[-1][0]:
            kept = [*kept, (float(at), value)][-size:]
        handed.append((series.points, kept))
    assert list(series) == kept
    for points, then in handed:
        assert list(points) == then
        assert points == tuple(then)
        assert [points[place] for place in range(-len(points), len(points))] == then * 2


def test_a_clock_that_was_set_back_stops_no_history() -> None:
    series = Series(100)
    for at in range(5):
        series.add(10_000.0 + at, 0.1)
    before = series.points
    series.add(9_990.0, 0.2)  # late by a little
    assert list(series) == list(before)
    for at in range(3):
        series.add(6_400.0 + at, 0.9)
    assert list(series) == [(6_400.0, 0.9), (6_401.0, 0.9), (6_402.0, 0.9)]
    assert list(series.points.since(6_401.0)) == [(6_401.0, 0.9), (6_402.0, 0.9)]
    assert len(before) == 5  # what was handed out stays


def test_what_was_before_the_hour_that_came_twice_stays() -> None:
    series = Series(100)
    for at in range(0, 7_200, 60):
        series.add(float(at), 0.1)
    series.add(3_600.0, 0.9)
    assert [at for at, _ in series][-2:] == [3_540.0, 3_600.0]


@given(ADDED, st.integers(-130, 130), st.integers(-130, 130), st.integers(0, 200))
def test_parts_are_the_parts_of_a_list(
    added: list[tuple[int, float | None]], begin: int, end: int, at: int
) -> None:
    series = Series(100)
    for point in added:
        series.add(*point)
    kept = list(series)
    assert list(series.points[begin:end]) == kept[begin:end]
    assert list(series.points[begin:][-3:]) == kept[begin:][-3:]
    assert list(series.points[begin:end:-2]) == kept[begin:end:-2]
    assert list(series.points.since(at)) == [point for point in kept if point[0] >= at]
    known = [point for point in kept if point[1] is not None]
    assert series.points.known() == ((known[0], known[-1]) if known else None)


@given(ADDED, st.sampled_from((1.0, 0.5, 1 / 3)))
def test_a_rate_is_of_the_first_and_the_last_that_is_known(
    added: list[tuple[int, float | None]], share: float
) -> None:
    series = Series(100)
    for point in added:
        series.add(*point)
    known = [(at, value) for at, value in series if value is not None]
    if known:
        begins = known[-1][0] - share * (known[-1][0] - known[0][0])
        known = [point for point in known if share == 1.0 or point[0] >= begins]
    if len(known) < 2 or known[-1][0] <= known[0][0]:
        assert series.rate(share) is None
    else:
        (began, first), (ended, last) = known[0], known[-1]
        assert series.rate(share) == (last - first) / (ended - began)


def test_what_is_no_number_is_a_gap() -> None:
    series = Series()
    series.add(1.0, float("nan"))
    series.add(2.0, float("inf"))
    assert list(series) == [(1.0, None), (2.0, float("inf"))]
