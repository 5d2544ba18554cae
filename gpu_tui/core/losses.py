"""What the losses of one attempt say: a spike, a plateau. Pure and bounded; every rule stands here.

A spike is a loss far above the running median of the points before it, by the median absolute
deviation, on a logarithmic scale where all losses are positive. One point is an odd batch; three in a
row are a spike. It ends when as many are back, and what it did to the median is forgotten.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from statistics import median

WINDOW = 64  # points that the median is taken of
NEEDED = 16  # points before anything is judged: a run starts high, and one that starts may jump
IN_A_ROW = 3
DEVIATIONS = 6.0  # of MAD x 1.4826, which is sigma for a bell curve
MAD_SIGMA = 1.4826
FLOOR_RATIO = 2.0  # positive losses: never below this factor, however still the curve lay
FLOOR_SHARE = 1.0  # losses of any sign: never below this share of the median's size
RECKON_EVERY = 8  # points between two reckonings of the median: a flood of losses must stay cheap
STAYS_AFTER = 50  # points: a spike that did not come back by then

SAME_POINTS = 30  # steps with exactly one loss, where it is printed with three digits or more
SAME_POINTS_COARSE = 300  # with fewer digits, rounding alone may hold it still
SKIPS = 20  # steps in a row that were skipped for a NaN or an overflow


@dataclass(frozen=True, slots=True)
class Spike:
    """A loss far above what was usual. `points` above so far; `stays` = it did not come back."""

    loss: float
    usual: float
    points: int
    stays: bool
    times: int = 1  # how many spikes this attempt has had

    @property
    def told(self) -> str:
        """It as a sentence."""
        again = f" (time {self.times} in this attempt)" if self.times > 1 else ""
        stays = f", and it did not come back for {self.points} points" if self.stays else ""
        return f"the loss rose to {self.loss:.4g} from a median of {self.usual:.4g}{again}{stays}"


@dataclass(frozen=True, slots=True)
class Plateau:
    """Nothing is learned: `skipped` steps in a row, or one exact loss for `points` steps."""

    points: int
    loss: float | None = None
    skipped: bool = False

    @property
    def told(self) -> str:
        """It as a sentence."""
        what = (
            f"{self.points} steps in a row were skipped for NaN or overflow"
            if self.skipped
            else f"the loss is exactly {self.loss:g} for {self.points} steps"
        )
        return f"{what}: nothing is learned"


@dataclass(slots=True)
class LossWatch:
    """Feed it each new loss of one attempt, in order."""

    _window: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    _bound: float | None = None  # losses above this are high; None while too little is known
    _unreckoned: int = 0
    _high: int = 0
    _low: int = 0
    _peak: float = 0.0
    _usual: float = 0.0
    _open: bool = False
    _times: int = 0
    _where: tuple[int | None, int | None] | None = None
    _same: int = 0
    _last: float | None = None
    _skips: int = 0

    def take(self, loss: float, where: tuple[int | None, int | None]) -> None:
        """One printed loss at (epoch, step). The same number at the same place is a bar drawn again."""
        if where == self._where and where != (None, None) and loss == self._last:
            return
        self._where = where
        if not math.isfinite(loss):
            return
        self._same = self._same + 1 if loss == self._last else 1
        if loss != self._last:
            self._skips = 0
        self._last = loss
        self._judge(loss)

    def skip(self, steps: int = 1) -> None:
        """So many steps were skipped for a NaN or an overflow."""
        self._skips += steps

    def _judge(self, loss: float) -> None:
        if self._bound is None or loss <= self._bound:
            self._high, self._low = (self._high if self._open else 0), self._low + 1
            if self._open and self._low >= IN_A_ROW:
                self._open, self._high = False, 0
            self._window.append(loss)
            self._unreckoned += 1
            if len(self._window) >= NEEDED and (
                self._bound is None or self._unreckoned >= RECKON_EVERY
            ):
                self._bound, self._unreckoned = _bound(self._window), 0
            return
        self._low = 0
        self._high += 1
        self._peak = max(loss, self._peak) if self._open or self._high > 1 else loss
        if not self._open and self._high >= IN_A_ROW:
            self._open, self._usual = True, median(self._window)
            self._times += 1

    @property
    def spike(self) -> Spike | None:
        """The spike that goes on now, if any."""
        if not self._open:
            return None
        return Spike(self._peak, self._usual, self._high, self._high >= STAYS_AFTER, self._times)

    @property
    def plateau(self) -> Plateau | None:
        """The standstill that goes on now, if any."""
        if self._skips >= SKIPS:
            return Plateau(self._skips, self._last, skipped=True)
        if self._last is None or self._last == 0.0:  # some objectives are 0 by design
            return None
        needed = SAME_POINTS if _digits(self._last) >= 3 else SAME_POINTS_COARSE
        return Plateau(self._same, self._last) if self._same >= needed else None


def _digits(value: float) -> int:
    """Significant digits as it was printed, as far as a float still knows them."""
    mantissa = repr(abs(value)).partition("e")[0].replace(".", "").strip("0")
    return len(mantissa)


def _bound(window: Collection[float]) -> float:
    """Losses above this are far above the median of these."""
    if min(window) > 0:
        logs = [math.log(loss) for loss in window]
        middle, spread = median(logs), _spread(logs)
        # One float fits no more than this: a hostile number is not a reason to fail.
        return math.exp(min(700.0, middle + max(DEVIATIONS * spread, math.log(FLOOR_RATIO))))
    middle, spread = median(window), _spread(list(window))
    return middle + max(DEVIATIONS * spread, FLOOR_SHARE * abs(middle))


def _spread(values: Sequence[float]) -> float:
    """How far they lie from where they go: a loss that falls fast is not for that a restless one."""
    half = len(values) // 2
    slope = (median(values[half:]) - median(values[:half])) / (len(values) - half)
    rest = [value - min(0.0, slope) * place for place, value in enumerate(values)]
    middle = median(rest)
    return MAD_SIGMA * median(abs(value - middle) for value in rest)
