"""Signs of life: when a run's logs and checkpoints last moved, and how long it usually keeps still.

Everything is in the frame of the box's clock, so no difference between its clock and ours matters.
Pure; fed with what `stat` said and the box's time at that moment.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from statistics import median

from gpu_tui.core.readings import FileStat

GAPS_KEPT = 64
GAPS_TOLD = 16  # of them, to the next watch
STREAM = 30.0  # seconds: signs of life closer than this are one stream, and say nothing of pauses
GAPS_NEEDED = 3
TYPICAL_GAPS = 3.0  # a run that keeps still for this many typical gaps is worth a question
USUAL_GAPS = 5.0  # the same, where its log is all that is seen of it
BEAT = 1.0  # seconds: lines that come closer than this are one beat
MEMORY = 3  # numbers before the gaps
FUTURE_SLACK = 5.0  # a file server's clock may be ahead of the box's by this and still be believed
CONTIGUOUS = 60.0  # seconds between two looks; further apart, what happened in between is not known


@dataclass(slots=True)
class Pulse:
    """The movements of one set of files. `last` is box time; None = nothing was ever there."""

    last: float | None = None
    gaps: deque[float] = field(default_factory=lambda: deque(maxlen=GAPS_KEPT))
    _mark: tuple[float, int] | None = None
    _looked: float | None = None

    def look(self, box_now: float, files: Iterable[FileStat]) -> None:
        """Take one table of the files, read at `box_now`."""
        stats = tuple(files)
        if not stats:
            return
        mark = (max(stat.mtime for stat in stats), sum(stat.size for stat in stats))
        if mark != self._mark or self.last is None:
            self._moved(box_now, mark)
        self._looked = box_now

    def _moved(self, box_now: float, mark: tuple[float, int]) -> None:
        # A time that lies ahead is another clock's: then the moment of our look has to do.
        at = mark[0] if mark[0] <= box_now + FUTURE_SLACK else box_now
        old, looked = self._mark, self._looked
        if old is not None and old != mark and looked is not None and looked <= box_now:
            since = old[0] if self.last is None else self.last
            # Of looks far apart only this is known: that it kept still until the first of them, and then moved.
            pause = (at if box_now - looked <= CONTIGUOUS else looked) - since
            if pause > STREAM:
                self.gaps.append(pause)
        self._mark = mark
        self.last = at if self.last is None else max(at, self.last)
        if at < self.last - CONTIGUOUS:  # the box's clock was set back: begin again
            self.last = at

    def heard(self, at: float) -> None:
        """Something came at `at`: a line of a log that is followed."""
        if self.last is not None and at - self.last > STREAM:
            self.gaps.append(at - self.last)
        self.last = at if self.last is None else max(at, self.last)

    def quiet(self, box_now: float) -> float | None:
        """Seconds without movement."""
        return None if self.last is None else max(0.0, box_now - self.last)

    def memory(self) -> list[float]:
        """What the next watch needs to go on from the last look; empty before the first."""
        if self._mark is None or self._looked is None:
            return []
        return [*self._mark, self._looked, *list(self.gaps)[-GAPS_TOLD:]]

    def recall(self, memory: Sequence[float]) -> None:
        """What an earlier watch knew, before the first look of this one."""
        if len(memory) >= MEMORY and self._mark is None:
            mtime, size, self._looked, *gaps = memory
            self._mark = mtime, int(size)
            self.gaps.extend(gap for gap in gaps[-GAPS_TOLD:] if gap > STREAM)

    @property
    def typical_gap(self) -> float | None:
        """The median pause between two signs of life; None before enough were seen.

        What comes in a stream is left out: a bar that moves every second, then an hour of
        validation, pauses for an hour.
        """
        return median(self.gaps) if len(self.gaps) >= GAPS_NEEDED else None


def stall_after(user: float, typical_gap: float | None) -> float:
    """Seconds of silence that make a stall: what the user said, or three typical gaps if that is more."""
    return max(user, TYPICAL_GAPS * typical_gap) if typical_gap is not None else user


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How often a log is written, in seconds: `usual` is the median of the gaps between its lines, `longest` the longest."""

    usual: float
    longest: float

    def with_longest(self, longest: float) -> Rhythm:
        """The same log, of which a gap of `longest` seconds is known as well."""
        return Rhythm(self.usual, max(self.longest, longest))


def rhythm_of(gaps: Sequence[float], within: float = inf) -> Rhythm | None:
    """The rhythm of those newest `gaps` that fit into `within` seconds; None if these are too few."""
    newest: list[float] = []
    for gap in reversed(gaps):
        within -= gap
        if within < 0:
            break
        newest.append(gap)
    return Rhythm(median(newest), max(newest)) if len(newest) >= GAPS_NEEDED else None


def silent_after(user: float, rhythm: Rhythm | None) -> float:
    """Seconds without a line that make a stall of a run of which nothing but its logs is seen."""
    if rhythm is None:
        return user
    return max(user, USUAL_GAPS * rhythm.usual, TYPICAL_GAPS * rhythm.longest)


@dataclass(slots=True)
class Beats:
    """The gaps between the lines of one log, from its first report of progress on. Times are epoch seconds of one clock."""

    begun: bool = False
    gaps: deque[float] = field(default_factory=lambda: deque(maxlen=GAPS_KEPT))
    _last: float | None = None

    def heard(self, at: float) -> None:
        """Take one line."""
        if self._last is None or at < self._last:
            self._last = at
        elif at - self._last >= BEAT:
            self.gaps.append(at - self._last)
            self._last = at

    def pause(self) -> None:
        """Lines may have come that were not heard."""
        self._last = None
