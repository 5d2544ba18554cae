"""Watches one namespace by the user's own kubectl: its jobs and pods on a beat, their logs as they grow.

The logs that matter most are followed, each by a stream; every other log is read in turn, after each list of the pods.
Which log was read how far outlives connections.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace

from gpu_tui.collect.kube_exec import PodCardsWatch, Trainers
from gpu_tui.collect.kube_namespace import EmptyList, missing_namespace
from gpu_tui.collect.pod_logs import MUTE_SECONDS, PodLogs
from gpu_tui.core import units
from gpu_tui.core.clock import Clock
from gpu_tui.core.command import CommandFailed, Completed
from gpu_tui.core.events import Sampled
from gpu_tui.core.fleet import Instance
from gpu_tui.core.metrics import CPU, GPUS, HOST, KUBERNETES, MEMORY, MOUNTS, POD_USE
from gpu_tui.core.ports import Sink
from gpu_tui.core.readings import Host
from gpu_tui.core.sample import Absent, Failure, FailureKind, Reading
from gpu_tui.parse import kubectl
from gpu_tui.parse.kube_logs import PodLog
from gpu_tui.parse.kube_object import NotKubernetes
from gpu_tui.parse.kube_top import parse_top
from gpu_tui.parse.kubectl import Refusal
from gpu_tui.parse.kubernetes import Look, parse_jobs
from gpu_tui.transport.argv import Programs
from gpu_tui.transport.base import ChannelRefused
from gpu_tui.transport.local import ClusterRefused

LOOK_SECONDS = 10.0
HURRY_SECONDS = 2.0  # between looks when a log has just ended
TOP_SECONDS, TOP_CAP = 30.0, 1 << 20
LOOK_LIMIT = 40.0  # seconds for one look: kubectl itself gives up after half of that per request
LIST_CAP = 64 << 20  # bytes of one look: some 5,000 pods with everything that is managed in them
FOLLOWED = 4  # logs at once, a channel each where kubectl runs on the box
READERS = 2  # readings at once of logs that were not read before
ROUND = 16  # logs that are read between two looks, at most
LOGS_READ = 300  # logs of one namespace, those that grow first
UNREAD_REPORTED = 100  # logs of which a row says that they are not read
ENDED_READ = 60  # of them those of ended pods, the newest first
AGAIN_SECONDS, LONGEST_WAIT = 1.0, 30.0
LONGEST_PAUSE = 300.0  # seconds until a log that cannot be read is tried again
SETTLED = 5.0  # seconds of a stream after which its end is no trouble
REFUSED_SECONDS = 15.0
NAMESPACE_SECONDS = 600.0  # between two questions whether the namespace of an empty list exists
MISSING_SECONDS = 60.0  # where it did not
NO_BOX = "no box to look into: kubectl tells of jobs and pods only"
FIRST_SECONDS = 4.0  # that the first table waits for the first logs
TOO_MANY = f"its log is not read: the limit is {LOGS_READ} logs of a namespace"
TOO_OLD = f"its log is not read: only the {ENDED_READ} newest of ended pods are"


@dataclass(slots=True)
class _Turn:
    """When one log was read last, by the loop's clock, and how often that failed since."""

    at: float = 0.0
    failed: int = 0


class ClusterWatch:
    """The state of one instance's namespace, and the tasks that read more."""

    def __init__(
        self,
        instance: Instance,
        sink: Sink,
        clock: Clock,
        period: float = LOOK_SECONDS,
        mute: float = MUTE_SECONDS,
    ) -> None:
        """`period` and `mute` (the silence of a stream that is then closed) are in seconds."""
        self._instance = instance
        self._scope = instance.scheduler_scope
        self._sink = sink
        self._clock = clock
        self._period = period
        self._reader = PodLogs(instance, sink, clock, mute)
        self._logs: dict[str, PodLog] = {}
        self._turns: dict[str, _Turn] = {}
        self._beyond: set[str] = set()  # paths of logs that are not read, and it was said
        self._selected: str | None = None
        self._reading: set[str] = set()
        self._changed = asyncio.Event()
        self._hurry = asyncio.Event()
        self._tails: dict[str, asyncio.Task[None]] = {}
        self._again = False  # streams are to be opened again
        self._awaited: set[str] = set()
        self._first = asyncio.Event()
        self._begun = self._done = 0  # looks
        self._looked, self._listed = asyncio.Event(), asyncio.Event()
        self._empty: EmptyList | None = None
        self._cards, self._trainers = PodCardsWatch(instance, sink, clock), Trainers()

    @property
    def read_up(self) -> bool | None:
        """Each log that is to be read was read once, or cannot be; None where nothing was listed so far."""
        if not self._done:
            return None
        if self._scope.vitals == "exec" and not self._cards.read_once:
            return False
        return all(
            self._reader.is_caught_up(log) or self._has_failed(log) for log in self._chosen()
        )

    def select(self, cell: str | None) -> None:
        """The row that the user selected: its log is read first."""
        self._selected = cell
        self._changed.set()

    def again(self) -> None:
        """Look now, and open every stream again."""
        self._again = True
        self._changed.set()
        self._hurry.set()

    async def serve(self, programs: Programs) -> None:
        """Look and follow until cancelled; LinkError where there is nobody to ask any more."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._look_on(programs))
            tasks.create_task(self._follow_all(programs))
            tasks.create_task(self._read_others(programs))
            if self._scope.vitals == "top":
                tasks.create_task(self._top_on(programs))
            if self._scope.vitals == "exec":
                tasks.create_task(self._cards_on(programs))

    async def _cards_on(self, programs: Programs) -> None:
        while not self._done:
            self._looked.clear()
            await self._looked.wait()
        await self._cards.run(programs, self._chosen)

    async def _top_on(self, programs: Programs) -> None:
        """Read the usage of the containers; metrics-server measures it every 15 to 60 seconds."""
        while True:
            sample: Reading[object] | Failure
            try:
                done = await programs.run(kubectl.top(self._scope), limit=LOOK_LIMIT, cap=TOP_CAP)
                now = self._clock.now()
                if done.exit == 0:
                    use = parse_top(done.stdout.decode("utf-8", "replace"))
                    sample = Reading(use, now, TOP_SECONDS)
                else:
                    why = kubectl.refusal_of(done, self._scope).text
                    sample = Failure(FailureKind.UNREAD, why, now)
            except (CommandFailed, ChannelRefused) as error:
                now = self._clock.now()
                sample = Failure(FailureKind.UNREAD, str(error), now)
            self._sink(Sampled(self._instance.name, now, POD_USE.name, sample))
            await asyncio.sleep(TOP_SECONDS)

    # --- the table ------------------------------------------------------------------------------------

    async def _look_on(self, programs: Programs) -> None:
        while True:
            pause = self._period
            self._begun += 1
            look = self._begun
            self._hurry.clear()
            try:
                if await self._look_once(programs):
                    self._done = look
                    self._looked.set()
            except ChannelRefused as error:
                self._unread(f"{error}. {error.next}")
                pause = REFUSED_SECONDS
            await asyncio.sleep(min(HURRY_SECONDS, pause))
            await _within(self._hurry, pause - HURRY_SECONDS)

    async def _next_look(self) -> None:
        """Wait for the end of a look that begins from now on: it shows every attempt that has ended before."""
        begun = self._begun
        while self._done <= begun:
            self._looked.clear()
            await self._looked.wait()

    async def _look_once(self, programs: Programs) -> bool:
        """List everything; False where no list came."""
        try:
            done = await programs.run(kubectl.get_all(self._scope), limit=LOOK_LIMIT, cap=LIST_CAP)
        except CommandFailed as error:
            self._refused(Refusal("timeout", str(error), "Try the same kubectl by hand."))
            return False
        now = self._clock.now()
        try:
            look = await asyncio.to_thread(_read, done, now, self._trainers.known)
            if self._scope.vitals == "exec" and await self._trainers.ask(
                programs, self._instance, look.undecided, look.pods
            ):
                look = await asyncio.to_thread(_read, done, now, self._trainers.known)
        except NotKubernetes as error:
            if done.exit != 0:
                self._refused(kubectl.refusal_of(done, self._scope))
            else:
                self._unread(f"{_too_long(done) or error}", FailureKind.GARBAGE)
            return False
        if done.exit != 0:
            why = kubectl.refusal_of(done, self._scope).text
            look = replace(look, table=replace(look.table, why=why, complete=False))
        if look.table.jobs:
            self._empty = None
        elif (missing := await self._missing(programs)) is not None:
            self._logs = {}
            self._changed.set()
            if self._instance.here:
                self._tell_no_box(now)
            self._unread(f"{missing.text}. {missing.next}")
            return True
        self._logs = {log.path: log for log in look.logs}
        self._listed.set()
        self._reader.end_replaced(look.logs)
        if (beyond := len(self._logs) - len(self._chosen())) > 0 and look.table.why is None:
            why = f"{beyond} of {len(self._logs)} logs are not read"
            look = replace(look, table=replace(look.table, why=why))
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
        return True

    async def _missing(self, programs: Programs) -> Refusal | None:
        """Why the list is empty though it should not be: kubectl lists a namespace that does not exist as empty."""
        now = asyncio.get_running_loop().time()
        if self._empty is None or now >= self._empty.again_at:
            refusal = await missing_namespace(programs, self._scope)
            pause = NAMESPACE_SECONDS if refusal is None else MISSING_SECONDS
            self._empty = EmptyList(refusal, now + pause)
        return self._empty.refusal

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

    def _chosen(self) -> list[PodLog]:
        """The logs to read, in this order: the selected row's, those that grow, and of the others the newest."""
        logs = sorted(self._logs.values(), key=lambda log: log.cell != self._selected)
        live = [log for log in logs if log.live]
        over = [log for log in logs if not log.live][:ENDED_READ]
        return (live + over)[:LOGS_READ]

    def _wanted(self) -> list[PodLog]:
        """The logs to follow."""
        live = [log for log in self._logs.values() if log.live]
        live.sort(key=lambda log: log.cell != self._selected)
        return live[:FOLLOWED]

    def _has_failed(self, log: PodLog) -> bool:
        turn = self._turns.get(log.path)
        return turn is not None and turn.failed > 0

    async def _follow_all(self, programs: Programs) -> None:
        tails = self._tails
        tails.clear()
        self._reading.clear()
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._changed.clear()
                wanted = {log.path: log for log in self._wanted()}
                drop = [path for path in tails if self._again or path not in wanted]
                self._again = False
                for path in drop:
                    tails[path].cancel()
                # Two readers of one log at once would take the same lines twice.
                await asyncio.gather(*(tails[path] for path in drop), return_exceptions=True)
                for path in drop:
                    del tails[path]
                self._forget_gone()
                for path in wanted:
                    if path not in tails and path not in self._reading:
                        tails[path] = tasks.create_task(self._keep(programs, path))
                await self._changed.wait()

    def _forget_gone(self) -> None:
        """The log of a deleted pod is deleted with it."""
        for path in self._reader.forget_gone(tuple(self._logs)):
            self._awaited.discard(path)
            self._turns.pop(path, None)
            self._first_told()

    # --- one log that is followed ---------------------------------------------------------------------

    async def _keep(self, programs: Programs, path: str) -> None:
        """Follow one log through restarts and drops, for as long as it is wanted."""
        wait = AGAIN_SECONDS
        loop = asyncio.get_running_loop()
        while True:
            log = self._logs.get(path)
            if log is None:
                return
            began = loop.time()
            read = self._reader.is_caught_up(log) or await self._tried(programs, log)
            if read and log.live:
                if await self._reader.stream(programs, log):
                    self._hurry.set()
                # The pod may have another container now, or another pod its name.
                await self._next_look()
            wait = AGAIN_SECONDS if loop.time() - began > SETTLED else min(LONGEST_WAIT, 2 * wait)
            if not read or loop.time() - began < wait:
                await asyncio.sleep(wait)

    async def _tried(self, programs: Programs, log: PodLog) -> bool:
        """Read everything that is there now; a failure is reported, and False."""
        why = await self._reader.read(programs, log)
        self._took_turn(log, why)
        return why is None

    def _took_turn(self, log: PodLog, why: str | None) -> None:
        turn = self._turns.setdefault(log.path, _Turn())
        turn.at = asyncio.get_running_loop().time()
        if why is None and turn.failed:
            self._reader.resumed(log)
        turn.failed = 0 if why is None else turn.failed + 1
        if why is not None:
            self._reader.failed(log, why)
        self._awaited.discard(log.path)
        self._first_told()

    def _first_told(self) -> None:
        if not self._awaited:
            self._first.set()

    # --- the other logs -------------------------------------------------------------------------------

    async def _read_others(self, programs: Programs) -> None:
        """Read the logs that are not followed, in turn: first each once, then after each look those whose turn it is."""
        while True:
            self._tell_beyond()
            due = self._due()
            unread = [log for log in due if not self._reader.is_caught_up(log)]
            if unread:
                await self._read_first(programs, unread[:READERS])
            elif due:
                await self._read_round(programs, due[:ROUND])
            else:
                self._listed.clear()
                await self._listed.wait()

    def _due(self) -> list[PodLog]:
        """The logs that may have grown since they were read, the one that waits longest first."""
        now = asyncio.get_running_loop().time()
        followed = {*self._tails, *(log.path for log in self._wanted())}
        due = []
        for log in self._chosen():
            turn = self._turns.get(log.path, _Turn())
            pause = min(LONGEST_PAUSE, self._period * 2.0 ** min(turn.failed, 10))
            rests = turn.at > 0 and now - turn.at < pause
            if log.path in followed or rests or self._reader.is_read(log):
                continue
            due.append(log)
        return sorted(due, key=lambda log: self._turns.get(log.path, _Turn()).at)

    async def _read_first(self, programs: Programs, logs: Sequence[PodLog]) -> None:
        """Read logs, or attempts, that were not read before."""
        async with asyncio.TaskGroup() as tasks:
            for log in logs:
                tasks.create_task(self._alone(log, self._tried(programs, log)))

    async def _alone(self, log: PodLog, work: Awaitable[object]) -> None:
        """Run `work` while nothing else reads this log."""
        self._reading.add(log.path)
        try:
            await work
        finally:
            self._reading.discard(log.path)
            if any(one.path == log.path for one in self._wanted()):
                self._changed.set()  # a stream waits for it

    async def _read_round(self, programs: Programs, logs: Sequence[PodLog]) -> None:
        """Read the new lines of each of these logs; publish them once the next list shows that no other attempt wrote them."""
        paths = {log.path for log in logs}
        self._reading |= paths
        try:
            came: list[tuple[PodLog, bytes]] = []
            for log in logs:
                found = await self._reader.fetch(programs, log)
                self._took_turn(log, found if isinstance(found, str) else None)
                if isinstance(found, bytes):
                    came.append((log, found))
            await self._next_look()
            for log, data in came:
                now = self._logs.get(log.path)
                if now is not None and now.attempt == log.attempt:
                    await self._reader.apply(log, data)
        finally:
            self._reading -= paths
            self._changed.set()

    def _tell_beyond(self) -> None:
        """Report the logs that are not read because there are too many."""
        chosen = {log.path for log in self._chosen()}
        beyond = {path: log for path, log in self._logs.items() if path not in chosen}
        self._beyond.intersection_update(beyond)
        for path in sorted(beyond.keys() - self._beyond)[: UNREAD_REPORTED - len(self._beyond)]:
            if not self._reader.is_caught_up(beyond[path]):
                self._beyond.add(path)
                self._reader.failed(beyond[path], TOO_MANY if beyond[path].live else TOO_OLD)


def _read(done: Completed, now: float, trains: Mapping[str, str]) -> Look:
    """NotKubernetes also for a refusal that names nothing."""
    look = parse_jobs(done.stdout, now, trains)
    if done.exit != 0 and not look.table.jobs:
        raise NotKubernetes("refused")
    return look


def _too_long(done: Completed) -> str | None:
    if len(done.stdout) < LIST_CAP:
        return None
    return f"kubectl lists more than {units.size(LIST_CAP)}: name a scheduler.selector"


async def _within(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, but not for ever."""
    if seconds <= 0:
        return
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
