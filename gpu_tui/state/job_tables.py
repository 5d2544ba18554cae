"""The jobs of an instance as they may be shown at one moment: a list that is old proves nothing of now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from gpu_tui.core import metrics, units
from gpu_tui.core.commands import as_table
from gpu_tui.core.cut_short import COMPLETE
from gpu_tui.core.facts import BUSY_SHARE
from gpu_tui.core.job_scope import in_scope, no_match
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.last_words import WORDS_WITHIN, LastWord, last_word
from gpu_tui.core.left_queue import LEFT as LEFT_QUEUE
from gpu_tui.core.left_queue import SHARED_LOG
from gpu_tui.core.liveness import descendants, is_launcher, is_tool, works
from gpu_tui.core.log_cells import table_of_logs
from gpu_tui.core.logs import one_spelling
from gpu_tui.core.metrics import Metric
from gpu_tui.core.readings import FileStat, FileTable
from gpu_tui.core.sample import NO_TRACK
from gpu_tui.core.sweep import CELLS_KEPT, CellState, Queue
from gpu_tui.core.vanished import UNTOLD, Ending, ended
from gpu_tui.state.deleted_logs import without_deleted
from gpu_tui.state.instance import InstanceState
from gpu_tui.state.logbuffer import LogBuffer
from gpu_tui.state.signs import signs_of_life
from gpu_tui.state.unread import other_names, unread_logs
from gpu_tui.state.views import utilization
from gpu_tui.state.witness import box_time

LOGS_READ = 2 * CELLS_KEPT  # logs whose last word is kept
NOHUP = metrics.DETACHED.name
LEFT = "nohup.out"  # as `parse.left_over` calls its table
TITLES = {"slurm": "Slurm", "kubernetes": "Kubernetes"}


def job_tables(kept: InstanceState, now: float, alive: bool | None) -> list[JobTable]:
    """What every source listed. Of jobs that ran when a source last answered nobody can tell now.

    `alive`: a training lives on the box; None = nobody knows.
    """
    endings = _Endings(kept)
    box_now = box_time(kept.tracks, now)
    skew = 0.0 if box_now is None else box_now - now
    found = {
        metric: _listed(kept, metric, endings, now, skew)
        for metric in metrics.JOBS
        if metric is not metrics.TMUX
    }
    # A pane has no log of its own: what another program that is called alike wrote tells nothing of it.
    written = {j.name for t in found.values() if t for j in t.jobs if j.stdout and j.pids}
    found[metrics.TMUX] = _listed(kept, metrics.TMUX, _Endings(kept, written), now, skew)
    tables = [table for metric in metrics.JOBS if (table := found[metric]) is not None]
    tables = [_by_their_logs(table, endings) for table in apart(told_once(tables))]
    tables = [_told_by_queues(kept, table) for table in _left_last(tables, endings)]
    tables = without_deleted(kept, tables, now)
    planned = kept.value(metrics.COMMANDS)
    if planned is not None:
        tables.append(as_table(planned, kept.fresh(metrics.PROCESSES, now), endings))
    if (logs := _logs(kept, now, alive, tables, endings)) is not None:
        tables.append(_told_by_queues(kept, logs))
    return tables


def _listed(
    kept: InstanceState,
    metric: Metric[JobTable],
    endings: Mapping[str, Ending],
    now: float,
    skew: float,
) -> JobTable | None:
    """What one source listed, with those who are gone."""
    table, vanished = kept.value(metric), kept.vanished.get(metric.name)
    if table is None:
        if vanished is None or not vanished.any:
            return None
        return vanished.complete(JobTable(metric.name), endings, now, skew, _written(kept))
    if vanished is not None:
        table = vanished.complete(table, endings, now, skew, _written(kept))
    if (left := kept.left.get(metric.name)) is not None:
        table = left.complete(table, endings, now, skew, _unread(kept))
        table = _with_last_place(kept, table) if left.deletes else table
    if kept.fresh(metric, now) is None:
        why = kept.tracks.get(metric.name, NO_TRACK).why
        why = f"not heard of since: {why}" if why else "not heard of for a while"
        return replace(table, jobs=tuple(_aged(job, why) for job in table.jobs))
    if (track := kept.tracks.get(metrics.PROCESSES.name, NO_TRACK)).late(now):
        why = f"the processes were last read {units.words(track.age(now))} ago: nothing tells whether it still runs"
        jobs = (_aged(job, why) if job.by_processes else job for job in table.jobs)
        return replace(table, jobs=tuple(jobs))
    return table


def _with_last_place(kept: InstanceState, table: JobTable) -> JobTable:
    """The epochs that earlier looks read of jobs that left: their logs were deleted with them."""
    if not any(job.word == LEFT_QUEUE for job in table.jobs) or not (
        last := kept.last_queue.read()
    ):
        return table
    rows = {cell.job: cell for cell in last.queue.cells if cell.epoch is not None}
    jobs = (
        replace(job, epoch=rows[job.id].epoch, epochs=rows[job.id].epochs)
        if job.word == LEFT_QUEUE and job.id in rows
        else job
        for job in table.jobs
    )
    return replace(table, jobs=tuple(jobs))


def _unread(kept: InstanceState) -> Mapping[str, str]:
    """By path, why a log says nothing of a job for which it is not read."""
    read = (source.path for source, log in kept.logs.buffers.items() if log.end)
    return {**dict.fromkeys(read, SHARED_LOG), **kept.logs.failed}


def _written(kept: InstanceState) -> Mapping[str, float]:
    files = kept.value(metrics.FILES)
    return {} if files is None else {path: one.mtime for path, one in files.found.items()}


def _told_by_queues(kept: InstanceState, table: JobTable) -> JobTable:
    """With the ends that the logs of queues tell which nobody named, and without those logs: they are no cell's."""
    if not kept.found_queues:
        return table
    own = table.source in (LEFT, "logs")  # a program that writes there tells nothing of its cells
    jobs = (j for j in table.jobs if not (own and j.stdout in kept.found_queues))
    return replace(table, jobs=tuple(_ended_in_queue(kept, job) for job in jobs))


def _ended_in_queue(kept: InstanceState, job: Job) -> Job:
    """A job of which nothing else tells how it ended, with the exit code that its queue's log has."""
    if job.state is not CellState.CANNOT_TELL or job.finished_at is None:
        return job
    runs = (found.runs.get(job.name) for found in kept.found_queues.values())
    run = next((run for run in runs if run and run.ended and not run.past), None)
    if run is None:
        return job
    state = CellState.FAILED if run.exit_code else CellState.FINISHED
    return replace(job, state=state, exit_code=run.exit_code, why=None, finding=None)


def told_once(tables: list[JobTable]) -> list[JobTable]:
    """Without what another list tells better: a program that writes to the file which a queue (task-spooler,
    pueue) gave its job, whose name and end it knows, and which learns from it when it began; a pane of tmux whose program writes to a file, which is
    its log, and a program that writes to no file in a pane of tmux.
    """
    queued = [job.stdout for t in tables if t.source not in (NOHUP, LEFT) for job in t.jobs]
    files = {path for path in queued if path}
    below_home = tuple(path[1:] for path in files if path.startswith("~/"))

    def given(job: Job) -> bool:
        return job.stdout in files or bool(job.stdout and job.stdout.endswith(below_home))

    begun = {
        job.stdout: job
        for t in tables
        if t.source == NOHUP
        for job in t.jobs
        if job.live and job.stdout
    }

    def since(job: Job) -> Job:
        known = begun.get(job.stdout or "") if job.live and job.started_at is None else None
        return replace(job, started_at=known.started_at, pids=known.pids) if known else job

    tables = [
        _without(table, given)
        if table.source == NOHUP
        else replace(table, jobs=tuple(map(since, table.jobs)))
        for table in tables
    ]
    written = [job for t in tables if t.source == NOHUP for job in t.jobs if job.stdout]
    live = {pid for job in written if job.live for pid in job.pids}
    every = live | {pid for job in written for pid in job.pids}

    def known(job: Job) -> bool:
        return not (live if job.live else every).isdisjoint(job.pids)

    tables = [_without(t, known) if t.source == metrics.TMUX.name else t for t in tables]
    panes = {
        pid for t in tables if t.source == metrics.TMUX.name for job in t.jobs for pid in job.pids
    }

    # If the first program of a pane writes to a file, a second one in the pane needs a row of its own.
    def in_pane(job: Job) -> bool:
        return job.stdout is None and not panes.isdisjoint(job.pids)

    return [_without(table, in_pane) if table.source == NOHUP else table for table in tables]


def _without(table: JobTable, given: Callable[[Job], bool]) -> JobTable:
    return replace(table, jobs=tuple(job for job in table.jobs if not given(job)))


def apart(tables: list[JobTable]) -> list[JobTable]:
    """With the id behind the name of those that are called as another program of another list is: the one that
    has a log keeps its name, by which that is read.
    """
    named: dict[str, list[Job]] = {}
    for table in tables:
        for job in table.jobs:
            if job.pids:
                named.setdefault(job.name, []).append(job)
    keeps = {
        name: next((job for job in jobs if job.stdout), jobs[0])
        for name, jobs in named.items()
        if len(jobs) > 1
    }

    def told(job: Job) -> Job:
        first = keeps.get(job.name, job)
        same = first is job or not job.pids or not set(first.pids[:1]).isdisjoint(job.pids[:1])
        return job if same else replace(job, name=f"{job.name}·{job.id}")

    if not keeps:
        return tables
    return [replace(table, jobs=tuple(map(told, table.jobs))) for table in tables]


def _by_their_logs(table: JobTable, endings: Mapping[str, Ending]) -> JobTable:
    """Of those whose exit code is another program's, what their logs say of the end."""
    jobs = (
        ended(job, endings.get(job.name, Ending()))
        if job.state is CellState.CANNOT_TELL and job.exit_code == 0
        else job
        for job in table.jobs
    )
    return replace(table, jobs=tuple(jobs))


def _left_last(tables: list[JobTable], endings: Mapping[str, Ending]) -> list[JobTable]:
    """Of the files that ended programs left, those that nothing else tells of, each with what it says itself."""
    told = {job.stdout for table in tables if table.source != LEFT for job in table.jobs}
    return [
        replace(
            table,
            jobs=tuple(_left(job, endings) for job in table.jobs if job.stdout not in told),
        )
        if table.source == LEFT
        else table
        for table in tables
    ]


def _left(job: Job, endings: Mapping[str, Ending]) -> Job:
    """The job of an output file that no process writes; one that was read and reports no end is a finding."""
    told = ended(job, endings.get(job.name, Ending()))
    return replace(job, finding=UNTOLD) if told is job and job.name in endings else told


def _logs(
    kept: InstanceState,
    now: float,
    alive: bool | None,
    tables: list[JobTable],
    endings: Mapping[str, Ending],
) -> JobTable | None:
    """The cells that only their logs tell of, where nothing that the fleet file names tells more."""
    named = kept.instance.queue.names_runs or kept.instance.scheduler
    return None if named else _log_table(kept, now, alive, tables, endings)


def ended_by_logs(kept: InstanceState, now: float, alive: bool | None) -> Mapping[str, Job]:
    """By cell, the end that its own log reports, for a queue without a log or with one that names no cell. A log that
    is older than the queue file belongs to an earlier attempt.
    """
    file, files = kept.instance.queue.file, kept.value(metrics.FILES)
    queued = files.found.get(file) if files is not None and file is not None else None
    if files is None or queued is None or kept.queue_history.runs:
        return {}
    table = _log_table(kept, now, alive, [], _Endings(kept))
    jobs = table.jobs if table is not None else ()
    return {
        job.name: job
        for job in jobs
        if job.state in (CellState.FAILED, CellState.FINISHED)
        and job.stdout is not None
        and files.found[job.stdout].mtime >= queued.mtime
    }


def _log_table(
    kept: InstanceState,
    now: float,
    alive: bool | None,
    tables: list[JobTable],
    endings: Mapping[str, Ending],
) -> JobTable | None:
    instance = kept.instance
    processes = kept.tracks.get(metrics.PROCESSES.name, NO_TRACK).good
    files, box_now = kept.value(metrics.FILES), box_time(kept.tracks, now)
    if files is None or box_now is None or not instance.logs:
        return None
    seen_at = box_time(kept.tracks, processes.taken_at) if processes else None
    listed = kept.tracks.get(NOHUP, NO_TRACK).latest is not None
    if not listed and any(works(one) for one in kept.value(metrics.PROCESSES) or ()):
        alive = alive or None  # it may write there, though its name says nothing of training
    _follow_lives(kept, files, instance.logs, alive, seen_at)
    return table_of_logs(
        files,
        instance.logs,
        taken=_taken(kept, tables, files),
        box_now=box_now,
        stall_after=instance.stall_after,
        alive=alive if kept.fresh(metrics.FILES, now) is not None else None,
        endings=endings,
        seen_at=seen_at,
        cut=kept.log_lives.cut,
        before=kept.log_lives.before,
        began=_first_began(kept, now, box_now),
        read=_ended_logs(kept, files, now),
        strays=kept.log_lives.strays,
        signs=signs_of_life(kept),
        unread=unread_logs(kept, now),
        written_elsewhere=_all_outputs_listed(kept, now, tables, files),
    )


def _all_outputs_listed(
    kept: InstanceState, now: float, tables: list[JobTable], files: FileTable
) -> bool:
    """Whether the output of each program that may train goes into the log of a listed job; False if unknown."""
    living = kept.fresh(metrics.PROCESSES, now) or ()
    logs = {one_spelling(path) for path in files.found}
    jobs = [
        job
        for table in tables
        for job in table.jobs
        if job.live and job.stdout and one_spelling(job.stdout) in logs
    ]
    pids = {pid for job in jobs for pid in job.pids}
    covered = pids | descendants(living, pids)
    rows = [one for one in living if works(one) and not is_tool(one)]
    return bool(rows) and all(one.pid in covered for one in rows)


def _ended_logs(kept: InstanceState, files: FileTable, now: float) -> frozenset[str]:
    """Paths of logs that were read to their end; none while a card computes for an unrecognised program."""
    busy = utilization(kept.fresh(metrics.GPUS, now))
    if busy is not None and busy > BUSY_SHARE:
        return frozenset()
    return frozenset(
        source.path
        for source, log in kept.logs.buffers.items()
        if log.end and source.path in files.found and _read_whole(log, files.found[source.path])
    )


def _taken(kept: InstanceState, tables: list[JobTable], files: FileTable) -> frozenset[str]:
    """Paths of the logs of jobs, in the spellings of the file table, and other names of logs that are read."""
    jobs = {one_spelling(job.stdout) for table in tables for job in table.jobs if job.stdout}
    return other_names(kept, files) | {path for path in files.found if one_spelling(path) in jobs}


def _first_began(kept: InstanceState, now: float, box_now: float) -> float | None:
    """By the box's clock, when the first program that may train began, of those that are there; None where unknown."""
    good = kept.tracks.get(metrics.PROCESSES.name, NO_TRACK).good
    table = kept.fresh(metrics.GPUS, now)
    holders = {process.pid for gpu in (table.gpus if table else ()) for process in gpu.processes}
    living = kept.fresh(metrics.PROCESSES, now) or ()
    rows = [one for one in living if is_launcher(one) or one.pid in holders]
    ages = [one.age_seconds for one in rows if one.age_seconds is not None]
    if good is None or not ages or len(ages) < len(rows):
        return None
    return box_now - (now - good.taken_at) - max(ages)


def _follow_lives(
    kept: InstanceState,
    files: FileTable,
    pattern: str,
    alive: bool | None,
    seen_at: float | None,
) -> None:
    """Which of these logs stopped with what wrote them, each told as soon as it was read to its end."""
    good = kept.tracks[metrics.FILES.name].good
    files_at = box_time(kept.tracks, good.taken_at) if good else None
    if files_at is None or seen_at is None:
        return
    for path in kept.log_lives.look(files, pattern, files_at, alive, seen_at):
        logs = (log for source, log in kept.logs.buffers.items() if source.path == path)
        log = next(logs, None)
        if log is not None and _read_whole(log, files.found[path]):
            kept.log_lives.settle(path, cut=_said_in(log) is None)


def _read_whole(log: LogBuffer, file: FileStat) -> bool:
    # How far an unfinished line came is not kept; what came of it was waited for.
    return log.file == file.inode and (log.open or log.upto is None or log.upto >= file.size)


def scheduled(
    kept: InstanceState, now: float, queue: Queue
) -> tuple[str | None, tuple[Job, ...] | None, str]:
    """(the scheduler's name, its jobs in the states of their rows, why there are none); all None for a plain box."""
    metric = metrics.SCHEDULERS.get(kept.instance.scheduler or "")
    if metric is None:
        return None, None, ""
    title = TITLES[kept.instance.scheduler or ""]
    table, track = kept.fresh(metric, now), kept.tracks.get(metric.name, NO_TRACK)
    if table is None:
        return title, None, track.why or "its last answer is old"
    if (left := kept.left.get(metric.name)) is not None:
        table = left.complete(table, {}, now)
    table, aside = in_scope(table, kept.instance, box_time(kept.tracks, now))
    if not table.jobs and (none := no_match(kept.instance.scheduler_scope, aside)):
        return title, None, none
    why = ""
    if not table.jobs and (selector := kept.instance.scheduler_scope.selector):
        why = f"no job matches selector: {selector}"  # as NO_MATCH begins
    states = {cell.name: cell.state for cell in queue.cells}
    jobs = (replace(job, state=states.get(job.name, job.state)) for job in table.jobs)
    return title, tuple(jobs), why


class _Endings(Mapping[str, Ending]):
    """What the logs of the followed cells say of their ends, each when it is asked for: of who runs nobody asks."""

    def __init__(self, kept: InstanceState, without: Collection[str] = ()) -> None:
        read = (source for source, log in kept.logs.buffers.items() if log.end)  # not only opened
        named = {source.cell for source in read if source.cell is not None}
        self._kept, self._names = kept, (named | kept.cells.keys()).difference(without)
        self._known: dict[str, Ending] = {}

    def __getitem__(self, name: str) -> Ending:
        if name not in self._known:
            if name not in self._names:
                raise KeyError(name)
            self._known[name] = ending_of(self._kept, name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def ending_of(kept: InstanceState, name: str) -> Ending:
    """The end of one cell, as far as its followed logs report it."""
    alarm = kept.book.failure(name, ended=True)
    trace = kept.cells.get(name)
    place = trace.course.place if trace else None
    share = place.share(None) if place else None
    complete = share is not None and share >= COMPLETE
    word = None if alarm or complete else _said(kept, name)
    if word is None:
        if alarm is None:
            return Ending(complete=complete)
        return Ending(alarm.told, complete, above=alarm.above, anew=alarm.anew)
    return Ending(said=word.text, well=word.well and (not word.bare or place is not None))


def _said(kept: InstanceState, name: str) -> LastWord | None:
    """What a log of this cell says at its end; asked with every look, so that an unchanged log is not read again."""
    for source, log in kept.logs.buffers.items():
        if source.cell != name:
            continue
        known = kept.joined.said.get(source)
        if known is None or known[0] != log.version:
            if len(kept.joined.said) > LOGS_READ:
                kept.joined.said.clear()
            known = kept.joined.said[source] = log.version, _said_in(log)
        if known[1] is not None:
            return known[1]
    return None


def _said_in(log: LogBuffer) -> LastWord | None:
    """Its last word, unless it went on after that: a file may hold more than one attempt."""
    begin = max(log.first, log.end - WORDS_WITHIN)
    word = last_word([log.text(number) for number in range(begin, log.end)])
    if word is None:
        return None
    from gpu_tui.parse.progress import parse_progress  # not before the first frame

    behind = range(begin + word.place + 1, log.end)
    return None if any(parse_progress(log.text(number)) is not None for number in behind) else word


def _aged(job: Job, why: str) -> Job:
    live = job.state in (CellState.RUNNING, CellState.PENDING)
    return replace(job, state=CellState.CANNOT_TELL, why=why) if live else job
