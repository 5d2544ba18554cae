"""The words of a sweep: what a queue file plans, what a box shows of a cell, and the rows of the queue pane."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from gpu_tui.core.eta import Eta
from gpu_tui.core.sample import Track
from gpu_tui.core.scheduler_end import End

CELLS_KEPT = 500  # of what their logs show: a hostile queue may name no end of cells
LOSS_LOST = "its loss was NaN or Inf at the end"  # against a cell that is said to have ended well


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
    """One cell of the queue file; `index` counts cells from 1, `line` the lines of the file (0 = not known)."""

    index: int
    name: str
    config: str
    task: str
    epochs: int
    line: int = 0


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """A line of the queue file that is no cell, although it takes an index as one. `text` is harmless."""

    line: int
    index: int
    text: str
    why: str

    def __str__(self) -> str:
        """As a person is told of it."""
        return f'line {self.line} "{self.text}": {self.why}'


@dataclass(frozen=True, slots=True)
class Roster:
    """The plan, in order. `duplicates` are names that stand more than once.

    `rejected` are lines that are no cell, for a finding; `dropped` is how many cells were over the cap.
    """

    cells: tuple[RosterCell, ...] = ()
    duplicates: tuple[str, ...] = ()
    rejected: tuple[RejectedLine, ...] = ()
    dropped: int = 0

    @property
    def total(self) -> int:
        """The lines that the queue script counts as cells."""
        return len(self.cells) + len(self.rejected) + self.dropped


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
    reached: int | None = None  # the epoch that the attempts before this one came to
    artifact_why: str | None = None  # where it is instead, or why that is not known
    best: Mapping[str, float] = field(default_factory=dict)  # its best_metrics.json
    # By its log it came to its end: the counters or the last words say so, and there is no failure.
    ended_by_log: bool = False
    artifact_old: bool = False  # its artifact was written before this attempt began


def total_of(done: int | None, total: int | None) -> int | None:
    """How many there are to do; None where more than that are done, for that is not their number then."""
    return None if done is not None and total is not None and done > total else total


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
    logged: bool = False  # the queue's log names it
    again: bool = False  # it ended in an earlier start of the queue, and this one comes to it again
    never_run: bool = False  # the queue went past it, or ended, without starting it
    # Its id at whatever else runs it; None for a cell of our own queue script.
    job: str | None = None
    listed: bool = False  # its runner keeps a list of jobs and of their ends
    # The kind of finding that its bad end is, where it is no plain crash.
    finding: str | None = None
    then: str | None = None  # what began in the place of one that is gone
    seen_at: float | None = None  # it was at work then, and is gone without a word
    # It runs, and nothing of it moved for longer than a stall takes.
    still_seconds: float | None = None
    # With still_seconds: whether it computes, by cards and CPU; None if that is not known.
    computes: bool | None = None
    halted: bool = False  # it runs, and a signal or a debugger has stopped it
    restarted: bool = False  # it runs again, and its finding may be that of the attempt before
    # The scheduler's own values; None where there is no scheduler or no value.
    status: str | None = None
    reason: str | None = None  # why it waits
    waits_seconds: float | None = None  # where its wait began after it was submitted
    node: str | None = None
    # Of its nodes, or those that it waits for, which are out of service: `gpu03 draining: bad ECC on gpu 3`.
    node_state: str | None = None
    restarts: int | None = None
    gpus: int | None = None  # that it asks for
    at_once: int | None = None  # tasks of its array that may run at the same time
    submitted_at: float | None = None
    expected_at: float | None = None  # when it expects to start it
    ends_by: float | None = None
    limit_seconds: float | None = None
    limit_left_seconds: float | None = None
    age_seconds: float | None = None  # since it was submitted
    tasks: int = 1  # of an array that this row of a list is about
    lost: int = 0  # ranks that died or ended while the others run
    ended_by: End | None = None  # how its scheduler ended its last attempt
    end_words: str | None = None  # that end in a sentence, for its finding

    @property
    def key(self) -> str:
        """Identifies the row from one look to the next: two cells may share a name, and tasks leave a waiting array."""
        if self.tasks > 1:
            return f"{(self.job or '').partition('[')[0]}[{self.reason or ''}]"
        return f"{self.index if self.job is None else self.job}:{self.name}"

    @property
    def waited(self) -> float | None:
        """Seconds that it has waited for what it waits for now."""
        return self.age_seconds if self.waits_seconds is None else self.waits_seconds

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
    """The whole queue of one instance, joined from roster, log and evidence.

    `total` counts every line that the queue script takes for a cell, also those without a row here. `more`: a
    program that started cells is alive, and no list names what it starts next; `total` is None then.
    `doubts` are the sentences in which the log contradicts itself; `notes` say what else to know of the counts.
    `unplanned` are names that QUEUE DONE lists as failed and that are no cell of this queue. `unread_logs` counts
    logs of cells that are not read because newer ones are; of a scheduler, its running jobs whose log is not read, and
    `unread_why` how many of them for which reason. `unread_ends`: of a scheduler, the logs of jobs that do not run any
    more which are not read. `not_counted`: by reason, how many listed jobs are no cells.
    """

    cells: tuple[Cell, ...] = ()
    file: str | None = None
    log: str | None = None
    total: int | None = None
    claimed_done: bool = False
    eta_seconds: float | None = None
    refused: str | None = None
    start: int = 1  # the index that the queue was last started at
    doubts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unplanned: tuple[str, ...] = ()
    more: bool = False
    unread_logs: int = 0
    unread_why: Mapping[str, int] = field(default_factory=dict)
    unread_ends: int = 0
    not_counted: Mapping[str, int] = field(default_factory=dict)

    def count(self, *states: CellState) -> int:
        """How many cells are in one of `states`."""
        return sum(cell.state in states for cell in self.cells)

    @property
    def place(self) -> Cell | None:
        """Where the queue is: as `running`, but no run whose end was seen, though nobody told how it ended."""
        return _at_work([cell for cell in self.cells if cell.finished_at is None])

    @property
    def running(self) -> Cell | None:
        """The cell that runs now, else one that nobody can tell of."""
        return _at_work(self.cells)


def gives_no_cell(roster: Track[object], *, logged: bool) -> bool:
    """Whether the queue file was read and no cell of it is known; `logged`: the queue's log names some."""
    value = roster.value
    return not (logged or roster.latest is None or (isinstance(value, Roster) and value.cells))


def half_well(cells: Iterable[Cell]) -> list[tuple[int, str]]:
    """How many came to their end and are not done, each with its word: trained without a copy, or in doubt."""
    states = [cell.state for cell in cells]
    counted = (
        (states.count(CellState.SYNC_FAILED), "sync failed"),
        (states.count(CellState.SUSPICIOUS), "suspicious"),
    )
    return [(number, word) for number, word in counted if number]


def _at_work(cells: Sequence[Cell]) -> Cell | None:
    for state in (CellState.RUNNING, CellState.CANNOT_TELL):
        if (found := next((cell for cell in cells if cell.state is state), None)) is not None:
            return found
    return None
