"""A card that is slowed down says why; one that works as hard as it can does not call for anybody."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.text import Text

from gpu_tui.core import metrics
from gpu_tui.ui.text.vitals import vitals
from screenshots.scenes import healthy


def _state(*throttle: str) -> Text:
    """The line of the first card's state."""
    [view, *_] = healthy().view(0.0).instances
    track = view.track(metrics.GPUS)
    assert track.good is not None
    first, *rest = track.good.value.gpus
    table = replace(track.good.value, gpus=(replace(first, throttle=throttle), *rest))
    track = replace(track, good=replace(track.good, value=table))
    view = replace(
        view, taken_at=track.good.taken_at, tracks={**view.tracks, metrics.GPUS.name: track}
    )
    rows = vitals(view, 120, 60)
    return next(row for row in rows if "°C" in row.plain)


@pytest.mark.parametrize(
    ("reasons", "said", "style"),
    [
        (("sw_power_cap",), "at its power cap", "muted"),
        (("sw_thermal",), "throttled: sw_thermal", "level-watch"),
        (("hw_slowdown", "sw_power_cap"), "throttled: hw_slowdown", "level-watch"),
    ],
)
def test_a_power_cap_is_told_calmly_and_heat_is_not(
    reasons: tuple[str, ...], said: str, style: str
) -> None:
    row = _state(*reasons)
    assert said in row.plain
    at = row.plain.index(said)
    assert {str(span.style) for span in row.spans if span.start <= at < span.end} == {style}
    assert "cap" not in row.plain.replace(said, "")


def test_a_card_that_is_not_slowed_says_nothing() -> None:
    assert "cap" not in _state().plain
    assert "throttled" not in _state().plain
