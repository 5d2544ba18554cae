"""When a number deserves a person: the tables of thresholds, and nothing else."""

from __future__ import annotations

from enum import StrEnum


class Level(StrEnum):
    """What a number asks of the reader; `none` when there is no number."""

    NONE = "none"
    OK = "ok"
    WATCH = "watch"
    ACT = "act"


# name -> (watch from, act from), as shares or °C. Disk and inode: 95 % escalates, memory warns
# above 90 %, a card throttles from about 83 °C; `slowed` is the share of its clock that it lacks then.
THRESHOLDS: dict[str, tuple[float, float]] = {
    "bytes": (0.85, 0.95),
    "inodes": (0.85, 0.95),
    "memory": (0.80, 0.90),
    "host_memory": (0.90, 0.98),
    "gpu_memory": (0.95, 0.99),
    "temperature": (80.0, 87.0),
    "throttled": (80.0, 83.0),
    "slowed": (0.25, 0.30),
}

# name -> by how much a number must fall below "act from" before what it asked for is over: one that
# wavers there is one finding, not a new one at each look.
SLACK: dict[str, float] = {
    "bytes": 0.01,
    "inodes": 0.01,
    "memory": 0.03,
    "host_memory": 0.01,
    "gpu_memory": 0.01,
    "temperature": 3.0,
    "throttled": 3.0,
    "slowed": 0.05,
}

# Seconds between two clocks that are worth a word. An answer says whole seconds, and on a busy box it
# arrives seconds after it was made: less than this may be no difference at all.
SKEW = 5.0


def level(name: str, value: float | None, *, held: bool = False) -> Level:
    """The level of `value` by the row `name`. `held`: it was `act` at the last look."""
    if value is None:
        return Level.NONE
    watch, act = THRESHOLDS[name]
    if value >= (act - SLACK[name] if held else act):
        return Level.ACT
    return Level.WATCH if value >= watch else Level.OK


def share(used: float | None, total: float | None) -> float | None:
    """Used / total, or None where either is unknown or there is no total."""
    if used is None or not total:
        return None
    return used / total
