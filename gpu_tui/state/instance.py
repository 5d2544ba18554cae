"""What is known of one instance, mutable; only the store touches it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gpu_tui.core import metrics
from gpu_tui.core.clocks import Anchors, DangerClock, clocks_of
from gpu_tui.core.events import (
    LinkChanged,
    LogArrived,
    LogFailed,
    LogOpened,
    ProviderRead,
    Sampled,
)
from gpu_tui.core.fleet import Instance, LinkState, Money, ProviderState
from gpu_tui.core.levels import share
from gpu_tui.core.liveness import Run, find_run, find_trainers
from gpu_tui.core.logs import LogLine, LogSource, Progress
from gpu_tui.core.metrics import Metric
from gpu_tui.core.profile import Profile
from gpu_tui.core.readings import CpuCounters, GpuTable
from gpu_tui.core.rules import Now, conditions
from gpu_tui.core.sample import Failure, FailureKind, Freshness, Reading, Track
from gpu_tui.core.series import Series
from gpu_tui.core.sweep import (
    Cell,
    CellEvidence,
    CellStarted,
    Queue,
    QueueHistory,
    QueueOpened,
    RosterCell,
    join_queue,
)
from gpu_tui.core.verdict import Evidence, Verdict, judge
from gpu_tui.state.book import Book
from gpu_tui.state.history import CONTACT_EVERY, History
from gpu_tui.state.logbuffer import LogBuffer
from gpu_tui.state.views import Cost, CpuUse, InstanceView, LogView, T, cpu_rates, utilization

SERIES_POINTS = 900
FILL_SPAN = 60.0  # seconds of growth before a time to full is worth a number
BUSY_SHARE = 0.05


@dataclass(slots=True)
class _CellTrace:
    """What the logs have shown of the present attempt at one cell."""

    progress: Progress = field(default_factory=Progress)
    diverged: bool = False
    losses: Series = field(default_factory=lambda: Series(SERIES_POINTS))


class InstanceState:
    """Takes the events of one instance and draws its view."""

    def __init__(self, instance: Instance, profile: Profile | None, history: History) -> None:
        self.instance = instance
        self.profile = profile
        self.logs: dict[LogSource, LogBuffer] = {}
        self._history = history
        self._link = LinkState()
        self._tracks: dict[str, Track[object]] = {}
        self._log_views: dict[LogSource, LogView] = {}
        self._queue_history = QueueHistory()
        self._cells: dict[str, _CellTrace] = {}
        self._book = Book(instance.name)
        self._provider = ProviderState()
        self._series: dict[str, Series] = {}
        self._cpu = CpuUse()
        self._oom_base: int | None = None
        self._boot_id: str | None = history.counter(instance.name, "boot_id")
        self._rebooted = False
        self._idle_since: float | None = None
        self._contact_written = 0.0

    # --- events -----------------------------------------------------------------------------

    def link_changed(self, event: LinkChanged) -> None:
        """The connection changed."""
        self._link = event.link
        if not event.link.live:
            for name in list(self._series):
                self._series[name].add(event.at, None)

    def provider_read(self, event: ProviderRead) -> None:
        """The control API answered; an error keeps the facts that were known."""
        if event.state.error:
            self._provider = replace(self._provider, error=event.state.error)
        else:
            self._provider = event.state

    def sampled(self, event: Sampled) -> None:
        """One probe answered."""
        old = self._tracks.get(event.metric, Track())
        self._tracks[event.metric] = old.follow(event.sample)
        if isinstance(event.sample, Reading):
            self._contact(event.at)
            self._note_value(event.metric, event.sample.value, event.at, old)

    def _contact(self, at: float) -> None:
        if at - self._contact_written >= CONTACT_EVERY:
            self._contact_written = at
            name = self.instance.name
            self._history.set_anchor(name, "last_contact", at, "last-contact")
            if self._history.anchor(name, "first_seen") is None:
                self._history.set_anchor(name, "first_seen", at, "last-contact")

    def _note_value(self, metric: str, value: object, at: float, old: Track[object]) -> None:
        match metric:
            case metrics.GPUS.name:
                table = self._value(metrics.GPUS)
                self._point("gpu", at, utilization(table))
                self._point("gpu_memory", at, _gpu_memory(table))
            case metrics.MEMORY.name:
                memory = self._value(metrics.MEMORY)
                if memory is None:
                    return
                self._point("memory", at, share(memory.used, memory.limit))
                if memory.oom_kill is not None:
                    self._note_oom(memory.oom_kill, at)
            case metrics.CPU.name:
                new = self._value(metrics.CPU)
                if old.good and isinstance(old.good.value, CpuCounters) and new:
                    self._cpu = cpu_rates(old.good.value, old.good.taken_at, new, at)
                elif new:
                    self._cpu = CpuUse(new.quota_cores, host_load1=new.host_load1)
            case metrics.MOUNTS.name:
                for mount in self._value(metrics.MOUNTS) or ():
                    self._point(f"bytes:{mount.path}", at, mount.bytes_used)
                    self._point(f"inodes:{mount.path}", at, mount.inodes_used)
            case metrics.HOST.name:
                host = self._value(metrics.HOST)
                if host and host.boot_id:
                    self._note_boot(host.boot_id, at)

    def _note_oom(self, count: int, at: float) -> None:
        """The first look ever is a baseline; later looks, also after a restart, give a delta."""
        name = self.instance.name
        if self._oom_base is None:
            kept = self._history.counter(name, "oom_kill")
            self._oom_base = int(kept) if kept and kept.isdigit() and int(kept) <= count else count
        self._history_counter("oom_kill", str(count), at)

    def _note_boot(self, boot_id: str, at: float) -> None:
        if self._boot_id and self._boot_id != boot_id:
            self._rebooted = True
            self._oom_base = None
        self._boot_id = boot_id
        self._history_counter("boot_id", boot_id, at)

    def _history_counter(self, name: str, value: str, at: float) -> None:
        if self._history.counter(self.instance.name, name) != value:
            self._history.set_counter(self.instance.name, name, value, at)

    def _point(self, name: str, at: float, value: float | None) -> None:
        self._series.setdefault(name, Series(SERIES_POINTS)).add(at, value)

    def log_opened(self, event: LogOpened) -> None:
        """A tail starts; one that could not resume begins a new file."""
        source = event.source
        buffer = self.logs.setdefault(source, LogBuffer())
        if not event.resumed and buffer.end:
            self._book.restart_log(source.path)
            if source.cell is None:
                self._queue_history = QueueHistory()
        self._log_views[source] = LogView(
            source, buffer.first, buffer.end, buffer.version, skipped_bytes=event.skipped
        )

    def log_failed(self, event: LogFailed) -> None:
        """A log cannot be followed now."""
        buffer = self.logs.setdefault(event.source, LogBuffer())
        view = self._log_views.get(event.source, LogView(event.source, 0, 0, 0))
        self._log_views[event.source] = replace(view, error=event.why, version=buffer.version)

    def log_arrived(self, event: LogArrived) -> None:
        """Lines came: keep them, fold what they say of queue and cell, and note alarms."""
        source = event.source
        buffer = self.logs.setdefault(source, LogBuffer())
        number = buffer.end - (1 if len(buffer) and buffer[buffer.end - 1].open else 0)
        for line in event.lines:
            self._take_line(line, number, source, event)
            number += 0 if line.open else 1
        buffer.extend(event.lines)
        view = self._log_views.get(source, LogView(source, 0, 0, 0))
        self._log_views[source] = replace(
            view,
            first=buffer.first,
            end=buffer.end,
            version=buffer.version,
            last_at=event.at,
            error=None,
        )

    def _take_line(self, line: LogLine, number: int, source: LogSource, event: LogArrived) -> None:
        if line.queue is not None and source.cell is None and not line.open:
            if isinstance(line.queue, QueueOpened) and self._queue_history.opened:
                self._book.restart_log(source.path)
            if isinstance(line.queue, CellStarted) and not event.backfill:
                self._cells.pop(line.queue.name, None)
                self._book.restart_cell(line.queue.name)
            self._queue_history = self._queue_history.fold(line.queue)
        cell = source.cell or self._queue_history.current
        if cell is not None and line.progress is not None:
            self._fold_progress(cell, line.progress, event.at)
        if not line.open:
            if cell is not None and line.mark.label in ("nan", "inf") and line.mark.alarm:
                self._cells.setdefault(cell, _CellTrace()).diverged = True
            self._book.log_line(line, number, source, cell, event.at)

    def _fold_progress(self, cell: str, new: Progress, at: float) -> None:
        trace = self._cells.setdefault(cell, _CellTrace())
        trace.progress = merge_progress(trace.progress, new)
        if new.loss is not None:
            finite = math.isfinite(new.loss)
            trace.diverged = not finite
            trace.losses.add(at, new.loss if finite else None)

    # --- views ------------------------------------------------------------------------------

    def _value(self, metric: Metric[T]) -> T | None:
        track = self._tracks.get(metric.name)
        return track.value if track else None  # type: ignore[return-value]

    def _fresh(self, metric: Metric[T], now: float) -> T | None:
        """The value, only if it may be believed now."""
        track = self._tracks.get(metric.name)
        if track and track.freshness(now, live=self._link.live) is Freshness.FRESH:
            return track.value  # type: ignore[return-value]
        return None

    def view(self, now: float) -> InstanceView:
        """The frozen view at `now`, with verdict, clocks and findings judged for that moment."""
        instance = self.instance
        run = self._run(now)
        queue = self._queue(now, run)
        table = self._fresh(metrics.GPUS, now)
        verdict, because = judge(self._evidence(now, queue, run, table))
        cost = self._cost(now)
        clocks = self._clocks(now)
        idle = self._idle(now, verdict, table)
        memory = self._value(metrics.MEMORY)
        oom_now = memory.oom_kill if memory and memory.oom_kill is not None else None
        delta = (
            oom_now - self._oom_base if oom_now is not None and self._oom_base is not None else 0
        )
        seen = Now(
            now=now,
            link=self._link,
            verdict=verdict,
            because=because,
            gpus=table,
            memory=self._fresh(metrics.MEMORY, now),
            oom_delta=delta,
            mounts=self._fresh(metrics.MOUNTS, now) or (),
            queue=queue,
            roster=self._value(metrics.ROSTER),
            clocks=clocks,
            hung=self._hung(),
            idle_seconds=idle,
            idle_cost=_idle_cost(cost, idle),
            trainer_alive=run.alive if run else None,
        )
        self._book.set_conditions(conditions(seen), now)
        host = self._tracks.get(metrics.HOST.name, Track())
        box = self._value(metrics.HOST)
        return InstanceView(
            instance=instance,
            taken_at=now,
            link=self._link,
            verdict=verdict,
            because=because,
            tracks=dict(self._tracks),
            queue=queue,
            cost=cost,
            cpu=self._cpu,
            provider=self._provider,
            clocks=clocks,
            findings=self._book.findings(),
            logs=tuple(self._log_views.values()),
            profile=self.profile,
            clock_skew=box.box_time - host.good.taken_at if box and host.good else None,
            uptime=box.uptime_seconds if box else None,
            oom_baseline=self._oom_base,
            series=self._series_view(),
            full_in=self._full_in(),
        )

    def _series_view(self) -> Mapping[str, tuple[tuple[float, float | None], ...]]:
        named = {name: tuple(series) for name, series in self._series.items()}
        for cell, trace in self._cells.items():
            named[f"loss:{cell}"] = tuple(trace.losses)
        return named

    def _run(self, now: float) -> Run | None:
        processes = self._fresh(metrics.PROCESSES, now)
        if processes is None:
            return None
        run = find_run(processes, self.instance.queue.file, self._value(metrics.ROSTER))
        if run.alive or self.instance.queue.file:
            return run
        table = self._fresh(metrics.GPUS, now)
        pids = {process.pid for gpu in (table.gpus if table else ()) for process in gpu.processes}
        return Run(trainers=find_trainers(processes, pids))

    def _queue(self, now: float, run: Run | None) -> Queue:
        host = self._tracks.get(metrics.HOST.name, Track())
        box = self._value(metrics.HOST)
        offset = box.utc_offset_seconds if box else 0
        box_now = None
        if box and host.good:
            box_now = box.box_time + offset + (now - host.good.taken_at)
        queue = join_queue(
            self._value(metrics.ROSTER),
            self._queue_history,
            self._cell_evidence(now, run),
            box_now=box_now,
            file=self.instance.queue.file,
            log=self.instance.queue.log,
        )
        return replace(queue, cells=tuple(_to_epoch(cell, offset) for cell in queue.cells))

    def _cell_evidence(self, now: float, run: Run | None) -> Mapping[str, CellEvidence]:
        files = self._fresh(metrics.FILES, now)
        remote = self.instance.results.remote
        names = {cell.name for cell in self._roster_cells()} | set(self._queue_history.runs)
        evidence = {}
        for name in names:
            trace = self._cells.get(name, _CellTrace())
            artifact = None
            if files is not None and remote:
                artifact = f"{remote.rstrip('/')}/{name}/best.pth" in files.found
            progress = trace.progress
            loss = progress.loss
            evidence[name] = CellEvidence(
                alive=run.alive if run else None,
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

    def _roster_cells(self) -> tuple[RosterCell, ...]:
        roster = self._value(metrics.ROSTER)
        return roster.cells if roster else ()

    def _evidence(
        self, now: float, queue: Queue, run: Run | None, table: GpuTable | None
    ) -> Evidence:
        stopped = self._history.anchor(self.instance.name, "stopped_at")
        link = "off" if stopped and not self._link.live else self._link.state
        return Evidence(
            link=link,
            provider=self._provider.state,
            queue=queue,
            has_queue=self.instance.queue.file is not None,
            alive=run.alive if run else None,
            busy=utilization(table),
            quiet_seconds=self._quiet(now),
            stall_after=self.instance.stall_after,
            oom_delta=0,
            rebooted=self._rebooted,
        )

    def _quiet(self, now: float) -> float | None:
        """Seconds since any log or checkpoint last moved, both by the box's own clock."""
        files = self._fresh(metrics.FILES, now)
        host = self._fresh(metrics.HOST, now)
        if files is None or host is None or not files.found:
            return None
        moved = [
            stat.mtime for path, stat in files.found.items() if path != self.instance.queue.file
        ]
        return max(0.0, host.box_time - max(moved)) if moved else None

    def _hung(self) -> tuple[str, ...]:
        return tuple(
            name
            for name, track in self._tracks.items()
            if isinstance(track.latest, Failure) and track.latest.kind is FailureKind.HUNG
        )

    def _idle(self, now: float, verdict: Verdict, table: GpuTable | None) -> float | None:
        """Seconds without work while the meter runs; None where work goes on or nobody can tell."""
        resting = verdict in (Verdict.IDLE, Verdict.FINISHED, Verdict.CRASHED)
        busy = utilization(table)
        if not resting or (busy is not None and busy > BUSY_SHARE):
            self._idle_since = None
            return None
        if self._idle_since is None:
            self._idle_since = now
        return now - self._idle_since

    def _cost(self, now: float) -> Cost:
        price: Money | None = self._provider.price or self.instance.price
        if price is None:
            return Cost()
        basis = "api" if self._provider.price else "fleet-file"
        since = self._provider.started_at
        if since is None:
            seen = self._history.anchor(self.instance.name, "first_seen")
            since = seen[0] if seen else None
        off = self._provider.state in ("stopped", "gone")
        spent = None if since is None or off else max(0.0, now - since) / 3600 * price.amount
        return Cost(0.0 if off else price.amount, price.currency, spent, since, basis)

    def _clocks(self, now: float) -> tuple[DangerClock, ...]:
        if self.profile is None:
            return ()
        kept = self._history.anchors(self.instance.name)
        stopped, basis = self._provider.stopped_at, "api"
        if "stopped_at" in kept:
            stopped, basis = kept["stopped_at"]
        contact = kept.get("last_contact")
        power = self._provider.state
        if power == "unknown":
            power = "running" if self._link.live else ("stopped" if stopped else "unknown")
        anchors = Anchors(
            power=power,
            stopped_at=stopped,
            stopped_basis=basis if stopped is not None else "unknown",
            created_at=self._provider.started_at,
            last_contact=contact[0] if contact else None,
            manual_deadlines={
                kind.removeprefix("deadline:"): at
                for kind, (at, _) in kept.items()
                if kind.startswith("deadline:")
            },
        )
        return clocks_of(
            self.profile, self.instance.name, anchors, now, self.instance.provider.variant
        )

    def _full_in(self) -> dict[str, float]:
        left: dict[str, float] = {}
        for mount in self._value(metrics.MOUNTS) or ():
            pairs = (
                ("bytes", mount.bytes_used, mount.bytes_total),
                ("inodes", mount.inodes_used, mount.inodes_total),
            )
            times = [self._time_to_full(f"{axis}:{mount.path}", u, t) for axis, u, t in pairs]
            known = [seconds for seconds in times if seconds is not None]
            if known:
                left[mount.path] = min(known)
        return left

    def _time_to_full(self, name: str, used: int | None, total: int | None) -> float | None:
        series = self._series.get(name)
        if series is None or used is None or not total or len(series) < 2:
            return None
        points = [at for at, value in series if value is not None]
        rate = series.rate()
        if rate is None or rate <= 0 or points[-1] - points[0] < FILL_SPAN:
            return None
        return max(0.0, (total - used) / rate)


def merge_progress(old: Progress, new: Progress) -> Progress:
    """The newest number of each field; a new epoch forgets the old epoch's steps."""
    fresh_epoch = new.epoch is not None and new.epoch != old.epoch
    return Progress(
        epoch=new.epoch if new.epoch is not None else old.epoch,
        epochs=new.epochs if new.epochs is not None else old.epochs,
        step=new.step if new.step is not None or fresh_epoch else old.step,
        steps=new.steps if new.steps is not None or fresh_epoch else old.steps,
        loss=new.loss if new.loss is not None else old.loss,
        val_loss=new.val_loss if new.val_loss is not None else old.val_loss,
        lr=new.lr if new.lr is not None else old.lr,
        percent=new.percent,
        elapsed_seconds=new.elapsed_seconds,
        eta_seconds=new.eta_seconds,
        rate_per_second=new.rate_per_second or old.rate_per_second,
        metrics={**old.metrics, **new.metrics},
    )


def _to_epoch(cell: Cell, offset: int) -> Cell:
    """Stamps are box wall time; epoch seconds are what the outside reads."""
    return replace(
        cell,
        started_at=None if cell.started_at is None else cell.started_at - offset,
        finished_at=None if cell.finished_at is None else cell.finished_at - offset,
    )


def _gpu_memory(table: GpuTable | None) -> float | None:
    known = [
        used
        for gpu in (table.gpus if table else ())
        if (used := share(gpu.memory_used, gpu.memory_total)) is not None
    ]
    return max(known, default=None)


def _idle_cost(cost: Cost, idle: float | None) -> str | None:
    if idle is None or cost.per_hour is None:
        return None
    return f"{cost.per_hour * idle / 3600:.2f} {cost.currency}"
