"""What a queue's log has said so far, folded line by line.

The grammar is that of `run_queue.sh` and `run_one.sh`. A log is history: one file may hold several
queue starts, and only what follows the last header describes now.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

RUNS_KEPT = 10_000  # cells of one queue's log: a hostile one may name no end of them
EARLIER_KEPT = 16  # attempts under one name that stand in several lines of a queue file

# --- what one line says; `stamp` is box wall time as if it were UTC seconds, None where there is none ---


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

    stamp: float | None
    index: int
    total: int
    name: str
    task: str
    epochs: int | None


@dataclass(frozen=True, slots=True)
class CellFinished:
    """`[stamp] [i/TOTAL] FINISHED NAME (exit=RC)`."""

    stamp: float | None
    index: int
    total: int
    name: str
    exit_code: int


@dataclass(frozen=True, slots=True)
class QueueDone:
    """The closing line; `failed` is the raw text after `FAILED:`, matched against the roster later."""

    stamp: float | None
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
MILESTONES = (QueueOpened, CellStarted, CellFinished, QueueDone)  # nobody but a queue says them


@dataclass(frozen=True, slots=True)
class CellRun:
    """The latest attempt at one cell. `interrupted`: a newer header came before its end line.

    `begun` = its start line was read; `past` = it belongs to an earlier start of the queue; `earlier` =
    the attempt under the same name at another line of the queue file. Times are None where the log
    has no stamps.
    """

    index: int
    name: str
    started: float | None = None
    finished: float | None = None
    exit_code: int | None = None
    synced: bool | None = None
    interrupted: bool = False
    begun: bool = False
    past: bool = False
    task: str | None = None
    epochs: int | None = None
    refused: str | None = None
    earlier: CellRun | None = None

    @property
    def ended(self) -> bool:
        """Its end line was read."""
        return self.exit_code is not None

    @property
    def seconds(self) -> float | None:
        """From start to end, or None where one of the two is not known."""
        if self.started is None or self.finished is None:
            return None
        return max(0.0, self.finished - self.started)

    def at(self, index: int) -> CellRun | None:
        """The attempt of the queue file's line `index`, where a name stands in several."""
        run: CellRun | None = self
        while run is not None and run.index != index:
            run = run.earlier
        return run


@dataclass(frozen=True, slots=True)
class QueueHistory:
    """Everything the queue log has said so far. `reached` is the highest index since the last header."""

    opened: QueueOpened | None = None
    runs: Mapping[str, CellRun] = field(default_factory=dict)
    done: QueueDone | None = None
    refused: str | None = None
    current: str | None = None
    reached: int = 0
    dropped: int = 0  # cells that were forgotten because there are more than RUNS_KEPT
    moved_at: float | None = None  # the newest stamp of any start or end, None before the first

    def fold(self, event: QueueEvent) -> QueueHistory:
        """The history after one more line."""
        stamp = getattr(event, "stamp", None)
        told = self._fold(event)
        if stamp is None or (self.moved_at is not None and stamp <= self.moved_at):
            return told
        return replace(told, moved_at=stamp)

    def _fold(self, event: QueueEvent) -> QueueHistory:
        match event:
            case QueueOpened():
                return self._open(event)
            case CellStarted():
                return self._start(event)
            case CellFinished(index=index, name=name):
                old = self.runs.get(name)
                if old is None or old.past or (old.index != index and old.ended):
                    old = CellRun(index, name, earlier=_earlier(old, index))  # its start is lost
                run = replace(
                    old, finished=event.stamp, exit_code=event.exit_code, interrupted=False
                )
                current = None if self.current == name else self.current
                return replace(self._with(run), current=current, reached=max(self.reached, index))
            case QueueDone():
                return replace(self, done=event, current=None)
            case CellSynced(name=name):
                return self._sync(name, True)
            case SyncFailed(name=name):
                return self._sync(name, False)
            case WrapperRefused(reason=reason):
                # Below a start line it is run_one.sh that refuses this cell, not the queue.
                run_now = self.runs.get(self.current) if self.current is not None else None
                if run_now is not None:
                    return self._with(replace(run_now, refused=reason))
                return replace(self, refused=reason)

    def _open(self, event: QueueOpened) -> QueueHistory:
        same = self.opened is None or _basename(self.opened.file) == _basename(event.file)
        runs = {
            name: replace(run, interrupted=run.interrupted or not run.ended, past=True)
            for name, run in self.runs.items()
            # A queue that begins at or before a cell that failed runs it again. Another file counts anew.
            if not same or run.index < event.start or run.exit_code in (None, 0, 2)
        }
        return QueueHistory(opened=event, runs=runs, dropped=self.dropped, moved_at=self.moved_at)

    def _start(self, event: CellStarted) -> QueueHistory:
        run = CellRun(
            event.index,
            event.name,
            started=event.stamp,
            begun=True,
            task=event.task or None,
            epochs=event.epochs,
            earlier=_earlier(self.runs.get(event.name), event.index),
        )
        reached = max(self.reached, event.index)
        return replace(self._with(run), current=event.name, done=None, reached=reached)

    def _sync(self, name: str, ok: bool) -> QueueHistory:
        run = self.runs.get(name)
        if run is None:
            return self
        return self._with(replace(run, synced=ok))

    def _with(self, run: CellRun) -> QueueHistory:
        runs = {**self.runs, run.name: run}
        over = len(runs) - RUNS_KEPT
        for name in list(runs)[: max(0, over)]:
            del runs[name]
        return replace(self, runs=runs, dropped=self.dropped + max(0, over))


def _earlier(old: CellRun | None, index: int) -> CellRun | None:
    """What is kept of an attempt when its name starts again at line `index`."""
    if old is None or old.past:
        return None
    kept = [run for run in _chain(old) if run.index != index][:EARLIER_KEPT]
    earlier = None
    for run in reversed(kept):
        earlier = replace(run, earlier=earlier)
    return earlier


def _basename(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _chain(run: CellRun | None) -> list[CellRun]:
    found = []
    while run is not None:
        found.append(run)
        run = run.earlier
    return found
