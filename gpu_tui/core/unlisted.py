"""Decides whether runs may follow that no list names: those of a shell loop, of xargs, parallel or make. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from posixpath import basename

from gpu_tui.core.jobs import Job
from gpu_tui.core.liveness import (
    MULTIPLEXERS,
    PROMPTS,
    SSH_SERVERS,
    is_launcher,
    is_typed_at,
    works,
)
from gpu_tui.core.readings import Process
from gpu_tui.core.restarts import AT_ONCE, INIT

# Programs that start one command after another. GNU parallel is a script of perl.
STARTERS = frozenset({"xargs", "parallel", "make", "gmake", "just", "task", "snakemake", "rush"})
INTERPRETERS = ("perl", "python")
# Programs that start shells for people or for the whole box: the shells above them are not a queue's.
SERVERS = (
    *(*SSH_SERVERS, *MULTIPLEXERS, "systemd", "cron", "atd", "login", "node", "code-server"),
    *("containerd-shim", "conmon", "supervisord", "s6-", "runsv"),
)
# Python programs that start the ranks of one training, not one training after another.
RANKS = ("torchrun", "accelerate", "deepspeed", "mpirun", "srun", "torch.distributed", "horovodrun")
AGENTS = ("wandb", "clearml-agent")  # `wandb agent` starts one run of a sweep after another
SLACK = 2.0  # seconds: ages and times are rounded
# A `sh -c` that runs one training is no queue: it has to repeat something, or to train more than once.
_LOOP = re.compile(r"(?:^|[\s;&|(])(?:for|while|until|select|xargs|parallel|make)\s")
_TRAINING = re.compile(r"(?:^|[\s;&|(/])(?:python[0-9.]*|torchrun|accelerate|deepspeed|mpirun)\s")


def more_may_follow(
    jobs: Iterable[Job], processes: Sequence[Process] | None, read_at: float, now: float
) -> bool:
    """True while a program that started one of `jobs` is alive and may start another.

    `jobs` are running or gone; their `pids` lead from the job to its ancestors. `processes` is the process
    table of `read_at`, None if it was not read: then more may follow any job with a parent. Times are epoch
    seconds by the box's clock.
    """
    known = [job for job in jobs if len(job.pids) > 1]
    if processes is None:
        return any(job.pids[1] != INIT for job in known)
    table = {one.pid: one for one in processes if one.state not in ("Z", "X")}
    typed: dict[int, list[Job]] = {}
    for job in known:
        for one in _above(job, table, read_at):
            if _starts_more(one) or _drives(one, job, table.get(job.pids[0])):
                return True
            if is_typed_at(one):
                typed.setdefault(one.pid, []).append(job)
    return any(_in_turn(started, now) for started in typed.values())


def _above(job: Job, table: Mapping[int, Process], read_at: float) -> Iterator[Process]:
    """The living ancestors of a job, nearest first, up to a program that serves a person or the whole box."""
    last_seen = job.seen_at or job.finished_at
    for pid in job.pids[1:]:
        one = table.get(pid)
        if pid == INIT or (one is not None and _is_a_server(one)):
            return
        if one is None:
            continue  # it ended with the job; its own parent may be alive
        began = None if one.age_seconds is None else read_at - one.age_seconds
        if None not in (began, last_seen) and (began or 0.0) > (last_seen or 0.0) + SLACK:
            continue  # the PID was reused by another process
        yield one
        if is_typed_at(one):
            return


def _is_a_server(one: Process) -> bool:
    service = is_launcher(one) and len(one.argv) > 1 and not works(one)  # jupyter, ray, ...
    if service and _is_an_agent(one):
        return False
    return service or one.name.lower().startswith(SERVERS)


def _is_an_agent(one: Process) -> bool:
    words = [basename(word) for word in one.argv[1:4]]
    return any(word in AGENTS for word in words) and ("agent" in words or "daemon" in words)


def _drives(one: Process, job: Job, row: Process | None) -> bool:
    """Whether a Python program starts trainings as separate programs; `row`: the job's process, if it lives."""
    if _is_an_agent(one):
        return True
    words = [basename(word) for word in one.argv[:5]]
    if not works(one) or any(word.startswith(RANKS) for word in words):
        return False
    if row is None:
        return "--multiprocessing-fork" not in (job.command or "")
    return "--multiprocessing-fork" not in row.argv and row.argv[:2] != one.argv[:2]


def _starts_more(one: Process) -> bool:
    """Whether a process is a shell that runs a script or a loop, or a program that starts one command after another."""
    words = [basename(word) for word in one.argv]
    if words[:1] == ["busybox"]:
        del words[0]
    if not words:
        return one.name in STARTERS
    if words[0].lstrip("-") in PROMPTS:
        if is_typed_at(one):
            return False
        text = _command_of(one.argv)
        if text is None:
            return True
        return bool(_LOOP.search(text)) or len(_TRAINING.findall(text)) > 1
    program = words[1:2] if words[0].startswith(INTERPRETERS) else words[:1]
    return bool(program) and program[0] in STARTERS


def _command_of(argv: Sequence[str]) -> str | None:
    """The text that a shell was given with -c; None where it runs a script."""
    for at, word in enumerate(argv[1:], 1):
        if not word.startswith("-"):
            return None
        if not word.startswith("--") and "c" in word:
            return argv[at + 1] if at + 1 < len(argv) else ""
    return None


def _in_turn(jobs: Sequence[Job], now: float) -> bool:
    """Whether one of the jobs of one prompt began after another had ended, as in a loop that was typed there.

    Jobs that run side by side in the background are no loop. After one job of a loop has ended, the next may take a
    moment to begin.
    """
    live = [job for job in jobs if job.live]
    gone = [job for job in jobs if not job.live and job.finished_at is not None]
    if not live:
        return any(now - (job.finished_at or 0.0) < AT_ONCE for job in gone)
    return any(job.then is not None for job in gone)
