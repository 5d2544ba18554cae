"""The whole sweep: how many cells stand where, when each queue and the last of them ends, and what it costs.

Nothing is guessed where a queue cannot tell: its end is a lower bound, and so is the sweep's. Currencies are
never added up. Pure; all times are seconds from `now`.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from gpu_tui.core.bounds import NO_IDEA, NOTHING, Span, longest, total
from gpu_tui.core.stillness import hangs
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.core.typical import FEW, Typical, typical_of

# Where two queues name one cell, the state that comes first counts: it has a result, or will have one soonest.
TELLS_MOST = (
    CellState.FINISHED, CellState.RUNNING, CellState.SYNC_FAILED, CellState.SUSPICIOUS,
    CellState.CANNOT_TELL, CellState.FAILED, CellState.PENDING, CellState.SKIPPED,
)  # fmt: skip
MORE = "no list names what begins next"
RANK = {state: rank for rank, state in enumerate(TELLS_MOST)}


class Trust(StrEnum):
    """What the readings of one box are worth now."""

    LIVE = "live"
    STALE = "stale"
    UNREACHABLE = "unreachable"
    OFF = "off"
    UNREAD = "not read yet"


@dataclass(frozen=True, slots=True)
class Lane:
    """One box with its queue. `contact` is how many seconds ago it last answered.

    `one_by_one`: a queue file whose cells run one after another; otherwise as many run at once as run now.
    `begun_only`: its cells are known because they began, and no list names the next ones.
    `adrift`: its runner is dead, so the rest starts only when a person starts it. `unfit`: why no cell should be moved
    to it; `ends_in`: seconds until a full disk, its inodes, the balance or a deadline of its platform ends work on it.
    `scheduled`: a scheduler runs its jobs. `spent_exact`: the provider said since when it bills; otherwise `spent` counts from when the box was first seen.
    """

    name: str
    queue: Queue
    trust: Trust = Trust.LIVE
    contact: float | None = None
    one_by_one: bool = True
    begun_only: bool = False
    stalled: bool = False
    per_hour: float | None = None
    currency: str | None = None
    spent: float | None = None
    spent_exact: bool = False
    basis: str = "unknown"
    adrift: bool = False
    unfit: str | None = None
    ends_in: float | None = None
    scheduled: bool = False

    @property
    def unnamed(self) -> int:
        """Cells that the log counts but nobody has named."""
        return max(0, (self.queue.total or 0) - len(self.queue.cells))


@dataclass(frozen=True, slots=True)
class Tally:
    """Cells by state. The groups have no cell in common, and together they are `total`."""

    states: Mapping[CellState, int] = field(default_factory=dict)
    unnamed: int = 0

    def count(self, *states: CellState) -> int:
        """How many cells are in one of `states`."""
        return sum(self.states.get(state, 0) for state in states)

    @property
    def total(self) -> int:
        """All cells."""
        return sum(self.states.values()) + self.unnamed

    @property
    def done(self) -> int:
        """Ended well."""
        return self.count(CellState.FINISHED)

    @property
    def left(self) -> int:
        """Not begun yet, or not known by name."""
        return self.count(CellState.PENDING) + self.unnamed


@dataclass(frozen=True, slots=True)
class LaneOutlook:
    """One queue: `left` to its end, `to_come` in its currency until then, `why` where it cannot tell."""

    lane: Lane
    tally: Tally
    left: Span
    to_come: Span | None
    speed: float | None
    why: str | None = None

    @property
    def over(self) -> bool:
        """Nothing runs, waits or is in doubt."""
        return self.lane.trust is not Trust.UNREAD and is_over(self.lane.queue, self.tally)


@dataclass(frozen=True, slots=True)
class Bill:
    """One currency: `spent` is a lower bound where a box does not tell all of its own."""

    spent: Span
    to_come: Span


@dataclass(frozen=True, slots=True)
class Outlook:
    """All queues. `told` is the end of those that can tell; `silent` are the others.

    `doubled` names stand in more than one place. `bills` by currency; `unpriced` boxes have no price.
    """

    lanes: tuple[LaneOutlook, ...] = ()
    tally: Tally = field(default_factory=Tally)
    doubled: tuple[str, ...] = ()
    whole: bool = True  # every queue was read: no further cell is expected
    left: Span = NOTHING
    told: Span | None = None
    silent: tuple[str, ...] = ()
    last: str | None = None  # the queue that ends last, of those that can tell
    bills: Mapping[str, Bill] = field(default_factory=dict)
    unpriced: tuple[str, ...] = ()
    typical: Typical = field(default_factory=Typical)

    @property
    def over(self) -> bool:
        """Every queue is."""
        return all(one.over for one in self.lanes)

    @property
    def more(self) -> bool:
        """Whether a queue may start cells that no list names."""
        return any(one.lane.queue.more for one in self.lanes)

    def of(self, name: str) -> LaneOutlook | None:
        """One box's queue; None where it has none."""
        return next((one for one in self.lanes if one.lane.name == name), None)


def outlook_of(lanes: Sequence[Lane]) -> Outlook:
    """The outlook of a sweep over these queues."""
    typical = typical_of((lane.name, lane.queue.cells) for lane in lanes)
    views = tuple(_lane_outlook(lane, typical) for lane in lanes)
    tellers = [one for one in views if one.left.best is not None]
    last = max(tellers, key=lambda one: one.left.best or 0.0, default=None)
    tally, doubled = count_once(lane.queue for lane in lanes)
    return Outlook(
        lanes=views,
        tally=tally,
        doubled=doubled,
        whole=all(lane.trust is not Trust.UNREAD for lane in lanes),
        left=longest(one.left for one in views),
        told=longest(one.left for one in tellers) if tellers else None,
        silent=tuple(one.lane.name for one in views if one.left.best is None),
        last=last.lane.name if last is not None and last.left.best else None,
        bills=_bills(views),
        unpriced=tuple(lane.name for lane in lanes if lane.per_hour is None),
        typical=typical,
    )


def count_once(queues: Iterable[Queue]) -> tuple[Tally, tuple[str, ...]]:
    """Count each cell of several queues once by its name, in its most informative state; also return the names that
    several queues have. A queue that names a cell twice runs it twice.
    """
    best: dict[tuple[str, int], CellState] = {}
    seen: Counter[str] = Counter()
    unnamed = 0
    for queue in queues:
        unnamed += max(0, (queue.total or 0) - len(queue.cells))
        here: Counter[str] = Counter()
        for cell in queue.cells:
            here[cell.name] += 1
            key = cell.name, here[cell.name]
            old, new = best.get(key), standing(cell)
            if old is None or RANK[new] < RANK[old]:
                best[key] = new
        seen += here
    doubled = tuple(name for name, times in seen.items() if times > 1)
    return Tally(Counter(best.values()), unnamed), doubled


def is_over(queue: Queue, tally: Tally) -> bool:
    """Whether a queue that was read has ended: no cell runs or waits, or may do so, and no more cells may follow. A cell
    that is over is not open, though nothing says how it ended.
    """
    open_ = tally.count(CellState.RUNNING, CellState.PENDING, CellState.CANNOT_TELL)
    open_ -= sum(
        cell.state is CellState.CANNOT_TELL and cell.finished_at is not None for cell in queue.cells
    )
    return not (open_ or queue.more or (tally.unnamed and not queue.claimed_done))


def standing(cell: Cell) -> CellState:
    """What a cell counts as: one that its queue went past without starting it is still to be done."""
    return CellState.PENDING if cell.never_run else cell.state


def running_left(cell: Cell, typical: Typical, box: str) -> Span:
    """Seconds to the end of a cell that runs now."""
    if hangs(cell) is not None:
        return NO_IDEA
    if cell.eta_seconds is not None:
        low, high = cell.eta_range or (cell.eta_seconds / FEW, cell.eta_seconds * FEW)
        return Span(min(low, cell.eta_seconds), cell.eta_seconds, max(high, cell.eta_seconds))
    if cell.duration_seconds is None:
        return NO_IDEA
    return typical.expect(cell, box).less(cell.duration_seconds)


def _lane_outlook(lane: Lane, typical: Typical) -> LaneOutlook:
    left, why = _lane_left(lane, typical)
    to_come = None if lane.per_hour is None else left.times(lane.per_hour / 3600)
    tally, _ = count_once((lane.queue,))
    return LaneOutlook(lane, tally, left, to_come, typical.speeds.get(lane.name), why)


def _lane_left(lane: Lane, typical: Typical) -> tuple[Span, str | None]:
    """Seconds to the end of one queue, and why it is only a bound where it is one."""
    if lane.trust is Trust.UNREAD:
        return NO_IDEA, "its queue was not read yet"
    cells = lane.queue.cells
    runs = [cell for cell in cells if cell.state is CellState.RUNNING]
    untold = [cell for cell in cells if cell.state is CellState.CANNOT_TELL]
    # Of the others only how they ended is not known.
    unsure = [cell for cell in untold if cell.finished_at is None]
    passed = [cell for cell in cells if cell.never_run]
    pending = [c for c in cells if c.again or (c.state is CellState.PENDING and not c.never_run)]
    unnamed = 0 if lane.queue.claimed_done else lane.unnamed
    if lane.queue.more and not runs:
        return NO_IDEA, MORE
    if not (runs or unsure or pending or passed or unnamed):
        return NOTHING, f"nothing says how {untold[0].name} ended" if untold else None
    starts = ends = [running_left(cell, typical, lane.name) for cell in runs]
    lasting = [typical.expect(cell, lane.name) for cell in pending]
    beside = NOTHING
    if lane.one_by_one and len(starts) > 1:  # what runs beside the queue takes no turn in it
        starts, beside = starts[:1], longest(starts[1:])
    left = longest((_in_turn(starts or [NOTHING], lasting), beside))
    late = next((cell for cell, end in zip(runs, ends, strict=True) if not end.known), None)
    why = _doubt(lane, runs, unsure, [*passed, *pending], late, left)
    if why is None:
        return left, None
    away = lane.contact if lane.trust in (Trust.STALE, Trust.UNREACHABLE) else 0.0
    return left.at_least(away or 0.0), why


def _doubt(
    lane: Lane,
    runs: list[Cell],
    unsure: list[Cell],
    waiting: list[Cell],
    late: Cell | None,
    left: Span,
) -> str | None:
    """Why the end of this queue is only a bound; None where it can tell."""
    if lane.trust is Trust.OFF:
        return "the box is off"
    if lane.trust is not Trust.LIVE:
        return f"{lane.trust.value}: this is what was seen last"
    if lane.queue.refused:
        return "its wrapper refused to start"
    if unsure:
        return f"nothing says whether {unsure[0].name} still runs"
    if lane.adrift and waiting:
        return f"its runner is gone, and {len(waiting)} never ran"
    if not runs and waiting:
        ended = "its queue has ended" if lane.queue.claimed_done else "nothing runs"
        return f"{ended}, and {len(waiting)} never ran"
    if lane.unnamed and not lane.queue.claimed_done:
        if lane.unnamed == 1:
            return "1 of its cells is not known by name"
        return f"{lane.unnamed} of its cells are not known by name"
    if lane.stalled:
        return f"{runs[0].name} stands still"
    if left.best is None:
        return f"{late.name} tells no end" if late else "no cell has ended yet to go by"
    if lane.begun_only or lane.queue.more:
        return MORE
    return None


def _in_turn(starts: Sequence[Span], lasting: Sequence[Span]) -> Span:
    """When the last cell ends if each takes the place that is free first."""
    low = _last_end([start.low for start in starts], [span.low for span in lasting])
    best = _all(span.best for span in (*starts, *lasting))
    high = _all(span.high for span in (*starts, *lasting))
    at = len(starts)
    if best is None:
        return Span(low)
    latest = None if high is None else _last_end(high[:at], high[at:])
    return Span(low, _last_end(best[:at], best[at:]), latest)


def _last_end(free: Sequence[float], lasting: Iterable[float]) -> float:
    places = list(free)
    heapq.heapify(places)
    for seconds in lasting:
        heapq.heapreplace(places, places[0] + seconds)
    return max(places)


def _all(numbers: Iterable[float | None]) -> list[float] | None:
    every = list(numbers)
    known = [number for number in every if number is not None]
    return known if len(known) == len(every) else None


def _bills(views: Sequence[LaneOutlook]) -> Mapping[str, Bill]:
    bills: dict[str, Bill] = {}
    for currency in dict.fromkeys(
        one.lane.currency or "" for one in views if one.lane.per_hour is not None
    ):
        mine = [
            one
            for one in views
            if one.lane.per_hour is not None and (one.lane.currency or "") == currency
        ]
        bills[currency] = Bill(
            total(spent_so_far(one.lane) for one in mine),
            total(one.to_come or NO_IDEA for one in mine),
        )
    return bills


def spent_so_far(lane: Lane) -> Span:
    """What is gone: a lower bound where it counts from when this program first saw the box."""
    if lane.spent is None:
        return NO_IDEA
    return Span(lane.spent, lane.spent, lane.spent) if lane.spent_exact else Span(lane.spent)
