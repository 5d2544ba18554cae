"""The queue of one instance as rows: what the plan says, and what became of each cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo

from rich.text import Text

from gpu_tui.core import metrics, units
from gpu_tui.core.campaign import LaneOutlook, spent_so_far
from gpu_tui.core.queue_words import queue_words
from gpu_tui.core.remedies import OTHER_QUEUE
from gpu_tui.core.sample import Absent, Failure, Freshness
from gpu_tui.core.speech import headed, say, told
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.core.thinned import even
from gpu_tui.state.contract import jobs_not_counted, logs_not_read
from gpu_tui.state.settled import is_fresh
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.text.bounds import amount, between, ends, flow, left, tone
from gpu_tui.ui.text.marks import ABSENT, UNKNOWN, Piece, bar, fit, fitted, line, spark
from gpu_tui.ui.text.names import cut_name

STATES: dict[CellState, tuple[str, str, str]] = {
    CellState.PENDING: ("·", "pending", "muted"),
    CellState.RUNNING: ("●", "running", "level-ok"),
    CellState.FINISHED: ("✓", "finished", "accent"),
    CellState.SYNC_FAILED: ("✗", "sync failed", "level-act"),
    CellState.FAILED: ("✗", "failed", "level-act"),
    CellState.SUSPICIOUS: ("▲", "suspicious", "level-watch"),
    CellState.SKIPPED: ("–", "skipped", "muted"),
    CellState.CANNOT_TELL: ("?", "cannot tell", "unknown"),
}
NARROW = 66  # below this the state is its sign alone
LEAST_NAME, WHOLE_NAME = 6, 22
RESULTS = 7  # cells of the column that tells of results on the box


def state_of(cell: Cell) -> tuple[str, str, str]:
    """Its sign, its word and its style; one that runs and stands still is no sight like the others."""
    if cell.halted:
        return "▲", say("halted"), "level-act"
    if cell.still_seconds is not None:
        return "▲", say("silent {age}", age=units.age(cell.still_seconds)), "level-watch"
    glyph, word, style = STATES[cell.state]
    return glyph, say(word), style


def state_words(cell: Cell) -> str:
    """Its state by every name that a filter may call it: as it is written down, and as it stands on screen."""
    return f"{cell.state} {STATES[cell.state][1]} {state_of(cell)[1]}"


@dataclass(frozen=True, slots=True)
class _Widths:
    """Cells of each column, without the blank behind it; a column of none is left out."""

    index: int
    state: int
    name: int
    loss: int
    graph: int
    took: int
    exit: int
    results: int


def _widths(width: int, count: int, *, results: bool) -> _Widths:
    """For a queue of `count` cells, `results` of which are watched. A column gives way whole: half of a number is another number."""
    index = max(3, len(str(count)))
    state = 13 if width >= NARROW else 1
    # Beside the name, its epoch and what is left.
    spare = width - (index + 1 + state + 1 + 1 + 8 + 7)
    given = {"exit": 5, "loss": 9, "took": 8}
    while given and spare - sum(given.values()) < LEAST_NAME:
        given.popitem()
    spare -= sum(given.values())
    there = RESULTS if results and spare > WHOLE_NAME + RESULTS else 0
    spare -= there + 1 if there else 0
    name = max(LEAST_NAME, min(WHOLE_NAME, spare))
    graph = min(24, spare - name - 1)
    loss, took, last = (max(0, given.get(key, 0) - 1) for key in ("loss", "took", "exit"))
    return _Widths(index, state, name, loss, graph if graph >= 6 else 0, took, last, there)


def course(view: InstanceView, cell: Cell) -> Sequence[tuple[float, float | None]]:
    """The losses of a cell by how far it had come; one by one where no progress is known of them. Two logs that
    tell of one run, read one after the other, do not make it run twice.
    """
    known = view.courses.get(cell.name)
    timed = view.series.get(f"loss:{cell.name}", ())
    return known or [(float(n), value) for n, (_, value) in enumerate(timed)]


def queue_head(view: InstanceView, width: int) -> Text:
    """The titles above the cells."""
    has = _widths_of(view, width)
    pieces: list[Piece] = [(f"{'#':>{has.index}} ", "faint")]
    for title, cells, right in (
        ("state" if has.state > 1 else "", has.state, False), ("cell", has.name, False),
        ("epoch", 7, True), ("loss", has.loss, True), ("history", has.graph, False),
        ("took", has.took, True), ("left", 7, True), ("exit", has.exit, True),
        ("results", has.results, True),
    ):  # fmt: skip
        if cells:
            pieces += (*fitted((say(title), "faint"), cells, right=right), " ")
    return line(*pieces[:-1])


def cell_row(view: InstanceView, cell: Cell, width: int) -> Text:
    """One cell."""
    cells = view.queue.cells
    has = _widths_of(view, width)
    glyph, word, style = _state(view, cell)
    stale = not view.link.live
    tone = "stale" if stale else "text"
    tint = "stale" if stale and cell is view.queue.running else style
    called = cut_name(cell.name, has.name, [other.name for other in cells])
    parts = [
        fit(line((str(cell.index), "faint")), has.index, right=True),
        fit(line((glyph if has.state == 1 else f"{glyph} {word}", tint)), has.state),
        fit(line((called, "strong" if cell.state is CellState.RUNNING else tone)), has.name),
        fit(progress_of(cell), 7, right=True),
    ]
    if has.loss:
        parts.append(fit(loss_of(cell), has.loss, right=True))
    if graph := has.graph:
        losses = course(view, cell)
        values = even(losses, min(graph, len(losses)))
        parts.append(fit(spark(values, graph, "history") if values else line(), graph))
    if has.took:
        parts.append(fit(took_of(cell), has.took, right=True))
    parts.append(fit(left_of(cell), 7, right=True))
    if has.exit:
        parts.append(fit(exit_of(cell), has.exit, right=True))
    if has.results:
        parts.append(fit(_results(cell), has.results, right=True))
    return line(parts[0], *(piece for part in parts[1:] for piece in (" ", part)))


def _state(view: InstanceView, cell: Cell) -> tuple[str, str, str]:
    """As it stands in the queue of its box."""
    if cell.state is CellState.CANNOT_TELL and is_fresh(view):
        return "◔", say("first look"), "muted"
    return state_of(cell)


def progress_of(cell: Cell) -> Text:
    """The epoch, or the step if it reports no epoch."""
    if cell.state is CellState.PENDING:
        return line((ABSENT, "absent"))
    if cell.epoch is not None:
        return line((f"{cell.epoch}/{cell.epochs or UNKNOWN}", "text"))
    if cell.step is not None:
        return line(
            (
                f"{units.count(cell.step)}/{units.count(cell.steps)}"
                if cell.steps
                else f"{cell.step}",
                "text",
            )
        )
    return line((UNKNOWN, "unknown")) if cell.started_at else line((ABSENT, "absent"))


def loss_of(cell: Cell) -> Text:
    """The last loss that was reported."""
    if cell.loss is None:
        return line((ABSENT, "absent"))
    style = "text" if math.isfinite(cell.loss) else "level-act"
    return line((units.number(cell.loss), style))


def took_of(cell: Cell) -> Text:
    """The run time so far."""
    if cell.duration_seconds is None:
        unknown = cell.state is CellState.CANNOT_TELL
        return line((UNKNOWN, "unknown")) if unknown else line((ABSENT, "absent"))
    return line((units.span(cell.duration_seconds), "muted"))


def left_of(cell: Cell) -> Text:
    """The time to the end, if it is known."""
    if cell.eta_seconds is None:
        running = cell.state in (CellState.RUNNING, CellState.CANNOT_TELL)
        return line((UNKNOWN, "unknown")) if running else line((ABSENT, "absent"))
    return line((units.span(cell.eta_seconds, fine=False), "text"))


def exit_of(cell: Cell) -> Text:
    """The exit code, if it ended with one."""
    if cell.exit_code is None:
        return line((ABSENT, "absent"))
    return line((str(cell.exit_code), "muted" if cell.exit_code == 0 else "level-act"))


def _widths_of(view: InstanceView, width: int) -> _Widths:
    return _widths(width, len(view.queue.cells), results=view.instance.results.remote is not None)


def _results(cell: Cell) -> Text:
    """Whether all that it must leave lies in the results on the box: a name there proves nothing of its bytes."""
    if cell.artifact == "present":
        return line(("✓", "text"))
    begun = cell.state not in (CellState.PENDING, CellState.SKIPPED)
    if cell.artifact == "unknown":
        return line((UNKNOWN, "unknown")) if begun else line((ABSENT, "absent"))
    over = begun and cell.state not in (CellState.RUNNING, CellState.CANNOT_TELL)
    return line(("✗", "level-act")) if over else line((ABSENT, "absent"))


def results_note(view: InstanceView) -> Text | None:
    """How many of the cells that the fleet file names have their results on the box; None where it names none."""
    told = view.delivered
    if not told:
        return None
    if None in told.values():
        words = say("results on the box: {unknown} not read", unknown=UNKNOWN)
        return line((words, "unknown"))
    lacking = [name for name, there in told.items() if not there]
    words = say(
        "results on the box: {there} of {all} cells", there=len(told) - len(lacking), all=len(told)
    )
    if not lacking:
        return line((words, "text"))
    more = say(", not {name}", name=lacking[0]) if len(lacking) == 1 else ""
    return line((words + more, "muted"))


def totals(
    view: InstanceView, one: LaneOutlook | None, zone: tzinfo | None, width: int
) -> list[Text]:
    """The sums under the cells: done and failed, when it ends, money so far and to the end."""
    queue = view.queue
    if not queue.cells or one is None:
        return []
    tally, told = one.tally, queue_words(queue)
    first = line(
        bar(tally.done / tally.total if tally.total else 0.0, 12, "accent"),
        (f"  {told.brief}", "strong"),
    )
    pieces = [first]
    if view.queue_read is not None:
        age = units.age(view.taken_at - view.queue_read)
        pieces.append(line((say("off, as read {age} ago", age=age), "stale")))
    if failed := tally.count(CellState.FAILED):
        pieces.append(line((say("{failed} failed", failed=failed), "level-act")))
    if unsynced := queue.count(CellState.SYNC_FAILED):
        pieces.append(line((say("{unsynced} sync failed", unsynced=unsynced), "level-act")))
    if odd := queue.count(CellState.SUSPICIOUS):
        pieces.append(line((say("{odd} suspicious", odd=odd), "level-watch")))
    missing = (logs_not_read(queue), jobs_not_counted(queue))
    pieces += [line((words, "muted")) for words in missing if words]
    if queue.claimed_done:
        pieces.append(line((say("the log says: done"), "muted")))
    if not one.over:
        pieces += _end(one, view.taken_at, zone)
    money = _money(one)
    return flow([*pieces, *money], width)


def _end(one: LaneOutlook, now: float, zone: tzinfo | None) -> list[Text]:
    """How long the queue still takes and when it ends, with its range; or why nobody can tell."""
    span = one.left
    pieces = [line((say("left "), "muted"), (left(span), tone(span)))]
    if span.best is not None:
        pieces.append(line((say("ends "), "muted"), (ends(span, now, zone), "text")))
        if words := between(span, now, zone):
            pieces.append(line((words, "muted")))
    elif one.why is not None:
        pieces.append(line((told(one.why, own=True), "unknown")))
    return pieces


def _money(one: LaneOutlook) -> list[Text]:
    lane = one.lane
    pieces = []
    if lane.spent is not None:
        words = amount(spent_so_far(lane), lane.currency)
        pieces.append(line((say("spent "), "muted"), (words, "money")))
    if lane.per_hour and one.to_come is not None and not one.over:
        words = amount(one.to_come, lane.currency)
        pieces.append(line((say("to the end "), "muted"), (words, "money")))
    return pieces


def queue_note(view: InstanceView) -> Text:
    """Why there is no queue to show."""
    if view.queue.refused:
        return line(
            (
                say("the wrapper refused to start: {refused}", refused=view.queue.refused),
                "level-act",
            )
        )
    if view.instance.scheduler is not None and view.because:
        return line((told(view.because[0], own=True), "absent"))
    if view.instance.queue.file is None and view.instance.scheduler is None:
        asked = view.freshness(metrics.DETACHED) is not Freshness.UNKNOWN
        if not asked:
            return line(
                (
                    say(
                        "{unknown} what runs here was not read yet{waits}",
                        unknown=UNKNOWN,
                        waits=_waits(view),
                    ),
                    "unknown",
                )
            )
        text = say(
            "no run was found, and no queue is named: `queue: {file: PATH}` in a fleet file does"
        )
        if not view.instance.logs:
            text += say("; of one that ended before, only a log tells: `logs: PATH/{cell}.log`")
        return line((text, "absent"))
    words, style = _no_cells(view)
    if view.instance.queue.useless:
        words = f"{words}. {told(OTHER_QUEUE, own=True)}"
    return line((words, style))


def _no_cells(view: InstanceView) -> tuple[str, str]:
    """What is the matter with a queue file that gave no cell."""
    track, file = view.track(metrics.ROSTER), view.instance.queue.file
    if file and isinstance(track.latest, Absent):
        return headed(file, told(track.latest.why)), "absent"
    if isinstance(track.latest, Failure) and track.good is None:
        why = told(track.latest.why)
        return say(
            "{unknown} the queue file was not read: {why}", unknown=UNKNOWN, why=why
        ), "unknown"
    roster = track.value
    if roster is None:
        words = say(
            "{unknown} the queue file was not read yet{waits}", unknown=UNKNOWN, waits=_waits(view)
        )
        return words, "unknown"
    if roster.rejected:
        return say(
            "no line of the queue file is a cell: {line}", line=roster.rejected[0]
        ), "level-watch"
    return say("the queue file names no cell"), "absent"


def _waits(view: InstanceView) -> str:
    """What reading waits for."""
    if view.link.live:
        return ""
    if view.link.state == "off":
        return say(": the box is off")
    return (
        f": {view.link.state}" if view.link.state == "connecting" else say(": no link, see Vitals")
    )
