"""What the logs have shown of the present attempt at one cell."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from gpu_tui.core.course import Course
from gpu_tui.core.eta import EtaWatch
from gpu_tui.core.logs import LogLine, Progress
from gpu_tui.core.losses import LossWatch
from gpu_tui.core.series import Series
from gpu_tui.core.thinned import Thinned

SERIES_POINTS = 900
SKIP_LABELS = ("nan", "inf", "overflow")
ECHO_SECONDS = 30.0  # by which one log of a run may come behind another one
SKIPPED = "skipped iterations"  # Megatron's count of them since its last report
_SKIPS = re.compile(r"skip|ignoring (?:the )?gradient", re.IGNORECASE)


@dataclass(slots=True)
class CellTrace:
    """What the logs have shown of the present attempt at one cell."""

    course: Course = field(default_factory=Course)
    eta: EtaWatch = field(default_factory=EtaWatch)
    diverged: bool = False
    losses: Series = field(default_factory=lambda: Series(SERIES_POINTS))
    watch: LossWatch = field(default_factory=LossWatch)
    by_step: Thinned = field(
        default_factory=Thinned
    )  # the losses again, by how far the run had come
    _log: str = ""  # the one that moved the run last, and when
    _moved_at: float = 0.0

    @property
    def log(self) -> str:
        """The path of the log that moved the run last; empty if none did."""
        return self._log

    @property
    def progress(self) -> Progress:
        """How far this attempt has come."""
        return self.course.progress

    def take(self, line: LogLine, at: float, *, live: bool = True, log: str = "") -> None:
        """What one line of `log` says of the progress and the loss of this attempt.

        A line that is not `live` was there before we came: it says where the run is, not how fast.
        A run that writes into two logs, its queue's and its own, is behind in one of them: it began anew in neither.
        """
        if line.mark.label in SKIP_LABELS and not line.open and _SKIPS.search(line.text):
            self.watch.skip()
        elif line.progress is not None and not line.open:
            self.watch.skip(self._skipped(line.progress))
        if line.progress is not None:
            self._progress(line.progress, at, live=live, log=log)
        if line.mark.label in ("nan", "inf") and line.mark.alarm:
            self.diverged = True

    def _skipped(self, new: Progress) -> int:
        """The steps since the last report, where none of them was taken: of one that was a loss is printed."""
        skipped, before = new.metrics.get(SKIPPED, 0.0), self.progress.step
        if not skipped >= 1 or new.loss is not None:
            return 0
        if before is None or new.step is None:
            return 1
        return int(min(skipped, new.step - before)) if skipped >= new.step - before > 0 else 0

    def _progress(self, new: Progress, at: float, *, live: bool, log: str = "") -> None:
        late = live and log != self._log and at - self._moved_at < ECHO_SECONDS
        if late and self.course.lies_behind(new):
            self.course.echo(new)
            return
        restarts = self.course.restarts
        moved = self.course.take(new, at)
        if moved:
            self._log, self._moved_at = log, at
        if self.course.restarts != restarts:
            self.eta.restart()
            self.watch = LossWatch()
            self.by_step = Thinned()
        place = self.course.place
        if moved and live and place is not None:
            self.eta.take(place, at, None if place.in_epochs else new.eta_seconds)
        if new.loss is None or new.phase is not None:
            return
        finite = math.isfinite(new.loss)
        self.diverged = not finite
        self.losses.add(at, new.loss if finite else None)
        if place is not None:
            self.by_step.add(place.done, new.loss if finite else None)
        self.watch.take(new.loss, (new.epoch, new.step))
