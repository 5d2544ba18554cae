"""Reads the logs of pods with kubectl, each from where its last reading ended.

A log is requested again from the second of its newest line on; lines that were taken before are dropped. When a
container was restarted, or another pod continues a job, the rest of the old log is read first, and a line of our own
marks the restart. A pod that was made again under the same name has another uid: its log is a new one.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass, field

from gpu_tui.core.clock import Clock
from gpu_tui.core.command import CommandFailed, Completed
from gpu_tui.core.events import LogArrived, LogFailed, LogOpened, Noted
from gpu_tui.core.fleet import Instance
from gpu_tui.core.logs import LogLine, LogSource
from gpu_tui.core.ports import Sink
from gpu_tui.parse import kubectl
from gpu_tui.parse.kube_log import StampedLog
from gpu_tui.parse.kube_logs import PodLog
from gpu_tui.parse.log_flood import mouthful
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.parse.triage.classify import BENIGN
from gpu_tui.transport.argv import Programs
from gpu_tui.transport.base import ChannelRefused

HISTORY = 2_000  # lines of a log that was there before the watch began
ENDED_HISTORY = 600  # of the log of an ended pod
BEFORE = 200  # lines of an earlier attempt that ended before the watch began
LOG_LIMIT, LOG_CAP = 30.0, 8 << 20  # seconds, bytes of one reading
HELD_CAP = 1 << 20  # bytes of one reading that waits for the next look
MUTE_SECONDS, MUTE_SPREAD = 35.0, 20.0  # a silent stream is closed after 35 to 55 seconds
GONE = "its pod was deleted, and the end of its log with it"
REPLACED = "another pod continues this work"
ROTATED = "the log was rotated: lines before this one may be missing"


@dataclass(slots=True)
class Place:
    """How far one log is read. `read` is the attempt that was read to its very end."""

    log: PodLog
    stamped: StampedLog = field(default_factory=StampedLog)
    reader: LogReader = field(default_factory=LogReader)
    opened: bool = False
    history: bool = True
    read: str = ""
    replaced: bool = False


class PodLogs:
    """The read positions of all logs of one namespace. One log must not be read twice at the same time."""

    def __init__(
        self, instance: Instance, sink: Sink, clock: Clock, mute: float = MUTE_SECONDS
    ) -> None:
        """`mute` is the silence, in seconds, after which a stream is closed."""
        self._instance = instance
        self._scope = instance.scheduler_scope
        self._sink = sink
        self._clock = clock
        self._mute = mute
        self._places: dict[str, Place] = {}

    def place(self, log: PodLog) -> Place:
        """The place in this log, at its start where it was never read."""
        return self._places.setdefault(log.path, Place(log))

    def is_caught_up(self, log: PodLog) -> bool:
        """Whether all that this attempt had written before the watch began was read."""
        place = self._places.get(log.path)
        same = place is not None and place.opened and place.log.attempt == log.attempt
        return same and place is not None and not place.history

    def is_read(self, log: PodLog) -> bool:
        """Whether this attempt has ended and was read to its end."""
        place = self._places.get(log.path)
        return place is not None and place.read == log.attempt

    def forget_gone(self, listed: Sequence[str]) -> list[str]:
        """Drop the logs whose pods were deleted; returns their paths."""
        gone = self._places.keys() - set(listed)
        for path in gone:
            place = self._places.pop(path)
            if place.read != place.log.attempt:
                self.failed(place.log, GONE)
        return sorted(gone)

    # --- one reading ----------------------------------------------------------------------------------

    async def read(self, programs: Programs, log: PodLog) -> str | None:
        """Read up to the present end of the log; returns why that failed, or None."""
        try:
            place = await self._enter(programs, log)
            if place is None:
                return None
            done = await self._ask(programs, log, place, LOG_CAP)
            if done.exit != 0:
                return kubectl.refusal_of(done, self._scope).text
            await self._apply(log, place, done.stdout, whole=len(done.stdout) < LOG_CAP)
        except CommandFailed as error:
            return str(error)
        except ChannelRefused as error:
            return f"{error}. {error.next}"
        return None

    def resumed(self, log: PodLog) -> None:
        """Report that a log is read again, from where its reading ended, after a failure."""
        place = self._places.get(log.path)
        if place is not None and place.opened:
            self._open(log, place, resumed=True)

    async def fetch(self, programs: Programs, log: PodLog) -> bytes | str:
        """The new bytes of a log that was read before, for `apply`; or why that failed.

        `kubectl logs` names the pod only: until the next list is there, another attempt may have written this.
        """
        try:
            done = await self._ask(programs, log, self.place(log), HELD_CAP)
        except CommandFailed as error:
            return str(error)
        except ChannelRefused as error:
            return f"{error}. {error.next}"
        return done.stdout if done.exit == 0 else kubectl.refusal_of(done, self._scope).text

    async def apply(self, log: PodLog, data: bytes) -> None:
        """Publish the bytes of a `fetch`, once it is known that this attempt wrote them."""
        await self._apply(log, self.place(log), data, whole=len(data) < HELD_CAP)

    async def _apply(self, log: PodLog, place: Place, data: bytes, *, whole: bool) -> None:
        """Publish the lines of one reading. `whole`: it reached the end of the log."""
        place.log = log
        place.stamped.again()
        # The rest of a cancelled first reading is history, too.
        await self._feed(place, data, backfill=place.history)
        if whole and not log.live:
            if lines := place.reader.close():
                self._arrived(log, lines, backfill=place.history)
            place.read = log.attempt
            self._end_replaced(log, place)
        place.history = False

    def end_replaced(self, logs: Sequence[PodLog]) -> None:
        """Mark the logs of replaced pods as those of an earlier attempt."""
        for log in logs:
            if log.past and (place := self._places.get(log.path)) is not None:
                self._end_replaced(log, place)

    def _end_replaced(self, log: PodLog, place: Place) -> None:
        if log.past and place.read == log.attempt and not place.replaced:
            place.replaced = True
            self._open(log, place, attempt=REPLACED, next_attempt=True, mark=REPLACED)

    async def stream(self, programs: Programs, log: PodLog) -> bool:
        """Follow one log until kubectl ends; False where it was silent for so long that it was closed.

        After a rotation of the file a stream may stay open and silent although the log grows.
        """
        place = self.place(log)
        words = kubectl.logs(
            self._scope, log.pod, log.container, since=place.stamped.since, follow=True
        )
        silence = self._mute * (
            1 + zlib.crc32(log.path.encode()) % 100 / 100 * MUTE_SPREAD / MUTE_SECONDS
        )
        try:
            async with programs.stream(words) as chunks:
                place.stamped.again()
                while (chunk := await _next_within(chunks, silence)) is not None:
                    await self._feed(place, chunk, backfill=False)
        except TimeoutError:
            return False
        except ChannelRefused as error:
            self.failed(log, f"{error}. {error.next}")
        except CommandFailed as error:
            self.failed(log, str(error))
        return True

    async def _ask(self, programs: Programs, log: PodLog, place: Place, cap: int) -> Completed:
        since = place.stamped.since
        first = place.history and since is None
        tail = (HISTORY if log.live else ENDED_HISTORY) if first else None
        words = kubectl.logs(self._scope, log.pod, log.container, since=since, tail=tail, most=cap)
        return await programs.run(words, limit=LOG_LIMIT, cap=cap)

    # --- from one attempt to the next -----------------------------------------------------------------

    async def _enter(self, programs: Programs, log: PodLog) -> Place | None:
        """The place in the log's present attempt, opened; None where that was read to its end."""
        place = self.place(log)
        if place.opened and place.log.attempt != log.attempt:
            mark = await self._rest_of(programs, place, log)
            # The first line of an attempt that began during the watch is news.
            self._places[log.path] = place = Place(log, history=False)
            self._open(log, place, next_attempt=True, mark=mark, backfill=False)
        elif not place.opened:
            place.log = log
            before = await self._before(programs, log) if place.history else False
            self._open(log, place, next_attempt=before, mark=log.mark, backfill=True)
        elif place.read == log.attempt:
            return None
        return place

    async def _rest_of(self, programs: Programs, place: Place, log: PodLog) -> str | None:
        """Read the last lines of the attempt that has ended; returns the mark for after them."""
        old, since, mark = place.log, place.stamped.since, log.mark
        same = (old.uid, old.container) == (log.uid, log.container)
        remade = old.pod == log.pod and old.uid != log.uid
        if remade:
            mark = f"pod {log.pod} was made again: this log is another pod's"
        if place.read != old.attempt:
            text = f"{log.path}: the last lines of the attempt before could not be read"
            words = kubectl.logs(
                self._scope, old.pod, old.container, since=since, previous=same, most=LOG_CAP
            )
            done = None
            if not remade:
                done = await _or_nothing(programs.run(words, limit=LOG_LIMIT, cap=LOG_CAP))
            if done is not None and done.exit == 0:
                place.stamped.again()
                await self._feed(place, done.stdout, backfill=False)
            else:
                self._sink(Noted(self._instance.name, self._clock.now(), text))
                mark = f"{mark}; its last lines could not be read" if mark else text
        if lines := place.reader.close():
            self._arrived(old, lines, backfill=False)
        return mark

    async def _before(self, programs: Programs, log: PodLog) -> bool:
        """Read the end of an attempt that had ended before the watch began; False where there is none."""
        earlier = log.earlier
        if log.previous:
            pod, container, attempt = log.pod, log.container, f"{log.attempt}-"
        elif earlier is not None:
            pod, container, attempt = earlier.pod, earlier.container, earlier.attempt
        else:
            return False
        words = kubectl.logs(self._scope, pod, container, previous=log.previous, tail=BEFORE)
        done = await _or_nothing(programs.run(words, limit=LOG_LIMIT, cap=LOG_CAP))
        if done is None or done.exit != 0 or not done.stdout:
            return False
        place = Place(log)
        self._open(log, place, attempt=attempt)
        await self._feed(place, done.stdout, backfill=True)
        if lines := place.reader.close():
            self._arrived(log, lines, backfill=True)
        return True

    async def _feed(self, place: Place, data: bytes, *, backfill: bool) -> None:
        """Publish the lines not published before, some milliseconds' work at a time; a cancelled call loses nothing."""
        while data:
            size = mouthful(data)
            fresh = place.stamped.feed(data[:size])
            stamps = place.stamped.stamps if backfill and not place.stamped.gap else ()
            if place.stamped.gap:
                place.stamped.gap = False
                fresh = self._after_gap(place, fresh, backfill=backfill)
            if lines := place.reader.feed(fresh):
                self._arrived(place.log, lines, backfill=backfill, stamps=stamps)
            data = data[size:]
            await asyncio.sleep(0)

    def _after_gap(self, place: Place, fresh: bytes, *, backfill: bool) -> bytes:
        """Mark that lines may be missing before `fresh`; returns it without the end of the line before."""
        if place.reader.unfinished:
            fresh = fresh.removeprefix(b"\n")
        if lines := place.reader.close():
            self._arrived(place.log, lines, backfill=backfill)
        self._mark(place.log, ROTATED, backfill=backfill)
        return fresh

    # --- events ---------------------------------------------------------------------------------------

    def _open(
        self,
        log: PodLog,
        place: Place,
        *,
        attempt: str = "",
        resumed: bool = False,
        next_attempt: bool = False,
        mark: str | None = None,
        backfill: bool = True,
    ) -> None:
        place.opened = True
        identity = zlib.crc32((attempt or log.attempt).encode())
        now, name = self._clock.now(), self._instance.name
        self._sink(
            LogOpened(
                name, now, _source(log), identity, 0, 0,
                resumed=resumed, next_attempt=next_attempt, title=log.title,
            )
        )  # fmt: skip
        if next_attempt:
            self._mark(log, mark or "next attempt", backfill=backfill)

    def _mark(self, log: PodLog, text: str, *, backfill: bool) -> None:
        self._arrived(log, [LogLine(f"─── {text} ───", BENIGN)], backfill=backfill)

    def _arrived(
        self,
        log: PodLog,
        lines: Sequence[LogLine],
        *,
        backfill: bool,
        stamps: tuple[float, ...] = (),
    ) -> None:
        now, source = self._clock.now(), _source(log)
        self._sink(LogArrived(self._instance.name, now, source, lines, backfill, stamps=stamps))

    def failed(self, log: PodLog, why: str) -> None:
        """This log cannot be read now."""
        self._sink(LogFailed(self._instance.name, self._clock.now(), _source(log), why))


def _source(log: PodLog) -> LogSource:
    return LogSource(log.path, log.cell, log.unit)


async def _next_within(chunks: AsyncIterator[bytes], seconds: float) -> bytes | None:
    """The next chunk, None at the end. TimeoutError."""
    async with asyncio.timeout(seconds):
        return await anext(chunks, None)


async def _or_nothing(run: Awaitable[Completed]) -> Completed | None:
    """The result of a program; None if it could not be run."""
    try:
        return await run
    except (CommandFailed, ChannelRefused):
        return None
