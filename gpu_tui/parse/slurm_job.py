"""What Slurm's lists say of one job, before it is judged."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Listed:
    """One row of squeue, or of sacct, as it was printed. Times are epoch seconds."""

    id: str
    word: str
    name: str
    reason: str = ""
    dependency: str = ""
    started_at: float | None = None
    ends_at: float | None = None
    submitted_at: float | None = None
    partition: str | None = None
    node: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    by: str | None = None  # who cancelled it: a numeric user id
    raw: str | None = None  # the number of this job, also of a task of an array
    before: str | None = None  # the state that the attempt before it ended with
    workdir: str | None = None
    submit_line: str | None = None  # sbatch and its arguments, joined by spaces without quotes
    stdout: str | None = None  # its patterns (%j) are not expanded
    stderr: str | None = None
    limit: float | None = None  # seconds that it may run; None for no limit
    gpus: int | None = None  # that it asks for, on all its nodes
    at_once: int | None = None  # tasks of its array that may run at the same time

    @property
    def placed(self) -> bool:
        """False if Slurm printed this row without a node: the job never began."""
        return self.node is not None or self.partition is None

    @property
    def lasted(self) -> float | None:
        """Whole seconds from its start to its end; 0 if it has no start, None if it has no end."""
        begun, over = self.started_at, self.ends_at
        if over is None:
            return None
        return 0.0 if begun is None else max(0.0, over - begun)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a job, as sacct printed it. `id`: `0`, `batch`, `extern`. `word`: its state. Times are epoch seconds.

    `submit_line`: srun and its arguments, joined by spaces without quotes; None for batch and extern, and before
    Slurm 21.08. `by`: the numeric user id of the user who cancelled it.
    """

    id: str
    name: str
    word: str
    exit_code: int | None = None
    signal: int | None = None
    started_at: float | None = None
    ends_at: float | None = None
    by: str | None = None
    tasks: int | None = None
    node: str | None = None
    submit_line: str | None = None


@dataclass(frozen=True, slots=True)
class Detail:
    """One record of `scontrol show job`. `submitted` only distinguishes two submissions. `batch`: it has a script."""

    id: str
    word: str
    name: str = ""
    raw: str | None = None  # the number of this job, also of a task of an array
    exit_code: int | None = None
    signal: int | None = None
    restarts: int | None = None
    submitted: str | None = None
    ends_at: float | None = None
    resumed_at: float | None = None  # of one that is not suspended now
    user: str | None = None
    uid: str | None = None
    preempted_at: float | None = None  # when Slurm chose it to make room
    stdout: str | None = None  # with the symbols that scontrol did not expand
    stderr: str | None = None
    batch: bool | None = None
    part: str | None = None  # the id that squeue has for a part of a heterogeneous job: `17+1`
