"""How long a run is to be, as its trainer says before it begins."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """Totals as printed; None where they are not. `batch` is the examples of one step of the optimizer,
    `accumulation` how many passes one such step takes.
    """

    epochs: int | None = None
    steps: int | None = None
    examples: int | None = None
    batch: int | None = None
    accumulation: int | None = None

    def then(self, later: Plan) -> Plan:
        """With what stands on a later line of the same banner."""
        return Plan(
            later.epochs or self.epochs,
            later.steps or self.steps,
            later.examples or self.examples,
            later.batch or self.batch,
            later.accumulation or self.accumulation,
        )

    @property
    def whole_epochs(self) -> int | None:
        """The epochs after which the run ends.

        None where the steps end it before: `max_steps=60` of a long epoch is printed as one epoch, too.
        """
        if self.epochs and self.steps and self.examples and self.batch:
            each = math.ceil(self.examples / self.batch)
            if abs(self.steps - self.epochs * each) > self.epochs:  # each epoch may round
                return None
        return self.epochs
