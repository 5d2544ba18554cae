"""What one row of the catalogue of probes is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpu_tui.core.fleet import Instance
from gpu_tui.core.sample import Absent, Failure, FailureKind, Reading

TOO_LONG = 75  # the exit code that `show` in box/frame.sh gives to a flood
MISSING_FILE, UNREADABLE_FILE = 66, 77  # exit codes of `content` in box/command.sh


@dataclass(frozen=True, slots=True)
class Target:
    """What one box is asked for. `mounts`: path -> the user named it (else only the profile did).

    `written`: directories that the runs write below, whose disk is watched too, whatever `mounts` says.
    `homes`: directories in which every cell that runs has one of its own, with its checkpoints.
    """

    instance: Instance
    mounts: Mapping[str, bool]
    files: tuple[str, ...]
    written: tuple[str, ...] = ()
    homes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """What one command of a probe printed, and its exit code."""

    body: bytes = b""
    exit: int = 0
    truncated: bool = False


Sections = Mapping[str, Section]
Sample = Reading[object] | Absent | Failure
NOTHING = Section()


@dataclass(frozen=True, slots=True)
class Probe:
    """One row. `every` in seconds (0 = at every poll), never below the instance's poll;
    `limit_seconds` is for one command, of which `hangs` may hang in one round between two `step`s. `soon` = seconds between
    two looks whether something began or ended on the box, which is asked about before `every`; 0 = never.

    `snippet` is the sh text that asks, empty where this target has nothing to ask, and `scripts` names the files of
    `box` whose functions it calls; `parse` turns the sections into a value, an absence or a failure.
    """

    metric: str
    lane: str
    every: float
    limit_seconds: float
    snippet: Callable[[Target], str]
    parse: Callable[[Target, Sections], object | NoValue]
    hangs: Callable[[Target], int] = lambda _: 1
    soon: float = 0.0
    scripts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoValue:
    """Instead of a value: why there is none. `kind` None = the box has no such thing."""

    why: str
    kind: FailureKind | None = None
