"""How far the attempt before came, for each job that its scheduler starts again; kept in the history.

Slurm truncates the log of a requeued job unless the job asks for `--open-mode=append`. So the place that the attempt
before reached is known only from an earlier look.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from gpu_tui.core.alarms import Alarm
from gpu_tui.core.course import Course
from gpu_tui.core.fleet import Instance
from gpu_tui.core.scheduler_end import Attempt, End
from gpu_tui.core.sweep import CELLS_KEPT, Cell, CellState
from gpu_tui.state.history import CONTACT_EVERY, History
from gpu_tui.state.logbuffer import LogBuffer
from gpu_tui.state.runs_before import box_of

COUNTER = "attempts"
LONGEST = 200_000  # characters in the history
AROUND = 200  # lines before and after the line of an end


@dataclass(frozen=True, slots=True)
class _Known:
    """`job`: the id of the job; `at`: the epoch (or step, see `unit`) of the present attempt; the rest as in Attempt."""

    job: str
    restarts: int = 0
    at: int | None = None
    unit: str = "epoch"
    end: str | None = None
    reached: int | None = None
    before: str = "epoch"  # the unit of `reached`
    began: int | None = None
    exact: bool = False  # otherwise the attempt before may have come further than `reached`


@dataclass(slots=True)
class _Mark:
    """The state of the logs at the last look at the attempt before."""

    course: Course
    restarts: int
    at: int | None


class Attempts:
    """The attempts of one box. Call `follow` for each row of its scheduler, then `persist`."""

    def __init__(self, history: History, instance: Instance) -> None:
        self._history, self._name, self._box = history, instance.name, box_of(instance)
        self._known = self._read()
        self._marks: dict[str, _Mark] = {}
        # By cell: the line of an end in one version of its log, with the epochs around it.
        self._lines: dict[str, tuple[Alarm, int, Alarm]] = {}
        self._written_at: float | None = None  # None: write at once
        self._first: float | None = None  # when it was asked to write first
        self._changed = False

    def around(self, cell: str, line: Alarm, log: LogBuffer) -> Alarm:
        """The line of an end with the last epoch of its attempt and the first one of the next attempt.

        Of many lines that came at once only some are read, so this reads those around the line again. A program may
        write for some time after it was told to end (KillWait, 30 s by default): the next attempt begins with an earlier
        epoch, if it does not go on with the next one.
        """
        known = self._lines.get(cell)
        if known is not None and known[0] == line and known[1] == log.end:
            return known[2]
        before = range(line.number - 1, max(log.first, line.number - AROUND) - 1, -1)
        after = range(max(log.first, line.number + 1), min(log.end, line.number + AROUND))
        reached, later = next(_epochs(log, before), None), [*_epochs(log, after)]
        begun = later[0] if later else None
        fell = next((at for at in range(1, len(later)) if later[at] < later[at - 1]), None)
        if fell is not None and reached is not None and later[0] in (reached, reached + 1):
            reached, begun = later[fell - 1], later[fell]
        found = replace(
            line,
            reached=line.reached if reached is None else reached,
            begun=line.begun if begun is None else begun,
        )
        self._lines[cell] = line, log.end, found
        return found

    def follow(
        self, cell: Cell, end: End | None, line: Alarm | None, course: Course | None
    ) -> Attempt:
        """The attempt before the present one at the job of `cell`.

        `end`: how that ended; `line`: the line of the log that reports it; `course`: the progress that the logs report.
        """
        known = self._known.get(cell.name)
        if known is None or known.job != cell.job:
            known = _Known(cell.job or "")
        at, unit = (cell.epoch, "epoch") if cell.epoch is not None else (cell.step, "step")
        unit = known.unit if at is None else unit
        restarts = known.restarts if cell.restarts is None else cell.restarts
        if restarts != known.restarts:
            known = _Known(
                known.job, restarts, unit=known.unit, reached=known.at, before=known.unit
            )
        waits = cell.state is CellState.PENDING
        if restarts and end is not None and (waits or known.end is None):
            known = replace(known, end=end.value)
        if restarts:
            known = self._before(cell.name, known, line, course, at, unit, waits=waits)
        if not waits and at is not None and (not restarts or known.began is not None):
            known = replace(known, at=at, unit=unit)
        if course is not None and (waits or not restarts or known.began is not None):
            self._marks[cell.name] = _Mark(course, course.restarts, at)
        self._note(cell.name, known)
        said = None if known.end is None else End(known.end)
        began = known.began if known.before == known.unit else None
        return Attempt(said, restarts, known.reached, began, known.before, exact=known.exact)

    def _before(
        self,
        name: str,
        known: _Known,
        line: Alarm | None,
        course: Course | None,
        at: int | None,
        unit: str,
        *,
        waits: bool,
    ) -> _Known:
        """With how far the attempt before came, and where the present one began."""
        if line is not None and line.reached is not None:  # one log holds both
            later = at if waits and unit == "epoch" else None  # written after the signal to end
            reached = max(line.reached, later or 0)
            known = replace(known, reached=reached, before="epoch", exact=True)
            return known if waits else replace(known, began=line.begun)
        if waits:  # its log still is that of the attempt before
            seen = at is not None and course is not None
            return replace(known, reached=at, before=unit, exact=True) if seen else known
        if known.began is not None or at is None or course is None:
            return known
        return replace(known, began=self._began(name, known, line, course, at))

    def _began(
        self, name: str, known: _Known, line: Alarm | None, course: Course, at: int
    ) -> int | None:
        """The first epoch of the present attempt; None while its log has only those of the attempt before, or where it
        was not read from its start.
        """
        mark, low, reached = self._marks.get(name), course.lowest, known.reached
        low = at if low is None else low
        if mark is not None and mark.course is course:  # the same log, as it was followed
            restarted = course.restarts > mark.restarts or (mark.at is not None and at < mark.at)
            return low if restarted else (None if at == mark.at else at)
        if reached is None or at == reached or low > reached + 1:
            return None
        if (
            line is None or course.restarts
        ):  # with its line a log of both attempts would have that line
            return low
        return min(at, reached + 1)

    def _note(self, name: str, known: _Known) -> None:
        old = self._known.get(name)
        if known == old or not (known.restarts or known.at is not None):
            return
        if old is None or replace(old, at=known.at) != known:
            self._written_at = None  # write at once
        self._known.pop(name, None)
        self._known[name] = known
        self._changed = True

    def persist(self, at: float) -> None:
        """Write changes to the history. A watch that has just begun may be a single look: it writes each of them."""
        last = self._written_at
        self._first = at if self._first is None else self._first
        rests = (
            last is not None and 0 <= at - last < CONTACT_EVERY and at - self._first > CONTACT_EVERY
        )
        if not self._changed or rests:
            return
        while len(self._known) > CELLS_KEPT:
            del self._known[next(iter(self._known))]
        self._marks = {name: mark for name, mark in self._marks.items() if name in self._known}
        self._lines = {name: line for name, line in self._lines.items() if name in self._known}
        rows = [json.dumps({"name": name, **asdict(one)}) for name, one in self._known.items()]
        while rows and sum(map(len, rows)) > LONGEST:
            rows.pop(0)
        self._changed, self._written_at = False, at
        text = f"[{json.dumps(self._box)},[{','.join(rows)}]]"
        self._history.set_counter(self._name, COUNTER, text, at)

    def _read(self) -> dict[str, _Known]:
        """Those kept for this box; empty if the history's text is not valid."""
        try:
            box, rows = json.loads(self._history.counter(self._name, COUNTER) or "[null, []]")
            known = dict(map(_known, rows[:CELLS_KEPT]))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return {}
        return known if box == self._box else {}


def _epochs(log: LogBuffer, numbers: range) -> Iterator[int]:
    from gpu_tui.parse.progress import parse_progress  # not before the first frame

    for number in numbers:
        progress = parse_progress(log.text(number))
        if progress is not None and progress.epoch is not None and progress.phase is None:
            yield progress.epoch


def _known(row: dict[str, Any]) -> tuple[str, _Known]:
    name, end = str(row["name"]), row["end"]
    numbers = {
        key: row[key] if row[key] is None else int(row[key]) for key in ("at", "reached", "began")
    }
    one = _Known(
        str(row["job"]), int(row["restarts"]), unit=str(row["unit"]), before=str(row["before"]),
        end=None if end is None else End(end).value, exact=row["exact"] is True, **numbers,
    )  # fmt: skip
    return name, one
