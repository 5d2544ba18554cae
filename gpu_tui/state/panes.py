"""Panes of tmux by what works in them: `bash sweep.sh` is a shell to tmux, and so is a loop that was typed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpu_tui.core.job_names import name_of_arguments, unique
from gpu_tui.core.jobs import SHELL, Job, JobTable
from gpu_tui.core.liveness import training_below
from gpu_tui.core.plain import plain
from gpu_tui.core.readings import Process


def with_programs(table: JobTable, processes: Sequence[Process] | None) -> JobTable:
    """The panes with the trainings below them; a shell below which none works is no job."""
    found = (_with_program(job, processes or ()) for job in table.jobs)
    return replace(table, jobs=unique(job for job in found if job is not None))


def _with_program(job: Job, processes: Sequence[Process]) -> Job | None:
    program = training_below(processes, job.pids[0]) if job.live and job.pids else None
    if program is None:
        return None if job.word == SHELL else job
    command = " ".join(program.argv)
    if job.word != SHELL:
        return replace(job, command=command)
    name = job.name or name_of_arguments(program.argv)
    why = f"{plain(program.name, 30)} in tmux"
    return replace(job, name=name, word="running", why=why, command=command)
