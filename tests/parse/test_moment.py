"""Times as people type them, also in the two nights of the year in which the wall clock lies."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpu_tui.parse.moment import MomentError, parse_moment

NEW_YORK = ZoneInfo("America/New_York")
SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 11, 9, 12, 0, tzinfo=UTC).timestamp()


def at(*parts: int) -> float:
    return datetime(*parts, tzinfo=UTC).timestamp()  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-08T21:30:00+08:00", at(2026, 11, 8, 13, 30)),
        ("2026-11-08T13:30Z", at(2026, 11, 8, 13, 30)),
        ("2026-11-08 21:30", at(2026, 11, 8, 13, 30)),
        ("2026-11-08T21:30:15", at(2026, 11, 8, 13, 30, 15)),
        ("21:30", at(2026, 11, 9, 13, 30)),
        ("now", NOW),
        ("3h ago", NOW - 10800),
        ("1d 2h ago", NOW - 93600),
        ("in 2d", NOW + 172800),
        ("  in   90m ", NOW + 5400),
    ],
)
def test_what_people_type(text: str, expected: float) -> None:
    assert parse_moment(text, NOW, SHANGHAI) == expected


@pytest.mark.parametrize(
    ("text", "says", "teaches"),
    [
        ("noon", "is no time", "3h ago"),
        ("", "is no time", "in 2d"),
        ("2026-11-08", "is a day", "2026-11-08 21:30"),
        ("20261108", "is a day", "20261108 21:30"),
        ("2026-W45-1", "is a day", "2026-W45-1 21:30"),
        ("in 3", "is not a duration", '"3h"'),
        ("soon ago", "is not a duration", "15m"),
        ("2026-13-01 10:00", "is no time", "in 2d"),
        ("25:00", "is no time", "21:30"),
        ("0001-01-01T00:00+14:00", "this century", "in 2d"),
    ],
)
def test_what_is_refused_says_how_to_write_it(text: str, says: str, teaches: str) -> None:
    with pytest.raises(MomentError, match=says) as caught:
        parse_moment(text, NOW, SHANGHAI)
    assert teaches in caught.value.next


def test_a_time_that_comes_twice_is_refused_with_both() -> None:
    with pytest.raises(MomentError, match="comes twice") as caught:
        parse_moment("2026-11-01 01:30", NOW, NEW_YORK)
    first, second = "2026-11-01T01:30-04:00", "2026-11-01T01:30-05:00"
    assert first in caught.value.next
    assert second in caught.value.next
    assert parse_moment(second, NOW) - parse_moment(first, NOW) == 3600


def test_a_time_that_never_comes_is_refused_with_its_neighbours() -> None:
    with pytest.raises(MomentError, match="does not exist") as caught:
        parse_moment("2026-03-08 02:30", NOW, NEW_YORK)
    assert "01:30 or 03:30" in caught.value.next


def test_a_distance_crosses_a_change_of_the_clocks_in_real_hours() -> None:
    night = at(2026, 11, 1, 4, 0)  # midnight in New York; two hours later the clocks go back
    assert parse_moment("in 24h", night, NEW_YORK) == night + 86400


def test_this_machines_own_zone_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "EST5EDT,M3.2.0,M11.1.0")
    time.tzset()
    try:
        assert parse_moment("2026-07-01 08:00", NOW) == at(2026, 7, 1, 12)
        for text, says in (("2026-11-01 01:30", "twice"), ("2026-03-08 02:30", "not exist")):
            with pytest.raises(MomentError, match=says):
                parse_moment(text, NOW)
    finally:
        monkeypatch.undo()
        time.tzset()


@settings(deadline=None)
@given(st.one_of(st.text(max_size=40), st.from_regex(r"(in |)[0-9hdms:. -]{1,12}( ago|)")))
@example("9999-12-31 23:59")
@example("0001-01-01 00:00")
@example("0001-01-01T00:00+14:00")
@example("99:99")
def test_any_text_is_a_time_or_refused(text: str) -> None:
    with suppress(MomentError):
        assert datetime.fromtimestamp(parse_moment(text, NOW, SHANGHAI), UTC).year < 2100
