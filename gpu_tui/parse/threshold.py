"""How near a deadline must be, as people write it: `25%` of its time, or `1h`."""

from __future__ import annotations

import re

from gpu_tui.core.thresholds import THRESHOLDS, Threshold
from gpu_tui.parse.duration import DurationError, parse_duration
from gpu_tui.parse.fields import Fields, text_of
from gpu_tui.parse.yaml_strict import Node

_SHARE = re.compile(r"([0-9]{1,2}(?:\.[0-9])?)%", re.ASCII)
MOST = 12  # thresholds


def parse_thresholds(top: Fields) -> tuple[Threshold, ...]:
    """`clocks: {thresholds: [25%, 10%, 1h, 5m]}` of the config file; the default where it is not there."""
    if "clocks" not in top:
        return THRESHOLDS
    row = Fields(top.values["clocks"], '"clocks"', ("thresholds",))
    if "thresholds" not in row:
        return THRESHOLDS
    found = row.items("thresholds", _threshold)
    if not found or len(found) > MOST or len({one.text for one in found}) < len(found):
        raise row.place("thresholds").error(
            f'"thresholds" must name 1 to {MOST} different distances', "Write [25%, 10%, 1h, 5m]."
        )
    return found


def _threshold(node: Node) -> Threshold:
    text = text_of(node, "thresholds")
    match = _SHARE.fullmatch(text)
    if match is not None and 0 < float(match[1]) < 100:
        return Threshold(text, share=float(match[1]) / 100)
    try:
        seconds = parse_duration(text)
    except DurationError as error:
        raise node.error(f'"thresholds": {error.text}', "Write a share like 25%, or 1h.") from None
    if seconds <= 0:
        raise node.error('"thresholds": nobody can be told 0 s before', "Write 5m.")
    return Threshold(text, seconds=seconds)
