"""Where on its way a run is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """`done` units of the way, from the beginning of the run; `total` is None where no end is printed.

    `slack` is how many units more may already be done: where counting may begin at 0 or at 1.
    """

    done: float
    total: float | None
    in_epochs: bool
    slack: float = 0.0

    def end(self, epochs: int | None) -> float | None:
        """The units of the whole way; `epochs` is what the plan says, for a log that does not. None where more
        than that is done: that was not the end.
        """
        end = self.total or (float(epochs) if epochs and self.in_epochs else None)
        return None if end is None or self.done > end + 1 else end

    def share(self, epochs: int | None) -> float | None:
        """How far the run has come, 0-1; None where no end is known."""
        end = self.end(epochs)
        return min(1.0, self.done / end) if end else None
