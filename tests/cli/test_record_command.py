"""How long a recording without a screen goes on."""

from __future__ import annotations

import argparse

import pytest

from gpu_tui.cli.record import duration


def test_minutes_and_hours_are_seconds() -> None:
    assert [duration(text) for text in ("30s", "10m", "2h")] == [30, 600, 7200]


@pytest.mark.parametrize("text", ["0s", "0m", "soon", "10"])
def test_what_is_no_time_opens_no_cockpit(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        duration(text)
