"""Panes of tmux by what works in them: `bash sweep.sh` is a shell to tmux, and so is a loop that was typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpu_tui.core.job_names import name_of_arguments, unique
from gpu_tui.core.jobs import SHELL, Job, JobTable
from gpu_tui.core.liveness import trainings_below
from gpu_tui.core.plain import plain
from gpu_tui.core.readings import Process

A_WHILE = 60.0  # seconds: who ends before was a person's command, at whose answer they looked


def with_programs(table: JobTable, processes: Sequence[Process] | None) -> JobTable:
    """The panes with the trainings below them; a shell below which none works is no job."""
    programs = trainings_below(processes or ())
    found = (_with_program(job, programs) for job in table.jobs)
    return replace(table, jobs=unique(job for job in found if job is not None))


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
