"""Whether a run went on after an alarm: what the reports behind it prove. Pure; one `Trail` per log.

A traceback is written at once, and buffered reports of what came before it only at the exit; other ranks and
what launched them take a while to leave. So reports behind an alarm prove more the longer they come as they are
made, and in a log in which they stood at once from its first bytes on: no buffer kept those.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gpu_tui.core.logs import Progress

WENT_ON = 3  # steps (or epochs) that the counters advance after an alarm
WENT_ON_SURELY = 50  # steps; other ranks print fewer of theirs without the one that failed
RANKS_LAG = 1  # epochs (or steps) that one rank may stand behind another
NEAR = 0.02  # of all steps: the same
FLUSHED_WITHIN = 5.0  # seconds: reports further apart were not flushed together
LEAVES_WITHIN = 30.0  # seconds that a run which fails may take to its end
STAYS_FOR = 60.0  # seconds of reports as they are made: more than all ranks take to leave
LEAST_BUFFER = 4_096  # bytes: of what is buffered nothing is written before

Shape = tuple[bool, bool]  # whether a report counts epochs, and steps


class Come(NamedTuple):
    """How far the counters advanced from one report to another."""

    epochs: int
    steps: int  # within one epoch


@dataclass(slots=True)
class Trail:
    """Where one log of the attempt stands, and what it reported behind its newest alarm."""

    reports: dict[Shape, Progress] = field(default_factory=dict)  # the newest
    behind: set[Shape] = field(default_factory=set)  # of those behind the alarm
    advances: int = 0  # between the reports behind it: the first may have been on its way
    finite: int = 0  # of the advances, with the first: those that print a finite loss
    epochs: int = 0  # of the advances
    alarmed_at: float | None = None  # it was just written then
    since: float | None = None  # when the first report behind it was just written
    prompt: frozenset[Shape] | None = None  # no buffer keeps these; None before the first alarm
    alarmed: tuple[int, str] | None = None
    traceback_at: int | None = None
    chained: bool = False
    direct: bool = False  # chained by "direct cause": the exception above is the cause
    number: int = 0  # of the newest line
    epoch: int | None = None  # the newest printed, also on a line of its own

    def alarm(self, at: float | None, *, early: bool = False) -> None:
        """An alarm stands here; `at`: it was just written. `early`: no buffer has been full before it."""
        if self.prompt is None:
            self.prompt = frozenset(_unended(self.reports) if early else ())
        self.advances = self.finite = self.epochs = 0
        self.alarmed_at, self.since = at, None
        self.behind.clear()

    def advance(self, new: Progress, come: Come, at: float | None, *, first: bool) -> None:
        """The counters came further; `at`: that was just written; `first` behind the alarm."""
        if new.loss is not None and math.isfinite(new.loss):
            self.finite += come.epochs or come.steps
        if not first:
            self.advances += come.epochs or come.steps
            self.epochs += come.epochs
        if self.since is None and new.phase is None:
            self.since = at

    def lives(self, new: Progress, at: float | None) -> bool:
        """The counters went on, or this came later than what a run that fails leaves behind: apart from another
        report, or alone with a loss.
        """
        if self.advances >= WENT_ON:
            return True
        if at is None or new.phase is not None:
            return False
        if self.since is not None and at - self.since >= FLUSHED_WITHIN:
            return True
        trains = new.loss is not None and math.isfinite(new.loss)
        return trains and self.late(at)

    def late(self, at: float | None) -> bool:
        """A run that failed at the alarm has left."""
        if at is None or self.alarmed_at is None:
            return False
        return at - self.alarmed_at >= LEAVES_WITHIN

    def began_anew(self, new: Progress, at: float | None, *, open: bool) -> bool:
        """The counters fell back by more than other ranks lag behind, or stand at their start once more.

        Of steps only the first report behind an alarm tells: in what a buffer kept those of an epoch may begin anew.
        """
        shape = shape_of(new)
        old = self.reports.get(shape)
        if old is None or new.phase is not None:
            return False
        if shape in self.behind and not from_first_epoch(old, new):
            return False
        if old.epochs is not None and (new.epochs, new.step, new.loss) == (None,) * 3:
            return False  # it only mentions an epoch: the best one
        if not shape[0] and any(epochs for epochs, _ in self.reports):
            return False  # steps that begin anew with each epoch
        back = further(new, old)
        if back.epochs > RANKS_LAG:
            return True
        if back.steps > max(RANKS_LAG, NEAR * (old.steps or 0)):
            return shape[0] or not _ended(old)
        if any(further(old, new)):
            return False
        # A bar is drawn again with what it shows, and what another rank says at once is of the same attempt.
        if at is not None and self.alarmed_at is not None:
            return self.late(at) and (any(back) or _at_start(new))
        return _at_start(new) and not open

    def surely_anew(self, old: Progress, new: Progress) -> bool:
        """They began anew in epochs, and no buffer kept them."""
        return shape_of(new) in (self.prompt or ()) and further(new, old).epochs > RANKS_LAG

    def stays(self, new: Progress, at: float | None) -> bool:
        """No buffer kept these reports, and no other rank made them while it was ended, too."""
        if new.phase is not None:
            return False
        if at is not None and self.since is not None and at - self.since >= STAYS_FOR:
            return True
        if not self.prompt or shape_of(new) not in self.prompt:
            return False
        return self.epochs >= WENT_ON or self.advances >= WENT_ON_SURELY


def shape_of(report: Progress) -> Shape:
    """Places that count different things are not compared."""
    return report.epoch is not None, report.step is not None


def further(old: Progress, new: Progress) -> Come:
    """From one report to another of the same shape."""
    epochs = (new.epoch or 0) - (old.epoch or 0)
    steps = (new.step or 0) - (old.step or 0)
    return Come(max(0, epochs), 0 if epochs else max(0, steps))


def from_first_epoch(old: Progress, new: Progress) -> bool:
    """The epochs fell back to their start, by more than other ranks lag behind."""
    return new.epoch is not None and new.epoch <= 1 and (old.epoch or 0) - new.epoch > RANKS_LAG


def _at_start(new: Progress) -> bool:
    return (new.epoch or 0) <= 1 and (new.step or 0) <= 1


def _unended(reports: Mapping[Shape, Progress]) -> list[Shape]:
    """Those that were not at their end, where every buffer is written."""
    return [shape for shape, last in reports.items() if not _ended(last)]


def _ended(last: Progress) -> bool:
    done, total = (last.epoch, last.epochs) if last.epoch is not None else (last.step, last.steps)
    return done is not None and total is not None and done >= total
