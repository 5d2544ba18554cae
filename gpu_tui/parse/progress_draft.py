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


class Cut(str):
    """A printed number and where in its line it begins."""

    __slots__ = ("at",)
    at: int


def cut(match: re.Match[str], group: str | int) -> Cut | None:
    """What a group of a match holds."""
    found = match[group]
    if found is None:
        return None
    made = Cut(found)
    made.at = match.start(group)
    return made


def cuts(match: re.Match[str]) -> dict[str, Cut | None]:
    """What the named groups of a match hold."""
    return {name: cut(match, name) for name in match.re.groupindex}


@dataclass(frozen=True, slots=True)
class Finding:
    """One field of a line, from where to where it is printed, and how to read it. `finite`: it was."""

    kind: str
    name: str
    start: int
    stop: int
    read: Callable[[str], float | None]
    finite: bool


@dataclass(slots=True)
class Draft:
    """The line and what was found in it so far. The first finding of a field stays.

    What was found stays in `findings`: another line that differs in digits only holds the same in the
    same places. `sure` is false where the digits themselves decided what was looked for.
    """

    text: str
    low: str
    signs: Signs
    ints: dict[str, int] = field(default_factory=dict)
    floats: dict[str, float] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    report: bool = False  # something that only a report shows
    phase: str | None = None
    findings: list[Finding] = field(default_factory=list)
    sure: bool = True

    def find(self, pattern: re.Pattern[str], *signs: str) -> re.Match[str] | None:
        """Search, where one of `signs` (lower case) says that it can be worth the time."""
        return pattern.search(self.text) if self.signs.any(signs) else None

    def count(self, name: str, text: Cut | None) -> None:
        """A whole number: `1200`, `1,200`, `1.2k`. Anything else is not known."""
        if text and text[0].isdigit() and name not in self.ints:
            self.ints[name] = words.count(text)
            self._found("ints", name, text, words.count)

    def value(self, name: str, text: Cut | None, read: Callable[[str], float | None]) -> None:
        """A time, a rate or a share, which may be unknown, and none is without end."""
        if not text or name in self.floats or (value := read(text)) is None:
            return
        if math.isfinite(value):
            self.put("floats", name, text, read, value)
        else:
            self.sure = False  # with other digits the same form may be a number

    def put(
        self, kind: str, name: str, text: Cut, read: Callable[[str], float | None], value: float
    ) -> None:
        """A value of `floats` or `metrics` that was read, in the place of what was there."""
        (self.floats if kind == "floats" else self.metrics)[name] = value
        self._found(kind, name, text, read, finite=math.isfinite(value))

    def epoch(self, text: Cut | None) -> None:
        """The epoch as printed, whole or with a fraction."""
        if text and "epoch" not in self.ints:
            self.ints["epoch"] = _floor(text)
            self._found("ints", "epoch", text, _floor)
            if "." in text:
                self.put("floats", "epoch_exact", text, float, float(text))

    def _found(
        self,
        kind: str,
        name: str,
        text: Cut,
        read: Callable[[str], float | None],
        *,
        finite: bool = True,
    ) -> None:
        self.findings.append(Finding(kind, name, text.at, text.at + len(text), read, finite))

    def done(self) -> Progress | None:
        """What the line reports; None where nothing on it is sure to be a report."""
        return made(self.ints, self.floats, self.metrics, self.phase) if self.report else None


def _floor(text: str) -> int:
    return math.floor(float(text))


def made(
    ints: dict[str, int], floats: dict[str, float], metrics: dict[str, float], phase: str | None
) -> Progress:
    """A report of these fields."""
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
        metrics=metrics,
        epoch_exact=floats.get("epoch_exact"),
        phase=phase,
    )
