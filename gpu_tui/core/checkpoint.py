"""How old the newest checkpoint may be: Young's interval for saving against interruptions. Pure.

W = sqrt(2 · C · MTBF) loses the least time on the whole (Young 1974; Daly 2006 refines it): C is what one
checkpoint costs, MTBF the mean time between interruptions, both in seconds. Nobody on the box tells either,
so both are assumed here, and whoever shows the result says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from gpu_tui.core.units import rate, size, words

SPOT_MTBF = 3 * 3600.0  # a box that may be taken away at any time
STEADY_MTBF = 3 * 86400.0  # any other rented box
WRITE_RATE = 200 * 2**20  # bytes per second that a checkpoint is written with
LEAST_COST = 5.0  # seconds: a save also waits for the cards and the file system


def young_daly(cost: float, mtbf: float) -> float:
    """W in seconds."""
    return sqrt(2 * cost * mtbf)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The newest one that is seen of what runs now: its time by our clock (epoch seconds), size and path."""

    at: float
    size: int
    path: str
    spot: bool = False  # the box may be taken away at any time

    @property
    def cost(self) -> float:
        """C: assumed from the size."""
        return max(LEAST_COST, self.size / WRITE_RATE)

    @property
    def mtbf(self) -> float:
        """Assumed from the kind of the box."""
        return SPOT_MTBF if self.spot else STEADY_MTBF

    @property
    def interval(self) -> float:
        """W."""
        return young_daly(self.cost, self.mtbf)

    @property
    def oldest(self) -> float:
        """When it is twice W old: epoch seconds."""
        return self.at + 2 * self.interval

    @property
    def assumption(self) -> str:
        """What W rests on, for a person."""
        return (
            f"Young/Daly W = sqrt(2·C·MTBF) = {words(self.interval)}: a save of {words(self.cost)}"
            f" ({size(self.size)} at {rate(WRITE_RATE)}) and one interruption every {words(self.mtbf)}, both assumed"
        )
