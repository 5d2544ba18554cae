"""Writes the first line of `check`: every box that needs a person, with its cells and the cause. The same state gives
the same line, in whatever order its findings came.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from gpu_tui.core.findings import BOUNDS, OUTCOMES, Finding, Severity, in_order
from gpu_tui.core.plain import plain
from gpu_tui.core.speech import headed, joined, listed, say
from gpu_tui.core.sweep import CellState
from gpu_tui.core.vanished import UNTOLD
from gpu_tui.core.verdict import ESCALATES
from gpu_tui.state.views import FleetView

BOXES_SHOWN, CAUSES_SHOWN, CELLS_SHOWN = 4, 2, 4
NAME = 40  # characters of a cell's name
LINE = 240
JUST_NOW = (
    60.0  # seconds: a condition first seen within them may be much older, so its time is left out
)


def headline(view: FleetView) -> str:
    """The boxes that need a person, worst first; if none does, how many boxes are in which state."""
    of_box: defaultdict[str, list[Finding]] = defaultdict(list)
    grave = [found for found in view.findings if found.severity.rank <= Severity.SERIOUS.rank]
    escalates = any(one.verdict in ESCALATES for one in view.instances)
    for found in grave if grave or escalates else ends_unsaid(view):
        of_box[found.instance].append(found)
    order = {one.name: place for place, one in enumerate(view.instances)}
    told: list[tuple[tuple[int, int], str]] = []
    for name, findings in of_box.items():
        worst = min(found.severity.rank for found in findings)
        rank = worst if name in order else -1  # in no fleet file: it bills unwatched
        words, box = _causes(findings, view.taken_at), plain(name, NAME)
        of_cells = grouped_by_kind(findings)[0][0].cell is not None
        words = headed(box, words) if of_cells else f"{box} {words}"
        told.append(((rank, order.get(name, -1)), words))
    for one in view.instances:
        if one.verdict in ESCALATES and one.name not in of_box:
            key = (Severity.SERIOUS.rank, order[one.name])
            told.append((key, f"{one.name} {say(one.verdict)}"))
    if not told:
        counted = Counter(str(one.verdict) for one in view.instances)
        return listed(f"{number} {say(verdict)}" for verdict, number in counted.most_common())
    boxes = [words for _, words in sorted(told)]
    shown, more = plain(joined(boxes[:BOXES_SHOWN]), LINE), len(boxes) - BOXES_SHOWN
    return say("{shown} and {names} more", shown=shown, names=more) if more > 0 else shown


def ends_unsaid(view: FleetView) -> list[Finding]:
    """Of the runs that are over, and nothing says how they ended."""
    open_ends = {
        (one.name, cell.name)
        for one in view.instances
        for cell in one.queue.cells
        if cell.state is CellState.CANNOT_TELL
    }
    return [
        found
        for found in view.findings
        if found.kind == UNTOLD and (found.instance, found.cell) in open_ends
    ]


def grouped_by_kind(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Findings of one box grouped by kind, worst first. Each cell is in one group: its worst, then its cause."""
    first: dict[str | None, Finding] = {}
    bare: list[Finding] = []
    for found in in_order(findings):
        if found.cell is None:
            bare.append(found)
        else:
            first.setdefault(found.cell, found)
    groups: defaultdict[tuple[int, str], list[Finding]] = defaultdict(list)
    for found in (*first.values(), *bare):
        groups[(found.severity.rank, found.kind)].append(found)
    kinds = sorted(groups, key=lambda key: (key[0], key[1] in OUTCOMES, -len(groups[key]), key[1]))
    return [groups[key] for key in kinds]


def _causes(findings: Iterable[Finding], now: float) -> str:
    groups = grouped_by_kind(findings)
    shown = listed(cause_words(group, now) for group in groups[:CAUSES_SHOWN])
    more = len(groups) - CAUSES_SHOWN
    return say("{shown} and {names} more", shown=shown, names=more) if more > 0 else shown


def cause_words(group: Sequence[Finding], now: float) -> str:
    """Findings of one kind of one box: `4 cells gpu oom (b2 b3 b4 big) 06:25:22 UTC`, `cell x failed`."""
    kind, cells = group[0].kind, [plain(found.cell, NAME) for found in group if found.cell]
    what = say(kind.replace("_", " "))
    if cells:
        what = say("failed") if kind == "crashed" else what
        if len(cells) == 1:
            what = say("cell {cell} {what}", cell=cells[0], what=what)
        else:
            more = len(cells) - CELLS_SHOWN
            names = " ".join(cells[:CELLS_SHOWN]) + (f" +{more}" if more > 0 else "")
            what = say("{number} cells {what} ({names})", number=len(cells), what=what, names=names)
    when = last_time([found for found in group if found.cell] or group, now)
    return f"{what} {when}" if when else what


def last_time(group: Iterable[Finding], now: float) -> str:
    """When the last of the findings happened, by evidence from the box; `≤` marks an upper bound. Empty if it was just
    now.
    """
    last = max(group, key=lambda found: found.at, default=None)
    if last is None or now - last.at < JUST_NOW:
        return ""
    form = "%H:%M:%S UTC" if 0 <= now - last.at < 86_400 else "%Y-%m-%d %H:%M UTC"
    return ("≤" if last.basis in BOUNDS else "") + datetime.fromtimestamp(last.at, UTC).strftime(
        form
    )
