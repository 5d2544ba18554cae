"""Which cells to move so that a sweep ends sooner. A suggestion only: nothing is moved from here. Pure.

Only cells that never started move, and only from the end of a queue file: what stays keeps its numbers, and
so does the index that a queue is started again with. A queue file is append-only while its queue runs, and
"skip what is done" looks at its own box only: a cell that is left in both files runs twice. No cell goes to a box that
is unfit for it, nor to one that ends before the cell does.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import takewhile

from gpu_tui.core.campaign import LaneOutlook, Outlook, Trust
from gpu_tui.core.sweep import Cell, CellState

WORTH_SECONDS = 60.0  # less than this is not worth a person's time
WORTH_SHARE = 0.05  # nor is less than this share of what is left
MOST_OF_IT = 0.9  # of the gain: the moves that bring the rest are not worth reading
MOVES = 500


@dataclass(frozen=True, slots=True)
class Move:
    """One cell, and the seconds that it should take where it goes."""

    cell: str
    origin: str
    target: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Plan:
    """`before` and `after` are seconds to the end of the last queue that can tell; `behind` is how long
    `last` ends after the next. `restart`: targets whose queue has ended. `rough`: no cell of some moved
    cell's task has ended yet.
    """

    last: str
    behind: float
    moves: tuple[Move, ...]
    before: float
    after: float
    restart: tuple[str, ...] = ()
    rough: bool = False


@dataclass(slots=True)
class _Side:
    """One queue while the plan is made."""

    outlook: LaneOutlook
    end: float
    names: set[str]
    give: list[Cell]  # the one that may go first is last
    received: bool = False

    def takes(self, seconds: float) -> bool:
        """Whether the box is fit for one more cell of this length, and lasts until that cell has ended."""
        lane = self.outlook.lane
        if lane.unfit is not None:
            return False
        return lane.ends_in is None or self.end + seconds < lane.ends_in


def suggest(outlook: Outlook) -> Plan | None:
    """The plan that ends soonest of those found greedily, or None where none is worth it."""
    sides = [_side(one) for one in outlook.lanes if _takes_part(one)]
    if len(sides) < 2:
        return None
    sides.sort(key=lambda side: side.end)
    last, taking_part = sides[-1], {side.outlook.lane.name for side in sides}
    others = [one.left.best or 0.0 for one in outlook.lanes if one.lane.name not in taking_part]
    fixed = max(others, default=0.0)  # when the last of those ends that nothing is moved to or from
    before = max(last.end, fixed)
    behind = before - max(sides[-2].end, fixed)
    moves: list[Move] = []
    ends: list[float] = []  # of the whole sweep, after each move
    rough: list[bool] = []
    while len(moves) < MOVES:
        origin = max(sides, key=lambda side: side.end)
        move = _next_move(outlook, origin, sides)
        if move is None:
            break
        cell, target, seconds, spared = move
        origin.give.pop()
        origin.end -= spared
        target.end += seconds
        target.names.add(cell.name)
        target.received = True
        moves.append(Move(cell.name, origin.outlook.lane.name, target.outlook.lane.name, seconds))
        rough.append(not outlook.typical.same_task(cell))
        ends.append(max(fixed, *(side.end for side in sides)))
    gain = before - min(ends, default=before)
    if gain < max(WORTH_SECONDS, WORTH_SHARE * before):
        return None
    kept = next(n for n, end in enumerate(ends, 1) if before - end >= MOST_OF_IT * gain)
    chosen = tuple(moves[:kept])
    targets = {move.target for move in chosen}
    restart = tuple(
        side.outlook.lane.name
        for side in sides
        if side.outlook.lane.name in targets and side.outlook.lane.queue.running is None
    )
    return Plan(
        last.outlook.lane.name, behind, chosen, before, ends[kept - 1], restart, any(rough[:kept])
    )


def _takes_part(one: LaneOutlook) -> bool:
    """A queue file on a box that answers, whose end is known."""
    lane = one.lane
    return (
        lane.one_by_one
        and lane.trust is Trust.LIVE
        and lane.queue.file is not None
        and one.left.best is not None
        and lane.queue.count(CellState.RUNNING) < 2
    )


def _side(one: LaneOutlook) -> _Side:
    cells = one.lane.queue.cells
    give: list[Cell] = []
    for cell in reversed(cells):
        if cell.state is not CellState.PENDING:
            break
        give.append(cell)
    names = Counter(cell.name for cell in cells)
    # A name that stands twice is a mistake of its own: nothing that could lose a cell is suggested.
    give = list(takewhile(lambda cell: names[cell.name] == 1, give))
    give.reverse()
    return _Side(one, one.left.best or 0.0, set(names), give)


def _next_move(
    outlook: Outlook, origin: _Side, sides: list[_Side]
) -> tuple[Cell, _Side, float, float] | None:
    """The last cell of the queue that ends last, to where it would end soonest; None where that is no sooner."""
    if origin.received or not origin.give:
        return None
    cell = origin.give[-1]
    spared = outlook.typical.expect(cell, origin.outlook.lane.name).best
    found: tuple[float, _Side, float] | None = None
    for side in sides:
        seconds = outlook.typical.expect(cell, side.outlook.lane.name).best
        if side is origin or cell.name in side.names or seconds is None:
            continue
        if not side.takes(seconds):
            continue
        if found is None or side.end + seconds < found[0]:
            found = (side.end + seconds, side, seconds)
    if found is None or spared is None or found[0] >= origin.end:
        return None
    return cell, found[1], found[2], spared
