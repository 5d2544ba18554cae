"""The queue of one instance, joined from its plan, its log and what the box shows of each cell. Pure.

Order and membership come from the queue file; an end is what the cell's own end line and the queue's
closing line say of it together, and where the two disagree the row says so.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from gpu_tui.core.eta import by_mean_pace
from gpu_tui.core.queue_done import Claim, claim_of, doubts
from gpu_tui.core.queue_history import CellRun, QueueHistory
from gpu_tui.core.sweep import (
    LOSS_LOST,
    Cell,
    CellEvidence,
    CellState,
    Queue,
    Roster,
    RosterCell,
    total_of,
)
from gpu_tui.core.usual import Usual

FAST_END_SHARE = 0.5  # a cell that needs less than this share of the typical time is suspicious
FAST_SECONDS = 10.0  # by no less than this: stamps have whole seconds, and a start has its own
FAST_AMONG = 3  # cells of a task that ended, before any of them is called fast
ROUNDED = 1e-3  # a log says 31.12 of what a file says 31.118: the same epoch's
NOTHING = CellEvidence()
ARTIFACT = {True: "present", False: "missing", None: "unknown"}
INTERRUPTED = "a newer queue start came before its end line"
NO_END_LINE = "started, no end line, and no process of it is left"
NO_RUNNER = "its runner was gone, so no exit code"
# Failures inferred from a missing end line only.
WEAK_FAILURES = frozenset({INTERRUPTED, NO_END_LINE})
WELL = frozenset({CellState.FINISHED, CellState.SYNC_FAILED, CellState.SUSPICIOUS})


@dataclass(frozen=True, slots=True)
class _Row:
    """One row before it is judged. `latest`: what the box shows under its name is of this row."""

    name: str
    index: int
    plan: RosterCell | None
    run: CellRun | None
    latest: bool = True

    @property
    def task(self) -> str | None:
        return self.plan.task if self.plan else (self.run.task if self.run else None)

    @property
    def epochs(self) -> int | None:
        return self.plan.epochs if self.plan else (self.run.epochs if self.run else None)


def join_queue(
    roster: Roster | None,
    history: QueueHistory,
    evidence: Mapping[str, CellEvidence],
    *,
    box_now: float | None,
    file: str | None = None,
    log: str | None = None,
) -> Queue:
    """Join the plan with the log and with what the box shows.

    Cells that only the log knows follow behind those of the queue file. `box_now` is the box's wall time
    in the same frame as the stamps.
    """
    join = Join(roster, history)
    return join.queue(tuple(join.judge(evidence, box_now).values()), file, log)


class Join:
    """One plan and one log. While both stay the same, only rows of which the box shows something new
    need to be judged again.
    """

    def __init__(self, roster: Roster | None, history: QueueHistory) -> None:
        self.roster, self.history = roster, history
        plan = roster.cells if roster else ()
        named = {cell.name for cell in plan}
        self._tasks = {cell.name: (cell.task, cell.epochs) for cell in plan}
        self._usual = Usual(history.runs.values(), self._tasks)
        self._claim = claim_of(history, named | history.runs.keys())
        self._rows = _rows(plan, named, roster.duplicates if roster else (), history)

    def judge(
        self,
        evidence: Mapping[str, CellEvidence],
        box_now: float | None,
        names: Collection[str] | None = None,
    ) -> dict[int, Cell]:
        """Place -> row, of all cells or of those called so."""
        history, claim, usual = self.history, self._claim, self._usual
        judged = {}
        for place, row in enumerate(self._rows):
            if names is not None and row.name not in names:
                continue
            seen = evidence.get(row.name, NOTHING)
            if not row.latest:
                seen = replace(NOTHING, artifact=seen.artifact)
            judged[place] = _judge(row, seen, history, claim, usual, box_now)
        return judged

    def queue(self, cells: tuple[Cell, ...], file: str | None, log: str | None) -> Queue:
        """The whole queue with these rows."""
        history, claim = self.history, self._claim
        queue = Queue(
            cells=cells,
            file=file,
            log=log,
            total=_total(self.roster, history, self._rows),
            claimed_done=history.done is not None,
            refused=history.refused,
            start=history.opened.start if history.opened else 1,
            doubts=tuple(doubts(claim, history)) if claim else (),
            notes=_notes(self.roster, history),
            unplanned=claim.unknown if claim else (),
        )
        return replace(queue, eta_seconds=_queue_eta(queue, self._usual, self._tasks))


def _rows(
    plan: Collection[RosterCell],
    named: Collection[str],
    duplicates: Collection[str],
    history: QueueHistory,
) -> list[_Row]:
    rows, twice = [], frozenset(duplicates)
    for cell in plan:
        run, latest = history.runs.get(cell.name), True
        if run is not None and cell.name in twice and run.index != cell.index:
            run, latest = run.at(cell.index), False
        rows.append(_Row(cell.name, cell.index, cell, run, latest))
    extra = [run for name, run in history.runs.items() if name not in named]
    rows += [
        _Row(run.name, run.index, None, run) for run in sorted(extra, key=lambda run: run.index)
    ]
    return rows


def _total(roster: Roster | None, history: QueueHistory, rows: Collection[_Row]) -> int | None:
    """Every line that counts as a cell, once, whether or not it has a row."""
    if roster is None:
        told = max(history.opened.total if history.opened else 0, history.reached)
        return max(told, len(rows) + history.dropped) or None
    by_log = {row.index for row in rows if row.plan is None}
    unshown = sum(line.index not in by_log for line in roster.rejected)
    return len(rows) + unshown + roster.dropped


def _notes(roster: Roster | None, history: QueueHistory) -> tuple[str, ...]:
    notes = []
    if roster is not None and roster.rejected:
        notes.append(f"{len(roster.rejected)} line(s) of the queue file are no cell and not shown")
    if roster is not None and roster.dropped:
        notes.append(
            "1 more cell of the queue file is not shown"
            if roster.dropped == 1
            else f"{roster.dropped} more cells of the queue file are not shown"
        )
    if history.dropped:
        notes.append(
            "the log names 1 more cell, which was forgotten"
            if history.dropped == 1
            else f"the log names {history.dropped} more cells, which were forgotten"
        )
    done, opened = history.done, history.opened
    if done is not None and done.failed is None and opened is not None and opened.start > 1:
        skipped = opened.start - 1
        notes.append(f'"all {done.count} cell(s) exited 0" counts {skipped} that were skipped')
    return tuple(notes)


# --- one cell --------------------------------------------------------------------------------------


def _judge(
    row: _Row,
    seen: CellEvidence,
    history: QueueHistory,
    claim: Claim | None,
    usual: Usual,
    box_now: float | None,
) -> Cell:
    run = row.run
    state, why = _state(row, seen, history, claim)
    duration = None
    if run and run.started is not None:
        # Of one that is dead without an end line nobody knows how long it lived.
        end = run.finished if run.ended else (box_now if state is CellState.RUNNING else None)
        if end is not None:
            duration = max(0.0, end - run.started)
    typical = usual.of_task(row.task, row.epochs)
    if (
        state is CellState.FINISHED
        and duration is not None
        and typical is not None
        and usual.count(row.task) >= FAST_AMONG
        and duration < min(FAST_END_SHARE * typical, typical - FAST_SECONDS)
    ):
        state, why = CellState.SUSPICIOUS, "ended in less than half the typical time"
    ran = run is not None and not run.past
    come = history.opened is not None and row.index >= history.opened.start
    over = history.done is not None or row.index < history.reached
    cell = Cell(
        name=row.name,
        index=row.index,
        task=row.task,
        state=state,
        epoch=seen.epoch,
        epochs=total_of(seen.epoch, seen.epochs or row.epochs),
        step=seen.step,
        steps=total_of(seen.step, seen.steps),
        loss=seen.loss,
        metrics=_results(seen) if state in WELL else seen.metrics,
        part=seen.part,
        exit_code=run.exit_code if run else None,
        started_at=run.started if run else None,
        finished_at=run.finished if run else None,
        duration_seconds=duration,
        artifact=ARTIFACT[seen.artifact],
        why=why,
        logged=run is not None,
        again=run is not None and not ran and come and not over and row.plan is not None,
        never_run=run is None and come and over,
    )
    if state is CellState.RUNNING:
        cell = _with_eta(cell, seen, usual.seconds(row.task, row.epochs))
    return cell


def _results(seen: CellEvidence) -> Mapping[str, float]:
    """What it left in its file, and beside that what its log said last, unless that is of another epoch."""
    both = seen.best.keys() & seen.metrics.keys()
    if all(math.isclose(seen.best[name], seen.metrics[name], rel_tol=ROUNDED) for name in both):
        return {**seen.metrics, **seen.best}
    return seen.best


def _state(
    row: _Row, seen: CellEvidence, history: QueueHistory, claim: Claim | None
) -> tuple[CellState, str | None]:
    run = row.run
    if run is None:
        return _unseen(row.index, history)
    said = claim.says(run) if claim else None
    if not run.ended:
        return _open(run, seen, said)
    if run.exit_code == 2:
        return CellState.SYNC_FAILED, "exit 2: trained, but the durable copy is missing"
    if run.exit_code != 0:
        why = f"exit {run.exit_code}" + (
            f", the wrapper refused: {run.refused}" if run.refused else ""
        )
        return CellState.FAILED, why + (", although QUEUE DONE does not list it" if said else "")
    against = []
    if seen.artifact is False:
        where = f" ({seen.artifact_why})" if seen.artifact_why else ""
        against.append(f"its artifact is missing{where}")
    if said is False:
        against.append("QUEUE DONE lists it as failed")
    if seen.diverged:
        against.append(LOSS_LOST)
    if against:
        return CellState.SUSPICIOUS, f"exit 0, but {' and '.join(against)}"
    return CellState.FINISHED, None


def _unseen(index: int, history: QueueHistory) -> tuple[CellState, str | None]:
    """A cell that the log does not name."""
    opened = history.opened
    if opened is None:
        return CellState.PENDING, None
    if index < opened.start:
        return CellState.SKIPPED, f"the queue was started at cell {opened.start}"
    if history.done is not None:
        return CellState.SKIPPED, "the queue ended without starting it"
    if index < history.reached:
        return CellState.SKIPPED, "the queue went past it, and its log shows no start of it"
    return CellState.PENDING, None


def _open(run: CellRun, seen: CellEvidence, said: bool | None) -> tuple[CellState, str | None]:
    """A cell without an end line."""
    if run.interrupted:
        return _without_runner(seen) if seen.ended_by_log else (CellState.FAILED, INTERRUPTED)
    if said is False:
        return CellState.FAILED, "QUEUE DONE lists it as failed; its own end line is missing"
    if said:
        why = "QUEUE DONE says that all exited 0, but its own end line is missing"
        return CellState.SUSPICIOUS, why
    if seen.alive is False and seen.ended_by_log:
        return _without_runner(seen)
    if seen.alive is False:
        return CellState.FAILED, NO_END_LINE
    if seen.alive is None:
        why = "started, no end line, and nothing says whether it still runs"
        return CellState.CANNOT_TELL, why
    return CellState.RUNNING, None


def _without_runner(seen: CellEvidence) -> tuple[CellState, str | None]:
    """State and reason of a cell whose log came to its end after the runner, which writes the end lines, was gone."""
    against = []
    if seen.artifact is False:
        where = f" ({seen.artifact_why})" if seen.artifact_why else ""
        against.append(f"its artifact is missing{where}")
    elif seen.artifact_old:
        against.append("its artifact is older than its start")
    if seen.diverged:
        against.append(LOSS_LOST)
    if against:
        return (
            CellState.SUSPICIOUS,
            f"finished by its log, but {' and '.join(against)}; {NO_RUNNER}",
        )
    return CellState.FINISHED, f"finished by its log; {NO_RUNNER}"


# --- when it ends ----------------------------------------------------------------------------------


def _with_eta(cell: Cell, seen: CellEvidence, typical: float | None) -> Cell:
    """By its recent speed; else its mean pace; else the typical cell; nothing where it stands still."""
    if seen.eta is not None:
        eta = seen.eta
        return replace(cell, eta_seconds=eta.seconds, eta_range=(eta.low, eta.high))
    took, done = cell.duration_seconds, cell.share
    if seen.stalled or not took:
        return cell
    left = by_mean_pace(took, done, 0.0 if seen.begun is None else seen.begun)
    if left is not None:
        return replace(cell, eta_seconds=left)
    if typical is not None and typical > took:
        return replace(cell, eta_seconds=typical - took)
    return cell


def _queue_eta(queue: Queue, usual: Usual, tasks: Mapping[str, tuple[str, int]]) -> float | None:
    """Seconds until the queue has ended: what runs, and each cell that waits by its task."""
    waiting = [cell for cell in queue.cells if cell.state is CellState.PENDING or cell.again]
    running = queue.running
    if queue.claimed_done or (running is None and not waiting):
        return 0.0 if queue.cells else None
    left = running.eta_seconds if running else 0.0
    if left is None:
        return None
    own = running.task if running else None
    whole = None if running is None else (running.duration_seconds or 0.0) + left
    for cell in waiting:
        task, epochs = tasks.get(cell.name, (cell.task, cell.epochs))
        each = usual.of_task(task, epochs)
        if each is None and task == own:
            each = whole  # as long as its sibling that runs now
        if each is None:
            each = usual.seconds(task, epochs) or whole
        if each is None:
            return None
        left += each
    return left
