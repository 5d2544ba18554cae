"""When a number deserves a person: the table of thresholds, and nothing else."""

from __future__ import annotations

from enum import StrEnum


class Level(StrEnum):
    """What a number asks of the reader; `none` when there is no number."""

    NONE = "none"
    OK = "ok"
    WATCH = "watch"
    ACT = "act"


# name -> (watch from, act from), as shares or °C. Disk and inode: 95 % escalates, memory warns
# above 90 %, a card throttles from about 83 °C.
THRESHOLDS: dict[str, tuple[float, float]] = {
    "bytes": (0.85, 0.95),
    "inodes": (0.85, 0.95),
    "memory": (0.80, 0.90),
    "gpu_memory": (0.95, 0.99),
    "temperature": (80.0, 87.0),
}

# Seconds between two clocks that are worth a word. An answer says whole seconds, and on a busy box it
# arrives seconds after it was made: less than this may be no difference at all.
SKEW = 5.0


def level(name: str, value: float | None) -> Level:
    """The level of `value` by the row `name`."""
    if value is None:
        return Level.NONE
    watch, act = THRESHOLDS[name]
    if value >= act:
        return Level.ACT
    return Level.WATCH if value >= watch else Level.OK


def share(used: float | None, total: float | None) -> float | None:
    """Used / total, or None where either is unknown or there is no total."""
    if used is None or not total:
        return None
    return used / total
