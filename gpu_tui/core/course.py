"""Which printed counters are the run's own, and how far along its course they put it. Pure and bounded.

A log counts many things: the run's steps, the batches of a validation, the files of a download, the
same steps once for each rank. Only the first moves the run.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gpu_tui.core.logs import Progress
from gpu_tui.core.place import Place
from gpu_tui.core.plan import Plan

BEHIND_ROWS = 3  # rows in a row that lie behind before the run is taken to have begun anew
NEAR = 0.02  # of a counter's end: its beginning; ranks may differ by as much
MOST_LENGTHS = 16
ENDED = 0.95  # of a counter's end
FOREIGN_SECONDS = 1800.0  # without a word of the run's own counter, another one may be the run's


@dataclass(slots=True)
class Course:
    """Feed it what each line reports, in order; `progress` is what the run has come to."""

    progress: Progress = field(default_factory=Progress)
    restarts: int = 0
    first: Place | None = None  # where this attempt was first seen
    reached: int | None = None  # the epoch that the attempts before it came to
    _lowest: int | None = None  # epoch seen
    _stepped: bool = False  # steps of a known number are shown
    _whole: bool | None = None  # steps count the whole run, not one epoch
    _ended: set[int] = field(default_factory=set)  # lengths of bars that ran to their end
    _loops: bool = False  # such a bar began again: its end is not the run's
    _behind: int = 0
    _at: float | None = None  # when the run's own counter was seen last
    _plan: Plan | None = None  # of a run that was announced and has not counted yet

    def announce(self, plan: Plan) -> None:
        """What a banner says of the run that is to begin; its first count takes it up."""
        self._plan = plan if self._plan is None else self._plan.then(plan)

    def take(self, new: Progress, at: float) -> bool:
        """Merge one report; true where it moved the run's own counters."""
        if (
            new.phase == "eval"
            and new.epoch is not None
            and (self._lowest, self.progress.step) == (None, None)
        ):  # a run that shows its epochs in evaluations only
            self._begin(new)
            self.progress = _merge(self.progress, _numbers_only(new, epochs=True))
            return True
        if new.phase is not None or self._foreign(new, at):
            self.progress = _merge(self.progress, _numbers_only(new))
            return False
        self._begin(new)
        if self.lies_behind(new):
            self._behind += 1
            same = new.steps == self.progress.steps or self._only_mentions(new)
            if self._behind < BEHIND_ROWS and same and not _at_start(new):
                self.progress = _merge(self.progress, _numbers_only(new))
                return False
            self._restart(new)
        self._behind = 0
        self._learn(new)
        self.progress = _merge(self.progress, new, keep_steps=self._whole is True)
        self._stepped = self._stepped or bool(new.steps)
        counts = (new.epoch, new.step) != (None, None)
        if counts:
            self._at = at
            self.first = self.first or self.place
            if new.epoch is not None:
                self._lowest = new.epoch if self._lowest is None else min(self._lowest, new.epoch)
        return counts

    @property
    def lowest(self) -> int | None:
        """The lowest epoch of the present attempt that was seen."""
        return self._lowest

    @property
    def place(self) -> Place | None:
        """Where the run is; None where nothing counts it."""
        now, low = self.progress, self._lowest
        if now.step is not None and now.steps and self._steps_are_the_runs():
            return Place(float(now.step), float(now.steps), False)
        if now.epoch is None:
            return None
        last = float(now.epochs) if now.epochs else None
        if now.epoch_exact is not None:
            return Place(now.epoch_exact, last, True)
        part = min(1.0, now.step / now.steps) if now.step is not None and now.steps else 0.0
        if low == 0:
            return Place(now.epoch + part, last, True)
        slack = 1.0 if (low or 0) > 1 else 0.0
        if not self._stepped:  # such a line is printed when the epoch is over
            return Place(float(now.epoch), last, True, slack)
        return Place(max(0, now.epoch - 1) + part, last, True, slack)

    def _steps_are_the_runs(self) -> bool:
        if self._whole is not None:
            return self._whole
        return self.progress.epoch is None and not self._loops

    def _begin(self, new: Progress) -> None:
        """The announced run counts for the first time: its totals replace those of the run before."""
        plan = self._plan
        if plan is None or (new.epoch, new.step) == (None, None):
            return
        self._plan = None
        if not (plan.epochs or plan.steps):
            return  # the banner of an evaluation
        if self.lies_behind(new):
            self._restart(new)
        steps = plan.steps if self._counts_planned_steps(plan, new) else None
        self.progress = replace(self.progress, epochs=plan.whole_epochs, steps=steps)

    def _counts_planned_steps(self, plan: Plan, new: Progress) -> bool:
        """Whether a step that is printed without its end is one of those that the banner counts.

        Beside an epoch it may begin anew with each; where gradients accumulate it may be a pass.
        """
        alone = (new.epoch, self.progress.epoch) == (None, None)
        return alone and new.step is not None and plan.accumulation in (None, 1)

    def _foreign(self, new: Progress, at: float) -> bool:
        """A counter of another length, with nothing on its line that a training shows."""
        old = self.progress
        if self._plan is not None and self._plan.steps == new.steps:
            return False
        if new.steps is None or not old.steps or new.steps == old.steps or old.step is None:
            return False
        trains = new.epoch is not None or new.loss is not None or new.lr is not None
        ended = old.epoch is None and _at_end(old)
        silent = self._at is not None and at - self._at > FOREIGN_SECONDS
        return not (trains or ended or silent)

    def echo(self, new: Progress) -> None:
        """What another log of the same run says of where it was already: its numbers, no place."""
        self.progress = _merge(self.progress, _numbers_only(new))

    def lies_behind(self, new: Progress) -> bool:
        """Whether the run was farther before."""
        old = self.progress
        if new.epoch is not None and old.epoch is not None and new.epoch != old.epoch:
            return new.epoch < old.epoch
        if new.step is None or old.step is None:
            return False
        if new.epoch is None and old.epoch is not None and _at_end(old) and _at_start(new):
            return False  # the inner one of two bars: its next round
        return new.step < old.step - max(2.0, NEAR * (old.steps or old.step))

    def _only_mentions(self, new: Progress) -> bool:
        """An epoch without its total, a step or a loss, in a run that prints more: `kept epoch 5`."""
        return self.progress.epochs is not None and (new.epochs, new.step, new.loss) == (None,) * 3

    def _restart(self, new: Progress) -> None:
        old = self.progress
        if _at_end(old) and old.steps and len(self._ended) < MOST_LENGTHS:
            self._ended.add(old.steps)
        self._loops = self._loops or (new.epoch is None and new.steps in self._ended)
        self.restarts += 1
        if old.epoch is not None:
            self.reached = old.epoch if self.reached is None else max(self.reached, old.epoch)
        self._lowest, self.first = None, None
        self.progress = Progress(epochs=old.epochs)

    def _learn(self, new: Progress) -> None:
        """Do the steps count the run, or each epoch anew?"""
        old = self.progress
        if new.epoch_exact is not None and new.epochs is None:
            self._whole = True
        if new.epoch is None or old.epoch is None or new.epoch <= old.epoch:
            return
        if new.step is None or old.step is None or new.steps != old.steps:
            return
        self._whole = new.step > old.step


def _at_start(new: Progress) -> bool:
    if new.epoch is not None and new.epoch > 1:
        return False
    return new.step is None or new.step <= max(1.0, NEAR * (new.steps or 0))


def _at_end(old: Progress) -> bool:
    return old.step is not None and bool(old.steps) and old.step >= ENDED * (old.steps or 0)


def _numbers_only(new: Progress, *, epochs: bool = False) -> Progress:
    """What an evaluation or a download says of the run: its scores, never how far it has come."""
    if new.phase == "load":
        return Progress()
    if epochs:
        return Progress(new.epoch, new.epochs, val_loss=new.val_loss, metrics=new.metrics)
    return Progress(val_loss=new.val_loss, metrics=new.metrics)


def _merge(old: Progress, new: Progress, *, keep_steps: bool = False) -> Progress:
    """The newest number of each field; a new epoch forgets the old epoch's steps."""
    fresh_epoch = not keep_steps and new.epoch is not None and new.epoch != old.epoch
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
        epoch_exact=new.epoch_exact if new.epoch is not None else old.epoch_exact,
    )
