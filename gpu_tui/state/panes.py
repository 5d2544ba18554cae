"""Panes of tmux by what works in them: `bash sweep.sh` is a shell to tmux, and so is a loop that was typed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpu_tui.core.job_names import name_of_arguments, name_of_command, unique
from gpu_tui.core.jobs import SHELL, Job, JobTable
from gpu_tui.core.liveness import trainings_below
from gpu_tui.core.plain import plain
from gpu_tui.core.readings import Process

A_WHILE = 60.0  # seconds: who ends before was a person's command, at whose answer they looked


def with_programs(table: JobTable, processes: Sequence[Process] | None) -> JobTable:
    """The panes with the trainings below them; a shell below which none works is no job. Those that share a session
    are called by what they run.
    """
    programs = trainings_below(processes or ())
    found = (_with_program(job, programs) for job in table.jobs)
    jobs = [job for job in found if job is not None]
    sharing = Counter(job.name for job in jobs)
    named = (_by_its_run(job, programs) if sharing[job.name] > 1 else job for job in jobs)
    return replace(table, jobs=unique(named))


def _by_its_run(job: Job, programs: Mapping[int, Process]) -> Job:
    if not job.live:
        return replace(job, name=name_of_command(job.command)) if job.command else job
    program = programs.get(job.pids[0]) if job.pids else None
    return job if program is None else replace(job, name=name_of_arguments(program.argv))


def _with_program(job: Job, programs: Mapping[int, Process]) -> Job | None:
    program = programs.get(job.pids[0]) if job.live and job.pids else None
    if program is None:
        return None if job.word == SHELL else job
    age = program.age_seconds
    command = " ".join(program.argv) if age is None or age >= A_WHILE else None
    if job.word != SHELL:
        return replace(job, command=command)
    name = job.name or name_of_arguments(program.argv)
    why = f"{plain(program.name, 30)} in tmux"
    return replace(job, name=name, word="running", why=why, command=command, by_processes=True)
