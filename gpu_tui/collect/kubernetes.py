"""Watches one namespace by the user's own kubectl: its jobs and pods on a beat, their logs as they grow.

What is remembered (which log was read how far) outlives connections. A log is asked for from the second of
its newest line on, and what comes again is dropped, so no line is lost and none comes twice. When a
container is restarted, or a job's next pod takes over, the rest of the old log is read first.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass, field, replace

from gpu_tui.core.clock import Clock
from gpu_tui.core.command import CommandFailed, Completed
from gpu_tui.core.events import LogArrived, LogFailed, LogOpened, Noted, Sampled
from gpu_tui.core.fleet import Instance
from gpu_tui.core.logs import LogLine, LogSource
from gpu_tui.core.metrics import CPU, GPUS, HOST, KUBERNETES, MEMORY, MOUNTS
from gpu_tui.core.ports import Sink
from gpu_tui.core.readings import Host
from gpu_tui.core.sample import Absent, Failure, FailureKind, Reading
from gpu_tui.parse import kubectl
from gpu_tui.parse.kube_log import StampedLog
from gpu_tui.parse.kube_object import NotKubernetes
from gpu_tui.parse.kubectl import Refusal
from gpu_tui.parse.kubernetes import Look, PodLog, parse_jobs
from gpu_tui.parse.log_flood import mouthful
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.transport.argv import Programs
from gpu_tui.transport.base import ChannelRefused
from gpu_tui.transport.local import ClusterRefused

LOOK_SECONDS = 10.0
HURRY_SECONDS = 2.0  # between looks when a log has just ended
LOOK_LIMIT = 40.0  # seconds for one look: kubectl itself gives up after half of that per request
LIST_CAP = 64 << 20  # bytes of one look: some 5,000 pods with everything that is managed in them
FOLLOWED = 4  # logs at once, a channel each where kubectl runs on the box
ENDED_READ = 16  # logs of what has ended that are read once, the newest first
HISTORY = 2_000  # lines of a log before we came
BEFORE = 200  # lines of the container before a restart that we did not see
LOG_LIMIT, LOG_CAP = 30.0, 8 << 20
AGAIN_SECONDS, LONGEST_WAIT = 1.0, 30.0
SETTLED = 5.0  # seconds of a stream after which its end is no trouble
REFUSED_SECONDS = 15.0
NO_BOX = "no box to look into: kubectl tells of jobs and pods only"
FIRST_SECONDS = 4.0  # that the first table waits for the first logs


@dataclass(slots=True)
class _Place:
    """Where we are in one log. `read` is the attempt that was read to its very end."""

    log: PodLog
    stamped: StampedLog = field(default_factory=StampedLog)
    reader: LogReader = field(default_factory=LogReader)
    opened: bool = False
    history: bool = True
    read: str = ""


class ClusterWatch:
    """What is known of one instance's namespace, and who asks for more."""

    def __init__(
        self, instance: Instance, sink: Sink, clock: Clock, period: float = LOOK_SECONDS
    ) -> None:
        """`period` is in seconds."""
        self._instance = instance
        self._scope = instance.scheduler_scope
        self._sink = sink
        self._clock = clock
        self._period = period
        self._logs: dict[str, PodLog] = {}
        self._places: dict[str, _Place] = {}
        self._selected: str | None = None
        self._reading: set[str] = set()
        self._changed = asyncio.Event()
        self._hurry = asyncio.Event()
        self._awaited: set[str] = set()
        self._first = asyncio.Event()

    def select(self, cell: str | None) -> None:
        """A person looks at this row."""
        self._selected = cell
        self._changed.set()

    async def serve(self, programs: Programs) -> None:
        """Look and follow until cancelled; LinkError where there is nobody to ask any more."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._look_on(programs))
            tasks.create_task(self._follow_all(programs))

    # --- the table ------------------------------------------------------------------------------------

    async def _look_on(self, programs: Programs) -> None:
        while True:
            pause = self._period
            try:
                await self._look_once(programs)
            except ChannelRefused as error:
                self._unread(f"{error}. {error.next}")
                pause = REFUSED_SECONDS
            self._hurry.clear()
            await asyncio.sleep(min(HURRY_SECONDS, pause))
            await _within(self._hurry, pause - HURRY_SECONDS)

    async def _look_once(self, programs: Programs) -> None:
        try:
            done = await programs.run(kubectl.get_all(self._scope), limit=LOOK_LIMIT, cap=LIST_CAP)
        except CommandFailed as error:
            self._refused(Refusal("timeout", str(error), "Try the same kubectl by hand."))
            return
        now = self._clock.now()
        try:
            look = await asyncio.to_thread(_read, done, now)
        except NotKubernetes as error:
            if done.exit != 0:
                self._refused(kubectl.refusal_of(done, self._scope))
            else:
                self._unread(f"{_too_long(done) or error}", FailureKind.GARBAGE)
            return
        if done.exit != 0:
            why = kubectl.refusal_of(done, self._scope).text
            look = replace(look, table=replace(look.table, why=why, complete=False))
        self._logs = {log.path: log for log in look.logs}
        if not self._first.is_set():
            self._awaited = {log.path for log in self._wanted()}
            self._first_told()
            self._changed.set()
            await _within(self._first, FIRST_SECONDS)
            self._first.set()
        self._changed.set()
        now = self._clock.now()
        if self._instance.here:
            self._tell_no_box(now)
        self._sink(
            Sampled(
                self._instance.name, now, KUBERNETES.name, Reading(look.table, now, self._period)
            )
        )

    def _tell_no_box(self, now: float) -> None:
        """The clock that counts is this machine's; of what a box has there is none."""
        name, box = self._instance.name, Reading(Host(now, None, None), now, self._period)
        self._sink(Sampled(name, now, HOST.name, box))
        for metric in (GPUS, MEMORY, CPU, MOUNTS):
            self._sink(Sampled(name, now, metric.name, Absent(NO_BOX, now)))

    def _refused(self, refusal: Refusal) -> None:
        """Nothing was read: a lost link where kubectl is all there is, else one thing less to know."""
        self._unread(f"{refusal.text}. {refusal.next}")
        if self._instance.here:
            raise ClusterRefused(refusal)

    def _unread(self, why: str, kind: FailureKind = FailureKind.UNREAD) -> None:
        now = self._clock.now()
        failure = Failure(kind, why, now)
        self._sink(Sampled(self._instance.name, now, KUBERNETES.name, failure))

    # --- which logs -----------------------------------------------------------------------------------

    def _wanted(self) -> list[PodLog]:
        """The logs to follow: the selected row's, then those that run, the newest first."""
        live = [log for log in self._logs.values() if log.live]
        live.sort(key=lambda log: log.cell != self._selected)
        return live[:FOLLOWED]

    def _ended(self) -> list[PodLog]:
        """The logs to read once: the selected row's, then the newest."""
        over = [log for log in self._logs.values() if not log.live]
        over.sort(key=lambda log: log.cell != self._selected)
        return over[:ENDED_READ]

    async def _follow_all(self, programs: Programs) -> None:
        tails: dict[str, asyncio.Task[None]] = {}
        once: asyncio.Task[None] | None = None
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._changed.clear()
                wanted = {log.path: log for log in self._wanted()}
                dropped = [tails.pop(path) for path in list(tails) if path not in wanted]
                for tail in dropped:
                    tail.cancel()
                # Two readers of one log at once would take the same lines twice.
                await asyncio.gather(*dropped, return_exceptions=True)
                self._forget_gone()
                for path in wanted:
                    if path not in tails and path not in self._reading:
                        tails[path] = tasks.create_task(self._keep(programs, path))
                if once is None or once.done():
                    once = tasks.create_task(self._read_once(programs, self._ended()))
                await self._changed.wait()

    async def _read_once(self, programs: Programs, logs: list[PodLog]) -> None:
        """One after the other; nobody else reads them meanwhile."""
        for log in logs:
            if self._logs.get(log.path) != log or self._place(log).read == log.attempt:
                continue
            self._reading.add(log.path)
            try:
                await self._tried(programs, log)
            finally:
                self._reading.discard(log.path)
            if self._logs.get(log.path) != log:  # it runs again: somebody waits for us
                self._changed.set()

    def _forget_gone(self) -> None:
        """A pod that is deleted takes its log along."""
        for path in [path for path in self._places if path not in self._logs]:
            place = self._places.pop(path)
            self._awaited.discard(path)
            if place.read != place.log.attempt:
                self._failed(place.log, "its pod is gone, and what its log said last with it")

    def _place(self, log: PodLog) -> _Place:
        return self._places.setdefault(log.path, _Place(log))

    # --- one log --------------------------------------------------------------------------------------

    async def _keep(self, programs: Programs, path: str) -> None:
        """Follow one log through restarts and drops, for as long as it is wanted."""
        wait = AGAIN_SECONDS
        loop = asyncio.get_running_loop()
        while True:
            log = self._logs.get(path)
            if log is None:
                return
            began = loop.time()
            if await self._tried(programs, log) and log.live:
                await self._stream(programs, log)
                self._hurry.set()
            wait = AGAIN_SECONDS if loop.time() - began > SETTLED else min(LONGEST_WAIT, 2 * wait)
            await asyncio.sleep(wait)

    async def _tried(self, programs: Programs, log: PodLog) -> bool:
        """Read everything that is there now; a failure is told, and False."""
        try:
            why = await self._fetch(programs, log)
        except CommandFailed as error:
            why = str(error)
        except ChannelRefused as error:
            why = f"{error}. {error.next}"
        if why is not None:
            self._failed(log, why)
        self._awaited.discard(log.path)
        self._first_told()
        return why is None

    def _first_told(self) -> None:
        if not self._awaited:
            self._first.set()

    async def _fetch(self, programs: Programs, log: PodLog) -> str | None:
        """Read on from where we are to the end there is now; why not, or None."""
        place = self._place(log)
        if place.log.attempt != log.attempt and place.opened:
            await self._rest_of(programs, place, log)
            # What a container says that began under our eyes is news, all of it.
            self._places[log.path] = place = _Place(log, opened=False, history=False)
        place.log = log
        if not place.opened:
            if place.history and log.previous:
                await self._before(programs, log)
            self._open(log, place, resumed=False)
        elif place.read == log.attempt:
            return None
        since, tail = place.stamped.since, HISTORY if place.history else None
        words = kubectl.logs(
            self._scope, log.pod, log.container, since=since, tail=None if since else tail
        )
        done = await programs.run(words, limit=LOG_LIMIT, cap=LOG_CAP)
        if done.exit != 0:
            return kubectl.refusal_of(done, self._scope).text
        place.stamped.again()
        await self._feed(place, done.stdout, backfill=place.history and since is None)
        if not log.live and len(done.stdout) < LOG_CAP:
            if lines := place.reader.close():
                self._arrived(log, lines, backfill=place.history)
            place.read = log.attempt
        place.history = False
        return None

    async def _rest_of(self, programs: Programs, place: _Place, log: PodLog) -> None:
        """The last words of the container before, and of its last line."""
        old, since = place.log, place.stamped.since
        if place.read != old.attempt:
            words = kubectl.logs(
                self._scope, old.pod, old.container, since=since, previous=old.pod == log.pod
            )
            done = await _or_nothing(programs.run(words, limit=LOG_LIMIT, cap=LOG_CAP))
            if done is not None and done.exit == 0:
                place.stamped.again()
                await self._feed(place, done.stdout, backfill=False)
            else:
                text = f"{log.path}: what the container before said last was not read"
                self._sink(Noted(self._instance.name, self._clock.now(), text))
        if lines := place.reader.close():
            self._arrived(old, lines, backfill=False)

    async def _before(self, programs: Programs, log: PodLog) -> None:
        """The end of the log of a container that was restarted before we came: history, read once."""
        words = kubectl.logs(self._scope, log.pod, log.container, previous=True, tail=BEFORE)
        done = await _or_nothing(programs.run(words, limit=LOG_LIMIT, cap=LOG_CAP))
        if done is None or done.exit != 0 or not done.stdout:
            return
        place = _Place(log)
        self._open(log, place, resumed=False)
        await self._feed(place, done.stdout, backfill=True)
        if lines := place.reader.close():
            self._arrived(log, lines, backfill=True)

    async def _stream(self, programs: Programs, log: PodLog) -> None:
        """What is written from now on, until kubectl ends."""
        place = self._place(log)
        words = kubectl.logs(
            self._scope, log.pod, log.container, since=place.stamped.since, follow=True
        )
        try:
            async with programs.stream(words) as chunks:
                place.stamped.again()
                await self._take(place, chunks)
        except ChannelRefused as error:
            self._failed(log, f"{error}. {error.next}")
        except CommandFailed as error:
            self._failed(log, str(error))

    async def _take(self, place: _Place, chunks: AsyncIterator[bytes]) -> None:
        async for chunk in chunks:
            await self._feed(place, chunk, backfill=False)

    async def _feed(self, place: _Place, data: bytes, *, backfill: bool) -> None:
        """What was not taken before, some milliseconds' work at a time; who is cancelled lost nothing."""
        while data:
            size = mouthful(data)
            if lines := place.reader.feed(place.stamped.feed(data[:size])):
                self._arrived(place.log, lines, backfill=backfill)
            data = data[size:]
            await asyncio.sleep(0)

    # --- events ---------------------------------------------------------------------------------------

    def _open(self, log: PodLog, place: _Place, *, resumed: bool) -> None:
        place.opened = True
        identity = zlib.crc32(log.attempt.encode())
        event = LogOpened(
            self._instance.name, self._clock.now(), _source(log), identity, 0, 0, resumed
        )
        self._sink(event)

    def _arrived(self, log: PodLog, lines: Sequence[LogLine], *, backfill: bool) -> None:
        now = self._clock.now()
        self._sink(LogArrived(self._instance.name, now, _source(log), lines, backfill))

    def _failed(self, log: PodLog, why: str) -> None:
        self._sink(LogFailed(self._instance.name, self._clock.now(), _source(log), why))


def _source(log: PodLog) -> LogSource:
    return LogSource(log.path, log.cell)


def _read(done: Completed, now: float) -> Look:
    """NotKubernetes also for a refusal that names nothing."""
    look = parse_jobs(done.stdout, now)
    if done.exit != 0 and not look.table.jobs:
        raise NotKubernetes("refused")
    return look


def _too_long(done: Completed) -> str | None:
    if len(done.stdout) < LIST_CAP:
        return None
    return f"kubectl lists more than {LIST_CAP >> 20} MiB: name a scheduler.selector"


async def _or_nothing(run: Awaitable[Completed]) -> Completed | None:
    """The end of a program, or None where it could not be run."""
    try:
        return await run
    except (CommandFailed, ChannelRefused):
        return None


async def _within(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, but not for ever."""
    if seconds <= 0:
        return
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
