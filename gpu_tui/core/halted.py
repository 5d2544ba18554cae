"""Detects trainings that a signal or a debugger stopped: they live and hold their card, and make no progress. Pure.

The table says so at once, however long a cell may otherwise be silent, and whoever works beside it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from posixpath import basename

from gpu_tui.core.findings import Severity
from gpu_tui.core.liveness import Run, is_tool, works
from gpu_tui.core.plain import plain
from gpu_tui.core.readings import Process
from gpu_tui.core.rules import Condition
from gpu_tui.core.sweep import CellState, Queue

STOPPED = "T"
TRACED = "t"  # stopped by a debugger: py-spy and gdb may hold a process for a moment or for ever
WIDTH = 80
HELD_FOR = 10.0  # seconds: longer than a tool needs to read the stack of a process
MOST = 16  # rows: who has more of them stopped them on purpose
REMEDY = "kill -CONT with its PID wakes it, if nobody stopped it on purpose: until then it holds its card and bills."
TRACED_REMEDY = "Detach the debugger or tracer (its PID is TracerPid in /proc/PID/status): until then the run holds its card and bills."


def candidates(
    processes: Sequence[Process], run: Run, owners: Mapping[int, str]
) -> tuple[Process, ...]:
    """The queue's shell, the trainers, and each stopped training at or below a job; `owners` maps jobs' PIDs to cells."""
    known = {process.pid: process for process in (*run.runners, *run.trainers)}
    rows = {process.pid: process for process in processes}
    for process in processes:
        stopped = process.state in (STOPPED, TRACED)
        if stopped and works(process) and not is_tool(process) and _owner(process, rows, owners):
            known[process.pid] = process
    return tuple(known.values())


def halted(
    trainers: Sequence[Process],
    queue: Queue,
    owners: Mapping[int, str] | None = None,
    processes: Sequence[Process] = (),
    traced: Mapping[int, Severity] | None = None,
) -> Iterator[Condition]:
    """One finding per stopped training, about its topmost process; its ranks and workers get none of their own.

    `owners` maps PIDs of jobs to cells; `traced` maps PIDs that a debugger holds to the severity.
    """
    traced = traced or {}
    stopped = {
        process.pid: process
        for process in trainers
        if process.state == STOPPED or (process.state == TRACED and process.pid in traced)
    }
    rows = {process.pid: process for process in processes or trainers}
    tops = [process for process in stopped.values() if process.ppid not in stopped]
    for process in tops[:MOST]:
        pid, held = process.pid, process.state == TRACED
        command = plain(" ".join(map(basename, process.argv)) or process.name, WIDTH)
        how = (
            f"PID {pid} is held by a debugger (gdb, strace, py-spy): {command}"
            if held
            else f"PID {pid} is stopped by a signal (SIGSTOP or Ctrl-Z): {command}"
        )
        yield Condition(
            "stalled",
            traced[pid] if held else Severity.SERIOUS,
            how,
            "processes",
            _owner(process, rows, owners or {}) or _cell(process, queue),
            part=f"pid:{pid}",
            remedy=TRACED_REMEDY if held else REMEDY,
        )


def held_for(seconds: float, *, first: bool) -> Severity | None:
    """Severity of a process that a debugger has held for so long, None for a short hold; `first`: since the first look."""
    if seconds >= HELD_FOR:
        return Severity.SERIOUS
    return Severity.WARN if first else None


def all_halted(
    run: Run, queue: Queue, stopped: Sequence[Condition], owners: Mapping[int, str]
) -> bool:
    """Whether every training is stopped, with a finding in `stopped`."""
    jobs: Collection[str] = set(owners.values())
    stopped = [one for one in stopped if one.severity is Severity.SERIOUS]
    cells = {one.cell for one in stopped}
    runs = (
        cell.name for cell in queue.cells if cell.state is CellState.RUNNING and cell.name in jobs
    )
    return (
        bool(stopped)
        and all(process.state in (STOPPED, TRACED) for process in run.trainers)
        and all(name in cells for name in runs)
    )


def _owner(process: Process, rows: Mapping[int, Process], owners: Mapping[int, str]) -> str | None:
    """The cell of the job that is this process or one of its ancestors."""
    seen: set[int] = set()
    above: Process | None = process
    while above is not None and above.pid not in seen:
        if above.pid in owners:
            return owners[above.pid]
        seen.add(above.pid)
        above = rows.get(above.ppid)
    return None


def _cell(process: Process, queue: Queue) -> str | None:
    """The only cell that its command names."""
    words = {basename(part) for word in process.argv[1:] for part in word.split("=", 1)}
    named = [cell.name for cell in queue.cells if cell.name in words]
    return named[0] if len(named) == 1 else None
