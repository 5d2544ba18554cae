"""Programs that train outside of tmux (nohup, setsid, `> out.log &`, a terminal, /dev/null) -> jobs.

`outputs` text: what `stat -c %N` prints of /proc/PID/fd/1 where it leads to a file: `'/proc/42/fd/1' ->
'/root/out.log'`. `held`: the same of programs whose output goes elsewhere, and of the logs that any of them
holds open. Of several processes with one file (ranks, workers) the topmost is the job.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from posixpath import basename

from gpu_tui.core.job_names import WIDTH, name_of_arguments, unique
from gpu_tui.core.jobs import JOBS_KEPT, Job, JobTable
from gpu_tui.core.liveness import LAUNCHERS, is_launcher, is_tool, trains, works
from gpu_tui.core.log_cells import CELL, cell_in
from gpu_tui.core.plain import plain
from gpu_tui.core.readings import Process
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.procs import parse_processes
from gpu_tui.parse.quoted import unquoted

_LINK = re.compile(r"[`'‘\"]?/?(?:\S*/)?([0-9]{1,10})/fd/([0-9]{1,7})['’\"]? -> ([^\n]{1,16000})")
_LOG = re.compile(r"/[^\n]*\.(?:log|out|txt|err)")
# What a library writes for itself: the debug logs of wandb, a package's own lists.
_NO_LOG = re.compile(r"/wandb/|/(?:site|dist)-packages/|/\.|^/(?:usr|proc|sys|etc)/")
_TRAINING = re.compile(r"events\.out\.tfevents\.|\.wandb$|^/dev/nvidia[0-9]")
_SYSTEM = re.compile(r"/(?:usr/(?:s?bin|lib|share|libexec)|s?bin|lib)/")
_SESSION = re.compile(r"(?:^|\s)-[A-Za-z]*S\s+(\S{1,80})")
_STARTER = re.compile(r"torchrun|accelerate|deepspeed|mpirun|torch\.distributed\.")
_DATE = re.compile(r"[-_.:T0-9]+")
A_WHILE = 60.0  # seconds: who ends before was a person's command, at whose answer they looked
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
WHERE = {
    "/dev/null": "with its output to /dev/null",
    "pipe:": "with its output to a pipe",
    "socket:": "with its output to a socket",
    "/dev/": "with its output to a terminal",
}


@dataclass(slots=True)
class _Links:
    """Where each program's output goes, by pid: a file, or elsewhere; and what it holds open."""

    files: dict[int, str] = field(default_factory=dict)
    elsewhere: dict[int, str] = field(default_factory=dict)
    logs: dict[int, list[str]] = field(default_factory=dict)
    training: set[int] = field(default_factory=set)  # who holds what only a training does


def parse_outputs(outputs: bytes) -> dict[int, str]:
    """Pid -> the file that it writes its output to."""
    return {pid: path for pid, fd, path in _links(outputs) if fd == 1 and path.startswith("/")}


def _links(text: bytes) -> Iterator[tuple[int, int, str]]:
    for line in text.decode("utf-8", "replace").split("\n"):
        if match := _LINK.fullmatch(line.strip()):
            yield int(match[1]), int(match[2]), unquoted(match[3])


def _read(outputs: bytes, held: bytes) -> _Links:
    links = _Links(parse_outputs(outputs))
    for pid, fd, path in _links(held):
        if fd == 1 and pid not in links.files:
            links.elsewhere[pid] = path
        elif fd > 1 and _TRAINING.search(path):
            links.training.add(pid)
        elif fd > 1 and _LOG.fullmatch(path) and not _NO_LOG.search(path):
            logs = links.logs.setdefault(pid, [])
            if path not in logs:
                logs.append(path)
    return links


def parse_detached(
    outputs: bytes,
    stat: bytes,
    cmdline: bytes,
    uptime: float | None,
    box_time: float | None,
    *,
    held: bytes = b"",
    logs: str | None = None,
) -> JobTable:
    """The jobs by the time they were started, oldest first. `logs` is the pattern of the cells' logs: a program
    that holds one of them open is that cell.
    """
    links = _read(outputs, held)
    rows = {row.pid: row for row in parse_processes(stat, cmdline, uptime)}
    cell = cell_in(logs) if logs and CELL in logs else None
    found: dict[int, str | None] = {}
    for pid in {**links.files, **links.elsewhere}:
        row = rows.get(pid)
        if row is None or row.state in ("Z", "X") or not works(row):
            continue
        own = links.logs.get(pid, [])
        named = [path for path in own if cell is not None and cell.fullmatch(path)]
        if len(named) == 1:
            found[pid] = named[0]
        elif pid in links.files:
            found[pid] = links.files[pid]
        elif _is_a_run(row, own, trained=pid in links.training):
            found[pid] = own[0] if own else None
    for pid in [pid for pid, path in found.items() if path is None]:
        for over in _line(rows[pid], rows)[1:]:
            if over in links.elsewhere and _is_a_rank(rows[pid], rows[over]):
                found.setdefault(over, None)
    tops = _tops(found, rows)
    order = sorted(tops, key=lambda pid: (-(rows[pid].age_seconds or 0.0), pid))
    jobs = [_job(rows[pid], tops[pid], links, box_time, rows, cell) for pid in order]
    return JobTable("nohup", unique(jobs[:JOBS_KEPT]), max(0, len(jobs) - JOBS_KEPT))


def _is_a_run(row: Process, logs: list[str], *, trained: bool) -> bool:
    """A program whose output nobody keeps is one only by what it holds or is called; of the system's own, none is."""
    if is_tool(row):
        return False
    for word in row.argv[1:3]:
        if _SYSTEM.match(word) and not basename(word).startswith(LAUNCHERS):
            return False
    return trained or bool(logs) or trains(row)


def _is_a_rank(row: Process, over: Process) -> bool:
    """Many of them are one training: what began them stands for all, though it holds nothing itself."""
    if not works(over):
        return False
    return (
        over.argv == row.argv
        or "--multiprocessing-fork" in row.argv
        or any(_STARTER.match(basename(word)) for word in over.argv[:3])
    )


def _tops(found: Mapping[int, str | None], rows: Mapping[int, Process]) -> dict[int, str | None]:
    """Of those that belong together the topmost, which has the log that one of those below it writes; where these
    have several logs, each of them is a run, and what began them is none.
    """
    above = {pid: [p for p in _line(rows[pid], rows)[1:] if p in found] for pid in found}
    below: dict[int, set[str]] = {}
    for pid, path in found.items():
        for over in above[pid]:
            if path is not None and found[over] is None:
                below.setdefault(over, set()).add(path)
    paths = dict(found)
    for pid, logs in below.items():
        if len(logs) == 1:
            paths[pid] = next(iter(logs))
    drivers = {pid for pid, logs in below.items() if len(logs) > 1}
    return {
        pid: path
        for pid, path in paths.items()
        if pid not in drivers
        and not any(
            over not in drivers
            and is_launcher(rows[over])
            and (found[pid] is None or path == paths[over])
            for over in above[pid]
        )
    }


def _line(row: Process, rows: Mapping[int, Process]) -> tuple[int, ...]:
    """Its own number and those of the processes above it."""
    line, above = [row.pid], rows.get(row.ppid)
    while above is not None and above.pid not in line:
        line.append(above.pid)
        above = rows.get(above.ppid)
    return tuple(line)


def _job(
    row: Process,
    path: str | None,
    links: _Links,
    box_time: float | None,
    rows: Mapping[int, Process],
    cell: re.Pattern[str] | None,
) -> Job:
    started = None
    if box_time is not None and row.age_seconds is not None:
        started = box_time - row.age_seconds
    told, line = links.files.get(row.pid), _line(row, rows)
    screen = next((rows[pid] for pid in line[1:] if rows[pid].name.lower() == "screen"), None)
    short = told is None and row.age_seconds is not None and row.age_seconds < A_WHILE
    return Job(
        id=str(row.pid),
        name=plain(_name(row, path, cell, screen), WIDTH) or str(row.pid),
        state=CellState.RUNNING,
        word="running",
        why=_why(row, path, links.elsewhere.get(row.pid, ""), screen),
        started_at=started,
        stdout=path.removesuffix(" (deleted)") if path is not None else None,
        stderr=told if path is not None and told != path else None,
        pids=line,
        command=None if short or is_tool(row) else " ".join(row.argv),
    )


def _name(
    row: Process, path: str | None, cell: re.Pattern[str] | None, screen: Process | None
) -> str:
    if path is not None and cell is not None and (match := cell.fullmatch(path)):
        return match[1]
    if path is None and screen is not None and (match := _SESSION.search(" ".join(screen.argv))):
        return match[1]
    file = basename(path or "")
    stem = file.rsplit(".", 1)[0]
    if not stem or file in NAMELESS or _DATE.fullmatch(stem):
        return name_of_arguments(row.argv)
    return stem


def _why(row: Process, path: str | None, elsewhere: str, screen: Process | None) -> str:
    if path is not None:
        return f"{row.name} with its output in {plain(basename(path), WIDTH)}"
    if screen is not None:
        return f"{row.name} in screen"
    words = (words for sign, words in WHERE.items() if elsewhere.startswith(sign))
    return f"{row.name} {next(words, 'with its output to a file')}"
