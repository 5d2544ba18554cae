"""One line of a log as the cockpit keeps it: safe text, its mark, its progress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from posixpath import normpath

from gpu_tui.core.findings import Severity
from gpu_tui.core.plan import Plan
from gpu_tui.core.queue_history import QueueEvent

# Logs of cells followed at once on one box: with the sampler and the queue's log the places that streams may take.
CELL_TAILS = 6
# Most logs of one box that are read, including those that are followed; the older ones are only counted.
READ_MOST = 40
# The same for the login node of a scheduler: an array of 100 tasks with two logs each is one sweep.
READ_OF_JOBS = 400


@dataclass(frozen=True, slots=True)
class Mark:
    """What a line is, judged alone. `label` is one of the twenty triage labels."""

    label: str
    severity: Severity
    alarm: bool


@dataclass(frozen=True, slots=True)
class Progress:
    """What a line reports of how far the work has come; None where it says nothing."""

    epoch: int | None = None
    epochs: int | None = None
    step: int | None = None
    steps: int | None = None
    loss: float | None = None
    val_loss: float | None = None
    lr: float | None = None
    percent: float | None = None
    elapsed_seconds: float | None = None
    eta_seconds: float | None = None
    rate_per_second: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    epoch_exact: float | None = None  # the epoch as printed where it has a fraction: 0.32
    # What is counted: "eval", "load" (data, shards, downloads); None: the run.
    phase: str | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """A run of characters [start, end) that the box had coloured. `style` is built by us, never remote text."""

    start: int
    end: int
    style: str


@dataclass(frozen=True, slots=True)
class LogLine:
    """One physical line: sanitised text without control characters, decided once, on ingest.

    `open` is true for the last, unfinished line (a progress bar): the next batch replaces it. `size`
    is how many bytes it takes in its file, without its newline; None where nobody counted. `plan` is
    what a finished line without progress announces of a run.
    """

    text: str
    mark: Mark
    progress: Progress | None = None
    queue: QueueEvent | None = None
    spans: tuple[Span, ...] = ()
    open: bool = False
    size: int | None = field(default=None, compare=False)
    plan: Plan | None = None


@dataclass(frozen=True, slots=True)
class LogSource:
    """Which file of which box: the queue's own log (`cell` is None) or one cell's.

    `unit` names one of several programs of a cell that each write their own log (the ranks of a training).
    """

    path: str
    cell: str | None = None
    unit: str | None = None


def one_spelling(path: str) -> str:
    """The path without doubled slashes and dots: `/a//./b` is `/a/b`. Links are not resolved."""
    return normpath(path).replace("//", "/") if "//" in path or "/." in path else path


PATH_MOST = 1024
NO_FILES = ("/dev/", "/proc/", "/sys/")  # what lies there is read for ever, or does something


def may_follow(path: str | None) -> bool:
    """True for a path that a box named and that may be tailed: absolute or below the home there, plain, of a
    file like any other.
    """
    if path is None or not path.isprintable() or not 1 < len(path) <= PATH_MOST:
        return False
    return (
        path.startswith(("/", "~/")) and "/../" not in f"{path}/" and not path.startswith(NO_FILES)
    )
