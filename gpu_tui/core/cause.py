"""Why a run crashed: every question stands in one table, the first that is answered names the cause."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from gpu_tui.core.alarms import by_sigkill
from gpu_tui.core.cut_short import cut_short
from gpu_tui.core.facts import Evidence
from gpu_tui.core.sweep import Cell, CellState

KILLED_EXITS = {129: "SIGHUP", 130: "Ctrl-C", 137: "SIGKILL", 143: "SIGTERM"}
GONE = "no process is left and the log has no end line"


class Cause(StrEnum):
    """Why a run crashed. `killed` = from outside, by a person or the platform; `unknown` is honest."""

    REBOOT = "reboot"
    HARDWARE = "hardware"
    OOM_KILL = "oom-kill"
    EXCEPTION = "exception"
    HANGUP = "hangup"
    KILLED = "killed"
    UNKNOWN = "unknown"


def cause_of(seen: Evidence) -> tuple[Cause, str]:
    """The cause, and how it is known."""
    return next((cause, why) for cause, ask in CAUSES if (why := ask(seen)))


def _reboot(seen: Evidence) -> str | None:
    return "the box was rebooted after the run's last sign of life" if seen.rebooted else None


def _hardware(seen: Evidence) -> str | None:
    failure = seen.failure
    if failure is not None and failure.label in ("xid", "hardware"):
        return f"the card failed: {failure.text.strip()}"
    return f"the card failed: {seen.gpu_fault}" if seen.gpu_fault else None


def _oom_kill(seen: Evidence) -> str | None:
    if seen.oom_rose:
        return f"the cgroup OOM killer took it (oom_kill rose by {seen.oom_rose})"
    if seen.failure is not None and seen.failure.label == "host_oom":
        return f"main memory ran out: {seen.failure.text.strip()}"
    if seen.oom_rose is None and seen.oom_counted:
        if seen.exit_code == 137:
            return f"exit 137, and the cgroup has counted {seen.oom_counted} OOM kill(s)"
        if seen.exit_code is None and seen.failure is not None and by_sigkill(seen.failure):
            return f"its log ends with Killed, and the cgroup has counted {seen.oom_counted} OOM kill(s)"
    return None


def _wrapper(seen: Evidence) -> str | None:
    refused = seen.queue.refused if seen.queue else None
    return f"the wrapper refused: {refused}" if refused else None


def _exception(seen: Evidence) -> str | None:
    failure = seen.failure
    if failure is not None and failure.label not in ("killed", "preempted"):
        if failure.above:
            return f"its log says, above its last reports: {failure.told.strip()}"
        return f"its log ends with: {failure.told.strip()}"
    if seen.exit_code and seen.exit_code not in KILLED_EXITS:
        return f"exit {seen.exit_code}, and no process is left"
    return None


def _hangup(seen: Evidence) -> str | None:
    text = seen.failure.text.lower() if seen.failure and seen.failure.label == "killed" else ""
    if seen.exit_code == 129 or "hangup" in text or "sighup" in text:
        return "a hangup ended it: it hung on a connection; start it in tmux"
    if seen.session_gone and not text and not seen.exit_code:
        return "it hung on an ssh session, and that has ended: start it in tmux"
    return None


def _killed(seen: Evidence) -> str | None:
    signal = KILLED_EXITS.get(seen.exit_code or 0)
    if seen.failure is not None and seen.failure.label == "killed":
        signal = seen.failure.text.strip() or signal
    elif signal is None and seen.exit_code:
        return None
    by_kernel = "killed" in (signal or "").lower() or seen.exit_code == 137 or signal is None
    if seen.oom_rose is None and by_kernel:
        return None  # it may have been the kernel: nobody counted
    if signal:
        return f"it was killed from outside ({signal}), and the kernel counted no OOM kill"
    # A queue's shell outlives its trainer and writes the end line: both are gone only if something killed both.
    if seen.rebooted is False and seen.cells and seen.together and _cut_cell(seen):
        return (
            "its runner went with it, without an end line, an exception, an OOM kill or a reboot: "
            "it was killed from outside"
        )
    return None


def _unknown(seen: Evidence) -> str:
    if seen.exit_code == 137 or (seen.failure is not None and seen.failure.label == "killed"):
        return "it was killed; whether for memory cannot be told, nobody counted OOM kills before"
    if (cell := _cut_cell(seen)) is not None and cell.share is not None:
        return f"{cell.name}: its process is gone at {cell.share:.0%} of its way, and nothing says how it ended"
    if (
        seen.cells
        and cell is None
        and (waits := seen.queue.count(CellState.PENDING) if seen.queue else 0)
    ):
        return left_waiting(waits)
    return (cut_short(seen.went) if seen.went else None) or GONE


def left_waiting(cells: int) -> str:
    """The reason text for a queue whose shell is gone while cells wait."""
    if cells == 1:
        return "the queue's own shell is gone: the cell that waits will not start"
    return f"the queue's own shell is gone: the {cells} cells that wait will not start"


def _cut_cell(seen: Evidence) -> Cell | None:
    """The cell of a queue that was running when the run ended, and has no end line."""
    cut = (one for one in seen.cells if one.state is CellState.FAILED and one.finished_at is None)
    return next((one for one in cut if one.exit_code is None), None)


CAUSES: tuple[tuple[Cause, Callable[[Evidence], str | None]], ...] = (
    (Cause.REBOOT, _reboot),
    (Cause.HARDWARE, _hardware),
    (Cause.OOM_KILL, _oom_kill),
    (Cause.EXCEPTION, _exception),
    (Cause.EXCEPTION, _wrapper),
    (Cause.HANGUP, _hangup),
    (Cause.KILLED, _killed),
    (Cause.UNKNOWN, _unknown),
)
