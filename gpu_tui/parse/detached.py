"""Programs that train with their output in a file (nohup, setsid, `> out.log &`) -> jobs.

`outputs` text: what `stat -c %N` prints of /proc/PID/fd/1 where it leads to a file: `'/proc/42/fd/1' ->
'/root/out.log'`. Of several processes with one file (ranks, workers) the topmost is the job.
"""

from __future__ import annotations

import re

from gpu_tui.core.job_names import WIDTH, name_of_arguments, unique
from gpu_tui.core.jobs import JOBS_KEPT, Job, JobTable
from gpu_tui.core.liveness import is_launcher, is_tool, works
from gpu_tui.core.plain import plain
from gpu_tui.core.readings import Process
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.procs import parse_processes

_OUTPUT = re.compile(
    r"[`'‘\"]?/?(?:\S*/)?([0-9]{1,10})/fd/1['’\"]? -> [`'‘\"]?(/[^\n]{1,4000}?)['’\"]?"
)
NAMELESS = (
    "nohup.out",
    "out.log",
    "log.txt",
    "output.log",
    "train.log",
    "stdout.log",
    "log",
    "out.txt",
)


def parse_outputs(outputs: bytes) -> dict[int, str]:
    """Pid -> the file that it writes its output to."""
    lines = outputs.decode("utf-8", "replace").split("\n")
    found = (_OUTPUT.fullmatch(line.strip()) for line in lines)
    return {int(match[1]): match[2] for match in found if match}


def parse_detached(
    outputs: bytes, stat: bytes, cmdline: bytes, uptime: float | None, box_time: float | None
) -> JobTable:
    """The jobs by the time they were started, oldest first."""
    paths = parse_outputs(outputs)
    rows = {row.pid: row for row in parse_processes(stat, cmdline, uptime)}
    found = [
        rows[pid]
        for pid in paths
        if pid in rows and rows[pid].state not in ("Z", "X") and works(rows[pid])
    ]
    tops = [row for row in found if not _below(row, rows, paths)]
    tops.sort(key=lambda row: (-(row.age_seconds or 0.0), row.pid))
    jobs = [_job(row, paths[row.pid], box_time, _line(row, rows)) for row in tops]
    return JobTable("nohup", unique(jobs[:JOBS_KEPT]), max(0, len(jobs) - JOBS_KEPT))


def _below(row: Process, rows: dict[int, Process], paths: dict[int, str]) -> bool:
    """Another program above it writes to the same file: this is one of its ranks or workers."""
    return any(
        paths.get(pid) == paths[row.pid] and is_launcher(rows[pid]) for pid in _line(row, rows)[1:]
    )


def _line(row: Process, rows: dict[int, Process]) -> tuple[int, ...]:
    """Its own number and those of the processes above it."""
    line, above = [row.pid], rows.get(row.ppid)
    while above is not None and above.pid not in line:
        line.append(above.pid)
        above = rows.get(above.ppid)
    return tuple(line)


def _job(row: Process, path: str, box_time: float | None, line: tuple[int, ...]) -> Job:
    file = path.rsplit("/", 1)[-1]
    stem = file.rsplit(".", 1)[0]
    name = name_of_arguments(row.argv) if file in NAMELESS else stem
    started = None
    if box_time is not None and row.age_seconds is not None:
        started = box_time - row.age_seconds
    return Job(
        id=str(row.pid),
        name=plain(name, WIDTH) or str(row.pid),
        state=CellState.RUNNING,
        word="running",
        why=f"{row.name} with its output in {file}",
        started_at=started,
        stdout=path.removesuffix(" (deleted)"),
        pids=line,
        command=None if is_tool(row) else " ".join(row.argv),
    )
