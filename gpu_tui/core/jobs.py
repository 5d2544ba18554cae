"""Jobs that something other than our own queue script runs: Slurm, Kubernetes, task-spooler, pueue, tmux, or
whatever a user's own feed reports. Each source is a metric whose value is a `JobTable`; all of them fill
the queue pane the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from gpu_tui.core.eta import by_mean_pace
from gpu_tui.core.restart_cost import with_cost
from gpu_tui.core.scheduler_end import WORDS, End
from gpu_tui.core.sweep import LOSS_LOST, Cell, CellEvidence, CellState, Queue, total_of

JOBS_KEPT = 5_000  # of one source: a hostile scheduler may list no end of jobs
# Sources that keep no record of ends: their jobs were seen as a pane, a process or a log.
SEEN = frozenset({"tmux", "nohup", "nohup.out", "logs"})
NO_STEP_RUNS = "no step runs"  # of a job whose step failed, and whose script goes on
SHELL = "shell"  # the word for a pane of tmux of which tmux itself tells nothing else
ENDED = frozenset(
    {CellState.FINISHED, CellState.SYNC_FAILED, CellState.FAILED, CellState.SUSPICIOUS}
)


@dataclass(frozen=True, slots=True)
class Job:
    """One job as its scheduler tells it. Times are epoch seconds by the box's clock; None = not told.

    `id` is the scheduler's own (`17_5`, `default/train-a`), `name` what the queue pane calls it. `word` is
    the state in the scheduler's own word, `why` its reason. `ends_by` is when the scheduler ends it
    whatever it does (walltime, activeDeadlineSeconds); `removed_at` when its record and log are
    deleted. `stdout` and `stderr` are paths on the box. `pids` are the process that it is and those above it,
    where they are known: two sources may tell of one program. `finding` is the kind of finding that its bad
    end is, None where it is a plain crash. `command` is known of what is a training by its looks, for comparing;
    `reason` is the scheduler's code of why it waits; `limit` the seconds that it may run; `gpus` how many it asks for;
    `expected_at` when the scheduler expects to start it; `at_once` how many tasks of its array may run at a time;
    `node_state` says which of its nodes are out of service, and why (`gpu03 draining: bad ECC`).
    `then` is what began in its place; `seen_at` when one that is gone without a word was last seen at work; `took` are the seconds of one whose times are not told. `by_processes`: that it
    runs is what the process table says, and not its own source. `steps_read`: the steps of the whole job were read,
    and `state` takes those that failed into account. `logs`: further paths on the box that may hold its output; some
    may not exist.
    `ended_by`: how its last attempt ended, by the word of the scheduler; of a job that waits or runs again that was an
    earlier attempt.
    """

    id: str
    name: str
    state: CellState
    word: str
    why: str | None = None
    task: str | None = None  # partition, namespace, group: what a person sorts by
    index: int | None = None
    submitted_at: float | None = None
    started_at: float | None = None
    resumed_at: float | None = None  # after it was suspended
    finished_at: float | None = None
    ends_by: float | None = None
    removed_at: float | None = None
    exit_code: int | None = None
    signal: int | None = None
    restarts: int | None = None
    node: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    epoch: int | None = None
    epochs: int | None = None
    step: int | None = None
    steps: int | None = None
    loss: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    preempted: bool = False
    pids: tuple[int, ...] = ()
    finding: str | None = None
    command: str | None = None
    took: float | None = None
    then: str | None = None
    seen_at: float | None = None
    by_processes: bool = False
    reason: str | None = None
    waits_since: float | None = (
        None  # where the present wait began later than the job was submitted
    )
    limit: float | None = None
    gpus: int | None = None
    expected_at: float | None = None
    at_once: int | None = None
    node_state: str | None = None
    again: bool = False  # it runs after a restart, which `why` names
    will_write: tuple[
        str, ...
    ] = ()  # the logs of a job that waits: stdout, and stderr if it is another file
    unread: str | None = None  # why none of its logs is known to be read
    interactive: bool = False  # srun or salloc, without a batch script
    steps_read: bool = False
    logs: tuple[str, ...] = ()
    lost: int = 0  # ranks that died or ended while the others run
    # The names of the logs of its pods, the one that shows its progress first.
    pod_logs: tuple[str, ...] = ()
    shell: tuple[str, ...] = ()  # where a shell leads into it: a pod and its container
    ended_by: End | None = None

    @property
    def live(self) -> bool:
        """It runs now, as far as its scheduler knows."""
        return self.state is CellState.RUNNING

    @property
    def waits_again(self) -> bool:
        """It waits after an earlier attempt, which has a log."""
        return self.state is CellState.PENDING and bool(self.restarts)

    @property
    def has_stopped(self) -> bool:
        """It ran and does not run now: it ended, was suspended, or was put back into its queue. Not every list says when."""
        waits = self.state is CellState.PENDING and self.started_at is not None
        over = self.finished_at is not None or self.state in (*ENDED, CellState.CANNOT_TELL)
        return waits or self.waits_again or over


@dataclass(frozen=True, slots=True)
class JobTable:
    """What one source listed at one look. `source` is its name on screen.

    `why` says what is missing from it (no accounting, cut off), `dropped` how many jobs were over
    JOBS_KEPT. `complete`: a job that is not in it is not there. `recorded`: nor did one end lately that is not in it.
    """

    source: str
    jobs: tuple[Job, ...] = ()
    dropped: int = 0
    why: str | None = None
    complete: bool = True
    recorded: bool = False


def with_jobs(
    queue: Queue,
    tables: Sequence[JobTable],
    evidence: Mapping[str, CellEvidence],
    *,
    box_now: float | None,
    exits: Mapping[str, str] = MappingProxyType({}),
) -> Queue:
    """The queue with the jobs of every source after its own cells; a cell that the queue has stays as it is. `exits`:
    by cell, the line of its log in which srun says that a task failed.
    """
    named = {cell.name for cell in queue.cells}
    cells = list(queue.cells)
    for table in tables:
        for job in table.jobs:
            if job.name in named:
                continue
            named.add(job.name)
            seen = evidence.get(job.name)
            cell = _cell(job, len(cells) + 1, seen, box_now)
            if job.state is CellState.FINISHED and job.name in exits and not job.steps_read:
                cell = _doubted(cell, f"its log says: {exits[job.name]}")
            cell = replace(cell, listed=table.source not in SEEN)
            cells.append(_with_mean_pace(cell, job, seen) if cell.listed else cell)
    notes = tuple(note for table in tables for note in _notes(table))
    more = len(cells) - len(queue.cells) + sum(table.dropped for table in tables)
    if not more and not notes:
        return queue
    if not more:
        return replace(queue, notes=(*queue.notes, *notes))
    total = more + (len(queue.cells) if queue.total is None else queue.total)
    return replace(queue, cells=tuple(cells), total=total, notes=(*queue.notes, *notes))


def _notes(table: JobTable) -> Iterator[str]:
    """What is missing from a table."""
    if table.why:
        yield f"{table.source}: {table.why}"
    if table.dropped:
        yield f"{table.source}: {table.dropped} more jobs are not shown"


def _cell(job: Job, index: int, seen: CellEvidence | None, box_now: float | None) -> Cell:
    """One job as a row: what its log shows goes before what its scheduler says of progress."""
    over = job.finished_at is not None or job.state in ENDED
    end = job.finished_at if over else box_now
    took = None if job.started_at is None or end is None else max(0.0, end - job.started_at)
    took = took if job.took is None else job.took
    why = job.why
    if why is None and job.state is CellState.FAILED and job.exit_code is not None:
        why = f"exit {job.exit_code}"  # some lists call every end "finished"
    words = job.word if why is None else f"{job.word}: {why}"
    plain = job.why is None and (
        job.state is CellState.FINISHED or job.word.lower() == job.state.value
    )
    row = Cell(
        name=job.name,
        index=index if job.index is None else job.index,
        task=job.task,
        state=job.state,
        epoch=job.epoch,
        epochs=job.epochs,
        step=job.step,
        steps=job.steps,
        loss=job.loss,
        metrics=job.metrics,
        exit_code=job.exit_code,
        started_at=job.started_at,
        finished_at=job.finished_at,
        duration_seconds=took,
        why=None if plain else words,
        job=job.id,
        finding=job.finding,
        then=job.then,
        seen_at=job.seen_at,
        restarted=job.again,
        status=job.word,
        reason=job.reason,
        waits_seconds=_age(job.waits_since, box_now),
        node=job.node,
        node_state=job.node_state,
        restarts=job.restarts,
        gpus=job.gpus,
        at_once=job.at_once,
        submitted_at=job.submitted_at,
        expected_at=job.expected_at,
        ends_by=job.ends_by,
        limit_seconds=job.limit,
        limit_left_seconds=_until(job.ends_by, box_now),
        age_seconds=_age(job.submitted_at, box_now),
        lost=job.lost,
        ended_by=_ended_by(job),
    )
    if seen is None:
        return _counted(row)
    row = replace(
        row,
        epoch=row.epoch if seen.epoch is None else seen.epoch,
        epochs=row.epochs if seen.epochs is None else seen.epochs,
        step=row.step if seen.step is None else seen.step,
        steps=row.steps if seen.steps is None else seen.steps,
        loss=row.loss if seen.loss is None else seen.loss,
        metrics=seen.metrics or row.metrics,
        part=seen.part,
    )
    if job.state is CellState.FINISHED and seen.diverged:
        row = _doubted(row, LOSS_LOST)
    if job.again:
        row = with_cost(row, seen.reached)
    if seen.eta is not None and job.live and not job.lost:  # without a rank it may not go on
        row = replace(row, eta_seconds=seen.eta.seconds, eta_range=(seen.eta.low, seen.eta.high))
    return _counted(row)


def _with_mean_pace(cell: Cell, job: Job, seen: CellEvidence | None) -> Cell:
    """The cell with an ETA by its mean pace, where its recent speed is not known: one look alone shows none. An attempt
    after a restart did not begin at the start time of its job.
    """
    if seen is None or seen.stalled or not job.live or job.restarts or cell.eta_seconds is not None:
        return cell
    share = cell.share
    left = by_mean_pace(cell.duration_seconds, share, seen.begun)
    if left is None or share is None:
        return cell
    # The mean holds the time before the first epoch, which weighs less the farther the run is.
    return replace(cell, eta_seconds=left, eta_range=(left * share, left * (2 - share)))


def _until(at: float | None, now: float | None) -> float | None:
    return None if at is None or now is None else max(0.0, at - now)


def _age(since: float | None, now: float | None) -> float | None:
    """Seconds since then; whole minutes after two minutes, so that a waiting row is not repainted each second."""
    age = _until(now, since)
    return age if age is None or age < 120 else age - age % 60


def _doubted(row: Cell, against: str) -> Cell:
    why = f"{row.why}; {against}" if row.why else against
    return replace(row, state=CellState.SUSPICIOUS, why=why)


def _ended_by(job: Job) -> End | None:
    if job.ended_by is not None:
        return job.ended_by
    if job.word == "CANCELLED" and job.finding is not None:
        return End.REMOVED  # as an earlier watch kept it
    return End.PREEMPTED if job.preempted else WORDS.get(job.word)


def _counted(row: Cell) -> Cell:
    epochs, steps = total_of(row.epoch, row.epochs), total_of(row.step, row.steps)
    same = (epochs, steps) == (row.epochs, row.steps)
    return row if same else replace(row, epochs=epochs, steps=steps)
