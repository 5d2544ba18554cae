"""What the logs have shown of the present attempt at one cell."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from gpu_tui.core.logs import LogLine, Progress
from gpu_tui.core.losses import LossWatch
from gpu_tui.core.series import Series

SERIES_POINTS = 900
SKIP_LABELS = ("nan", "inf", "overflow")


@dataclass(slots=True)
class CellTrace:
    """What the logs have shown of the present attempt at one cell."""

    progress: Progress = field(default_factory=Progress)
    diverged: bool = False
    losses: Series = field(default_factory=lambda: Series(SERIES_POINTS))
    watch: LossWatch = field(default_factory=LossWatch)

    def take(self, line: LogLine, at: float) -> None:
        """What one line says of the progress and the loss of this attempt."""
        if line.mark.label in SKIP_LABELS and not line.open and "skip" in line.text.lower():
            self.watch.skip()
        if line.progress is not None:
            self._progress(line.progress, at)
        if line.mark.label in ("nan", "inf") and line.mark.alarm:
            self.diverged = True

    def _progress(self, new: Progress, at: float) -> None:
        self.progress = merge_progress(self.progress, new)
        if new.loss is None:
            return
        finite = math.isfinite(new.loss)
        self.diverged = not finite
        self.losses.add(at, new.loss if finite else None)
        self.watch.take(new.loss, (self.progress.epoch, self.progress.step))


def merge_progress(old: Progress, new: Progress) -> Progress:
    """The newest number of each field; a new epoch forgets the old epoch's steps."""
    fresh_epoch = new.epoch is not None and new.epoch != old.epoch
    return Progress(
        epoch=new.epoch if new.epoch is not None else old.epoch,
        epochs=new.epochs if new.epochs is not None else old.epochs,
        step=new.step if new.step is not None or fresh_epoch else old.step,
        steps=new.steps if new.steps is not None or fresh_epoch else old.steps,
        loss=new.loss if new.loss is not None else old.loss,
        val_loss=new.val_loss if new.val_loss is not None else old.val_loss,
        lr=new.lr if new.lr is not None else old.lr,
        percent=new.percent,
        elapsed_seconds=new.elapsed_seconds,
        eta_seconds=new.eta_seconds,
        rate_per_second=new.rate_per_second or old.rate_per_second,
        metrics={**old.metrics, **new.metrics},
    )
