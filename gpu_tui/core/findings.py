"""Findings: what a tired person should see now, de-duplicated, with evidence and a remedy."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum


class Severity(StrEnum):
    """`fatal` and `serious` are alarms; `warn` is for later; `none` is nothing."""

    FATAL = "fatal"
    SERIOUS = "serious"
    WARN = "warn"
    NONE = "none"

    @property
    def rank(self) -> int:
        """0 is worst."""
        return RANKS[self]


# Kinds that say how a run ended, not why: for one cell the cause is listed first.
OUTCOMES = frozenset({"crashed", "suspicious_end", "traceback", "stalled"})
_DIGITS = re.compile(r"([0-9]{1,9})")
# How a time of a finding is known. With the last two it may have been earlier.
SEEN = "seen"  # gpu-tui saw it happen, now or at an earlier start
QUEUE_LOG = "queue-log"  # by the stamp of the queue's log
LOG_DATE = "log-date"  # no later than the log was last written
FIRST_LOOK = "first-look"  # no later than the first look at it
BASES = (SEEN, QUEUE_LOG, LOG_DATE, FIRST_LOOK)
BOUNDS = frozenset({LOG_DATE, FIRST_LOOK})

RANKS = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem that a person should see. Two findings with one `key` are the same finding seen again.

    `standing`: the condition holds now, and `first_seen` is when it was found. `first_basis` and `last_basis` say how
    the two times are known.
    """

    kind: str
    severity: Severity
    instance: str
    evidence: str
    source: str
    remedy: str
    first_seen: float
    last_seen: float
    cell: str | None = None
    count: int = 1
    part: str | None = None  # tells two findings of one kind apart: a mount, a clock, a card
    standing: bool = False
    first_basis: str = SEEN
    last_basis: str = SEEN
    said: str | None = None  # the log's own words, by which the same line is recognised again

    @property
    def key(self) -> tuple[str, str, str | None, str | None]:
        """What makes it one finding: instance, kind, cell, part."""
        return (self.instance, self.kind, self.cell, self.part)

    @property
    def at(self) -> float:
        """When it happened: what is so now when it was first seen, a line when it was logged last."""
        return self.first_seen if self.standing else self.last_seen

    @property
    def basis(self) -> str:
        """How `at` is known."""
        return self.first_basis if self.standing else self.last_basis

    @property
    def id(self) -> str:
        """A short stable name for the key, for acknowledging."""
        text = "\x1f".join(word or "" for word in self.key)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    def seen_again(self, other: Finding, *, more: int) -> Finding:
        """One finding seen again; the first evidence stays, the worst severity wins."""
        worst = min(self.severity, other.severity, key=lambda severity: severity.rank)
        last = max(self, other, key=lambda one: one.last_seen)
        return replace(
            self,
            severity=worst,
            last_seen=last.last_seen,
            last_basis=last.last_basis,
            count=self.count + more,
        )


def log_line(source: str) -> tuple[str, int | None]:
    """The path and, where it is known, the line (from 0) of a source `log:PATH` or `log:PATH:LINE`."""
    path = source.removeprefix("log:")
    head, _, last = path.rpartition(":")
    if head and last.isascii() and last.isdigit():
        return head, max(0, int(last) - 1)
    return path, None


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Worst first, then by kind and cell. Not by arrival, which differs between two looks."""
    return sorted(findings, key=_order)


def _order(found: Finding) -> tuple[int, bool, str, Sequence[tuple[int, str]], str, str]:
    parts = _DIGITS.split(found.cell or "")
    natural = [
        (int(part), "") if part.isascii() and part.isdigit() else (-1, part) for part in parts
    ]
    cause, place = found.kind not in OUTCOMES, (found.part or "", found.instance)
    return found.severity.rank, not cause, found.kind, natural, *place
