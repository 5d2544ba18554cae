"""What the queue files of one sweep say of each other: cells that are missing, doubled or moved. Pure.

A queue file that was not read is not an empty one: what could stand in it is not called missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet_now import FleetNow, Member
from gpu_tui.core.queue_done import listed
from gpu_tui.core.rules import Condition
from gpu_tui.core.sweep import Cell, CellState

Found = tuple[str, Condition]

EACH = 20  # findings of one kind that one instance shows one by one; the rest stand in one more
LIVE = frozenset({CellState.RUNNING, CellState.CANNOT_TELL})
WELL = frozenset({CellState.FINISHED, CellState.SYNC_FAILED, CellState.SUSPICIOUS})


@dataclass(frozen=True, slots=True)
class _Place:
    """A cell on one box: `planned` = in its queue file, `cell` = its row, None where it has none."""

    member: Member
    planned: bool
    cell: Cell | None

    @property
    def name(self) -> str:
        return self.member.instance.name

    @property
    def started(self) -> bool:
        return self.cell is not None and self.cell.logged

    @property
    def live(self) -> bool:
        return self.cell is not None and self.cell.state in LIVE

    @property
    def well(self) -> bool:
        return self.cell is not None and self.cell.state in WELL

    @property
    def passed(self) -> bool:
        """The queue there was started behind it, or went past it: it will not run it."""
        return self.cell is not None and self.cell.state is CellState.SKIPPED

    @property
    def word(self) -> str:
        return self.cell.state.value if self.cell else "not in its queue"


@dataclass(frozen=True, slots=True)
class _Sweep:
    """All queue files and logs together. `shared`: the cells that are on more than one box, by name."""

    planned: Set[str]
    known: Set[str]  # planned or logged
    shared: Mapping[str, Sequence[_Place]]
    all_read: bool  # every queue file of the fleet was


def roster_conditions(seen: FleetNow) -> Iterator[Found]:
    """Instance name and condition."""
    sweep = _sweep(seen.members)
    for member in seen.members:
        yield from _lines(member)
        yield from _capped(member, _twice(member))
        yield from _closing(member, sweep)
        yield from _capped(member, _never_run(member, sweep))
        yield from _capped(member, _unplanned(member, sweep))
    by_origin: defaultdict[str, list[Condition]] = defaultdict(list)
    for name, at in sweep.shared.items():
        for origin, condition in _across(name, at):
            by_origin[origin].append(condition)
    for member in seen.members:
        yield from _capped(member, by_origin[member.instance.name])


def _sweep(members: Sequence[Member]) -> _Sweep:
    plans = [
        frozenset(c.name for c in m.roster.cells) if m.roster else frozenset() for m in members
    ]
    logs = [frozenset(c.name for c in m.queue.cells if c.logged) for m in members]
    known: set[str] = set()
    twice: set[str] = set()
    for plan, log in zip(plans, logs, strict=True):
        here = plan | log
        twice |= known & here
        known |= here
    shared: defaultdict[str, list[_Place]] = defaultdict(list)
    for member, plan, log in zip(members, plans, logs, strict=True):
        mine = twice & (plan | log)
        rows = {c.name: c for c in member.queue.cells if c.job is None and c.name in mine}
        for name in sorted(mine):
            shared[name].append(_Place(member, name in plan, rows.get(name)))
    all_read = all(m.roster is not None for m in members if m.instance.queue.file)
    return _Sweep(frozenset().union(*plans), known, shared, all_read)


def _source(member: Member) -> str:
    return f"queue:{member.instance.queue.file}"


def _lines(member: Member) -> Iterator[Found]:
    """Lines that are no cell: the queue script runs them all the same."""
    roster = member.roster
    if roster is None or not roster.rejected or member.instance.queue.useless:
        return
    shown = "; ".join(map(str, roster.rejected[:3]))
    more = len(roster.rejected) - 3
    text = f"no cell, but it counts as one: {shown}" + (f"; and {more} more" if more > 0 else "")
    yield (
        member.instance.name,
        Condition("missing_cell", Severity.WARN, text, _source(member), part="lines"),
    )


def _twice(member: Member) -> Iterator[Condition]:
    """Names that stand more than once in one queue file."""
    if member.roster is None:
        return
    lines: dict[str, list[str]] = {name: [] for name in member.roster.duplicates}
    for cell in member.roster.cells if lines else ():
        if cell.name in lines:
            lines[cell.name].append(str(cell.line))
    for name, at in lines.items():
        text = f"it stands in lines {listed(at)} of one queue file"
        yield Condition("duplicate_cell", Severity.WARN, text, _source(member), name)


def _closing(member: Member, sweep: _Sweep) -> Iterator[Found]:
    """Where QUEUE DONE contradicts the end lines, or names what is no cell of any queue."""
    queue, name = member.queue, member.instance.name
    source = f"log:{queue.log}" if queue.log else "queue"
    for number, doubt in enumerate(queue.doubts):
        yield name, Condition("suspicious_end", Severity.WARN, doubt, source, part=f"done-{number}")
    nowhere = [one for one in queue.unplanned if one not in sweep.known]
    if nowhere and sweep.all_read:
        text = f"QUEUE DONE lists {listed(nowhere)} as failed, and no queue file has it"
        yield name, Condition("missing_cell", Severity.WARN, text, source, part="done")


def _never_run(member: Member, sweep: _Sweep) -> Iterator[Condition]:
    """Planned cells that this queue start will not come to any more, and that no other box has."""
    file = member.queue.file or "the queue file"
    for cell in member.queue.cells:
        if cell.never_run and cell.artifact != "present" and cell.name not in sweep.shared:
            text = f"{cell.why}; run_queue.sh {file} {cell.index} starts the queue at it"
            yield Condition("missing_cell", Severity.SERIOUS, text, _source(member), cell.name)


def _unplanned(member: Member, sweep: _Sweep) -> Iterator[Condition]:
    """Cells that the log knows and that no queue file has."""
    if not sweep.all_read or not member.instance.queue.file:
        return  # without a queue file of its own its cells have none by intent
    broken = {line.index for line in member.roster.rejected} if member.roster else set()
    for cell in member.queue.cells:
        if cell.logged and cell.name not in sweep.planned and cell.index not in broken:
            text = f"its log shows it ({cell.state.value}), but no queue file has it"
            yield Condition("missing_cell", Severity.WARN, text, _source(member), cell.name)


def _across(name: str, at: Sequence[_Place]) -> Iterator[Found]:
    """One name on several boxes: it moved, or two queues will both run it."""
    planned = [place for place in at if place.planned]
    if len(at) < 2 or not planned:
        return
    for origin in at:
        if not origin.started or origin.live or origin.well:
            continue
        target = next((to for to in planned if to is not origin and not to.well), None)
        if target is not None:
            text = (
                f"it was started on {origin.name} ({origin.word}) and stands in the queue of"
                f" {target.name} ({target.word})"
            )
            yield (
                origin.name,
                Condition("moved_cell", Severity.WARN, text, _source(origin.member), name),
            )
            return
    if any(place.well for place in at):
        yield from _again(name, at)
        return
    rivals = [place for place in planned if not place.passed]
    if len(rivals) > 1:
        boxes = " and ".join(place.name for place in rivals)
        text = f"it stands in the queues of {boxes}: both would write the same artifact"
        for place in rivals:
            yield (
                place.name,
                Condition("duplicate_cell", Severity.WARN, text, _source(place.member), name),
            )


def _again(name: str, at: Sequence[_Place]) -> Iterator[Found]:
    """It ended well on one box, and another one runs it now or will."""
    done = next(place for place in at if place.well)
    for place in at:
        waits = place.cell is not None and place.cell.state is CellState.PENDING
        if place is not done and place.planned and (waits or place.live):
            text = f"it ended well on {done.name} and stands in the queue of {place.name} ({place.word})"
            yield (
                done.name,
                Condition("moved_cell", Severity.WARN, text, _source(done.member), name),
            )
            return


def _capped(
    member: Member, conditions: Iterator[Condition] | Sequence[Condition]
) -> Iterator[Found]:
    """The first of each kind one by one, the others summed up."""
    kinds: defaultdict[tuple[str, Severity], list[Condition]] = defaultdict(list)
    for condition in conditions:
        kinds[(condition.kind, condition.severity)].append(condition)
    for (kind, severity), some in kinds.items():
        for condition in some[:EACH]:
            yield member.instance.name, condition
        rest = [condition.cell or "?" for condition in some[EACH:]]
        if rest:
            text = f"and {len(rest)} more cells: {listed(rest)}"
            if len(rest) == 1:
                text = f"and 1 more cell: {listed(rest)}"
            part = f"more-{severity.value}"
            yield member.instance.name, Condition(kind, severity, text, some[0].source, part=part)
