"""Keeps the ends of cells that were seen once, until a new start of the cell is seen.

An end comes from logs and lists that may not be read again: another log replaces a followed one, a restart begins with
short tails, a runner deletes its record. None of that changes the end itself.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from gpu_tui.core.alarms import Alarm
from gpu_tui.core.findings import BASES, Severity
from gpu_tui.core.fleet import Instance
from gpu_tui.core.jobs import ENDED
from gpu_tui.core.nonfinite import Lost
from gpu_tui.core.queue_join import WEAK_FAILURES
from gpu_tui.core.sweep import CELLS_KEPT, LOSS_LOST, Cell, CellState, Queue
from gpu_tui.state.book import Book
from gpu_tui.state.history import CONTACT_EVERY, History
from gpu_tui.state.last_queue import cell_of, row_of
from gpu_tui.state.runs_before import box_of

COUNTER = "ends"
LONGEST = 500_000  # characters in the history
ALARMS_KEPT = 8  # of one cell
MTIME_SLACK = 2.0  # seconds: mtimes are whole seconds, and file servers round them
LOG_ONLY = "log"
_NUMBERS = ("epoch", "epochs", "step", "steps", "loss", "part")
_TIMES = ("started_at", "finished_at", "duration_seconds", "exit_code")


@dataclass(frozen=True, slots=True)
class Sign:
    """Identifies one attempt at a cell. `attempt`: its start line or job id (None: not read, LOG_ONLY: no list has it);
    `log`: the path of its log; `mtime`: when that was last written, by the box's clock; `size`: bytes of it that were
    read; `version`: the version of this process's copy of it.
    """

    attempt: str | None
    log: str | None = None
    mtime: float | None = None
    size: int | None = None
    version: int | None = None

    def is_of(self, known: Sign) -> bool:
        """Whether there was no new start since `known`: the same attempt, or the same log, not written again."""
        same = self.attempt == known.attempt
        if self.log != known.log:
            return same
        if None not in (self.size, known.size) and (self.size or 0) > (known.size or 0):
            return False
        if self.mtime is None or known.mtime is None:
            return same
        written = self.mtime > known.mtime + MTIME_SLACK
        return not written and (same or LOG_ONLY in (self.attempt, known.attempt))

    @property
    def dated(self) -> bool:
        """Whether the log shows if it was written since."""
        return self.mtime is not None


@dataclass(frozen=True, slots=True)
class End:
    """One cell as it ended, and the alarms of its logs. `row`: the joined row, if that was the source of this end."""

    cell: Cell
    sign: Sign
    alarms: tuple[Alarm, ...] = ()
    row: Cell | None = None


class KnownEnds:
    """The ends of one box's cells, in memory and in the history."""

    def __init__(self, history: History, instance: Instance) -> None:
        self._history, self._name, self._box = history, instance.name, box_of(instance)
        # A rented box may come back with another key, and each login node of a cluster has its own.
        self._one_place = instance.provider.id is not None or instance.scheduler is not None
        self._host_key: str | None = None
        self._ends = self._read()  # the oldest first
        self._written = True
        self._written_at: float | None = None  # None: write at once
        # Cells that started again and whose new output was not read yet.
        self.begun: set[str] = set()

    @property
    def names(self) -> frozenset[str]:
        """The names of the cells with a known end."""
        return frozenset(self._ends)

    def set_host_key(self, host_key: str | None) -> None:
        """Take the host key of the machine; ends of another machine at this address are dropped."""
        if not host_key or host_key == self._host_key:
            return
        if self._host_key is not None and not self._one_place:
            self._ends.clear()
        self._written, self._host_key = False, host_key

    def forget_log(self, path: str) -> None:
        """Drop the ends that depend on a log which was replaced: its writer has started again."""
        for name in [name for name, end in self._ends.items() if end.sign.log == path]:
            self._drop(name)

    def with_known_ends(
        self, queue: Queue, signs: Mapping[str, Sign], book: Book, at: float | None
    ) -> Queue:
        """The queue with each known end that its row does not show now. New ends are kept unless `at` is None."""
        times = Counter(cell.name for cell in queue.cells)
        cells = tuple(
            # If two rows have one name, the end of one would be shown for the other.
            cell if times[cell.name] > 1 else self._shown(cell, signs[cell.name], book, at)
            for cell in queue.cells
        )
        over = {cell.name for cell in cells if cell.state in ENDED}
        book.recalled = {
            name: end.alarms for name, end in self._ends.items() if end.alarms and name in over
        }
        if at is not None:
            self._write({cell.name for cell in cells}, at)
        return replace(queue, cells=cells)

    def _shown(self, cell: Cell, sign: Sign, book: Book, at: float | None) -> Cell:
        known = self._ends.get(cell.name)
        if sign.attempt is None:
            return cell  # its queue's log was not read yet
        if known is not None and not sign.is_of(known.sign):
            self._begun(cell.name, sign, book)
            known = None
        if cell.state not in ENDED and cell.state is not CellState.CANNOT_TELL:
            # RUNNING of a queue's cell only means that some process of the queue runs. An end that was read has
            # priority over it; an end inferred from a missing process has not.
            absent = known is not None and known.cell.why in WEAK_FAILURES
            if known is None or absent or cell.job is not None or not sign.dated:
                self._begun(cell.name, sign, book)
                return cell
            return known.cell
        if known is not None and known.row == cell and known.sign == sign:
            return known.cell
        shown = cell if known is None else _merged(cell, known, sign)
        if shown.state in ENDED and at is not None:
            self._keep(shown, cell, known, sign, book)
        return shown

    def _begun(self, name: str, sign: Sign, book: Book) -> None:
        """Note a new start of a cell: earlier readings of its log belong to the attempt that ended."""
        known = self._ends.get(name)
        other = known is not None and known.sign.attempt != sign.attempt
        if known is not None and other and known.sign.version == sign.version:
            book.restart_cell(name)
            self.begun.add(name)
        self._drop(name)

    def _drop(self, name: str) -> None:
        if self._ends.pop(name, None) is not None:
            self._written, self._written_at = False, None

    def _keep(self, shown: Cell, row: Cell, known: End | None, sign: Sign, book: Book) -> None:
        own = tuple(book.shown(shown.name))[:ALARMS_KEPT]
        if known is not None and not _read_on(known, sign):
            labels = {alarm.label for alarm in own}
            own = (*own, *(one for one in known.alarms if one.label not in labels))[:ALARMS_KEPT]
        overlaid = (shown.state, shown.why) != (row.state, row.why)
        log = sign.log if sign.log or known is None else known.sign.log
        mtime = sign.mtime if sign.mtime is not None or known is None else known.sign.mtime
        size = sign.size if sign.size is not None or known is None else known.sign.size
        sign = Sign(sign.attempt, log, mtime, size, None if overlaid else sign.version)
        self._ends[shown.name] = End(shown, sign, own, row)
        self._written = False
        if known is None or (known.cell.state, len(known.alarms)) != (shown.state, len(own)):
            self._written_at = None  # write at once

    def _write(self, shown: Collection[str], at: float) -> None:
        """Write changes to the history. If there are too many ends, those without a row go first, then the oldest."""
        last = self._written_at
        if self._written or (last is not None and 0 <= at - last < CONTACT_EVERY):
            return
        while len(self._ends) > CELLS_KEPT:
            unseen = next((name for name in self._ends if name not in shown), None)
            del self._ends[unseen or next(iter(self._ends))]
        rows = [_row(end) for end in self._ends.values()]
        rows.sort(key=lambda row: row["cell"]["name"] in shown)
        texts = [json.dumps(row) for row in rows]
        while texts and sum(map(len, texts)) > LONGEST:
            texts.pop(0)
        head = json.dumps([self._box, self._host_key])
        self._written, self._written_at = True, at
        self._history.set_counter(self._name, COUNTER, f"[{head},[{','.join(texts)}]]", at)

    def _read(self) -> dict[str, End]:
        """The ends kept for this box; empty if the history's text is not valid."""
        try:
            (box, self._host_key), rows = json.loads(
                self._history.counter(self._name, COUNTER) or "[[null, null], []]"
            )
            ends = [_end(dict(row)) for row in rows[:CELLS_KEPT]]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return {}
        return {end.cell.name: end for end in ends} if box == self._box else {}


def _merged(cell: Cell, known: End, sign: Sign) -> Cell:
    """Merge a row with the known end of the same attempt: the known end has priority, and its numbers stay."""
    old = known.cell
    weak = cell.state is CellState.CANNOT_TELL or cell.why in WEAK_FAILURES
    if cell.state is CellState.FINISHED and not _read_on(known, sign):
        # A log read again from its last lines only may lack the lines that contradict a good end.
        lost = old.state is CellState.SUSPICIOUS and LOSS_LOST in (old.why or "")
        spoke = old.state is CellState.FAILED and old.why not in WEAK_FAILURES
        weak = lost or (spoke and cell.exit_code is None)
    first, second = (old, cell) if weak else (cell, old)
    numbers = {
        name: getattr(second if getattr(first, name) is None else first, name)
        for name in (*_NUMBERS, *_TIMES)
    }
    cell = replace(cell, metrics=first.metrics or second.metrics, **numbers)
    if not weak:
        return cell
    return replace(cell, state=old.state, why=old.why, finding=old.finding, seen_at=None)


def _read_on(known: End, sign: Sign) -> bool:
    """Whether more of the log was read since this end was found in it."""
    return known.sign.version is not None and known.sign.version != sign.version


def _row(end: End) -> dict[str, Any]:
    return {
        "cell": row_of(end.cell),
        "attempt": end.sign.attempt,
        "log": end.sign.log,
        "mtime": end.sign.mtime,
        "size": end.sign.size,
        "alarms": [_alarm_row(alarm) for alarm in end.alarms],
    }


def _end(row: dict[str, Any]) -> End:
    alarms = tuple(map(_alarm, row["alarms"][:ALARMS_KEPT]))
    mtime = None if row["mtime"] is None else float(row["mtime"])
    size = None if row["size"] is None else int(row["size"])
    log = None if row["log"] is None else str(row["log"])
    return End(cell_of(dict(row["cell"])), Sign(str(row["attempt"]), log, mtime, size), alarms)


def _alarm_row(alarm: Alarm) -> dict[str, Any]:
    """One alarm for the history. Of `lost` only since when and the number of reports are kept."""
    lost = alarm.lost
    kept = None if lost is None else [lost.since, lost.number, lost.reports]
    return {**asdict(replace(alarm, lost=None)), "lost": kept}


def _alarm(row: dict[str, Any]) -> Alarm:
    """One alarm from the history; another version may have written other fields."""
    names = {one.name for one in fields(Alarm)}
    told = {name: value for name, value in row.items() if name in names}
    lost = told.pop("lost", None)
    if lost is not None:
        since, number, reports = lost
        since = None if since is None else float(since)
        lost = Lost(since, None, None, int(number), int(reports))
    alarm = Alarm(**{**told, "severity": Severity(told["severity"]), "lost": lost})
    numbers = (alarm.number, alarm.count, alarm.first_seen, alarm.last_seen, alarm.last_number)
    words = all(isinstance(text, str) for text in (alarm.text, alarm.then))
    if not words or not all(isinstance(n, int | float) for n in numbers):
        raise TypeError
    if not {alarm.first_basis, alarm.last_basis} <= set(BASES):
        raise TypeError
    return alarm
