"""When a run will end, from what its counters did lately. Pure, deterministic and bounded.

Speed is the median of the slopes between points half a window apart, so a slow step, a late chunk of
log or a burst of lines does not move it. Pauses, for a validation or a checkpoint, are taken out of
the time first and come back as what they cost per epoch, or per unit of the way. Three slow intervals
in a row are no pause: the run has become slower, and what was before is forgotten. So it is when all of
the newest intervals are unlike nearly all before them.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median, quantiles

from gpu_tui.core.place import Place

NEEDED = 5  # points before anything is said
WINDOW = 64  # points that the speed is taken of
SPACING = 1.0  # seconds between two points; grows until a full window spans `HORIZON`
HORIZON = 300.0
PAUSE_FACTOR = 3.0  # of what the interval should have taken
PAUSE_SECONDS = 2.0
PAUSES_KEPT = 32
EPSILON = 1e-9  # of a unit: no step is smaller
REGULAR = 0.1  # how far pauses may be off their beat, as a share of it
EPOCHS_KEPT = 8
RECENT = 8  # intervals that tell of another speed
CHANGED = 1.1  # times as slow, or as fast
SLOWER = 3  # long intervals in a row
STALLED_FACTOR = 3.0  # of the longest interval seen
STALLED_SECONDS = 120.0  # never sooner
FROM_START = 0.05  # an attempt first seen beyond this share was resumed, or its log was cut
LEAST_SHARE = 0.02  # of the way, before the mean pace says anything
BELIEVED = 3.0  # a printed ETA counts where it lies within this factor of ours


@dataclass(frozen=True, slots=True)
class Eta:
    """Seconds to the end, and between which bounds they lie, as far as the speed so far tells."""

    seconds: float
    low: float
    high: float


@dataclass(slots=True)
class _Pause:
    """Seconds lost at a place, beyond what the way itself took."""

    done: float
    seconds: float


@dataclass(slots=True)
class EtaWatch:
    """Feed it the place of a run each time it moves; ask it when the run ends.

    Times are seconds of one clock, of any origin. A place that lies behind the last one is dropped;
    when a run begins anew, `restart` it.
    """

    _points: deque[tuple[float, float]] = field(default_factory=deque)  # working time, done
    _at: float = 0.0  # of the last point
    _place: Place | None = None
    _seen: float = 0.0  # when the run was first seen at this place
    _alive: float = 0.0  # when it was last seen at all
    _printed: float | None = None
    _work: float = 0.0  # time without pauses
    _spacing: float = SPACING
    _pauses: deque[_Pause] = field(default_factory=lambda: deque(maxlen=PAUSES_KEPT))
    _pending: tuple[float, float] | None = None  # many lines may come at one moment
    _raw: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=RECENT + 1))
    _long: deque[bool] = field(default_factory=lambda: deque(maxlen=RECENT))  # was it too long?
    _gaps: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    _first: float = 0.0  # where the run was first seen

    def restart(self) -> None:
        """The run begins anew: nothing that was seen before counts."""
        for seen in (self._points, self._pauses, self._gaps, self._raw, self._long):
            seen.clear()
        self._place, self._printed = None, None
        self._pending, self._spacing = None, SPACING

    def take(self, place: Place, at: float, printed: float | None = None) -> None:
        """The run is at `place`. `printed` is what its own log says is left, of the whole run."""
        old = self._place
        if old is not None and (not _same_way(old, place) or at < self._alive):
            self.restart()  # another way, or a clock that was set back
            old = None
        self._alive = at
        if old is not None and place.done < old.done:
            return
        moved = old is None or place.done > old.done
        self._place = place
        self._printed = printed
        if not moved:
            return
        self._seen = at
        if self._pending is not None and at > self._pending[0]:
            self._commit(*self._pending)
        self._pending = (at, place.done)

    def _commit(self, at: float, done: float) -> None:
        """A moment is over: what its last line said is a point."""
        if not self._points:
            self._first = done
            self._begin(at, done)
        elif at - self._at >= self._spacing:
            self._add(at, done)

    def estimate(self, now: float, epochs: int | None = None) -> Eta | None:
        """None where too little is known, no end is known, or nothing moves any more.

        `epochs` is the plan's number of them, for a log that prints none.
        """
        place = self._place
        end = place.end(epochs) if place else None
        if place is None or end is None or len(self._points) < NEEDED or self.stalled(now):
            return None
        slopes = self._slopes()
        if not slopes:
            return None
        pace = median(slopes)
        left = max(0.0, end - place.done)
        lost, lost_low, lost_high = self._pauses_left(place, end)
        waited = max(0.0, now - self._seen)
        seconds = max(0.0, left * pace + lost - waited)
        fast, slow = _spread(slopes)
        low = max(0.0, max(0.0, left - place.slack) * fast + lost_low - waited)
        high = left * slow + lost_high
        if self._printed is not None and seconds / BELIEVED <= self._printed <= seconds * BELIEVED:
            low, high = min(low, self._printed), max(high, self._printed)
        if not math.isfinite(seconds) or not math.isfinite(high):
            return None  # numbers that no run prints
        return Eta(seconds, min(low, seconds), max(high, seconds))

    def stalled(self, now: float) -> bool:
        """Whether nothing moved for far longer than it ever took to move."""
        if self._place is None:
            return False
        if not self._gaps:
            return False  # nobody knows how long a step may take
        return now - self._alive > max(STALLED_SECONDS, STALLED_FACTOR * max(self._gaps))

    def _begin(self, at: float, done: float) -> None:
        self._points.clear()
        self._points.append((self._work, done))
        self._raw.append((at, done))
        self._at = at

    def _add(self, at: float, done: float) -> None:
        taken = at - self._at
        before = self._points[-1][1]
        expected = self._expected(done - before)
        self._gaps.append(taken)
        long = expected is not None and taken > max(
            PAUSE_FACTOR * expected, expected + PAUSE_SECONDS
        )
        lost = taken - (expected or 0.0) if long else 0.0
        if long:
            self._pauses.append(_Pause(before, lost))
        self._long.append(long)
        self._raw.append((at, done))
        self._work += taken - lost
        self._points.append((self._work, done))
        self._at = at
        if sum(list(self._long)[-SLOWER:]) == SLOWER:
            self._slower(SLOWER)
        elif sum(self._long) > RECENT // 2:
            self._slower(RECENT)
        elif self._speed_changed():
            self._points = deque(list(self._points)[-RECENT - 1 :])
        elif len(self._points) > WINDOW:
            self._thin()

    def _slower(self, intervals: int) -> None:
        """The newest intervals were no pauses: they are what an interval takes now."""
        kept = list(self._raw)[-intervals - 1 :]
        while self._pauses and self._pauses[-1].done >= kept[0][1]:
            self._pauses.pop()
        self._points = deque(kept)
        self._work = kept[-1][0]
        self._long.clear()

    def _thin(self) -> None:
        if self._spacing * WINDOW < HORIZON and self._points[-1][0] - self._points[0][0] < HORIZON:
            self._points = deque(reversed(list(self._points)[::-2]))
            self._spacing *= 2.0
        else:
            self._points.popleft()

    def _speed_changed(self) -> bool:
        """Whether all of the newest intervals were slower, or faster, than nearly all before them."""
        if len(self._points) <= 3 * RECENT:
            return False
        paces = [(b[0] - a[0]) / (b[1] - a[1]) for a, b in pairwise(self._points) if b[1] > a[1]]
        older, recent = paces[:-RECENT], paces[-RECENT:]
        if len(older) < RECENT:
            return False
        fast, slow = _spread(older)
        return min(recent) > slow * CHANGED or max(recent) * CHANGED < fast

    def _expected(self, way: float) -> float | None:
        """Seconds that an interval of this length usually takes; None while that is not known."""
        points = list(self._points)[-NEEDED * 6 :]
        if len(points) < NEEDED:
            return None
        paces = [(b[0] - a[0]) / (b[1] - a[1]) for a, b in pairwise(points) if b[1] > a[1]]
        return median(paces) * way if paces else None

    def _slopes(self) -> list[float]:
        """Seconds of work for one unit, between points half a window apart."""
        points = list(self._points)
        half = max(1, len(points) // 2)
        pairs = zip(points, points[half:], strict=False)
        slopes = [(b[0] - a[0]) / (b[1] - a[1]) for a, b in pairs if b[1] > a[1]]
        return [slope for slope in slopes if math.isfinite(slope)]

    def _pauses_left(self, place: Place, end: float) -> tuple[float, float, float]:
        """Seconds of pauses still to come: likely, at least, at most."""
        if not self._pauses:
            return 0.0, 0.0, 0.0
        left = max(0.0, end - place.done)
        if place.in_epochs:
            return self._epoch_pauses_left(place, end)
        whole = sum(pause.seconds for pause in self._pauses)
        first, last = self._pauses[0], self._pauses[-1]
        if (spacing := _regular([pause.done for pause in self._pauses])) is not None:
            times = math.floor((end - last.done) / spacing + REGULAR)
            lost = sorted(pause.seconds for pause in self._pauses)
            return times * median(lost), times * lost[0], times * lost[-1]
        if len(self._pauses) > 1 and last.done > first.done:
            each = (whole - first.seconds) / (last.done - first.done)
            return left * each, left * each * 0.5, left * each * 1.5
        way = max(place.done - self._first, 0.0)
        each = whole / way if way else 0.0
        return left * each, 0.0, left * each

    def _epoch_pauses_left(self, place: Place, end: float) -> tuple[float, float, float]:
        """What the epochs that were seen to their end lost, once for each that is still to end."""
        lost: dict[int, float] = {}
        for pause in self._pauses:
            epoch = _epoch_of(pause.done)
            lost[epoch] = lost.get(epoch, 0.0) + pause.seconds
        present = _epoch_of(place.done)
        begun = max(round(self._first), present - EPOCHS_KEPT)
        ended = [lost.get(epoch, 0.0) for epoch in range(begun, present)]
        if not ended:
            return 0.0, 0.0, max(0.0, end - place.done) * max(lost.values())
        each = median(ended)
        epochs = max(0.0, end - present - 1)
        now = max(0.0, each - lost.get(present, 0.0)) if place.done < end else 0.0
        return (
            epochs * each + now,
            epochs * min(ended),
            epochs * max(ended) + max(now, max(ended) - lost.get(present, 0.0)),
        )


def by_mean_pace(took: float | None, done: float | None, begun: float | None) -> float | None:
    """Seconds to the end of a run that has taken `took` seconds for the share `done` of its way; `begun`: the share at
    which it was first seen. None where too little is known, or it may have begun elsewhere.
    """
    if not took or not done or done < LEAST_SHARE or begun is None or begun > FROM_START:
        return None
    return took * (1 - done) / done


def _regular(places: list[float]) -> float | None:
    """The spacing of places that lie equally far apart; None where they do not."""
    ways = [b - a for a, b in pairwise(places)]
    if len(ways) < 2:
        return None
    usual = median(ways)
    even = usual > EPSILON and all(abs(way - usual) <= REGULAR * usual for way in ways)
    return usual if even else None


def _same_way(old: Place, new: Place) -> bool:
    totals = {place.total for place in (old, new)} - {None}
    return old.in_epochs == new.in_epochs and len(totals) < 2


def _epoch_of(done: float) -> int:
    """The epoch, from 0, that a place lies in; its end still belongs to it."""
    return max(0, math.ceil(done) - 1)


def _spread(slopes: list[float]) -> tuple[float, float]:
    """A low and a high pace: the tenths at both ends."""
    if len(slopes) < 4:
        return min(slopes), max(slopes)
    tenths = quantiles(slopes, n=10, method="inclusive")
    return tenths[0], tenths[-1]
