"""What an observation can be: a reading, an absence, or a failure, each with its time.

The four things a person may see (fresh, stale, absent, unknown) never look alike, and none is 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Generic, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

STALE_AFTER_PERIODS = 3


class Freshness(StrEnum):
    """How far a shown value may be believed."""

    FRESH = "fresh"
    STALE = "stale"
    ABSENT = "absent"
    UNKNOWN = "unknown"


class FailureKind(StrEnum):
    """Why a probe gave no value."""

    UNREAD = "unread"
    HUNG = "hung"
    GARBAGE = "garbage"
    DENIED = "denied"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Reading(Generic[T_co]):
    """One observed value. `taken_at` is this machine's epoch time; `period` the beat in seconds."""

    value: T_co
    taken_at: float
    period: float = 1.0


@dataclass(frozen=True, slots=True)
class Absent:
    """The box answered, and it has no such thing."""

    why: str
    taken_at: float


@dataclass(frozen=True, slots=True)
class Failure:
    """The box gave no usable answer."""

    kind: FailureKind
    why: str
    taken_at: float


Sample = Reading[T] | Absent | Failure


@dataclass(frozen=True, slots=True)
class Track(Generic[T]):
    """The latest answer of one probe, and the last good one, which may be older."""

    latest: Reading[T] | Absent | Failure | None = None
    good: Reading[T] | None = None

    def follow(self, sample: Reading[T] | Absent | Failure) -> Track[T]:
        """The track after one more answer. An absence forgets the old value; a failure does not."""
        if isinstance(sample, Reading):
            return Track(sample, sample)
        if isinstance(sample, Absent):
            return Track(sample, None)
        return replace(self, latest=sample)

    @property
    def value(self) -> T | None:
        """The last good value, however old; ask `freshness` before believing it."""
        return self.good.value if self.good else None

    @property
    def why(self) -> str | None:
        """Why there is no value, in a person's words; None after a good reading."""
        if self.latest is None:
            return "not read yet"
        return None if isinstance(self.latest, Reading) else self.latest.why

    def age(self, now: float) -> float | None:
        """Seconds since the last good reading."""
        return None if self.good is None else max(0.0, now - self.good.taken_at)

    def freshness(self, now: float, *, live: bool = True) -> Freshness:
        """Fresh, stale, absent or unknown at `now`; a link that is not live makes everything stale."""
        if isinstance(self.latest, Absent):
            return Freshness.ABSENT
        if self.good is None:
            return Freshness.UNKNOWN
        if self.late(now) or not live or isinstance(self.latest, Failure):
            return Freshness.STALE
        return Freshness.FRESH

    def late(self, now: float) -> bool:
        """The last good reading is too old to speak of now."""
        # One that is to come was read before the clock was set back: nobody knows its age.
        good = self.good
        return good is not None and abs(now - good.taken_at) > STALE_AFTER_PERIODS * good.period


NO_TRACK: Track[object] = Track()  # of what was never sampled
