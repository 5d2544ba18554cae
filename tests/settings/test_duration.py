"""Durations have units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.parse.duration import LONGEST, DurationError, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0s", 0.0),
        ("500ms", 0.5),
        ("1s", 1.0),
        ("15m", 900.0),
        ("1.5h", 5400.0),
        ("1h30m", 5400.0),
        ("15d", 1_296_000.0),
        ("2w", 1_209_600.0),
        ("1d2h3m4s", 93_784.0),
    ],
)
def test_a_duration_in_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("15", '"15m"'),
        ("1:30", "1h30m"),
        ("24:00:00", "1h30m"),
        ("15 m", '"15m"'),
        ("15M", '"15m"'),
        ("", "units"),
        ("m", "units"),
        ("-5m", "units"),
        ("30m1h", "units"),
        ("5m5m", "units"),
        ("1e3s", "units"),
        ("１５m", "units"),
        ("inf", "units"),
        ("15min", "units"),
        ("15m\n", "units"),
        ("9999w", "unit"),
    ],
)
def test_anything_else_is_refused_with_a_hint(text: str, hint: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert hint in caught.value.next


@given(st.text("0123456789.smhdw ", max_size=12))
def test_whatever_is_accepted_lies_in_range(text: str) -> None:
    try:
        seconds = parse_duration(text)
    except DurationError:
        return
    assert 0 <= seconds <= LONGEST
