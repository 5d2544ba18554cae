"""A number that is to come, seconds or money, with what is known of its bounds. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """Never less than `low`. `best` is None where nobody can say, and then `high` is None as well."""

    low: float = 0.0
    best: float | None = None
    high: float | None = None

    @property
    def known(self) -> bool:
        """Whether there is more to say than a lower bound."""
        return self.best is not None

    def __add__(self, other: Span) -> Span:
        best, high = _plus(self.best, other.best), _plus(self.high, other.high)
        return Span(self.low + other.low, best, high if best is not None else None)

    def times(self, factor: float) -> Span:
        """`factor` times as much; `factor` is not negative."""
        return Span(self.low * factor, _times(self.best, factor), _times(self.high, factor))

    def less(self, gone: float) -> Span:
        """What is left after `gone`; nothing is known once more than `best` is gone."""
        if self.best is not None and self.best > gone:
            high = None if self.high is None else max(self.best, self.high) - gone
            return Span(max(0.0, self.low - gone), self.best - gone, high)
        return Span(max(0.0, self.low - gone))

    def at_least(self, gone: float = 0.0) -> Span:
        """Only the lower bound of it, after `gone`."""
        return Span(max(0.0, self.low - gone))


NOTHING = Span(0.0, 0.0, 0.0)
NO_IDEA = Span()


def exactly(number: float) -> Span:
    """A number without a doubt."""
    return Span(number, number, number)


def longest(spans: Iterable[Span]) -> Span:
    """When the last of them is over."""
    every = list(spans)
    if not every:
        return NOTHING
    low = max(span.low for span in every)
    bests = [span.best for span in every if span.best is not None]
    highs = [span.high for span in every if span.high is not None]
    if len(bests) < len(every):
        return Span(low)
    return Span(low, max(bests), max(highs) if len(highs) == len(every) else None)


def total(spans: Iterable[Span]) -> Span:
    """All of them together."""
    whole = NOTHING
    for span in spans:
        whole += span
    return whole


def _times(number: float | None, factor: float) -> float | None:
    return None if number is None else number * factor


def _plus(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left + right
