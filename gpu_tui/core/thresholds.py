"""How near a deadline must be before somebody is told, and again, and again. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

UNMEASURED_SPAN = (
    4 * 86400.0
)  # a deadline whose beginning nobody knows is taken for one of four days
RELEASED = 1.25  # an estimate must grow by this factor before what was told is taken back


@dataclass(frozen=True, slots=True)
class Threshold:
    """`25%` of a clock's time, or a fixed number of seconds; one of the two is None."""

    text: str
    share: float | None = None
    seconds: float | None = None

    def left(self, span: float | None) -> float | None:
        """Seconds left when it is crossed; None where it says nothing of a clock that short."""
        whole = span if span else UNMEASURED_SPAN
        if self.share is not None:
            return self.share * whole
        return self.seconds if self.seconds is not None and self.seconds < whole else None


THRESHOLDS: tuple[Threshold, ...] = (
    Threshold("25%", share=0.25),
    Threshold("10%", share=0.10),
    Threshold("1h", seconds=3600.0),
    Threshold("5m", seconds=300.0),
)


def crossed(
    left: float, span: float | None, thresholds: Sequence[Threshold], *, held: str | None = None
) -> str | None:
    """The nearest threshold that was crossed, by its text; None before the first.

    `held` is what was crossed at the last look: an estimate that wavers around a threshold stays crossed.
    """
    marks = sorted(
        ((at, threshold.text) for threshold in thresholds if (at := threshold.left(span))),
        reverse=True,
    )
    told = None
    for at, text in marks:
        if left <= at or (held == text and left <= at * RELEASED):
            told = text
    return told
