"""What is known of one instance, mutable; only the store touches it. Outlook draws the view."""

from __future__ import annotations

from dataclasses import replace

from gpu_tui.core import metrics
from gpu_tui.core.account import Account
from gpu_tui.core.account_rules import provider_state
from gpu_tui.core.ending import OpenEnd, OwnEnd
from gpu_tui.core.events import (
    LinkChanged,
    LogArrived,
    LogCame,
    LogFailed,
    LogOpened,
    ProviderRead,
    Sampled,
)
from gpu_tui.core.fleet import Instance, LinkState, ProviderState
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.left_queue import LeftQueue
from gpu_tui.core.levels import share
from gpu_tui.core.log_block import LogBlock, stands_before, telling
from gpu_tui.core.log_cells import AHEAD, LogLives
from gpu_tui.core.logs import LogLine, LogSource
from gpu_tui.core.metrics import Metric
from gpu_tui.core.profile import Profile
from gpu_tui.core.queue_history import MILESTONES, CellStarted, QueueHistory, QueueOpened
from gpu_tui.core.readings import CpuCounters, GpuTable, Memory
from gpu_tui.core.sample import NO_TRACK, Absent, Freshness, Reading, Track
from gpu_tui.core.series import Series
from gpu_tui.core.sweep import CELLS_KEPT, gives_no_cell
from gpu_tui.core.vanished import Vanished
from gpu_tui.core.went_on import LEAST_BUFFER
from gpu_tui.state.attempts import Attempts
from gpu_tui.state.book import Book
from gpu_tui.state.cost import paid_until_now
from gpu_tui.state.followed import FollowedLogs
from gpu_tui.state.history import CONTACT_EVERY, History
from gpu_tui.state.joined import Joined
from gpu_tui.state.known_ends import KnownEnds
from gpu_tui.state.last_queue import QueueKept
from gpu_tui.state.logbuffer import LogPool
from gpu_tui.state.meter import Meter
from gpu_tui.state.mounts_before import MountsBefore
from gpu_tui.state.paces import Paces
from gpu_tui.state.paid import remember, remembered
from gpu_tui.state.panes import with_programs
from gpu_tui.state.past import Past
from gpu_tui.state.rhythms import Rhythms
from gpu_tui.state.runner_kept import RunnersKept
from gpu_tui.state.runs_before import RunsBefore
from gpu_tui.state.seen_before import SeenBefore
from gpu_tui.state.timeline import Timeline
from gpu_tui.state.traces import SERIES_POINTS, SKIP_LABELS, CellTrace
from gpu_tui.state.views import CpuUse, T, cpu_rates, utilization
from gpu_tui.state.witness import Witness

# The year 2000. File systems without dates and unpacked archives have earlier dates.
NO_DATE = 946_684_800.0
SHORT_CUT = 120.0  # seconds: a condition before and after a shorter link cut held during it
QUEUES_FOUND = 8  # logs of queues that nobody named


class InstanceState:
    """Takes the events of one instance and keeps what they say."""

    def __init__(
        self,
        instance: Instance,
        profile: Profile | None,
        history: History,
        pool: LogPool | None = None,
    ) -> None:
        self.instance = instance
        self.profile = profile
        self.logs = FollowedLogs(self._written, pool)
        self.history = history
        self.link = LinkState()
        self.was_live = False
        self._cut_at = 0.0
        self.tracks: dict[str, Track[object]] = {}
        self._begun: dict[str, float | None] = {}  # when each job of a scheduler began, by its list
        self.queue_history = QueueHistory()
        self.found_queues: dict[str, QueueHistory] = {}  # by log that nobody named as a queue's
        self.cells: dict[str, CellTrace] = {}
        self.units: dict[LogSource, CellTrace] = {}  # of cells that several programs work on
        self.vanished = {metric.name: Vanished() for metric in metrics.UNRECORDED}
        self.ends = KnownEnds(history, instance)
        self._runs = RunsBefore(history, instance)
        for name, memory in self._runs.read().items():
            self.vanished[name].recall(memory)
            self.vanished[name].ended = self.ends.names
        metric = metrics.SCHEDULERS.get(instance.scheduler or "")
        deletes = metric is metrics.KUBERNETES
        self.left = {metric.name: LeftQueue(deletes)} if metric else {}
        for name, jobs in self._runs.jobs_before().items():
            self.left[name].recall(jobs)
        self.attempts = Attempts(history, instance)
        self.rhythms = Rhythms(history, instance)
        self.last_queue = QueueKept(history, instance)
        self.paces = Paces(history, instance)
        self.runners = RunnersKept(history, instance)
        self.seen_before = SeenBefore(history, instance.name)
        self.book = Book(instance.name, before=self.seen_before)
        self.provider = ProviderState()
        self.end: OpenEnd | None = None  # of a teardown
        self.own_end: OwnEnd | None = None
        self.series: dict[str, Series] = {}
        self.cpu = CpuUse()
        self.witness = Witness(instance, history)
        self.timeline = Timeline(instance.name, history)
        self.meter = Meter()
        self.paid = remembered(history, instance)  # when it last ran
        self.past = Past()
        self.mounts_before = MountsBefore(history, instance)
        self.joined = Joined()
        self.log_lives = LogLives()
        self._contact_written = 0.0
        # By log, until the date of its file is known: when its backlog was read, and up to which byte.
        self._undated: dict[str, tuple[float, int | None]] = {}
        # Lines that wait to be judged, from here on.
        self._came: tuple[LogSource, int, int | None] | None = None

    # --- events -----------------------------------------------------------------------------

    def link_changed(self, event: LinkChanged) -> None:
        """The connection changed."""
        if self.link.live and not event.link.live:
            self._cut_at = event.at
        if event.link.live and not self.link.live:
            self.book.recalls = not self.was_live or event.at - self._cut_at < SHORT_CUT
            self.book.since = event.at  # what began while nobody looked is found now
            self.ends.set_host_key(event.link.host_key)
            for name in self._runs.met(event.link.host_key):
                self.vanished[name].recall(None)
        self.link = event.link
        self.timeline.link_changed(event.link)
        self.was_live = self.was_live or event.link.live
        if not event.link.live:
            for name in list(self.series):
                self.series[name].add(event.at, None)

    def account_read(self, account: Account, at: float) -> None:
        """The account was listed: one list speaks for all its instances."""
        name, id = self.instance.name, self.instance.provider.id
        known = self.history.anchor(name, f"listed:{id}") is not None
        state = provider_state(account, self.instance, known=known)
        if state is None:
            return
        if not known and account.find(id) is not None:
            self.history.set_anchor(name, f"listed:{id}", at, "api")
        self.provider_read(ProviderRead(name, at, state))

    def provider_read(self, event: ProviderRead) -> None:
        """The control API answered; an error keeps the facts that were known."""
        self.timeline.provider_read(event.state, event.at)
        if event.state.error:
            self.provider = replace(self.provider, error=event.state.error)
        else:
            self._note_paid(event.state, event.at)
            self.provider = event.state
        self.meter.take(event.state, event.at)

    def _note_paid(self, state: ProviderState, at: float) -> None:
        """At the end of a run what it cost is kept; the next one begins at nothing."""
        if self.provider.state == "running" and state.state != "running":  # some end by and by
            self.paid = paid_until_now(self)
        elif self.paid is None or state.state != "running":
            return
        else:
            self.paid = None
        remember(self.history, self.instance, self.paid, at)

    def sampled(self, event: Sampled) -> None:
        """One probe answered."""
        match event.sample:
            case Reading(value=JobTable() as panes) if event.metric == metrics.TMUX.name:
                panes = with_programs(panes, self.value(metrics.PROCESSES))
                event = replace(event, sample=replace(event.sample, value=panes))
        old = self.tracks.get(event.metric, NO_TRACK)
        self.tracks[event.metric] = old.follow(event.sample)
        if event.metric == metrics.ROSTER.name:
            self._judge_queue()
        if event.metric in self.vanished:
            self.vanished[event.metric].follow(event.sample)
            if isinstance(event.sample, Reading | Absent):
                runs = self.vanished[event.metric]
                self._runs.keep(event.metric, runs, event.sample.taken_at)
        if event.metric in self.left and isinstance(event.sample, Reading):
            left = self.left[event.metric]
            left.follow(event.sample)
            self._runs.keep_jobs(event.metric, left, event.sample.taken_at)
        if isinstance(event.sample, Reading):
            self._contact(event.at)
            self.timeline.sampled(event.metric, event.sample)
            self._note_value(event.metric, event.sample.value, event.at, old)
            if event.metric == metrics.PROCESSES.name:
                processes = self.value(metrics.PROCESSES)
                for vanished in self.vanished.values():
                    vanished.saw(processes or (), event.sample.taken_at)
            self.witness.sampled(event.metric, self.tracks, event.at)
            self._note_attempts(event.sample.value)
            if event.metric in (metrics.FILES.name, metrics.HOST.name):
                self._date_logs()
            if event.metric in (metrics.PAST.name, metrics.HOST.name, metrics.MEMORY.name):
                zone = self.witness.offset(self.tracks, self.queue_history.moved_at, event.at)
                self.past.look(self.tracks, self.series, zone, event.at)

    def _note_attempts(self, table: object) -> None:
        """Forget how often the log of a job was written when a new attempt at it begins."""
        jobs = table.jobs if isinstance(table, JobTable) else ()
        old, self._begun = self._begun, {}
        for job in jobs:
            known = old.get(job.name)
            self._begun[job.name] = begun = job.started_at if job.live else known
            if known is not None and begun != known:
                self.logs.begin_again({job.name})

    def _judge_queue(self) -> None:
        """Decide whether the queue that the fleet file names gives cells; otherwise runs found on the box count."""
        files = self.instance.queue
        roster = self.tracks.get(metrics.ROSTER.name, NO_TRACK)
        useless = bool(files.file) and gives_no_cell(roster, logged=bool(self.queue_history.runs))
        if useless is files.useless:
            return
        self.instance = replace(self.instance, queue=replace(files, useless=useless))
        for metric in metrics.FOUND if not useless else ():
            self.tracks.pop(metric.name, None)
            if metric.name in self.vanished:
                self.vanished[metric.name] = Vanished()

    def _contact(self, at: float) -> None:
        # One that lies ahead was written before our own clock was set back.
        if not 0 <= at - self._contact_written < CONTACT_EVERY:
            self._contact_written = at
            name = self.instance.name
            self.history.set_anchor(name, "last_contact", at, "last-contact")
            first = self.history.anchor(name, "first_seen")
            if first is None or first[0] > at:
                self.history.set_anchor(name, "first_seen", at, "last-contact")

    def _note_value(self, metric: str, value: object, at: float, old: Track[object]) -> None:
        match metric:
            case metrics.KUBERNETES.name:
                if (listed := self.value(metrics.KUBERNETES)) is not None:
                    self._choose_speakers(listed)
            case metrics.GPUS.name:
                table = self.value(metrics.GPUS)
                self._point("gpu", at, utilization(table))
                self._point("gpu_memory", at, _gpu_memory(table))
            case metrics.MEMORY.name:
                memory = self.value(metrics.MEMORY)
                if memory is None:
                    return
                if isinstance(old.value, Memory) and old.value.level != memory.level:
                    self.series.pop("memory_needed", None)  # another cgroup's
                self._point("memory", at, share(memory.used, memory.limit))
                self._point("memory_needed", at, memory.needed)
            case metrics.CPU.name:
                new = self.value(metrics.CPU)
                if old.good and isinstance(old.good.value, CpuCounters) and new:
                    self.cpu = cpu_rates(old.good.value, old.good.taken_at, new, at)
                elif new:
                    self.cpu = CpuUse(new.quota_cores, host_load1=new.host_load1)
            case metrics.MOUNTS.name:
                mounts = self.value(metrics.MOUNTS) or ()
                self.mounts_before.look(mounts, self.link.host_key, at)
                for mount in mounts:
                    self._point(f"bytes:{mount.path}", at, mount.bytes_used)
                    self._point(f"inodes:{mount.path}", at, mount.inodes_used)

    def _point(self, name: str, at: float, value: float | None) -> None:
        if name not in self.series:
            self.series[name] = Series(SERIES_POINTS)
        self.series[name].add(at, value)

    def log_opened(self, event: LogOpened) -> None:
        """A tail starts; one that could not resume begins a new file."""
        if self.logs.open(event):
            if event.next_attempt:
                self.book.begin_anew(event.source.path)
                return
            self.book.restart_log(event.source.path)
            self.ends.forget_log(event.source.path)
            self.found_queues.pop(event.source.path, None)
            trace = self.cells.get(event.source.cell or "")
            if self.instance.scheduler is not None and trace and trace.log == event.source.path:
                del self.cells[event.source.cell or ""]  # its job was started again
            if event.source.cell is None:
                self.queue_history = QueueHistory()

    def log_failed(self, event: LogFailed) -> None:
        """A log cannot be followed now."""
        self.logs.hear(event).error = event.why

    def log_came(self, event: LogCame) -> None:
        """Lines came: keep them."""
        followed = self.logs.hear(event)
        self._came = event.source, followed.buffer.end, followed.buffer.upto
        followed.keep(event)

    def log_arrived(self, event: LogArrived) -> None:
        """Keep lines that did not come before, fold what they say of queue and cell, and note alarms."""
        source = event.source
        followed = self.logs.hear(event)
        followed.last_at = None if event.backfill else event.at
        if source.cell is not None and self.instance.scheduler is not None:
            followed.beat(event, event.written_at and self.timeline.ours(event.written_at))
        if source.cell is not None and not event.backfill:
            self.witness.words.heard(event.at)
            followed.words.heard(event.at)
        buffer = followed.buffer
        came, self._came = self._came, None
        if isinstance(event.lines, LogBlock) and not event.backfill:
            followed.unread += len(event.lines) - len(event.lines.told)
        if came is None or came[0] != source:
            number = buffer.end - buffer.open
            for place, line in telling(event.lines):
                early = line.mark.alarm and _is_early(event, place, buffer.upto)
                self._take_line(line, number + place, source, event, early=early)
            followed.keep(event)
            if event.backfill:
                self._backlog_read(event)
            return
        _, number, begin = came
        for place, line in telling(event.lines):
            early = line.mark.alarm and _is_early(event, place, begin)
            self._take_line(line, number + place, source, event, early=early)
            buffer.judge(number + place, line)
        if event.backfill:
            self._backlog_read(event)

    def _backlog_read(self, event: LogArrived) -> None:
        path = event.source.path
        self._undated.pop(path, None)
        if len(self._undated) >= CELLS_KEPT:
            del self._undated[next(iter(self._undated))]
        self._undated[path] = event.at, event.upto
        self._date_logs()

    def _date_logs(self) -> None:
        """Bound each backlog by the date of its log, if that was read later or the file already held all of it."""
        good = self.tracks.get(metrics.FILES.name, NO_TRACK).good
        table = self.value(metrics.FILES)
        if good is None or table is None or self.timeline.skew is None:
            return
        for path, (at, upto) in list(self._undated.items()):
            stat = table.found.get(path)
            if (
                stat is None
                or stat.mtime < NO_DATE
                or (good.taken_at < at and (upto is None or stat.size < upto))
            ):
                continue
            self.book.date_log(path, self.timeline.ours(stat.mtime))
            del self._undated[path]

    def _written(self, path: str) -> float | None:
        """When a log that only stood there was written last, by the box's own time of the file."""
        table = self.value(metrics.FILES)
        stat = table.found.get(path) if table else None
        if stat is None:
            return None
        at, read = self.timeline.ours(stat.mtime), self.tracks[metrics.FILES.name].good
        # A time that lies ahead is another clock's, and tells nothing.
        return at if read is None or at <= read.taken_at + AHEAD else None

    def _take_line(
        self, line: LogLine, number: int, source: LogSource, event: LogArrived, *, early: bool
    ) -> None:
        if line.queue is not None and source.cell is None and not line.open:
            if isinstance(line.queue, QueueOpened) and self.queue_history.opened:
                self.book.restart_log(source.path)
            if isinstance(line.queue, CellStarted):
                # Of the past, only what stands before it in this very log is known to be older.
                if not event.backfill or self.instance.logs is None:
                    self.cells.pop(line.queue.name, None)
                self.book.restart_cell(line.queue.name, source.path if event.backfill else None)
            if not event.backfill:
                self.witness.queue_line(line.queue, self.tracks, event.at)
            self.queue_history = self.queue_history.fold(line.queue)
            if self.instance.queue.useless:
                self._judge_queue()
        cell = self._cell_of(line, source)
        if cell is not None and (line.progress is not None or line.mark.label in SKIP_LABELS):
            trace = self._trace(cell, source)
            trace.take(line, event.at, live=not event.backfill, log=source.path)
        elif cell is not None and line.plan is not None:
            self._trace(cell, source).course.announce(line.plan)
        if line.queue is None:  # what the queue's own grammar says is judged as the state of a cell
            live = not event.backfill
            self.book.log_line(line, number, source, cell, event.at, live=live, early=early)

    def _cell_of(self, line: LogLine, source: LogSource) -> str | None:
        """Whose line it is. A log that was followed as a cell's and speaks as a queue's does is no cell's: of
        what it says the cell that it is at is meant.
        """
        if source.cell is None:
            return self.queue_history.current
        found = self.found_queues.get(source.path)
        if found is None:
            told = isinstance(line.queue, MILESTONES) and not line.open
            if not told or len(self.found_queues) >= QUEUES_FOUND:
                return source.cell
            found = QueueHistory()
        if line.queue is not None and not line.open:
            if isinstance(line.queue, QueueOpened):
                self.book.restart_log(source.path)
            found = self.found_queues[source.path] = found.fold(line.queue)
        return found.current

    def _trace(self, cell: str, source: LogSource) -> CellTrace:
        """The trace of one cell's attempt, or of one of its programs; the oldest are dropped first."""
        if source.unit is not None and source.cell == cell:
            if source not in self.units:
                if len(self.units) >= CELLS_KEPT:
                    del self.units[next(iter(self.units))]
                self.units[source] = CellTrace()
            self.cells.setdefault(cell, self.units[source])
            return self.units[source]
        if cell not in self.cells:
            if len(self.cells) >= CELLS_KEPT:
                del self.cells[next(iter(self.cells))]
            self.cells[cell] = CellTrace()
        return self.cells[cell]

    def _choose_speakers(self, table: JobTable) -> None:
        """Take as progress of a row with several logs that of the first one that reports any, rank 0 first."""
        paths = {source.path: trace for source, trace in self.units.items()}
        for job in table.jobs if paths else ():
            traces = [paths[path] for path in job.pod_logs if path in paths]
            if traces:
                shown = (trace for trace in traces if trace.course.place is not None)
                self.cells[job.name] = next(shown, traces[0])

    def diverged_logs(self) -> frozenset[str]:
        """The paths of the logs of cells' programs whose loss is no number."""
        return frozenset(source.path for source, trace in self.units.items() if trace.diverged)

    # --- questions --------------------------------------------------------------------------

    def value(self, metric: Metric[T]) -> T | None:
        """The last good value, however old."""
        track = self.tracks.get(metric.name)
        return track.value if track else None  # type: ignore[return-value]

    def fresh(self, metric: Metric[T], now: float) -> T | None:
        """The value, only if it may be believed now."""
        track = self.tracks.get(metric.name)
        if track and track.freshness(now, live=self.link.live) is Freshness.FRESH:
            return track.value  # type: ignore[return-value]
        return None


def _is_early(event: LogArrived, place: int, begin: int | None) -> bool:
    """A line of what begins at byte `begin` of its file stands before any buffer can have been full."""
    return stands_before(LEAST_BUFFER, event.lines, place, begin)


def _gpu_memory(table: GpuTable | None) -> float | None:
    known = [
        used
        for gpu in (table.gpus if table else ())
        if (used := share(gpu.memory_used, gpu.memory_total)) is not None
    ]
    return max(known, default=None)
