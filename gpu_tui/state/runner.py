"""Findings about the runner of a queue: it is dead while its trainer lives, or its script was changed while its shell
reads it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from posixpath import basename, join

from gpu_tui.core import metrics
from gpu_tui.core.commands import command_process
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import QueueFiles
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.liveness import (
    Run,
    cell_words,
    cells_named,
    find_run,
    is_launcher,
    is_tool,
    names_one,
    works,
)
from gpu_tui.core.mask import shell_path
from gpu_tui.core.metrics import Metric
from gpu_tui.core.orphan import is_orphaned_subshell, may_start_next, orphans, same_path
from gpu_tui.core.plain import plain
from gpu_tui.core.readings import Process
from gpu_tui.core.rules import Condition
from gpu_tui.core.sample import NO_TRACK, Absent
from gpu_tui.core.script_change import above, changed_scripts, occurs
from gpu_tui.core.shells import Shell
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.state.facts import read_on_box
from gpu_tui.state.instance import InstanceState
from gpu_tui.state.resume_command import loop_command, resume_command, when_ended
from gpu_tui.state.runner_kept import Loop, Runner

SERVERS: dict[Metric[JobTable], str] = {
    metrics.SPOOLER: "task-spooler keeps its list in memory alone. Queue the jobs that waited again with tsp: its first call starts a new server.",
    metrics.PUEUE: "pueue keeps its list on the disk. When the job that is left has ended, run pueued -d and then pueue start on the box.",
}
NAMED = 3  # cells that a sentence names
WIDTH = 60


def runner_findings(
    kept: InstanceState, now: float, run: Run | None, queue: Queue
) -> tuple[Condition, ...]:
    """Findings about the runners of this box, and a note of the runner in the history. None on a cluster's login node,
    whose shells are other people's.
    """
    processes, shells = kept.fresh(metrics.PROCESSES, now), kept.fresh(metrics.SHELLS, now)
    if run is None or processes is None or shells is None or kept.instance.scheduler is not None:
        return ()
    by_pid = {shell.pid: shell for shell in shells}
    runners = [one for one in run.runners if not is_orphaned_subshell(one, by_pid)]
    file = kept.instance.queue.file
    for one in runners:
        shell = by_pid.get(one.pid)
        if file is None or shell is None or shell.cwd is None:
            continue
        if any(same_path(join(shell.cwd, word), file) for word in one.argv[1:]):
            kept.runners.keep(Runner(one.argv, shell.cwd, next(iter(shell.writes), None)), now)
            break
    if not kept.instance.queue.names_runs:
        _remember_loops(kept, now, processes, by_pid)
    return (
        *_changed(kept, run, processes, shells, runners),
        *_gone(kept, queue, processes, by_pid),
        *_servers_gone(kept, now, processes),
    )


def _changed(
    kept: InstanceState,
    run: Run,
    processes: Sequence[Process],
    shells: Sequence[Shell],
    runners: Sequence[Process],
) -> Iterator[Condition]:
    read_at = read_on_box(kept, metrics.PROCESSES)
    if read_at is None:
        return
    trainers = {one.pid for one in run.trainers}
    if not kept.instance.queue.names_runs:
        trainers |= {one.pid for one in processes if works(one) and not is_tool(one)}
    pids = {one.pid for one in runners}
    yield from changed_scripts(shells, processes, trainers, pids, read_at)


def _gone(
    kept: InstanceState,
    queue: Queue,
    processes: Sequence[Process],
    shells: Mapping[int, Shell],
) -> Iterator[Condition]:
    files = kept.instance.queue
    if kept.value(metrics.COMMANDS) is not None:
        yield from _list_gone(kept, queue, processes, shells)
        return
    if files.names_runs and files.file is None:
        return
    if not files.names_runs:
        yield from _loops_gone(kept, processes, shells)
    if files.file is not None:
        yield from _queue_gone(kept, queue, processes, shells)
        return
    for path, history in kept.found_queues.items():
        opened, name = history.opened, history.current
        if opened is None or history.done is not None or name is None:
            continue
        runs = any(c.name == name and c.state is CellState.RUNNING for c in queue.cells)
        if not runs or history.reached >= opened.total:
            continue
        configs = {f"{name}.yaml"}
        about = [one for one in processes if is_launcher(one) and names_one(one, configs, {name})]
        heads = _abandoned_trainings(about, processes, shells, configs, {name}, opened.file, path)
        if heads:
            start, total = history.reached + 1, opened.total
            left = " … ".join(dict.fromkeys((f"[{start}/{total}]", f"[{total}/{total}]")))
            yield _condition(kept, QueueFiles(opened.file, path), heads, [name], left, start)


def _remember_loops(
    kept: InstanceState, now: float, processes: Sequence[Process], shells: Mapping[int, Shell]
) -> None:
    """Note for each training the shell above it that reads a list, and its position. Both are lost when it dies."""
    table, read_at = {one.pid: one for one in processes}, read_on_box(kept, metrics.PROCESSES)
    known = kept.runners.loops
    found: list[Loop] = []
    for one in processes:
        if read_at is None or one.age_seconds is None or not works(one) or is_tool(one):
            continue
        began = read_at - one.age_seconds
        loops = (
            _loop_of(shells[pid], table[pid], one.pid, began)
            for pid in above(one.pid, table)
            if pid in shells
        )
        loop = next((loop for loop in loops if loop), None)
        loop = loop or next((loop for loop in known if loop.is_of(one.pid, began)), None)
        if loop is not None and loop.path not in {other.path for other in found}:
            found.append(loop)
    kept.runners.keep_loops(found, now)


def _loop_of(shell: Shell, process: Process, trainer: int, began: float) -> Loop | None:
    for held in shell.lists:
        if held.stamp is not None and held.before:
            line = plain(held.before.rstrip("\n").rpartition("\n")[2], WIDTH)
            runner = Runner(process.argv, shell.cwd, next(iter(shell.writes), None))
            return Loop(runner, held.path, held.pos, held.stamp.size, line, trainer, began)
    return None


def _loops_gone(
    kept: InstanceState, processes: Sequence[Process], shells: Mapping[int, Shell]
) -> Iterator[Condition]:
    """Findings for loops that died while their trainings still run, and that had lines of their lists left."""
    table, read_at = {one.pid: one for one in processes}, read_on_box(kept, metrics.PROCESSES)
    for loop in kept.runners.loops:
        one = table.get(loop.trainer)
        if one is None or one.age_seconds is None or read_at is None or loop.pos >= loop.size:
            continue
        if not loop.is_of(one.pid, read_at - one.age_seconds):
            continue
        words = loop.line.split()

        def about(process: Process, words: Sequence[str] = words) -> int:
            return int(any(occurs(word, " ".join(process.argv)) for word in words))

        heads = orphans([one], processes, shells, about)
        if not heads or may_start_next(processes, shells, heads, loop.path, None):
            continue
        head, name = heads[0], plain(basename(loop.path), WIDTH)
        yield Condition(
            "runner_gone",
            Severity.SERIOUS,
            f'the loop that read {name} is gone: "{loop.line}" went on without it (PID {head.pid}, child of {head.ppid}), and nothing starts the lines after it',
            "processes",
            part=f"file:{loop.path}",
            remedy=when_ended(head.pid, loop_command(kept.profile, loop, head.pid)),
        )


def _servers_gone(
    kept: InstanceState, now: float, processes: Sequence[Process]
) -> Iterator[Condition]:
    """Findings for servers of job lists that died while one of their jobs still runs."""
    for metric, advice in SERVERS.items():
        name = metric.name
        if (table := kept.fresh(metric, now)) is not None:
            runs, left = (
                [job.name for job in table.jobs if job.state is state]
                for state in (CellState.RUNNING, CellState.PENDING)
            )
            kept.runners.keep_waits(name, runs, left, now)
            continue
        waits = kept.runners.waits(name)
        if waits is None or not waits.left:
            continue
        if not isinstance(kept.tracks.get(name, NO_TRACK).latest, Absent):
            continue
        # A job of task-spooler keeps its own client as its parent, whatever becomes of the server.
        for one in processes:
            said = " ".join(one.argv)
            if (
                one.state not in ("Z", "X")
                and works(one)
                and any(occurs(word, said) for word in waits.runs)
            ):
                left_names = _listed(waits.left, waits.more)
                yield Condition(
                    "runner_gone",
                    Severity.SERIOUS,
                    f"{name} is gone: {_listed(waits.runs)} went on without it (PID {one.pid}), and nothing starts {left_names}",
                    "processes",
                    part=name,
                    remedy=advice,
                )
                break


def _queue_gone(
    kept: InstanceState,
    queue: Queue,
    processes: Sequence[Process],
    shells: Mapping[int, Shell],
) -> Iterator[Condition]:
    files, history = kept.instance.queue, kept.queue_history
    cells = [cell for cell in queue.cells if cell.job is None]
    runs = [cell for cell in cells if cell.state is CellState.RUNNING]
    begun = history.opened is not None or any(cell.logged for cell in runs)
    if history.done is not None or not runs or not (begun or kept.runners.runner):
        return
    last = max(cell.index for cell in runs)
    left = [c for c in cells if c.state is CellState.PENDING and not c.never_run and c.index > last]
    # Trainers below a left-over subshell are recognised by their own arguments.
    roster = kept.value(metrics.ROSTER)
    told = [one for one in find_run(processes, None, roster).trainers if works(one)]
    configs, names = cell_words(roster)
    heads = (
        _abandoned_trainings(told, processes, shells, configs, names, files.file, files.log)
        if left
        else ()
    )
    if heads:
        words = [cell.name for cell in runs]
        yield _condition(kept, files, heads, words, _names(left), left[0].index)


def _list_gone(
    kept: InstanceState, queue: Queue, processes: Sequence[Process], shells: Mapping[int, Shell]
) -> Iterator[Condition]:
    """The same finding for a list of commands, which any program may run."""
    planned, file = kept.value(metrics.COMMANDS), kept.instance.queue.commands
    if planned is None or file is None:
        return
    jobs = planned.table.jobs
    found = [(n, p) for n, w in enumerate(planned.argvs) if (p := command_process(w, processes))]
    left = jobs[found[-1][0] + 1 :] if found else ()
    if not left:
        return
    trainers = [process for _, process in found]
    argvs = {planned.argvs[n] for n, _ in found}

    def about(process: Process) -> int:
        said = " ".join(process.argv)
        return sum(" ".join(words) in said for words in argvs)

    heads = orphans(trainers, processes, shells, about)
    if not heads or may_start_next(processes, shells, heads, file, None):
        return
    names = [jobs[n].name for n, _ in found]
    yield replace(
        _condition(kept, QueueFiles(), heads, names, _names(left), 1),
        remedy=when_ended(heads[0].pid, f"sed -n '{left[0].id},$p' {shell_path(file)} | sh"),
    )


def _abandoned_trainings(
    trainers: Sequence[Process],
    processes: Sequence[Process],
    shells: Mapping[int, Shell],
    configs: set[str],
    names: set[str],
    file: str | None,
    log: str | None,
) -> tuple[Process, ...]:
    """The topmost processes of trainings after which nothing starts the next cell; () if something may."""
    heads = orphans(trainers, processes, shells, lambda one: len(cells_named(one, configs, names)))
    return () if may_start_next(processes, shells, heads, file, log) else heads


def _condition(
    kept: InstanceState,
    files: QueueFiles,
    heads: Sequence[Process],
    runs: Sequence[str],
    left: str,
    start: int,
) -> Condition:
    head = heads[0]
    command = resume_command(files, kept.profile, kept.runners.runner, start, after=head.pid)
    return Condition(
        "runner_gone",
        Severity.SERIOUS,
        f"the queue's runner is gone: {_listed(runs)} went on without it (PID {head.pid}, child of {head.ppid}), and nothing starts {left}",
        "processes",
        remedy=when_ended(head.pid, command),
    )


def _names(cells: Collection[Cell] | Collection[object]) -> str:
    return _listed([getattr(cell, "name", "") for cell in cells])


def _listed(names: Sequence[str], more: int = 0) -> str:
    shown = ", ".join(plain(name, WIDTH) for name in names[:NAMED])
    more += max(0, len(names) - NAMED)
    return f"{shown} +{more}" if more > 0 else shown
