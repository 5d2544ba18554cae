"""Which kill for memory that the cgroup counted belongs to the run, and to which of its cells."""

from __future__ import annotations

from gpu_tui.core import metrics
from gpu_tui.core.alarms import by_sigkill
from gpu_tui.core.facts import MOVES_WITHIN
from gpu_tui.core.levels import share
from gpu_tui.core.liveness import Run
from gpu_tui.core.queue_history import CellRun
from gpu_tui.core.rules import OomKill
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.state.instance import InstanceState
from gpu_tui.state.witness import STAMP_SLACK, box_time

ONE_LOOK = 10.0  # seconds that it takes until everything was asked once
NO_CELL = ""  # no cell has this name; None means the run as a whole
FULL_PEAK = 0.95  # of the limit: a peak that says the limit was reached
KILL_SLACK = 30.0  # from a kill to its end line, or to the next process table


def oom_of(kept: InstanceState, now: float, queue: Queue, run: Run | None) -> OomKill | None:
    """The kill that the cgroup counted, if it belongs to an attempt that is not history."""
    rose, box_now = kept.witness.oom_rose, box_time(kept.tracks, now)
    if rose is None:
        return _oom_before_we_came(kept, now, queue)
    if not queue.cells or box_now is None:
        return OomKill(rose.times, None, survived=_lives_on(kept, run, rose.at))
    after, at = box_now - (now - rose.after), box_now - (now - rose.at)
    during = [cell for cell in queue.cells if _overlaps(cell, after, at)]
    if not during:
        return None
    killed = [cell for cell in during if cell.exit_code == 137]
    mute = [cell for cell in during if _left_no_word(cell)]  # as who is killed does
    ended = [cell for cell in during if cell.state is CellState.FAILED]
    told = killed or mute[:1] or ended
    # Of several that run, or that left without a word, nobody knows whose it was.
    if not (killed or (len(mute) < 2 and told)) and len(during) > 1:
        return OomKill(rose.times, None, survived=not mute and _lives_on(kept, run, rose.at))
    cell = (told or during)[-1]
    lives = cell.state in (CellState.RUNNING, CellState.FINISHED, CellState.SUSPICIOUS)
    return OomKill(rose.times, cell.name, survived=lives and _lives_on(kept, run, rose.at))


def _oom_before_we_came(kept: InstanceState, now: float, queue: Queue) -> OomKill | None:
    """An exit 137, or a bare Killed at the end of a log, before the first look at a counter that is not 0."""
    memory = kept.fresh(metrics.MEMORY, now)
    if memory is None or not memory.oom_kill:
        return None
    peak = share(memory.peak, memory.limit)
    full = peak if peak is not None and peak >= FULL_PEAK else None
    killed = [cell for cell in queue.cells if cell.exit_code == 137]
    if killed:
        if _known_before(kept, killed[-1].finished_at, now):
            return None
        return OomKill(memory.oom_kill, killed[-1].name, since_made=True, peak=full)
    name = _killed_cell(kept, queue)
    if name == NO_CELL:
        return None
    return OomKill(memory.oom_kill, name, since_made=True, by_log=True, peak=full)


def _killed_cell(kept: InstanceState, queue: Queue) -> str | None:
    """The cell whose log ended with a report of SIGKILL before the first look; the last one of several."""
    over = (CellState.FAILED, CellState.CANNOT_TELL)
    ended: list[str | None] = [cell.name for cell in queue.cells if cell.state in over]
    if not queue.cells:
        ended = [source.cell for source in kept.logs.buffers]
    for name in reversed(ended):
        failure = kept.book.failure(name, ended=True)
        if failure is None or not by_sigkill(failure):
            continue
        if kept.witness.alive_at is None or _still_before(kept, failure.path):
            return name
    return NO_CELL


def _still_before(kept: InstanceState, path: str) -> bool:
    """Whether the log had stopped when the counter was first read, although something runs on the box."""
    files, since = kept.value(metrics.FILES), kept.witness.oom_since
    stat = files.found.get(path) if files else None
    return (
        stat is not None
        and since is not None
        and kept.timeline.ours(stat.mtime) < since - MOVES_WITHIN
    )


def _known_before(kept: InstanceState, finished_at: float | None, now: float) -> bool:
    """Whether the counter was already watched when this cell ended, whatever has run since."""
    since, box_now = kept.witness.oom_since, box_time(kept.tracks, now)
    if finished_at is None or since is None or box_now is None:
        return _counted_before(kept, finished_at, now)
    return finished_at >= box_now - (now - since)


def _left_no_word(cell: Cell) -> bool:
    return cell.state is CellState.CANNOT_TELL and cell.seen_at is not None


def _overlaps(cell: Cell, after: float, at: float) -> bool:
    if cell.job is not None and cell.started_at is None:  # nobody wrote its times down
        if cell.finished_at is None:
            return cell.state is CellState.RUNNING
        seen_at = cell.finished_at if cell.seen_at is None else cell.seen_at
        # One look asks for the counter a moment before it asks who is there.
        gone_by = after + min(ONE_LOOK, (at - after) / 2)
        return seen_at <= at + STAMP_SLACK and cell.finished_at > gone_by
    if cell.started_at is None or cell.started_at > at + STAMP_SLACK:
        return False
    return cell.finished_at is None or cell.finished_at >= after - STAMP_SLACK


def _lives_on(kept: InstanceState, run: Run | None, rose_at: float) -> bool:
    alive_at = kept.witness.alive_at
    return bool(run and run.alive and alive_at is not None and alive_at > rose_at + KILL_SLACK)


def oom_fact(
    kept: InstanceState,
    oom: OomKill | None,
    last: CellRun | None,
    went: Cell | None,
    box_now: float | None,
    now: float,
) -> int | None:
    """Kills in the last attempt; 0 where the counter was watched; None where nobody knows."""
    own = (None, last.name if last else None, went.name if went else None)
    if oom is not None and not oom.since_made and oom.cell in own:
        return 0 if oom.survived else oom.times
    if oom is not None and oom.since_made:
        return None
    died = kept.witness.life.last
    return 0 if _counted_before(kept, died, now) and box_now is not None else None


def _counted_before(kept: InstanceState, box_at: float | None, now: float) -> bool:
    """The counter was already watched at a time of the box, and its value is known still."""
    since, box_now = kept.witness.oom_since, box_time(kept.tracks, now)
    if since is None or box_now is None or kept.fresh(metrics.MEMORY, now) is None:
        return False
    alive_at = kept.witness.alive_at
    if alive_at is not None and alive_at >= since:
        return True
    return box_at is not None and box_at >= box_now - (now - since)
