"""Young's interval."""

from __future__ import annotations

import pytest

from gpu_tui.core.checkpoint import Checkpoint, young_daly


def test_the_interval_of_the_literature() -> None:
    assert young_daly(30, 10800) == pytest.approx(805, abs=0.5)


def test_both_assumptions_are_said() -> None:
    text = Checkpoint(0.0, 6_000_000_000, "/x", spot=True).assumption
    assert "13 min" in text
    assert "28 s (5.6 GiB at 200.0 MiB/s)" in text
    assert "every 3 h, both assumed" in text
    assert "every 3 days" in Checkpoint(0.0, 1, "/x").assumption
