"""What the queue files of one sweep say of each other: cells that are missing, doubled or moved. Pure.

A queue file that was not read is not an empty one: what could stand in it is not called missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpu_tui.core.findings import Severity
from gpu_tui.core.queue_done import listed
from gpu_tui.core.rules import Condition
from gpu_tui.core.sweep import Cell, CellState

if TYPE_CHECKING:
    from gpu_tui.core.fleet_rules import FleetNow, Member

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


def roster_conditions(seen: FleetNow) -> Iterator[Found]:
    """Instance name and condition."""
    places = _places(seen.members)
    all_read = all(m.roster is not None for m in seen.members if m.instance.queue.file)
    for member in seen.members:
        yield from _lines(member)
        yield from _closing(member, places if all_read else None)
        yield from _capped(member, _never_run(member, places))
        if all_read:
            yield from _capped(member, _unplanned(member, places))
    by_origin: defaultdict[str, list[Condition]] = defaultdict(list)
    for name, at in places.items():
        for origin, condition in _across(name, at):
            by_origin[origin].append(condition)
    for member in seen.members:
        yield from _capped(member, by_origin[member.instance.name])


def _places(members: Sequence[Member]) -> Mapping[str, Sequence[_Place]]:
    """Every cell's name -> where it is planned or was logged."""
    found: defaultdict[str, list[_Place]] = defaultdict(list)
    for member in members:
        rows = {cell.name: cell for cell in member.queue.cells if cell.job is None}
        planned = {cell.name for cell in member.roster.cells} if member.roster else set()
        for name in planned | {name for name, cell in rows.items() if cell.logged}:
            found[name].append(_Place(member, name in planned, rows.get(name)))
    return found


def _source(member: Member) -> str:
    return f"queue:{member.instance.queue.file}"


def _lines(member: Member) -> Iterator[Found]:
    """Lines that are no cell: the queue script runs them all the same."""
    roster = member.roster
    if roster is None or not roster.rejected:
        return
    shown = "; ".join(map(str, roster.rejected[:3]))
    more = len(roster.rejected) - 3
    text = f"no cell, but it counts as one: {shown}" + (f"; and {more} more" if more > 0 else "")
    yield (
        member.instance.name,
        Condition("missing_cell", Severity.WARN, text, _source(member), part="lines"),
    )


def _closing(member: Member, places: Mapping[str, Sequence[_Place]] | None) -> Iterator[Found]:
    """Where QUEUE DONE contradicts the end lines, or names what is no cell of any queue."""
    queue = member.queue
    source = f"log:{queue.log}" if queue.log else "queue"
    for number, doubt in enumerate(queue.doubts):
        yield (
            member.instance.name,
            Condition("suspicious_end", Severity.WARN, doubt, source, part=f"done-{number}"),
        )
    if places is None:
        return
    nowhere = [name for name in queue.unplanned if name not in places]
    if nowhere:
        text = f"QUEUE DONE lists {listed(nowhere)} as failed, and no queue file has it"
        yield (
            member.instance.name,
            Condition("missing_cell", Severity.WARN, text, source, part="done"),
        )


def _never_run(member: Member, places: Mapping[str, Sequence[_Place]]) -> Iterator[Condition]:
    """Planned cells that this queue start will not come to any more, and that ran nowhere else."""
    file = member.queue.file or "the queue file"
    for cell in member.queue.cells:
        elsewhere = any(
            (at.started or at.planned) and at.member is not member
            for at in places.get(cell.name, ())
        )
        if cell.job is not None or elsewhere or cell.artifact == "present":
            continue
        if cell.never_run:
            again = f"; run_queue.sh {file} {cell.index} starts the queue at it"
            text = f"{cell.why or 'it was never started'}{again}"
            yield Condition("missing_cell", Severity.SERIOUS, text, _source(member), cell.name)


def _unplanned(member: Member, places: Mapping[str, Sequence[_Place]]) -> Iterator[Condition]:
    """Cells that the log knows and that no queue file has."""
    if not member.instance.queue.file:
        return  # its cells have no queue file by intent
    for cell in member.queue.cells:
        at = places.get(cell.name, ())
        if cell.job is None and cell.logged and not any(place.planned for place in at):
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
            part = f"more-{severity.value}"
            yield member.instance.name, Condition(kind, severity, text, some[0].source, part=part)
