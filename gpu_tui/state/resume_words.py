"""How the work of one instance goes on after it died: the exact command, and what it does beside. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpu_tui.core import metrics
from gpu_tui.core.job_scope import in_scope
from gpu_tui.core.jobs import Job
from gpu_tui.core.plain import plain
from gpu_tui.core.resume import Resume, resume_of
from gpu_tui.core.sample import Freshness
from gpu_tui.core.speech import say, told
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.state.contract import jobs_not_counted
from gpu_tui.state.job_tables import told_once
from gpu_tui.state.markdown import code, indexed, md
from gpu_tui.state.resume_command import SCRIPT, command_of, resume_command
from gpu_tui.state.views import InstanceView

JOBS = 10

RESTART = {
    "slurm": "`scontrol requeue ID` where the job may be requeued, else `sbatch` with the script it came from",
    "kubernetes": "the Job's controller restarts pods up to its backoffLimit; a failed Job is made anew with `kubectl create -f` from its manifest",
    "task-spooler": "nothing restarts it: queue its command again with `tsp`",
    "pueue": "`pueue restart ID`",
    "nohup": "nothing restarts it: its command was typed into a shell",
    "tmux": "nothing restarts it: its command was typed into the session",
}


def resume_lines(one: InstanceView) -> list[str]:
    """What restarts the work, as Markdown."""
    cells = [cell for cell in one.queue.cells if cell.job is None]
    lines: list[str] = []
    if one.instance.queue.file and cells:
        lines += _queue_lines(one, cells)
    elif one.instance.queue.file:
        lines.append(
            say("**Resume:** not known, the queue was not read. Look before you start anything.")
        )
    told = [(m, table) for m in metrics.JOBS if (table := one.track(m).value) is not None]
    for (metric, _), table in zip(told, told_once([t for _, t in told]), strict=True):
        fresh = one.freshness(metric) is Freshness.FRESH
        jobs = in_scope(table, one.instance, one.taken_at)[0].jobs
        lines += _job_lines(table.source, jobs, fresh=fresh)
    if words := jobs_not_counted(one.queue):
        lines.append(f"- {words}")
    if not lines:
        lines.append(
            say("**Resume:** no queue file is known: nothing here says what restarts its work.")
        )
    return lines


def _queue_lines(one: InstanceView, cells: Sequence[Cell]) -> Iterator[str]:
    gone = next((found for found in one.findings if found.kind == "runner_gone"), None)
    # A cell that still trains needs no start: the queue goes on after it.
    plan = resume_of([c for c in cells if not gone or c.state is not CellState.RUNNING])
    start = plan.start
    if start is None:
        yield say("**Resume:** nothing is left to run.")
    else:
        when = _when(one, plan, start) if gone is None else md(told(gone.evidence))
        yield say("**Resume:** {when}:", when=when)
        yield ""
        if gone is None:
            command = resume_command(one.instance.queue, one.profile, one.runner, start.index)
        else:
            command = command_of(gone.remedy)
        yield from code(command)
        if one.runner is None:
            yield say(
                "{script} is a placeholder: gpu-tui has not seen the script that ran the queue.",
                script=f"`{SCRIPT}`",
            )
        if plan.again:
            yield say(
                "It runs every cell from there on, so these run once more unless the script skips what is "
                "done: {names}.",
                names=indexed(plan.again),
            )
    if plan.failed:
        yield say(
            "Failed before that, and not run by it: {names}. For each alone: its line in a new queue file, "
            "index 1.",
            names=indexed(plan.failed),
        )
    if plan.missed:
        yield say(
            "The queue went past these without starting them: {names}. Their lines in a new queue file, "
            "index 1.",
            names=indexed(plan.missed),
        )
    if plan.unsynced:
        yield say(
            "Trained, only the durable copy is missing: {names}. Copy, do not train again.",
            names=indexed(plan.unsynced),
        )
    if plan.skipped:
        yield say(
            "Skipped by the start index of the last run: {names}.", names=indexed(plan.skipped)
        )


def _when(one: InstanceView, plan: Resume, start: Cell) -> str:
    name = md(start.name)
    at = say("on the box, from cell {index} ({name}) on", index=start.index, name=name)
    if plan.running:
        return say("it is at work; start nothing beside it. Only if it dies, {at}", at=at)
    if one.queue_read is not None:
        return say("the box is off. When it is started again, {at}", at=at)
    if start.state is CellState.CANNOT_TELL or not one.link.live:
        return say(
            "whether it still runs is not known: look first (`ps`, `tmux ls`). If it is dead, {at}",
            at=at,
        )
    if plan.again and start.state is CellState.FAILED:
        return say(
            "the queue ended, and {name} failed. To run it alone, put its line into a new queue file; else {at}",
            name=name,
            at=at,
        )
    return at


def _job_lines(source: str, jobs: Sequence[Job], *, fresh: bool) -> Iterator[str]:
    """What restarts the jobs of one source. Of a list that is old nobody knows what it says now."""
    if not jobs:
        return
    bad = [job for job in jobs if job.state in (CellState.FAILED, CellState.SYNC_FAILED)]
    live = sum(job.live for job in jobs)
    when = "" if fresh else say(", when it last answered (what runs now is not known: look first)")
    how = say(RESTART.get(source.lower(), "what restarts a job is known only to its runner"))
    yield say(
        "**{source}**: {live} running, {failed} failed{when}. To restart one: {how}.",
        source=md(source), live=live, failed=len(bad), when=when, how=how,
    )  # fmt: skip
    for job in bad[:JOBS]:
        why = f": {md(told(job.why))}" if job.why else ""
        id = plain(job.id, 80).replace("`", "")
        yield f"- {say('failed')}: `{id}` {md(job.name)} ({md(job.word)}{why})"
