"""Where a recording stands, for the screen: position, length, and where findings came."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_tui.core.findings import Severity


@dataclass(frozen=True, slots=True)
class TapeMark:
    """Here findings came that were not there before."""

    t: float  # seconds since the start of the recording
    severity: Severity  # of the worst of them
    ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class Playhead:
    """A recording at one moment. Times are seconds since its start."""

    position: float
    length: float
    speed: float
    paused: bool
    seeking: bool  # on the way to somewhere
    known_to: float  # up to here it was searched for findings
    marks: tuple[TapeMark, ...] = ()
    damage: str | None = None  # why it ends before its end
    without: bool = False  # a finding was looked for, and there was none on that side

    @property
    def ended(self) -> bool:
        """There is no more of it."""
        return self.position >= self.length
