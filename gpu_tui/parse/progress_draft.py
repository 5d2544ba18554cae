"""A line that is being read for progress, and what was found in it so far."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from gpu_tui.core.logs import Progress
from gpu_tui.parse import progress_words as words

Form = tuple[re.Pattern[str], str]


class Signs:
    """Which words a line holds, in small letters."""

    __slots__ = ("_low",)

    def __init__(self, low: str) -> None:
        self._low = low

    def any(self, signs: tuple[str, ...]) -> bool:
        """Whether one of them stands in the line."""
        low = self._low
        for sign in signs:  # noqa: SIM110 - quicker than any() of a generator
            if sign in low:
                return True
        return False

    def worth(self, table: tuple[Form, ...]) -> list[re.Pattern[str]]:
        """The patterns of a table whose sign stands in the line."""
        low = self._low
        return [pattern for pattern, sign in table if sign in low]


@dataclass(slots=True)
class Draft:
    """A line and the fields found in it so far. The first value of a field is kept."""

    text: str
    low: str
    signs: Signs
    ints: dict[str, int] = field(default_factory=dict)
    floats: dict[str, float] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    report: bool = False  # something that only a report shows
    phase: str | None = None

    def find(self, pattern: re.Pattern[str], *signs: str) -> re.Match[str] | None:
        """Search, where one of `signs` (lower case) says that it can be worth the time."""
        return pattern.search(self.text) if self.signs.any(signs) else None

    def count(self, name: str, text: str | None) -> None:
        """A whole number: `1200`, `1,200`, `1.2k`. Anything else is not known."""
        if text and text[0].isdigit() and name not in self.ints:
            self.ints[name] = words.count(text)

    def value(self, name: str, text: str | None, read: Callable[[str], float | None]) -> None:
        """A time, a rate or a share, which may be unknown, and none is without end."""
        if (
            text
            and name not in self.floats
            and (value := read(text)) is not None
            and math.isfinite(value)
        ):
            self.floats[name] = value

    def epoch(self, text: str | None) -> None:
        """The epoch as printed, whole or with a fraction."""
        if text and "epoch" not in self.ints:
            self.ints["epoch"] = _floor(text)
            if "." in text:
                self.floats["epoch_exact"] = float(text)

    def done(self) -> Progress | None:
        """What the line reports; None where nothing on it is sure to be a report."""
        if not self.report:
            return None
        ints, floats = self.ints, self.floats
        return Progress(
            epoch=ints.get("epoch"),
            epochs=ints.get("epochs"),
            step=ints.get("step"),
            steps=ints.get("steps"),
            loss=floats.get("loss"),
            val_loss=floats.get("val_loss"),
            lr=floats.get("lr"),
            percent=floats.get("percent"),
            elapsed_seconds=floats.get("elapsed"),
            eta_seconds=floats.get("eta"),
            rate_per_second=floats.get("rate"),
            metrics=self.metrics,
            epoch_exact=floats.get("epoch_exact"),
            phase=self.phase,
        )


def _floor(text: str) -> int:
    return math.floor(float(text))
