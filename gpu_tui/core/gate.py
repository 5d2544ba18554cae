"""Every rule that stands between a person and a stopped meter, in this one file. Pure.

Nine rungs, climbed in order and only with evidence; anything that cannot be evaluated keeps the gate
shut. The only `StopPermit` that exists is minted here, and a provider takes nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Rung(IntEnum):
    """The ladder, in order."""

    PLAN = 1
    QUIESCE = 2
    MANIFEST = 3
    PULL = 4
    MATCH = 5
    LOAD = 6
    CONFIRM = 7
    ACT = 8
    READ_BACK = 9


class RungState(StrEnum):
    """How a rung looks on screen."""

    WAITING = "waiting"
    WORKING = "working"
    PASSED = "passed"
    BLOCKED = "blocked"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class RungView:
    """One rung for the screen. `lines` are the evidence; `share` is progress 0–1 while working."""

    rung: Rung
    title: str
    state: RungState
    lines: tuple[str, ...] = ()
    share: float | None = None
    next: str | None = None  # the next step for the user when blocked


@dataclass(frozen=True, slots=True)
class GateView:
    """The whole ladder as the modal shows it.

    `phrase` is what must be typed; `ready` is true while a confirmation would be taken;
    `needs_acceptance` names running work that must be accepted first (a park only);
    `lost_paths` is what an abandonment would destroy; `outcome` is gone, stopped, still-there, unknown,
    steps (console-only: `outcome_lines` are what to click), cancelled or None.
    """

    instance: str
    verb: str
    label: str
    state: str
    rungs: tuple[RungView, ...]
    phrase: str
    ready: bool = False
    ready_at: float | None = None  # boot-clock second from which the button lives
    expires_at: float | None = None  # boot-clock second at which the evidence is void
    closed_because: str | None = None
    needs_acceptance: tuple[str, ...] = ()
    lost_paths: tuple[str, ...] = ()
    abandon_phrase: str | None = None
    outcome: str | None = None
    outcome_lines: tuple[str, ...] = ()
