"""A plain list of commands, one a line, as people paste them into a shell loop: what is planned, and what of it
the process table shows. Nobody reports the ends: what is told of one is what the cell's own log says.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.readings import Process
from gpu_tui.core.sweep import CellState
from gpu_tui.core.vanished import Ending, ended

BEFORE = "it stands before one that runs: nothing tells how it ended"
UNREAD = "the process table was not read: nothing tells what of the list runs"
NOBODY = "none of the list runs now, and nothing tells which of them ran"


@dataclass(frozen=True, slots=True)
class CommandList:
    """The commands in their order, as jobs that wait; `argvs` their words, env assignments left out."""

    table: JobTable
    argvs: tuple[tuple[str, ...], ...] = ()


def words_of(command: str) -> tuple[str, ...]:
    """A command's words without leading assignments and trailing redirections; () where its quotes do not close."""
    try:
        words = shlex.split(command)
    except ValueError:
        return ()
    while words and "=" in words[0] and words[0].split("=", 1)[0].isidentifier():
        del words[0]
    ends = (
        at for at, word in enumerate(words) if word.startswith((">", "2>", "&>", "|", "&", ";"))
    )
    return tuple(words[: next(ends, len(words))])


def as_table(
    planned: CommandList, processes: Sequence[Process] | None, endings: Mapping[str, Ending]
) -> JobTable:
    """What runs of it now, and what the logs say of those that may have. Without a process table nobody knows
    anything; the order of the list is the runner's.
    """
    if processes is None:
        jobs = [replace(job, state=CellState.CANNOT_TELL, why=UNREAD) for job in planned.table.jobs]
        return replace(planned.table, jobs=tuple(jobs))
    running = {
        at: process
        for at, words in enumerate(planned.argvs)
        if words and (process := command_process(words, processes)) is not None
    }
    last = max(running, default=None)
    return replace(
        planned.table,
        jobs=tuple(
            _placed(job, at, running.get(at), last, endings.get(job.name, Ending()))
            for at, job in enumerate(planned.table.jobs)
        ),
    )


def _placed(job: Job, at: int, process: Process | None, last: int | None, ending: Ending) -> Job:
    if process is not None:
        return replace(job, state=CellState.RUNNING, word="running")
    if last is not None and at >= last:
        return job
    why = NOBODY if last is None else BEFORE
    unknown = replace(job, state=CellState.CANNOT_TELL, why=why)
    known = ended(unknown, ending)
    return known if known is unknown else replace(known, word="log")


def command_process(words: tuple[str, ...], processes: Sequence[Process]) -> Process | None:
    """The process with these words; an interpreter may stand before them, and a path before the first."""
    for process in processes:
        argv = process.argv
        if process.state in ("Z", "X") or len(argv) < len(words):
            continue
        tail = argv[len(argv) - len(words) :]
        first = tail[0].rsplit("/", 1)[-1] == words[0].rsplit("/", 1)[-1]
        if first and tail[1:] == words[1:] and len(argv) - len(words) <= 1:
            return process
    return None
