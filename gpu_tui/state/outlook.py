"""From what is kept of one instance to its view at one moment: verdict, queue, clocks, findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpu_tui.core import metrics
from gpu_tui.core.clocks import Anchors, DangerClock, clocks_of
from gpu_tui.core.fleet import Money
from gpu_tui.core.idle import gpus_idle
from gpu_tui.core.liveness import Run, find_run, find_trainers
from gpu_tui.core.metrics import Metric
from gpu_tui.core.readings import GpuTable
from gpu_tui.core.rules import Now, conditions
from gpu_tui.core.sample import Failure, FailureKind, Track
from gpu_tui.core.sweep import Cell, CellEvidence, CellRun, Queue, RosterCell, join_queue
from gpu_tui.core.verdict import Evidence, Verdict, judge
from gpu_tui.state.instance import InstanceState
from gpu_tui.state.traces import CellTrace
from gpu_tui.state.views import Cost, InstanceView, T, utilization

FILL_SPAN = 60.0  # seconds of growth before a time to full is worth a number
STAMP_SLACK = 2.0  # stamps have whole seconds, and two clocks are read at two moments
EXIT_SLACK = 10.0  # what a run may take to leave after its last line


def view_of(kept: InstanceState, now: float) -> InstanceView:
    """The frozen view at `now`, with verdict, clocks and findings judged for that moment."""
    instance = kept.instance
    run = _run(kept, now)
    queue = _queue(kept, now, run)
    table = kept.fresh(metrics.GPUS, now)
    verdict, because = judge(_evidence(kept, now, queue, run, table))
    cost = _cost(kept, now)
    clocks = _clocks(kept, now)
    idle = _idle(kept, now, verdict, table)
    memory = kept.value(metrics.MEMORY)
    oom_now = memory.oom_kill if memory and memory.oom_kill is not None else None
    delta = (
        oom_now - kept.witness.oom_base
        if oom_now is not None and kept.witness.oom_base is not None
        else 0
    )
    seen = Now(
        now=now,
        link=kept.link,
        verdict=verdict,
        because=because,
        was_live=kept.was_live,
        gpus=table,
        memory=kept.fresh(metrics.MEMORY, now),
        oom_delta=delta,
        mounts=kept.fresh(metrics.MOUNTS, now) or (),
        queue=queue,
        roster=kept.value(metrics.ROSTER),
        clocks=clocks,
        hung=_hung(kept),
        idle_seconds=idle,
        idle_cost=_idle_cost(cost, idle),
        trainer_alive=_alive(kept, run),
    )
    kept.book.set_conditions(conditions(seen), now)
    host = kept.tracks.get(metrics.HOST.name, Track())
    box = kept.value(metrics.HOST)
    return InstanceView(
        instance=instance,
        taken_at=now,
        settling=kept.queue_history.done is None and _log_is_newer(kept),
        link=kept.link,
        verdict=verdict,
        because=because,
        tracks=dict(kept.tracks),
        queue=queue,
        cost=cost,
        cpu=kept.cpu,
        provider=kept.provider,
        clocks=clocks,
        findings=kept.book.findings(),
        logs=tuple(kept.log_views.values()),
        profile=kept.profile,
        clock_skew=_skew(box.box_time, host.good.taken_at) if box and host.good else None,
        uptime=box.uptime_seconds if box else None,
        oom_baseline=kept.witness.oom_base,
        series=_series_view(kept),
        full_in=_full_in(kept),
    )


def _series_view(kept: InstanceState) -> Mapping[str, tuple[tuple[float, float | None], ...]]:
    named = {name: tuple(series) for name, series in kept.series.items()}
    for cell, trace in kept.cells.items():
        named[f"loss:{cell}"] = tuple(trace.losses)
    return named


def _skew(box_time: float, taken_at: float) -> float:
    """Box clock minus ours in seconds. `date +%s` cuts the second off: on average half of one is lost."""
    return box_time + (0.5 if box_time.is_integer() else 0.0) - taken_at


def _run(kept: InstanceState, now: float) -> Run | None:
    processes = kept.fresh(metrics.PROCESSES, now)
    if processes is None:
        return None
    run = find_run(processes, kept.instance.queue.file, kept.value(metrics.ROSTER))
    if run.alive or kept.instance.queue.file:
        return run
    table = kept.fresh(metrics.GPUS, now)
    pids = {process.pid for gpu in (table.gpus if table else ()) for process in gpu.processes}
    return Run(trainers=find_trainers(processes, pids))


def _alive(kept: InstanceState, run: Run | None) -> bool | None:
    """Whether the run lives, unless its log moved after the process table was read.

    Then an older table must not call a run dead that has just begun, nor hung that has just ended.
    """
    if run is None:
        return None
    if not _log_is_newer(kept):
        return run.alive
    return None if kept.queue_history.done is not None else True


def _log_is_newer(kept: InstanceState) -> bool:
    """True where the queue's log moved after the process table was read, or may have."""
    read_at, moved_at = _read_at(kept, metrics.PROCESSES), kept.queue_history.moved_at
    if read_at is None or moved_at is None:
        return False
    ended = kept.queue_history.done is not None
    return read_at <= moved_at + (EXIT_SLACK if ended else STAMP_SLACK)


def _read_at(kept: InstanceState, metric: Metric[T]) -> float | None:
    """When a metric was last read, in the frame of the log's stamps (box wall time)."""
    good = kept.tracks.get(metric.name, Track()).good
    host, box = kept.tracks.get(metrics.HOST.name, Track()).good, kept.value(metrics.HOST)
    if good is None or host is None or box is None:
        return None
    return good.taken_at + (box.box_time - host.taken_at) + box.utc_offset_seconds


def _queue(kept: InstanceState, now: float, run: Run | None) -> Queue:
    host = kept.tracks.get(metrics.HOST.name, Track())
    box = kept.value(metrics.HOST)
    offset = box.utc_offset_seconds if box else 0
    box_now = None
    if box and host.good:
        box_now = box.box_time + offset + (now - host.good.taken_at)
    queue = join_queue(
        kept.value(metrics.ROSTER),
        kept.queue_history,
        _cell_evidence(kept, now, run),
        box_now=box_now,
        file=kept.instance.queue.file,
        log=kept.instance.queue.log,
    )
    return replace(queue, cells=tuple(_to_epoch(cell, offset) for cell in queue.cells))


def _cell_evidence(kept: InstanceState, now: float, run: Run | None) -> Mapping[str, CellEvidence]:
    files = kept.fresh(metrics.FILES, now)
    remote = kept.instance.results.remote
    names = {cell.name for cell in _roster_cells(kept)} | set(kept.queue_history.runs)
    files_at = _read_at(kept, metrics.FILES)
    alive = _alive(kept, run)
    evidence = {}
    for name in names:
        trace = kept.cells.get(name, CellTrace())
        ended = kept.queue_history.runs.get(name, CellRun(0, name)).finished or 0.0
        artifact = None
        if files is not None and remote:
            found = f"{remote.rstrip('/')}/{name}/best.pth" in files.found
            # A table that was read before the cell ended cannot tell that it left nothing.
            artifact = found if found or (files_at or 0.0) > ended + STAMP_SLACK else None
        progress = trace.progress
        loss = progress.loss
        evidence[name] = CellEvidence(
            alive=alive,
            artifact=artifact,
            diverged=trace.diverged,
            epoch=progress.epoch,
            epochs=progress.epochs,
            step=progress.step,
            steps=progress.steps,
            loss=loss,
            metrics=progress.metrics,
        )
    return evidence


def _roster_cells(kept: InstanceState) -> tuple[RosterCell, ...]:
    roster = kept.value(metrics.ROSTER)
    return roster.cells if roster else ()


def _evidence(
    kept: InstanceState, now: float, queue: Queue, run: Run | None, table: GpuTable | None
) -> Evidence:
    stopped = kept.history.anchor(kept.instance.name, "stopped_at")
    link = "off" if stopped and not kept.link.live else kept.link.state
    return Evidence(
        link=link,
        provider=kept.provider.state,
        queue=queue,
        has_queue=kept.instance.queue.file is not None,
        alive=_alive(kept, run),
        busy=utilization(table),
        quiet_seconds=_quiet(kept, now),
        stall_after=kept.instance.stall_after,
        oom_delta=0,
        rebooted=kept.witness.rebooted_at is not None,
    )


def _quiet(kept: InstanceState, now: float) -> float | None:
    """Seconds since any log or checkpoint last moved, both by the box's own clock."""
    files = kept.fresh(metrics.FILES, now)
    host = kept.fresh(metrics.HOST, now)
    if files is None or host is None or not files.found:
        return None
    moved = [stat.mtime for path, stat in files.found.items() if path != kept.instance.queue.file]
    return max(0.0, host.box_time - max(moved)) if moved else None


def _hung(kept: InstanceState) -> tuple[str, ...]:
    return tuple(
        name
        for name, track in kept.tracks.items()
        if isinstance(track.latest, Failure) and track.latest.kind is FailureKind.HUNG
    )


def _idle(
    kept: InstanceState, now: float, verdict: Verdict, table: GpuTable | None
) -> float | None:
    """Seconds without work while the meter runs; None where work goes on or nobody can tell."""
    resting = verdict in (Verdict.IDLE, Verdict.FINISHED, Verdict.CRASHED)
    return kept.witness.idle.tick(now, gpus_idle(table) if resting else False)


def _cost(kept: InstanceState, now: float) -> Cost:
    price: Money | None = kept.provider.price or kept.instance.price
    if price is None:
        return Cost()
    basis = "api" if kept.provider.price else "fleet-file"
    since = kept.provider.started_at
    if since is None:
        seen = kept.history.anchor(kept.instance.name, "first_seen")
        since = seen[0] if seen else None
    off = kept.provider.state in ("stopped", "gone")
    spent = None if since is None or off else max(0.0, now - since) / 3600 * price.amount
    return Cost(0.0 if off else price.amount, price.currency, spent, since, basis)


def _clocks(kept: InstanceState, now: float) -> tuple[DangerClock, ...]:
    if kept.profile is None:
        return ()
    anchored = kept.history.anchors(kept.instance.name)
    stopped, basis = kept.provider.stopped_at, "api"
    if "stopped_at" in anchored:
        stopped, basis = anchored["stopped_at"]
    contact = anchored.get("last_contact")
    power = kept.provider.state
    if power == "unknown":
        power = "running" if kept.link.live else ("stopped" if stopped else "unknown")
    anchors = Anchors(
        power=power,
        stopped_at=stopped,
        stopped_basis=basis if stopped is not None else "unknown",
        created_at=kept.provider.started_at,
        last_contact=contact[0] if contact else None,
        manual_deadlines={
            kind.removeprefix("deadline:"): at
            for kind, (at, _) in anchored.items()
            if kind.startswith("deadline:")
        },
    )
    return clocks_of(kept.profile, kept.instance.name, anchors, now, kept.instance.provider.variant)


def _full_in(kept: InstanceState) -> dict[str, float]:
    left: dict[str, float] = {}
    for mount in kept.value(metrics.MOUNTS) or ():
        pairs = (
            ("bytes", mount.bytes_used, mount.bytes_total),
            ("inodes", mount.inodes_used, mount.inodes_total),
        )
        times = [_time_to_full(kept, f"{axis}:{mount.path}", u, t) for axis, u, t in pairs]
        known = [seconds for seconds in times if seconds is not None]
        if known:
            left[mount.path] = min(known)
    return left


def _time_to_full(
    kept: InstanceState, name: str, used: int | None, total: int | None
) -> float | None:
    series = kept.series.get(name)
    if series is None or used is None or not total or len(series) < 2:
        return None
    points = [at for at, value in series if value is not None]
    rate = series.rate()
    if rate is None or rate <= 0 or points[-1] - points[0] < FILL_SPAN:
        return None
    return max(0.0, (total - used) / rate)


def _to_epoch(cell: Cell, offset: int) -> Cell:
    """Stamps are box wall time; epoch seconds are what the outside reads."""
    return replace(
        cell,
        started_at=None if cell.started_at is None else cell.started_at - offset,
        finished_at=None if cell.finished_at is None else cell.finished_at - offset,
    )


def _idle_cost(cost: Cost, idle: float | None) -> str | None:
    if idle is None or cost.per_hour is None:
        return None
    return f"{cost.per_hour * idle / 3600:.2f} {cost.currency}"
