"""Finds running jobs of a scheduler whose logs are silent for far longer than they usually are.

The cards and processes of such a job are on other machines: all that is seen of it are its logs, and the files that the
fleet file names. So silence counts only against a rhythm that is known. It is taken of the lines as they came, or
of the times that kubectl or the lines themselves have, or of how far the run came since it began or since an
earlier look.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import pairwise
from math import inf
from posixpath import dirname
from statistics import median

from gpu_tui.core import metrics, units
from gpu_tui.core.course import Course
from gpu_tui.core.facts import BUSY_SHARE
from gpu_tui.core.jobs import NO_STEP_RUNS, Job
from gpu_tui.core.log_cells import AHEAD
from gpu_tui.core.logs import LogSource
from gpu_tui.core.pulse import BEAT, GAPS_NEEDED, Beats, Rhythm, rhythm_of, silent_after
from gpu_tui.core.stillness import card_words, silence_words
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.core.verdict import LAST_WORK
from gpu_tui.state.followed import Ends, Followed, is_under_way
from gpu_tui.state.hung import at_end, serves
from gpu_tui.state.instance import InstanceState
from gpu_tui.state.job_tables import scheduled
from gpu_tui.state.rhythms import Anchor, Known
from gpu_tui.state.signs import signs_of_life, written_by_name

RUNS = ("running", "resizing")  # a scheduler's words for a job that is expected to write
# Seconds by which the clock of the machine that writes a log may differ from ours. Source: munge(7), the lifetime of a
# credential, within which Slurm's clocks must agree.
CLOCKS = 300.0
CLOSE = (
    10.0  # the same, where the lines of an earlier attempt must not be taken for those of this one
)
CAUGHT_UP = 30.0  # seconds of a connection until a log that was read before has caught up
WINDOW = 400  # lines of the end of a log that are looked at
CARDS_AGE = 120.0  # seconds since the cards of a container were read
BAR = 10.0  # seconds between two states of a progress bar at most (tqdm's maxinterval)


def with_silence(kept: InstanceState, queue: Queue, now: float) -> Queue:
    """The queue with the silence of each running job whose logs are read. Of one whose node does not answer nothing can
    arrive: how far it is now is not known.
    """
    jobs = {job.name: job for job in scheduled(kept, now, queue)[1] or ()}
    followed = kept.logs.by_cell()
    cells, known = list(queue.cells), dict[str, Known]()
    for place, cell in enumerate(cells):
        job = jobs.get(cell.name)
        if job is None or cell.state is not CellState.RUNNING or job.word.lower() not in RUNS:
            continue
        if job.finding == "network":
            cells[place] = replace(cell, eta_seconds=None, eta_range=None)
            continue
        began = job.started_at or 0.0
        before, anchor = kept.rhythms.recall(cell.name, began)
        logs = _Logs(kept, job, followed.get(cell.name, ()), jobs.values(), now)
        rhythm = None
        if logs.wrote is not None:
            anchor, rhythm = logs.start() or anchor or logs.place(), logs.rhythm()
            # A job whose step failed and that runs no other one is silent because of that.
            works = NO_STEP_RUNS not in (job.why or "")
            if works and now - logs.moved > kept.instance.stall_after:
                rhythm = rhythm or logs.rhythm_of_text() or logs.pace(anchor) or before
                cells[place] = _judged(kept, cell, logs, rhythm, now)
        if rhythm is None or before is None:
            rhythm = rhythm or before
        else:
            rhythm = rhythm.with_longest(before.longest)
        if rhythm is not None or anchor is not None:
            known[cell.name] = began, rhythm, anchor
    if jobs:
        kept.rhythms.persist(known, now)
    return replace(queue, cells=tuple(cells))


def _judged(
    kept: InstanceState, cell: Cell, logs: _Logs, rhythm: Rhythm | None, now: float
) -> Cell:
    """The row of a job whose logs are silent for longer than `stall_after`."""
    seconds, words = now - logs.moved, at_end(kept, cell)
    limit = silent_after(kept.instance.stall_after * (LAST_WORK if words else 1), rhythm)
    if seconds <= limit + (0.0 if logs.by_our_clock else CLOCKS) or serves(kept, cell.name):
        return cell
    if words is not None:
        why = f"{words} {units.words(seconds)} ago, and its job does not end"
    elif rhythm is None:
        why = f"no line for {units.words(seconds)}, and how often it writes is not known yet"
        return replace(cell, why=f"{cell.why}; {why}" if cell.why else why)
    else:
        why = silence_words(seconds, rhythm.usual)
    if (computes := _computes(kept, cell.name, now)) is not None:
        why = f"{why}; {card_words(computes=computes)}"
    why = f"{cell.why}; {why}" if cell.why else why
    return replace(cell, why=why, still_seconds=seconds, eta_seconds=None, eta_range=None)


def _computes(kept: InstanceState, name: str, now: float) -> bool | None:
    """Whether a card in a container of this row computes; None if one of them is not known now."""
    table = kept.fresh(metrics.POD_CARDS, now) or ()
    mine = [one for one in table if one.cell == name]
    known = [one for one in mine if one.gpus and now - one.read_at <= CARDS_AGE]
    shares = [gpu.utilization for one in known for gpu in one.gpus]
    if len(known) < len(mine):
        shares.append(None)
    if any(share is not None and share > BUSY_SHARE for share in shares):
        return True
    return None if not shares or None in shares else False


class _Logs:
    """The logs of one running job. Times are epoch seconds by our clock.

    `wrote` is when one of them was written last, None if that is not known of all of them; `moved` is when the job last gave
    a sign of life: a line, a file of its own, its start, or its end of a suspension.
    """

    def __init__(
        self,
        kept: InstanceState,
        job: Job,
        logs: Collection[tuple[LogSource, Followed]],
        every: Collection[Job],
        now: float,
    ) -> None:
        self._kept, self._now = kept, now
        self._job, self._logs, self._every = job, logs, every
        ours = kept.timeline.ours
        self._began = None if job.started_at is None else ours(job.started_at)
        times = [self._last_line(one) for _, one in self._logs]
        known = [at for at in times if at]
        self.wrote = max(known) if known and None not in times else None
        signs = [self.wrote or 0.0, *map(ours, filter(None, (job.started_at, job.resumed_at)))]
        live = max((one.last_at or 0.0 for _, one in self._logs), default=0.0)
        if self.wrote is not None and now - max(signs) > kept.instance.stall_after:
            signs.append(self._files())
        self.moved = max(signs)
        self.by_our_clock = live >= self.moved

    def _last_line(self, one: Followed) -> float | None:
        """When the newest line of a log was written, 0 if it has none; None if that is not known now."""
        link, now, since = self._kept.link, self._now, one.since
        if one.error is not None or since is None:
            return None
        lags = now - since < CAUGHT_UP if one.resumed else since < (link.since or 0.0)
        if lags and now - (link.since or 0.0) < CAUGHT_UP:
            return None  # it was read before the connection was lost, and not since
        if one.wrote is None and not one.buffer.end:
            return 0.0 if one.size == 0 or now - since > CAUGHT_UP else None
        return one.wrote

    def _files(self) -> float:
        """When a file of the job was written last, as far as the fleet file names such files; else 0."""
        table = self._kept.fresh(metrics.FILES, self._now)
        if table is None:
            return 0.0
        names = {self._job.id, self._job.name, self._job.name.partition("·")[2]} - {""}
        logs = {path for job in self._every for path in (job.stdout, job.stderr) if path}
        logs |= {source.path for source in self._kept.logs.buffers}
        mine = {source.path for source, _ in self._logs}
        live = {
            path for job in self._every if job.live for path in (job.stdout, job.stderr) if path
        }
        places = {dirname(path) for path in mine} - {dirname(path) for path in live - mine}
        times = [
            stat.mtime
            for path, stat in table.found.items()
            if path not in logs and dirname(path) in places
        ]
        for known in (written_by_name(self._kept, table), signs_of_life(self._kept)):
            times += (known[name] for name in names if name in known)
        ours = (self._kept.timeline.ours(at) for at in times)
        return max((at for at in ours if at <= self._now + AHEAD), default=0.0)

    def rhythm(self) -> Rhythm | None:
        """By the times at which lines came, or that kubectl gave them."""
        return self._slowest(rhythm_of(one.beats.gaps, self._lasted) for _, one in self._logs)

    def rhythm_of_text(self) -> Rhythm | None:
        """By the times that the lines themselves have, or a progress bar."""
        return self._slowest(self._timed(one) or _of_bar(one) for _, one in self._logs)

    def _slowest(self, rhythms: Iterable[Rhythm | None]) -> Rhythm | None:
        known = [one for one in rhythms if one is not None]
        return max(known, key=lambda one: silent_after(0.0, one), default=None)

    @property
    def _lasted(self) -> float:
        """Seconds from its start to its last line: older lines of its log are of an earlier attempt."""
        began = self._began
        return inf if began is None else max(0.0, (self.wrote or 0.0) - began) + CLOSE

    def _timed(self, one: Followed) -> Rhythm | None:
        lines = _end_of(one)
        newest = max((at for _, at in lines if at is not None), default=0.0)
        beats = Beats()
        for progress, at in lines:
            if at is None or newest - at > self._lasted:
                continue
            beats.begun = beats.begun or is_under_way(progress)
            if beats.begun:
                beats.heard(at)
        return rhythm_of(beats.gaps)

    def start(self) -> Anchor | None:
        """When the run began, and at which place; None if its log was not read from there."""
        trace = self._kept.cells.get(self._job.name)
        first = trace.course.first if trace is not None else None
        whole = all(one.buffer.from_start and not one.skipped for _, one in self._logs)
        # Of a pod only the end of a log is asked for; what ran before may have written into the same log.
        whole = whole and self._kept.instance.scheduler == "slurm" and not self._job.restarts
        return (self._began, first.done) if whole and first is not None and self._began else None

    def place(self) -> Anchor | None:
        """When the run was at the place where it is now."""
        trace = self._kept.cells.get(self._job.name)
        place = trace.course.place if trace is not None else None
        return (self.wrote, place.done) if place is not None and self.wrote else None

    def pace(self, anchor: Anchor | None) -> Rhythm | None:
        """By how far the run came since it was at `anchor`, and how far it comes from one report to the next."""
        trace = self._kept.cells.get(self._job.name)
        place = trace.course.place if trace is not None else None
        if place is None or anchor is None or self.wrote is None:
            return None
        at, done = anchor
        if done >= place.done or at > self.wrote + CLOSE:
            return None
        unit = max(BEAT, self.wrote - at) / (place.done - done)
        usual = self._slowest(self._paced(one, unit) for _, one in self._logs)
        # A validation comes once in an epoch.
        return usual and usual.with_longest(unit if place.in_epochs else 0.0)

    def _paced(self, one: Followed, unit: float) -> Rhythm | None:
        """The gap between two reports of a log; `unit` is how many seconds one unit of the way takes."""
        course, places = Course(), list[float]()
        for progress, _ in _end_of(one):
            if progress is not None and course.take(progress, 0.0) and course.place:
                places.append(course.place.done)
        ways = [b - a for a, b in pairwise(places) if b > a]
        if len(ways) < GAPS_NEEDED:
            return None
        gap = max(BEAT, median(ways) * unit)
        return Rhythm(gap, gap)


def _of_bar(one: Followed) -> Rhythm | None:
    """By the state of a progress bar that a log ends with: the mean time of its steps."""
    lines = _end_of(one)
    bar = lines[-1][0] if lines and one.buffer.open else None
    if bar is None or not bar.elapsed_seconds or not bar.step or bar.step < GAPS_NEEDED:
        return None
    gap = max(BAR, bar.elapsed_seconds / bar.step)
    return Rhythm(gap, gap)


def _end_of(one: Followed) -> Ends:
    """The progress and the times of the last lines of a log, read once; empty if it ends within a line that is no bar.

    The writer of such a log keeps the rest of the line in a buffer, and more lines after it.
    """
    buffer = one.buffer
    if one.ends is None or one.ends[0] != buffer.version:
        # Not before the first frame.
        from gpu_tui.parse.line_times import times_of
        from gpu_tui.parse.progress import parse_progress

        first = max(buffer.first, buffer.end - WINDOW)
        texts = [buffer.text(number) for number in range(first, buffer.end)]
        ends = list(zip(map(parse_progress, texts), times_of(texts), strict=True))
        one.ends = buffer.version, [] if buffer.open and not buffer[buffer.end - 1].size else ends
    return one.ends[1]
