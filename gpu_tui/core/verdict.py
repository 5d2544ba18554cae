"""The verdict on one instance from independent pieces of evidence, as one pure table of questions.

Unknown never counts as idle, "cannot connect" never counts as dead, and a log alone never proves
what is true now.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpu_tui.core.sweep import CellState, Queue


class Verdict(StrEnum):
    """What an instance is doing, as far as it can be known."""

    RUNNING = "running"
    IDLE = "idle"
    FINISHED = "finished"
    FINISHED_BUT_HUNG = "finished-but-hung"
    STALLED = "stalled"
    CRASHED = "crashed"
    PREEMPTED = "preempted"
    OFF = "off"
    UNREACHABLE = "unreachable"
    CANNOT_TELL = "cannot-tell"


ESCALATES = frozenset({Verdict.CRASHED, Verdict.UNREACHABLE, Verdict.PREEMPTED, Verdict.STALLED})


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known. None = not known.

    `link` is a LinkState.state; `alive` = a process of the run exists; `busy` = the highest GPU share;
    `quiet_seconds` = since log or checkpoint last moved, by the box's clock; `oom_delta` = kills since
    the last look; `rebooted` = another boot id than before.
    """

    link: str
    provider: str = "unknown"
    queue: Queue | None = None
    has_queue: bool = False
    alive: bool | None = None
    busy: float | None = None
    quiet_seconds: float | None = None
    stall_after: float = 900.0
    oom_delta: int = 0
    rebooted: bool = False


def judge(seen: Evidence) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict and the reasons, first reason first."""
    if seen.provider in ("stopped", "gone"):
        return Verdict.OFF, (f"the provider says {seen.provider}",)
    if seen.link == "off":
        return Verdict.OFF, ("marked as stopped",)
    if seen.link == "connecting":
        return Verdict.CANNOT_TELL, ("not connected yet",)
    if seen.link != "live":
        return Verdict.UNREACHABLE, (f"no connection ({seen.link})",)
    queue = seen.queue
    if queue is None or not queue.cells:
        return _without_queue(seen)
    if queue.refused:
        return Verdict.CRASHED, (f"the wrapper refused: {queue.refused}",)
    open_cell = queue.running
    failed = queue.count(CellState.FAILED)
    pending = queue.count(CellState.PENDING)
    if queue.claimed_done and open_cell is None:
        reasons = [f"the queue log ends; {failed} of {len(queue.cells)} cells failed"]
        if seen.alive:
            return Verdict.FINISHED_BUT_HUNG, (*reasons, "a process of the run is still alive")
        return Verdict.FINISHED, tuple(reasons)
    if seen.alive is None:
        return Verdict.CANNOT_TELL, ("the process table was not read",)
    if seen.alive is False:
        return _gone(seen, open_cell is not None, failed, pending)
    return _alive(seen)


def _without_queue(seen: Evidence) -> tuple[Verdict, tuple[str, ...]]:
    if seen.alive or (seen.busy is not None and seen.busy > 0.05):
        return Verdict.RUNNING, ("something works, but no queue is known",)
    if seen.has_queue:
        return Verdict.CANNOT_TELL, ("the queue file is not there or not read",)
    if seen.alive is False and seen.busy is not None:
        return Verdict.IDLE, ("no trainer process and the GPU is idle",)
    if seen.alive is False:
        return Verdict.IDLE, ("no trainer process",)
    return Verdict.CANNOT_TELL, ("no queue, and no process table was read",)


def _gone(
    seen: Evidence, had_cell: bool, failed: int, pending: int
) -> tuple[Verdict, tuple[str, ...]]:
    if not had_cell and not failed and pending and not _started(seen):
        return Verdict.IDLE, ("the queue has not been started",)
    cause = "no process is left and the log has no end line"
    if seen.rebooted:
        cause = "the box was rebooted"
    elif seen.oom_delta:
        cause = "the cgroup OOM killer took it (oom_kill rose)"
    elif not pending and not had_cell and failed:
        cause = f"no process is left; {failed} cells failed"
    return Verdict.CRASHED, (cause,)


def _alive(seen: Evidence) -> tuple[Verdict, tuple[str, ...]]:
    quiet = seen.quiet_seconds
    if quiet is not None and quiet > seen.stall_after:
        return Verdict.STALLED, (f"alive, but nothing moved for {int(quiet // 60)} min",)
    return Verdict.RUNNING, ("a process of the run is alive",)


def _started(seen: Evidence) -> bool:
    return seen.queue is not None and any(cell.started_at is not None for cell in seen.queue.cells)
