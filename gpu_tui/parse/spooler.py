"""What `tsp` (task-spooler) lists -> jobs. Its columns are aligned for people: they are read by their shapes.

    ID   State      Output               E-Level  Times(r/u/s)   Command [run=1/2]
    1    finished   /tmp/ts-out.vNwi92   3        0.00/0.00/0.00 [label]sh -c ...

Some builds have a column of GPUs behind the times. Exit level -1 is a job that a signal ended.
"""

from __future__ import annotations

import re

from gpu_tui.core.job_names import name_of_command, unique
from gpu_tui.core.jobs import JOBS_KEPT, Job, JobTable
from gpu_tui.core.last_command import told_by
from gpu_tui.core.plain import plain
from gpu_tui.core.sweep import CellState

NAME_WIDTH = 60
STATES = {
    "queued": CellState.PENDING,
    "delayed": CellState.PENDING,
    "holding": CellState.PENDING,
    "allocating": CellState.PENDING,
    "running": CellState.RUNNING,
    "skipped": CellState.SKIPPED,
}
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_REAL = re.compile(r"([0-9]{1,9}(?:\.[0-9]{0,4})?)([smhd]?)(?:/|$)", re.ASCII)
_ROW = re.compile(
    r"(?P<id>[0-9]{1,9})\s+(?P<state>[a-z]{3,12})\s+(?P<output>\(file\)|stdout|\S+)"
    r"(?:\s+(?P<exit>-?[0-9]{1,3})\s+(?P<times>[0-9.]{1,12}[smhd]?(?:/[0-9.]+){0,2}))?"
    r"(?:\s+(?P<gpus>[0-9]{1,2}))?\s+(?:\[(?P<label>[^\]]{1,60})\])?(?P<command>\S.*)",
    re.ASCII,
)


def parse_spooler(text: bytes) -> JobTable | None:
    """The jobs, in the order of the queue; None where this is not task-spooler's list."""
    header, *lines = text.decode("utf-8", "replace").split("\n")
    if not header.startswith("ID") or "E-Level" not in header:
        return None
    rows = [match for line in lines if (match := _ROW.fullmatch(line.rstrip()))]
    odd = sum(bool(line.strip()) for line in lines) - len(rows)
    jobs = [_job(row) for row in rows[:JOBS_KEPT]]
    why = f"{odd} lines of its list cannot be read" if odd else None
    return JobTable("task-spooler", unique(jobs), max(0, len(rows) - JOBS_KEPT), why, not odd)


def _job(row: re.Match[str]) -> Job:
    word, exit = row["state"], row["exit"]
    code = int(exit) if exit is not None else None
    if word == "finished" and code is not None:
        state = CellState.FINISHED if code == 0 else CellState.FAILED
    else:
        state = STATES.get(word, CellState.CANNOT_TELL)
    state, unsure = told_by(row["command"], state)
    killed = code == -1
    output = row["output"] if row["output"].startswith("/") else None
    return Job(
        id=row["id"],
        name=plain(row["label"] or name_of_command(row["command"]), NAME_WIDTH),
        state=state,
        word=word,
        why="a signal ended it" if killed else unsure,
        exit_code=None if killed else code,
        took=_seconds(row["times"]),
        stdout=output,
    )


def _seconds(times: str | None) -> float | None:
    """The real time of a job that is over: seconds without a unit, or with one."""
    match = _REAL.match(times or "")
    return None if match is None else float(match[1]) * UNITS[match[2]]
