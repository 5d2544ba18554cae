"""The ladder as a screen shows it: nine rungs, their evidence in words, and what may be typed. Pure values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from gpu_tui.core.transfer import Transfer


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
class Way:
    """How a verb would be carried out on one instance. `by_hand`: no call is made, a person gets the steps;
    `why` says what is missing for one, or None where the platform has none.
    """

    by_hand: bool = False
    why: str | None = None


@dataclass(frozen=True, slots=True)
class RungView:
    """One rung for the screen. `lines` are the evidence; `share` is progress 0–1 while working,
    `transfer` the same in bytes, with rate and time left.
    """

    rung: Rung
    title: str
    state: RungState
    lines: tuple[str, ...] = ()
    share: float | None = None
    next: str | None = None  # the next step for the user when blocked
    transfer: Transfer | None = None


@dataclass(frozen=True, slots=True)
class SecondView:
    """One second resource or exception for the screen. `id` is what an acknowledgement names, `phrase` what
    must be typed for it, `done` true once it was.
    """

    id: str
    label: str
    lines: tuple[str, ...]
    phrase: str
    done: bool = False
    exception: bool = False


@dataclass(frozen=True, slots=True)
class GateView:
    """The whole ladder as the modal shows it.

    `phrase` is what must be typed; `ready` is true while a confirmation would be taken;
    `needs_acceptance` names running work that must be accepted first (a park only);
    `lost_paths` is what an abandonment would destroy: files first, of which `lost_sizes` has the bytes (None:
    not known), then cells and running work; `outcome` is gone, stopped, still-there, unknown,
    steps (console-only: `outcome_lines` are what to click), verified (a pull), cells-verified (a pull
    of some cells; `others` are the rest and what they left), cancelled or None.
    `evidence` is the digest of what is shown: a confirmation counts for this digest only.
    `override_phrase` is what must be typed to load all the same what a safe load here refused, None
    where nothing may be allowed; `override_lines` say what that allows. Every one of `seconds` must be
    acknowledged before a confirmation or an abandonment is taken.
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
    lost_sizes: tuple[int | None, ...] = ()
    abandon_phrase: str | None = None
    outcome: str | None = None
    outcome_lines: tuple[str, ...] = ()
    evidence: str = ""
    override_phrase: str | None = None
    override_lines: tuple[str, ...] = ()
    seconds: tuple[SecondView, ...] = ()
    others: tuple[tuple[str, str], ...] = ()
