"""Rate and time left are told only where somebody can know them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.core.transfer import Meter, Transfer


def metered(total: int, steps: list[tuple[float, int, bool]]) -> list[Transfer]:
    now, told = [0.0], []
    meter = Meter(total, lambda: now[0], told.append)
    for seconds, count, moved in steps:
        now[0] += seconds
        meter(count, "a\nb", moved=moved)
    return told


def test_a_steady_stream_has_its_rate_and_the_time_left() -> None:
    last = metered(5_100_000_000, [(1.0, 80_000_000, True)] * 15)[-1]
    assert last.rate == 80e6
    assert last.eta == (5_100_000_000 - 15 * 80_000_000) / 80e6
    assert last.words() == "1.1 / 4.7 GiB · 76.3 MiB/s · ETA 48 s"
    assert last.file == "a\ufffdb"


def test_what_was_there_already_is_no_speed() -> None:
    last = metered(1_000, [(0.0, 900, False), (2.0, 10, True)])[-1]
    assert (last.done, last.rate, last.eta) == (910, 5.0, 18.0)


def test_nothing_is_claimed_of_the_first_moment_or_of_a_stall() -> None:
    assert [each.rate for each in metered(100, [(0.1, 10, True)])] == [None, None]
    stalled = metered(100, [(1.0, 10, True), (30.0, 0, True), (30.0, 0, True)])[-1]
    assert (stalled.rate, stalled.eta) == (None, None)


def test_words_at_the_edges() -> None:
    assert Transfer(0, 0).words() == "0 / 0 B"
    assert Transfer(0, 0).share == 1.0
    assert Transfer(3, 900).words() == "3 / 900 B"
    assert Transfer(273_400, 273_480).words() == "267.0 / 267.1 KiB"  # not more than all of it
    assert Transfer(0, 10**13, 1e6, 1e7).words() == "0 B / 9.1 TiB · 976.6 KiB/s · ETA 115 days"


@given(
    st.lists(st.tuples(st.floats(0, 100), st.integers(0, 10**12), st.booleans()), max_size=60),
)
def test_it_adds_up_and_never_divides_by_nothing(steps: list[tuple[float, int, bool]]) -> None:
    last = metered(10**14, steps)[-1]
    assert last.done == sum(count for _, count, _ in steps)
    assert last.rate is None or last.rate > 0
    assert last.eta is None or last.eta >= 0
