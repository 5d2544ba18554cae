"""Trainings that a signal stopped: alive in the process table, on their card, and not one step further. Pure.

The table says so at once, however long a cell may otherwise be silent, and whoever works beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from posixpath import basename

from gpu_tui.core.findings import Severity
from gpu_tui.core.plain import plain
from gpu_tui.core.readings import Process
from gpu_tui.core.rules import Condition
from gpu_tui.core.sweep import Queue

STOPPED = "T"  # `t` is a debugger's: py-spy and gdb hold a process for a moment
WIDTH = 80
MOST = 16  # rows: who has more of them stopped them on purpose
REMEDY = "kill -CONT with its PID wakes it, if nobody stopped it on purpose: until then it holds its card and bills."


def halted(trainers: Sequence[Process], queue: Queue) -> Iterator[Condition]:
    """One per training that is stopped; its ranks and workers are told of by the topmost."""
    stopped = {process.pid: process for process in trainers if process.state == STOPPED}
    tops = [process for process in stopped.values() if process.ppid not in stopped]
    for process in tops[:MOST]:
        pid = process.pid
        command = " ".join(map(basename, process.argv)) or process.name
        yield Condition(
            "stalled",
            Severity.SERIOUS,
            f"PID {pid} is stopped by a signal (SIGSTOP or Ctrl-Z): {plain(command, WIDTH)}",
            "processes",
            _cell(process, queue),
            part=f"pid:{pid}",
            remedy=REMEDY,
        )


def _cell(process: Process, queue: Queue) -> str | None:
    """The only cell that its command names."""
    words = {basename(part) for word in process.argv[1:] for part in word.split("=", 1)}
    named = [cell.name for cell in queue.cells if cell.name in words]
    return named[0] if len(named) == 1 else None
