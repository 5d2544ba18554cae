"""What is known of a run when a verdict is asked for: independent facts, None where nobody knows."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from gpu_tui.core.alarms import Alarm
from gpu_tui.core.cut_short import went_last
from gpu_tui.core.jobs import Job
from gpu_tui.core.liveness import Session
from gpu_tui.core.sweep import Cell, CellState, Queue

BUSY_SHARE = 0.05
MOVES_WITHIN = 60.0  # seconds: a log that grew this lately is being written


@dataclass(frozen=True, slots=True)
class Evidence:
    """The facts.

    `link` is a LinkState.state; `told_by` = the fleet file names what tells of runs: a queue, logs, a scheduler; `alive` = a process of the run exists; `settling` = the log is
    newer than the process table; `runner` = the queue's own shell lives; `together` = it lived when the run was
    last seen alive; `seen_alive` = the run was seen alive before; `halted` = all its processes are stopped;
    `hung` = if nothing moves and all running cells came to their end: how one of them did;
    `busy` = the highest GPU share; `cpu_works` = a process of a training keeps a core busy;
    `data_bound` = `busy` was near 0 for a while although the log moves.
    `quiet_seconds` = since log or checkpoint last moved, by the box's clock; `log_quiet` and
    `artifact_quiet` = each alone; `listed_quiet` = the same of the jobs that a runner lists as running. `failure` = what the logs of the last attempt end with; `exit_code`
    its own; `oom_rose` = kills that the cgroup counted in it, 0 = it counted and there was none;
    `oom_counted` = kills since the cgroup was made; `rebooted` = after its last sign of life;
    `session` = what it hung on; `session_gone` = that has ended; `gpu_fault` = a card that is failing; `cards_unknown` = why it is not known whether the cards rest;
    `full` = the mount of its log that has no room; `whole` = every cell has its artifact.
    `log_unread` = the queue's log may hold more than was read.
    `scheduler` = who runs the jobs, where it is not this box; `jobs` = what it lists now, None where it
    did not answer, and then `jobs_why` says why.
    """

    link: str
    provider: str = "unknown"
    queue: Queue | None = None
    has_queue: bool = False
    told_by: bool = False
    alive: bool | None = None
    settling: bool = False
    runner: bool | None = None
    together: bool = False
    seen_alive: bool = False
    halted: bool = False
    hung: str | None = None
    busy: float | None = None
    cpu_works: bool = False
    data_bound: bool = False
    quiet_seconds: float | None = None
    listed_quiet: float | None = None
    log_quiet: float | None = None
    artifact_quiet: float | None = None
    stall_after: float = 900.0
    typical_gap: float | None = None
    failure: Alarm | None = None
    exit_code: int | None = None
    oom_rose: int | None = None
    oom_counted: int | None = None
    rebooted: bool | None = None
    session: Session | None = None
    session_gone: bool = False
    gpu_fault: str | None = None
    cards_unknown: str | None = None
    full: str | None = None
    whole: bool | None = None
    log_unread: bool = False
    scheduler: str | None = None
    jobs: tuple[Job, ...] | None = None
    jobs_why: str | None = None

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells of the queue script, none where no queue is known."""
        if self.queue is None:
            return ()
        every = self.queue.cells  # its own stand before those of others
        return every[: bisect_left(every, True, key=lambda cell: cell.job is not None)]

    @property
    def listed(self) -> tuple[Cell, ...]:
        """What other runners, or logs alone, tell of this box, where no queue script's cells are known."""
        return self.queue.cells if self.queue and not self.cells else ()

    @property
    def went(self) -> Cell | None:
        """Of the listed cells the one that ended last, where no word tells how."""
        return went_last(self.listed)

    @property
    def open_cell(self) -> Cell | None:
        """The cell that runs, or that nobody can tell of."""
        return self.queue.running if self.queue else None

    @property
    def started(self) -> bool:
        """Any cell was started."""
        return any(cell.logged or cell.started_at is not None for cell in self.cells)

    @property
    def works(self) -> bool:
        """A card computes."""
        return self.busy is not None and self.busy > BUSY_SHARE

    @property
    def only_cpu_works(self) -> bool:
        """Whether a process computes and no card does: its output may wait in a buffer."""
        return self.cpu_works and not self.works

    @property
    def computes(self) -> bool:
        """Whether a card or a process of the run computes, whatever its logs show."""
        return self.works or self.cpu_works

    @property
    def log_moves(self) -> bool:
        """A log grew lately."""
        return self.log_quiet is not None and self.log_quiet <= MOVES_WITHIN

    @property
    def ended(self) -> bool:
        """The queue's log says that the queue ended, and no cell is open."""
        return self.queue is not None and self.queue.claimed_done and self.open_cell is None

    @property
    def over(self) -> bool:
        """Every cell has its end line, whether or not the queue has its own."""
        waits = (CellState.PENDING, CellState.RUNNING, CellState.CANNOT_TELL, CellState.FAILED)
        return bool(self.cells) and self.queue is not None and not self.queue.count(*waits)

    @property
    def listed_still(self) -> bool:
        """Nothing of the listed cells that run moved for longer than a stall takes."""
        return self.listed_quiet is not None and self.listed_quiet > self.stall_after

    @property
    def quiet_long(self) -> bool:
        """Nothing moved for longer than a stall takes."""
        return self.quiet_seconds is not None and self.quiet_seconds > self.stall_after
