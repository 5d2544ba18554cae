"""From what is kept of one instance to the facts that a verdict rests on."""

from __future__ import annotations

import math

from gpu_tui.core import metrics
from gpu_tui.core.alarms import Alarm
from gpu_tui.core.cut_short import went_last
from gpu_tui.core.facts import Evidence
from gpu_tui.core.idle import BUSY_SHARE, unknown_cards
from gpu_tui.core.levels import share
from gpu_tui.core.liveness import Run, descendants, find_run, find_trainers
from gpu_tui.core.metrics import Metric
from gpu_tui.core.orphan import drivers
from gpu_tui.core.pulse import stall_after
from gpu_tui.core.queue_history import CellRun
from gpu_tui.core.readings import GpuTable, Host, Mount
from gpu_tui.core.sample import NO_TRACK
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.state.history import Anchored
from gpu_tui.state.hung import Hung, hung_of
from gpu_tui.state.instance import InstanceState
from gpu_tui.state.job_tables import scheduled
from gpu_tui.state.oom import KILL_SLACK, oom_fact, oom_of
from gpu_tui.state.signs import quiet_since_sign
from gpu_tui.state.stillness import stopped_runs
from gpu_tui.state.timeline import stop_mark
from gpu_tui.state.views import T, utilization
from gpu_tui.state.witness import STAMP_SLACK, box_time

EXIT_SLACK = 10.0  # what a run may take to leave after its last line
BOOT_STIRS = 60.0  # a box that comes up writes: its last blocks, what its services print
FULL_SHARE = 0.999
REST_WATCHED, REST_POINTS = 120.0, 10  # seconds and points near 0 % before "data-bound" is said


def run_of(kept: InstanceState, now: float) -> Run | None:
    """The run as a fresh process table shows it; None where there is no such table."""
    processes = kept.fresh(metrics.PROCESSES, now)
    if processes is None:
        return None
    files = kept.instance.queue
    shells = {shell.pid: shell for shell in kept.fresh(metrics.SHELLS, now) or ()}
    driven = drivers(processes, shells, files.file, files.log) if shells and files.file else ()
    run = find_run(processes, files.file, kept.value(metrics.ROSTER), driven)
    if not run.alive and not (files.file and files.names_runs):
        table = kept.fresh(metrics.GPUS, now)
        pids = {process.pid for gpu in (table.gpus if table else ()) for process in gpu.processes}
        run = Run(trainers=find_trainers(processes, pids))
    good = kept.tracks[metrics.PROCESSES.name].good
    if good is not None:
        kept.witness.saw_run(run, processes, good.taken_at)
    return run


def alive_of(kept: InstanceState, run: Run | None, now: float) -> bool | None:
    """Whether the run lives, unless its log moved after the process table was read.

    Then an older table must not call a run dead that has just begun, nor hung that has just ended.
    """
    if run is None:
        return None
    if not log_is_newer(kept, now):
        return run.alive
    return None if kept.queue_history.done is not None else True


def cells_alive_of(kept: InstanceState, run: Run | None, now: float) -> bool | None:
    """The same of its cells; None too where a log that froze or has not come yet, or a run that is not
    recognised, hides an end.
    """
    alive = alive_of(kept, run, now)
    if alive is not False or _failure(kept, _last_run(kept)) is not None:
        return alive
    busy = utilization(kept.fresh(metrics.GPUS, now))
    unrecognised = busy is not None and busy > BUSY_SHARE and kept.witness.alive_at is None
    hidden = unrecognised or log_unread(kept) or _full_mount(kept, now)
    return None if hidden else False


def log_is_newer(kept: InstanceState, now: float) -> bool:
    """True where the queue's log moved after the process table was read, or may have."""
    read_at, moved_at = read_on_box(kept, metrics.PROCESSES), kept.queue_history.moved_at
    if read_at is None or moved_at is None:
        return False
    ended = kept.queue_history.done is not None
    moved = moved_at - offset_of(kept, now)
    return read_at <= moved + (EXIT_SLACK if ended else STAMP_SLACK)


def read_on_box(kept: InstanceState, metric: Metric[T]) -> float | None:
    """When a metric was last read, by the box's clock."""
    good = kept.tracks.get(metric.name, NO_TRACK).good
    return None if good is None else box_time(kept.tracks, good.taken_at)


def offset_of(kept: InstanceState, now: float) -> float:
    """Seconds that the stamps of the queue's log are ahead of UTC."""
    return kept.witness.offset(kept.tracks, kept.queue_history.moved_at, now)


def evidence_of(
    kept: InstanceState,
    now: float,
    anchored: Anchored,
    queue: Queue,
    run: Run | None,
    table: GpuTable | None,
    *,
    runner_gone: bool,
) -> Evidence:
    """The facts at `now`. Stale readings count as unknown. `runner_gone`: there is a finding about it."""
    witness = kept.witness
    stopped = stop_mark({kind: at for kind, (at, _) in anchored.items()})
    last = _last_run(kept)
    oom = oom_of(kept, now, queue, run)
    went = went_last(queue.cells) if all(cell.job for cell in queue.cells[:1]) else None
    memory = kept.fresh(metrics.MEMORY, now)
    box_now = box_time(kept.tracks, now)
    files_at = read_on_box(kept, metrics.FILES)
    seen = files_at if kept.fresh(metrics.FILES, now) is not None else None
    log_quiet = None if seen is None else witness.logs.quiet(seen)
    artifacts = None if seen is None else witness.artifacts.quiet(seen)
    alive = alive_of(kept, run, now)
    processes = kept.fresh(metrics.PROCESSES, now)
    youth = _youth(kept, run, now)
    runs = (cell.name for cell in queue.cells if cell.state is CellState.RUNNING)
    signs = None if seen is None else quiet_since_sign(kept, runs, seen)
    session = witness.session
    scheduler, jobs, jobs_why = scheduled(kept, now, queue)
    quiet = _at_most(None if seen is None else witness.life.quiet(seen), signs, youth)
    # A card without a reading may compute.
    listed = _at_most(_listed_quiet(kept, queue, now, seen) if table else None, signs, youth)
    limit = stall_after(kept.instance.stall_after, _typical_gap(kept, queue))
    hung = hung_of(kept, queue) if max(quiet or 0.0, listed or 0.0) > limit else Hung()
    if hung.serves:  # nothing has to move
        quiet = listed = None
    return Evidence(
        link="off" if stopped is not None and not kept.link.live else kept.link.state,
        provider=kept.provider.state,
        queue=queue,
        has_queue=kept.instance.queue.file is not None and not kept.instance.queue.useless,
        told_by=kept.instance.tells_runs,
        alive=alive,
        settling=run is not None and log_is_newer(kept, now),
        runner=_runner(kept, now, run, gone=runner_gone),
        together=witness.runner_last,
        seen_alive=witness.alive_at is not None,
        halted=stopped_runs(kept, run, queue, now)[1],
        hung=hung.words,
        busy=utilization(table),
        cpu_works=_cpu_works(kept, run, now),
        data_bound=alive is True and _data_bound(kept, now, log_quiet),
        quiet_seconds=quiet,
        listed_quiet=listed,
        log_quiet=log_quiet,
        artifact_quiet=signs if artifacts is None else _at_most(artifacts, signs),
        stall_after=limit,
        typical_gap=witness.typical_gap,
        # What older logs end with is not how this one went.
        failure=None if went else _failure(kept, last, ended=alive is False),
        exit_code=last.exit_code if last else None,
        oom_rose=oom_fact(kept, oom, last, went, box_now, now),
        oom_counted=memory.oom_kill if memory else None,
        rebooted=_rebooted(kept, now, went),
        session=session,
        session_gone=bool(
            session
            and session.kind == "ssh"
            and processes is not None
            and session.pid not in {process.pid for process in processes}
        ),
        gpu_fault=table.error.text
        if table and table.error and table.error.kind == "lost"
        else None,
        cards_unknown=unknown_cards(table),
        full=_full_mount(kept, now),
        whole=_whole(queue),
        log_unread=log_unread(kept),
        scheduler=scheduler,
        jobs=jobs,
        jobs_why=jobs_why,
    )


def _cpu_works(kept: InstanceState, run: Run | None, now: float) -> bool:
    """Whether a trainer or a listed job keeps a core busy."""
    processes = kept.fresh(metrics.PROCESSES, now)
    pids = {one.pid for one in run.trainers} if run else set()
    for metric in (metrics.TMUX, metrics.DETACHED):
        jobs = kept.fresh(metric, now)
        pids |= {job.pids[0] for job in (jobs.jobs if jobs else ()) if job.pids and job.live}
    return kept.witness.computes(pids | descendants(processes or (), pids))


def _runner(kept: InstanceState, now: float, run: Run | None, *, gone: bool) -> bool | None:
    """Whether the queue's own shell lives; None if unknown. Without the shells' files, False needs one seen before."""
    if run is None or not run.alive:
        return None
    if gone or run.runners:
        return not gone
    unread = kept.fresh(metrics.SHELLS, now) is None
    return False if unread and kept.witness.runner_seen else None


def _youth(kept: InstanceState, run: Run | None, now: float) -> float | None:
    """Seconds since the newest of what trains was started: for longer than that, nothing of it can stand still.

    Where one holds a card, what holds none is a helper, which may begin again each minute beside a run that hangs.
    """
    good = kept.tracks.get(metrics.PROCESSES.name, NO_TRACK).good
    table = kept.fresh(metrics.GPUS, now)
    holders = {process.pid for gpu in (table.gpus if table else ()) for process in gpu.processes}
    trainers = run.trainers if run else ()
    on_cards = [one for one in trainers if one.pid in holders]
    ages = [one.age_seconds for one in on_cards or trainers if one.age_seconds is not None]
    return None if good is None or not ages else min(ages) + max(0.0, now - good.taken_at)


def _at_most(seconds: float | None, *bounds: float | None) -> float | None:
    known = [bound for bound in bounds if bound is not None]
    return None if seconds is None else min([seconds, *known])


def _listed_quiet(
    kept: InstanceState, queue: Queue, now: float, files_at: float | None
) -> float | None:
    """Seconds since a log of the listed cells that run moved, or a watched file; None where one is not followed."""
    runs = [cell for cell in queue.cells if cell.job and cell.state is CellState.RUNNING]
    moved = [kept.logs.still_since(cell.name) for cell in runs]
    known = [at for at in moved if at is not None]
    if not known or len(known) < len(moved):
        return None
    files = None if files_at is None else kept.witness.life.quiet(files_at)
    return min(max(0.0, now - max(known)), math.inf if files is None else files)


def _typical_gap(kept: InstanceState, queue: Queue) -> float | None:
    """Between two signs of life; the words of listed jobs count, whose files nobody may have named."""
    listed = any(cell.job for cell in queue.cells)
    gaps = [kept.witness.typical_gap, kept.witness.words.typical_gap if listed else None]
    return max((gap for gap in gaps if gap is not None), default=None)


def log_unread(kept: InstanceState) -> bool:
    """The queue has a log, and how it ended may stand in what has not come of it: so at every start."""
    log = kept.instance.queue.log
    if log is None:
        return False
    views = [view for view in kept.logs.views() if view.source.cell is None]
    files = kept.value(metrics.FILES)
    for view in views:
        came = kept.logs.buffers[view.source]
        there = files.found.get(view.source.path) if files is not None else None
        if there is not None and view.error:
            return True
        if there is None or there.inode != came.file or came.upto is None:
            continue
        if came.upto < there.size and not came.open:
            return True
    return not views and (files is None or log in files.found)


def _last_run(kept: InstanceState) -> CellRun | None:
    """The attempt that was started last."""
    history = kept.queue_history
    if history.current in history.runs and history.current is not None:
        return history.runs[history.current]
    begun = [run for run in history.runs.values() if run.started is not None]
    return max(begun, key=lambda run: run.started or 0.0, default=None)


def _failure(kept: InstanceState, last: CellRun | None, *, ended: bool = False) -> Alarm | None:
    """What the logs of the last attempt end with; `ended` = no process of it is left."""
    if last is not None:
        return kept.book.cause(last.name) if ended else kept.book.failure(last.name)
    named = {source.cell for source in kept.logs.buffers} | {None}
    found = [alarm for cell in named if (alarm := kept.book.failure(cell, ended=ended)) is not None]
    if ended and not found:
        found = [
            alarm for cell in kept.book.recalled if (alarm := kept.book.cause(cell)) is not None
        ]
    return max(found, key=lambda alarm: alarm.last_seen, default=None)


def _data_bound(kept: InstanceState, now: float, log_quiet: float | None) -> bool:
    """The cards rested for a while although the log moved until now."""
    series = kept.series.get("gpu")
    if series is None or log_quiet is None or log_quiet > KILL_SLACK:
        return False
    points = series.points.since(now - REST_WATCHED)
    if len(points) < REST_POINTS or points[-1][0] - points[0][0] < REST_WATCHED / 2:
        return False
    return all(value is not None and value <= BUSY_SHARE for _, value in points)


# --- reboot ----------------------------------------------------------------------------------------


def _rebooted(kept: InstanceState, now: float, went: Cell | None) -> bool | None:
    """The box, or its container, began again after the run's last sign of life."""
    begun, last = begun_at(kept, now), kept.witness.life.last
    if went is not None and went.seen_at is not None:
        if begun is None:
            return None
        # Where it was seen at work as soon as the box was up, the box was up before it.
        between = went.seen_at + STAMP_SLACK < begun < (went.finished_at or begun) + STAMP_SLACK
        return between and (last is None or last <= begun + BOOT_STIRS)
    if begun is not None and last is not None:
        if begun > last + STAMP_SLACK:
            return True
        return _lived_before(kept, begun, now) if last <= begun + BOOT_STIRS else False
    if kept.witness.rebooted_at is not None:
        alive_at = kept.witness.alive_at
        return alive_at is None or alive_at < kept.witness.rebooted_at
    if begun is None:
        return None
    # Of runs that were found, and whose files nobody named, no sign of life is known but themselves: they lived
    # until the box began again, if no look before it missed them.
    gone_at, box_now = kept.witness.gone_at, box_time(kept.tracks, now)
    missed = gone_at is None or box_now is None or gone_at < now - (box_now - begun) - STAMP_SLACK
    return last is None and not missed and _lived_before(kept, begun, now) is True


def _lived_before(kept: InstanceState, begun: float, now: float) -> bool | None:
    """The run was seen alive before the box began again and not since, nor did its queue start a cell since. Where
    nobody saw it alive nobody knows: the zone of a stamp that was not seen written is a guess.

    That holds however soon after the run's last word the box was there again.
    """
    alive_at, box_now = kept.witness.alive_at, box_time(kept.tracks, now)
    if box_now is None:
        return None
    last = _last_run(kept)
    started = last.started if last else None
    if started is not None and started - offset_of(kept, now) > begun + STAMP_SLACK:
        return False
    if alive_at is None:
        return None
    other = kept.witness.rebooted_at
    return (other or 0.0) > alive_at or now - (box_now - begun) > alive_at + STAMP_SLACK


def begun_at(kept: InstanceState, now: float) -> float | None:
    """When the box or its container began, by the box's clock: a container's first process is its boot."""
    begins = []
    host = kept.fresh(metrics.HOST, now)
    if isinstance(host, Host) and host.uptime_seconds is not None:
        begins.append(host.box_time - host.uptime_seconds)
    read_at = read_on_box(kept, metrics.PROCESSES)
    first = next((p for p in kept.fresh(metrics.PROCESSES, now) or () if p.pid == 1), None)
    # An age of 0 comes of an uptime that was made up for a container.
    if first is not None and first.age_seconds and read_at is not None:
        begins.append(read_at - first.age_seconds)
    return max(begins, default=None)


# --- disks and artifacts ---------------------------------------------------------------------------


def _full_mount(kept: InstanceState, now: float) -> str | None:
    """The mount without any room that the queue's log lies on, as far as paths tell."""
    log = kept.instance.queue.log or kept.instance.logs
    mounts = kept.fresh(metrics.MOUNTS, now) or ()
    if log is None:
        return None
    over = [mount for mount in mounts if _is_above(mount.path, log)]
    longest = max(over, key=lambda mount: len(mount.path), default=None)
    if longest is not None and longest.path != "/":
        return longest.path if _is_full(longest) else None
    # A path below a home that is not spelled out may lie on any of them.
    near = [mount for mount in mounts if log.startswith("~") or mount is longest]
    return next((mount.path for mount in near if _is_full(mount)), None)


def _is_above(path: str, file: str) -> bool:
    return file.startswith(path.rstrip("/") + "/")


def _is_full(mount: Mount) -> bool:
    used = [share(*mount.counts(axis)) for axis in ("bytes", "inodes")]
    return not mount.read_only and any(part is not None and part >= FULL_SHARE for part in used)


def _whole(queue: Queue) -> bool | None:
    """Every cell has its artifact; None where one is not known."""
    found = {cell.artifact for cell in queue.cells}
    if "unknown" in found or not found:
        return None
    return found == {"present"}
