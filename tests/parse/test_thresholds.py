"""The distances at which a deadline is told, as the config file names them."""

from __future__ import annotations

import pytest

from gpu_tui.core.thresholds import THRESHOLDS
from gpu_tui.parse.config_file import ConfigError, parse_config


def test_without_a_word_they_are_the_four() -> None:
    assert parse_config("", "c").thresholds == THRESHOLDS
    assert parse_config("clocks: {}", "c").thresholds == THRESHOLDS


def test_shares_and_durations() -> None:
    found = parse_config("clocks:\n  thresholds: [50%, 2d, 15m]", "c").thresholds
    assert [(one.text, one.share, one.seconds) for one in found] == [
        ("50%", 0.5, None),
        ("2d", None, 172800.0),
        ("15m", None, 900.0),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "must name 1 to"),
        ("[1h, 1h]", "different"),
        ("[0%]", "not a duration"),
        ("[120%]", "not a duration"),
        ("[soon]", "not a duration"),
        ("[0s]", "0 s before"),
        ("[15]", "must be a text"),
        ("1h", "must be a list"),
    ],
)
def test_what_is_no_distance_is_refused_with_its_line(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        parse_config(f"theme: night\nclocks:\n  thresholds: {text}\n", "config.yaml")
    assert caught.value.line == 3
