"""A line that is being read for progress, and what was found in it so far."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from gpu_tui.core.logs import Progress
from gpu_tui.parse import progress_words as words

_NO_DIGITS = str.maketrans("123456789", "000000000")
SHAPES_KEPT = 512


Form = tuple[re.Pattern[str], str]


@dataclass(slots=True)
class _Shape:
    """What is known of the lines that differ in digits only."""

    signs: dict[str, bool] = field(default_factory=dict)
    forms: dict[int, tuple[re.Pattern[str], ...]] = field(default_factory=dict)


@lru_cache(SHAPES_KEPT)
def _shape_of(text: str) -> _Shape:
    return _Shape()


class Signs:
    """Which words a line holds. A log says the same thing with other numbers, over and over: what was
    found in one line is known of the next.
    """

    __slots__ = ("_low", "_shape")

    def __init__(self, low: str) -> None:
        self._low = low
        self._shape = _shape_of(low.translate(_NO_DIGITS))

    def __contains__(self, sign: str) -> bool:
        known = self._shape.signs
        found = known.get(sign)
        if found is None:
            found = sign in self._low
            if sign.translate(_NO_DIGITS) == sign and "0" not in sign:
                known[sign] = found
        return found

    def any(self, signs: tuple[str, ...]) -> bool:
        """Whether one of them stands in the line."""
        return any(map(self.__contains__, signs))

    def worth(self, table: tuple[Form, ...]) -> tuple[re.Pattern[str], ...]:
        """The patterns of a table, of which no sign holds a digit, whose sign stands in the line."""
        found = self._shape.forms.get(id(table))
        if found is None:
            found = tuple(pattern for pattern, sign in table if sign in self)
            self._shape.forms[id(table)] = found
        return found


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
        """A number that may be unknown."""
        if text and name not in self.floats and (value := read(text)) is not None:
            self.put("floats", name, text, read, value)

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
