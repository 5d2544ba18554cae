"""The sweep: what the queue file plans, what the queue log reports, and the state of each cell.

The grammar is that of `run_queue.sh`: one queue file per instance, one log, and a log is history:
only the part after the last header describes now.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from statistics import median

from gpu_tui.core.eta import Eta

CELLS_KEPT = 500  # of one queue's log: a hostile one may name no end of cells
FROM_START = 0.05  # an attempt first seen beyond this share was resumed, or its log was cut
FAST_END_SHARE = 0.5  # a cell that needs less than this share of the typical time is suspicious


class CellState(StrEnum):
    """The states of contracts: `cannot-tell` = started, no end line, nothing says whether it runs."""

    PENDING = "pending"
    RUNNING = "running"
    FINISHED = "finished"
    SYNC_FAILED = "sync-failed"
    FAILED = "failed"
    SUSPICIOUS = "suspicious"
    SKIPPED = "skipped"
    CANNOT_TELL = "cannot-tell"


@dataclass(frozen=True, slots=True)
class RosterCell:
    """One line of the queue file; `index` counts cells from 1."""

    index: int
    name: str
    config: str
    task: str
    epochs: int


@dataclass(frozen=True, slots=True)
class Roster:
    """The plan, in order. `duplicates` are names that stand more than once."""

    cells: tuple[RosterCell, ...] = ()
    duplicates: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()  # lines that are no cell, for a finding; never silently lost


# --- what one line of the queue log says; `stamp` is box wall time as if it were UTC seconds ---


@dataclass(frozen=True, slots=True)
class QueueOpened:
    """`=== Queue FILE: TOTAL ablations, starting from START on HOST ===`."""

    file: str
    total: int
    start: int
    host: str


@dataclass(frozen=True, slots=True)
class CellStarted:
    """`[stamp] [i/TOTAL] STARTING NAME (task, Nep)`."""

    stamp: float
    index: int
    total: int
    name: str
    task: str
    epochs: int | None


@dataclass(frozen=True, slots=True)
class CellFinished:
    """`[stamp] [i/TOTAL] FINISHED NAME (exit=RC)`."""

    stamp: float
    index: int
    total: int
    name: str
    exit_code: int


@dataclass(frozen=True, slots=True)
class QueueDone:
    """The closing line; `failed` is the raw text after `FAILED:`, matched against the roster later."""

    stamp: float
    host: str
    count: int
    failed: str | None


@dataclass(frozen=True, slots=True)
class CellSynced:
    """`synced NAME to durable storage (DIR)`."""

    name: str
    directory: str


@dataclass(frozen=True, slots=True)
class SyncFailed:
    """`!! DURABLE SYNC BLOCKED|FAILED for NAME`."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class WrapperRefused:
    """The wrapper would not start: usage, profile setup, interpreter or project directory."""

    reason: str


QueueEvent = (
    QueueOpened | CellStarted | CellFinished | QueueDone | CellSynced | SyncFailed | WrapperRefused
)


@dataclass(frozen=True, slots=True)
class CellRun:
    """The latest attempt at one cell. `interrupted`: a newer header came before its end line."""

    index: int
    name: str
    started: float | None = None
    finished: float | None = None
    exit_code: int | None = None
    synced: bool | None = None
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class QueueHistory:
    """Everything the queue log has said so far, folded."""

    opened: QueueOpened | None = None
    runs: Mapping[str, CellRun] = field(default_factory=dict)
    done: QueueDone | None = None
    refused: str | None = None
    current: str | None = None
    dropped: int = 0  # cells that were forgotten because there are more than CELLS_KEPT

    def fold(self, event: QueueEvent) -> QueueHistory:
        """The history after one more line."""
        match event:
            case QueueOpened():
                runs = {
                    name: replace(run, interrupted=run.interrupted or run.finished is None)
                    for name, run in self.runs.items()
                    # A queue that begins at or before a cell that failed runs it again.
                    if run.index < event.start or run.exit_code in (None, 0, 2)
                }
                return QueueHistory(opened=event, runs=runs, dropped=self.dropped)
            case CellStarted(stamp=stamp, index=index, name=name):
                run = CellRun(index=index, name=name, started=stamp)
                return replace(self._with(run), current=name, done=None)
            case CellFinished(stamp=stamp, index=index, name=name, exit_code=code):
                old = self.runs.get(name, CellRun(index=index, name=name))
                run = replace(old, finished=stamp, exit_code=code, interrupted=False)
                current = None if self.current == name else self.current
                return replace(self._with(run), current=current)
            case QueueDone():
                return replace(self, done=event, current=None)
            case CellSynced(name=name):
                return self._sync(name, True)
            case SyncFailed(name=name):
                return self._sync(name, False)
            case WrapperRefused(reason=reason):
                return replace(self, refused=reason)

    @property
    def moved_at(self) -> float | None:
        """The newest stamp of any start or end, or None before the first."""
        stamps = [stamp for run in self.runs.values() for stamp in (run.started, run.finished)]
        stamps.append(self.done.stamp if self.done else None)
        return max((stamp for stamp in stamps if stamp is not None), default=None)

    def _sync(self, name: str, ok: bool) -> QueueHistory:
        run = self.runs.get(name)
        if run is None:
            return self
        return self._with(replace(run, synced=ok))

    def _with(self, run: CellRun) -> QueueHistory:
        runs = {**self.runs, run.name: run}
        over = len(runs) - CELLS_KEPT
        for name in list(runs)[: max(0, over)]:
            del runs[name]
        return replace(self, runs=runs, dropped=self.dropped + max(0, over))


@dataclass(frozen=True, slots=True)
class CellEvidence:
    """What the box says of one cell besides the queue log. None = nobody knows.

    `alive`: a process of this run exists now. `artifact`: the durable or local checkpoint is there.
    `diverged`: the loss of this attempt is NaN or Inf at its end.
    """

    alive: bool | None = None
    artifact: bool | None = None
    diverged: bool = False
    epoch: int | None = None
    epochs: int | None = None
    step: int | None = None
    steps: int | None = None
    loss: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    eta: Eta | None = None  # by its own recent speed
    stalled: bool = False  # its counters stand still for far longer than they ever did
    part: float | None = None  # of the whole way, 0-1; None where its log shows no end
    begun: float | None = None  # the part at which this attempt was first seen


@dataclass(frozen=True, slots=True)
class Cell:
    """One row of the queue pane. Times are epoch seconds by the box's clock."""

    name: str
    index: int
    task: str | None
    state: CellState
    epoch: int | None = None
    epochs: int | None = None
    step: int | None = None
    steps: int | None = None
    loss: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    exit_code: int | None = None
    started_at: float | None = None
    finished_at: float | None = None
    duration_seconds: float | None = None
    eta_seconds: float | None = None
    eta_range: tuple[float, float] | None = None  # seconds; None where the ETA is a mean at best
    part: float | None = None  # of the whole way, 0-1, as its log shows it
    artifact: str = "unknown"
    why: str | None = None

    @property
    def share(self) -> float | None:
        """How far the cell has come, 0–1, or None where no total is known."""
        if self.state in (CellState.FINISHED, CellState.SYNC_FAILED):
            return 1.0
        if self.part is not None:
            return self.part
        if self.epoch is not None and self.epochs:
            part = self.step / self.steps if self.step is not None and self.steps else 0.0
            whole = max(self.epoch - 1, 0) + part if self.steps else float(self.epoch)
            return min(1.0, whole / self.epochs)
        if self.step is not None and self.steps:
            return min(1.0, self.step / self.steps)
        return None


@dataclass(frozen=True, slots=True)
class Queue:
    """The whole queue of one instance, joined from roster, log and evidence."""

    cells: tuple[Cell, ...] = ()
    file: str | None = None
    log: str | None = None
    total: int | None = None
    claimed_done: bool = False
    eta_seconds: float | None = None
    refused: str | None = None

    def count(self, *states: CellState) -> int:
        """How many cells are in one of `states`."""
        return sum(cell.state in states for cell in self.cells)

    @property
    def running(self) -> Cell | None:
        """The cell that runs now, or that nobody can tell of."""
        live = (CellState.RUNNING, CellState.CANNOT_TELL)
        return next((cell for cell in self.cells if cell.state in live), None)


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

    Order and membership come from the roster; cells that only the log knows follow behind it.
    `box_now` is the box's wall time in the same frame as the stamps.
    """
    plan = list(roster.cells) if roster else []
    named = {cell.name for cell in plan}
    extra = [run for name, run in history.runs.items() if name not in named]
    rows: list[tuple[str, int, RosterCell | None]] = [
        (cell.name, cell.index, cell) for cell in plan
    ]
    rows += [(run.name, run.index, None) for run in sorted(extra, key=lambda run: run.index)]
    typical = _typical_duration(history)
    start = history.opened.start if history.opened else 1
    cells = tuple(
        _judge_cell(
            name,
            index,
            plan_cell,
            history,
            evidence.get(name, CellEvidence()),
            box_now,
            typical,
            start,
        )
        for name, index, plan_cell in rows
    )
    total = len(plan) if roster else (history.opened.total if history.opened else None)
    queue = Queue(cells, file, log, total, history.done is not None, None, history.refused)
    return replace(queue, eta_seconds=_queue_eta(queue, typical))


def _typical_duration(history: QueueHistory) -> float | None:
    """Median seconds of the cells that ended well, or None."""
    took = [
        run.finished - run.started
        for run in history.runs.values()
        if run.started is not None and run.finished is not None and run.exit_code in (0, 2)
    ]
    return median(took) if took else None


def _judge_cell(
    name: str,
    index: int,
    plan: RosterCell | None,
    history: QueueHistory,
    seen: CellEvidence,
    box_now: float | None,
    typical: float | None,
    start: int,
) -> Cell:
    run = history.runs.get(name)
    epochs = seen.epochs or (plan.epochs if plan else None)
    state, why = _cell_state(index, run, history, seen, start)
    duration = None
    if run and run.started is not None:
        end = run.finished if run.finished is not None else box_now
        if end is not None and state is not CellState.CANNOT_TELL:
            duration = max(0.0, end - run.started)
    others = sum(r.finished is not None for r in history.runs.values())
    fast = (
        state is CellState.FINISHED
        and duration is not None
        and typical is not None
        and others >= 3
        and duration < FAST_END_SHARE * typical
    )
    if fast:
        state, why = CellState.SUSPICIOUS, "ended in less than half the typical time"
    cell = Cell(
        name=name,
        index=index,
        task=plan.task if plan else None,
        state=state,
        epoch=seen.epoch,
        epochs=epochs,
        step=seen.step,
        steps=seen.steps,
        loss=seen.loss,
        metrics=seen.metrics,
        part=seen.part,
        exit_code=run.exit_code if run else None,
        started_at=run.started if run else None,
        finished_at=run.finished if run else None,
        duration_seconds=duration,
        artifact={True: "present", False: "missing", None: "unknown"}[seen.artifact],
        why=why,
    )
    if state is CellState.RUNNING and duration:
        eta = seen.eta
        if eta is not None:
            cell = replace(cell, eta_seconds=eta.seconds, eta_range=(eta.low, eta.high))
        elif not seen.stalled:
            from_start = seen.begun is None or seen.begun <= FROM_START
            cell = replace(cell, eta_seconds=_cell_eta(cell, typical, from_start=from_start))
    return cell


def _cell_state(
    index: int, run: CellRun | None, history: QueueHistory, seen: CellEvidence, start: int
) -> tuple[CellState, str | None]:
    if run is None:
        if history.opened and index < start:
            return CellState.SKIPPED, f"the queue was started at cell {start}"
        return CellState.PENDING, None
    if run.finished is None:
        if run.interrupted:
            return CellState.FAILED, "a newer queue start came before its end line"
        if seen.alive is False:
            return CellState.FAILED, "started, no end line, and no process of it is left"
        if seen.alive is None:
            return (
                CellState.CANNOT_TELL,
                "started, no end line, and nothing says whether it still runs",
            )
        return CellState.RUNNING, None
    if run.exit_code == 2:
        return CellState.SYNC_FAILED, "exit 2: trained, but the durable copy is missing"
    if run.exit_code != 0:
        return CellState.FAILED, f"exit {run.exit_code}"
    if seen.diverged:
        return CellState.SUSPICIOUS, "exit 0, but its loss was NaN or Inf at the end"
    if seen.artifact is False:
        return CellState.SUSPICIOUS, "exit 0, but its artifact is missing"
    return CellState.FINISHED, None


def _cell_eta(cell: Cell, typical: float | None, *, from_start: bool) -> float | None:
    """Seconds to the end by its mean pace, else by the typical cell; None where neither is known."""
    done = cell.share
    if done and cell.duration_seconds and done >= 0.02 and from_start:
        return cell.duration_seconds * (1 - done) / done
    if typical is not None and cell.duration_seconds is not None:
        left = typical - cell.duration_seconds
        return left if left > 0 else None
    return None


def _queue_eta(queue: Queue, typical: float | None) -> float | None:
    pending = queue.count(CellState.PENDING)
    running = queue.running
    if queue.claimed_done or (running is None and not pending):
        return 0.0 if queue.cells else None
    own = running.eta_seconds if running else 0.0
    each = typical
    if each is None and running and running.eta_seconds is not None:
        each = (running.duration_seconds or 0.0) + running.eta_seconds
    if own is None or (pending and each is None):
        return None
    return own + pending * (each or 0.0)
