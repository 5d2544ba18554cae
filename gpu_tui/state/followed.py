"""The logs of one box that are followed: their lines, and when each of them last moved."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from gpu_tui.core.events import LogArrived, LogCame, LogFailed, LogOpened
from gpu_tui.core.log_block import telling
from gpu_tui.core.logs import READ_MOST, LogSource, Progress
from gpu_tui.core.pulse import Beats, Pulse
from gpu_tui.core.sweep import CELLS_KEPT
from gpu_tui.state.logbuffer import BUDGET, LogBuffer, LogPool
from gpu_tui.state.views import LogView

NO_PLACE = (
    f"its log is not read: {READ_MOST} others of this box are; choose this row to have it read"
)
STAMPS_MOST = 256  # lines of one event that are looked at for the first that reports progress
LOGS_KEPT = CELLS_KEPT  # of one box, each with a chunk of lines at least


# Of the last lines of a log: what each reports, and the seconds at which it was printed.
Ends = list[tuple[Progress | None, float | None]]


@dataclass(slots=True)
class Followed:
    """What is known of one followed log besides its lines; see LogView."""

    buffer: LogBuffer
    heard: float  # our time of its last event
    last_at: float | None = None
    since: float | None = None  # it is followed
    error: str | None = None
    skipped: int = 0
    unread: int = 0
    title: str | None = None
    words: Pulse = field(default_factory=Pulse)  # by our time as they came
    wrote: float | None = (
        None  # our time of its newest line, also of one that was there before we came
    )
    beats: Beats = field(default_factory=Beats)
    resumed: bool = False
    size: int | None = None  # bytes of the file when it was opened
    ends: tuple[int, Ends] | None = (
        None  # by version of the buffer; only `state/silence` fills and reads it
    )

    def keep(self, event: LogCame | LogArrived) -> None:
        """Lines that did not come before."""
        self.buffer.extend(event.lines, event.upto)
        self.error = None

    def beat(self, event: LogArrived, written_at: float | None) -> None:
        """Note when the lines of an event were written. `written_at`: when the file was written last, by our clock."""
        times = event.stamps or (() if event.backfill else (event.at,))
        last = times[-1] if times else written_at
        if last is not None:  # a time that lies ahead is another clock's
            self.wrote = max(min(last, event.at), self.wrote or 0.0)
        if not self.beats.begun:
            candidates = telling(event.lines)
            if event.stamps:
                count = min(len(event.stamps), len(event.lines))
                late = range(max(0, count - STAMPS_MOST), count)
                candidates = ((place, event.lines[place]) for place in late)
            first = next((place for place, line in candidates if is_under_way(line.progress)), None)
            if first is None:
                return
            self.beats.begun, times = True, times[first:] if event.stamps else times
        for at in times:
            self.beats.heard(at)


def is_under_way(seen: Progress | None) -> bool:
    """Whether a line reports how far a training is. A run that still loads data or a model has not begun to train."""
    if seen is None or seen.phase == "load":
        return False
    return (seen.epoch, seen.step, seen.loss) != (None, None, None)


class FollowedLogs:
    """Takes what is told of each tail of a box. `written` says when the box's own file was written last, by our clock."""

    def __init__(self, written: Callable[[str], float | None], pool: LogPool | None) -> None:
        self.buffers: dict[LogSource, LogBuffer] = {}
        self._followed: dict[LogSource, Followed] = {}
        self._written = written
        self._pool = pool

    def open(self, event: LogOpened) -> bool:
        """A tail starts; True where it begins a new file, because the old one could not be gone on with."""
        source = event.source
        buffer = self._buffer(source)
        anew = not event.resumed and bool(buffer.end)
        buffer.opened(event.inode, event.offset, resumed=event.resumed)
        known = self._followed.get(source)
        opened = Followed(
            buffer,
            event.at,
            since=event.at,
            skipped=event.skipped,
            title=event.title,
            size=event.size,
        )
        if known is not None and event.resumed:
            opened.words, opened.beats = known.words, known.beats
            opened.wrote, opened.resumed = known.wrote, True
            opened.words.last = None  # while nobody listened is no pause of the log's
            opened.beats.pause()
        self._followed[source] = opened
        return anew

    def hear(self, event: LogCame | LogArrived | LogFailed) -> Followed:
        """Whose log it is of which something is told."""
        source = event.source
        followed = self._followed.get(source)
        if followed is None:
            followed = self._followed[source] = Followed(self._buffer(source), event.at)
        followed.heard = event.at
        return followed

    @property
    def paths(self) -> frozenset[str]:
        """The paths of all logs with an entry."""
        return frozenset(source.path for source in self._followed)

    @property
    def failed(self) -> Mapping[str, str]:
        """By path, why a log cannot be read, for logs without any line so far."""
        told = self._followed.items()
        return {at.path: one.error for at, one in told if one.error and not one.buffer.end}

    def views(self) -> tuple[LogView, ...]:
        """Each log, as it is now."""
        return tuple(
            LogView(
                source,
                one.buffer.first,
                one.buffer.end,
                one.buffer.version,
                one.last_at or self._written(source.path),
                one.error,
                one.skipped,
                one.unread,
                one.title,
            )
            for source, one in self._followed.items()
        )

    def still_since(self, cell: str) -> float | None:
        """Since when no log of `cell` has moved, at the latest; None where one of them is not followed."""
        mine = [(source, one) for source, one in self._followed.items() if source.cell == cell]
        moved = [self._moved(source, one) for source, one in mine]
        known = [at for at in moved if at is not None]
        if not mine or len(known) < len(mine) or any(one.error for _, one in mine):
            return None
        return max(known)

    def unread(self, running: Mapping[str, str | None]) -> dict[str, str]:
        """Of each of these cells (and its log, where one is known) that is not listened to: why, in a person's
        words, where that is known. A file that several share is followed for one of them.
        """
        mine = [(at.cell, one) for at, one in self._followed.items() if at.cell in running]
        heard = {cell for cell, one in mine if one.error is None}
        failed = {cell: one.error for cell, one in mine if one.error is not None}
        full = len(mine) - len(failed) >= READ_MOST
        paths = {source.path for source in self._followed}
        apart = {cell for cell, path in running.items() if path is not None and path not in paths}
        told = {
            cell: failed.get(cell) or (NO_PLACE if full and cell in apart else None)
            for cell in running
            if cell not in heard
        }
        return {cell: why for cell, why in told.items() if why is not None}

    def stillness(self, *, by_file: bool = False) -> dict[str, tuple[float, float | None]]:
        """By cell whose logs are all followed: since when none has moved, and its typical pause. `by_file`: only cells
        for which the box's own time of each file is known.
        """
        told: dict[str, tuple[float, float | None]] = {}
        unread: set[str] = set()
        for source, one in self._followed.items():
            if source.cell is None:
                continue
            at = self._written(source.path) if by_file else self._moved(source, one)
            if one.error or at is None:
                unread.add(source.cell)
                continue
            old, pause = told.get(source.cell, (at, None))
            gaps = [gap for gap in (pause, one.words.typical_gap) if gap is not None]
            told[source.cell] = max(old, at), max(gaps, default=None)
        return {cell: known for cell, known in told.items() if cell not in unread}

    def by_cell(self) -> Mapping[str, list[tuple[LogSource, Followed]]]:
        """The logs of each cell."""
        found: dict[str, list[tuple[LogSource, Followed]]] = {}
        for source, one in self._followed.items():
            if source.cell is not None:
                found.setdefault(source.cell, []).append((source, one))
        return found

    def begin_again(self, cells: Collection[str]) -> None:
        """Forget the rhythm of these cells' logs: a new attempt began, which may write into the same files."""
        for source, one in self._followed.items():
            if source.cell in cells:
                one.beats = Beats()

    def leave(self) -> None:
        """The box is no longer watched: its lines make room for others."""
        for buffer in self.buffers.values():
            buffer.leave()

    def _moved(self, source: LogSource, one: Followed) -> float | None:
        """When a log last grew, by its lines or by the file itself; else since when it is followed."""
        seen = [at for at in (one.last_at, self._written(source.path)) if at is not None]
        return max(seen, default=one.since)

    def _buffer(self, source: LogSource) -> LogBuffer:
        if source not in self.buffers:
            if len(self.buffers) >= LOGS_KEPT:
                self._make_room()
            budget = self._pool.share if self._pool else BUDGET
            self.buffers[source] = LogBuffer(budget=budget, pool=self._pool)
        return self.buffers[source]

    def _make_room(self) -> None:
        """Give up the cell's log that was silent longest: a sweep names ever new ones."""
        cells = (source for source in self._followed if source.cell is not None)
        oldest = min(cells, key=lambda source: self._followed[source].heard, default=None)
        if oldest is not None:
            del self._followed[oldest]
            self.buffers.pop(oldest).leave()
