"""The findings of one instance: conditions that are so now, and alarms that logs have shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from gpu_tui.core.alarms import ECHO_WITHIN, LASTING, NUMBERS, Alarm, CellAlarms
from gpu_tui.core.explained_lines import explained, scheduler_line
from gpu_tui.core.findings import BOUNDS, FIRST_LOOK, QUEUE_LOG, SEEN, Finding, Severity
from gpu_tui.core.logs import LogLine, LogSource
from gpu_tui.core.raised import Raised
from gpu_tui.core.remedies import remedy
from gpu_tui.core.rules import Condition
from gpu_tui.core.scheduler_end import JOINS, LastEnd, kind_of
from gpu_tui.state.seen_before import SeenBefore

FIRST_SECONDS = 60.0  # in which every probe has answered
AT_ONCE = 5.0  # seconds between a line's arrival here and the date of its log
SLACK = 60.0  # seconds by which two clocks, or two logs, may differ about one moment
WENT_ON, BEGAN_ANEW = " (the run went on)", " (a run began anew after it)"
_HEAD = "(most recent call last)"
_EXIT = re.compile(r"\bexit (\d{1,3})\b")
CELLS_KEPT = 500  # a hostile log may name no end of cells: the oldest make room


class Ran(NamedTuple):
    """When the last attempt at a cell began and ended, by our clock; None: not known. `basis`: how the end is known."""

    began: float | None = None
    ended: float | None = None
    basis: str = QUEUE_LOG


@dataclass(slots=True)
class Book:
    """De-duplicates; `findings()` is what a person sees."""

    instance: str
    since: float | None = None  # somebody looks without a gap
    before: SeenBefore | None = None  # records of earlier looks and earlier starts
    # Whether a condition at the first looks has its time from `before`; False after a long gap without looks.
    recalls: bool = True
    ran: Mapping[str, Ran] = field(default_factory=dict)  # by cell
    # By cell with a known end: alarms from logs that may not be read any more.
    recalled: Mapping[str, tuple[Alarm, ...]] = field(default_factory=dict)
    # By cell whose job ended well by its steps: the paths of logs that only steps wrote.
    good_steps: Mapping[str, frozenset[str]] = field(default_factory=dict)
    # By cell that a scheduler runs: what that says of its end, which goes before the words of its log.
    says: Mapping[str, LastEnd] = field(default_factory=dict)
    _at: float = 0.0  # of the last look
    _logged: dict[str | None, CellAlarms] = field(default_factory=dict)
    _raised: dict[str | None, Raised] = field(default_factory=dict)  # of the same attempts
    _now: dict[tuple[str, str | None, str | None], Finding] = field(default_factory=dict)

    def log_line(
        self,
        line: LogLine,
        number: int,
        source: LogSource,
        cell: str | None,
        at: float,
        *,
        live: bool = True,
        early: bool = False,
    ) -> None:
        """Take one line of one cell's attempt (None: of no cell); `live` = it was just written, `early` = among
        the first bytes of its file.
        """
        alarms = self._logged.get(cell)
        if alarms is None:
            if not line.mark.alarm and line.progress is None:
                return
            if len(self._logged) >= CELLS_KEPT:
                dull = (name for name, kept in self._logged.items() if not kept.any)
                oldest = next(dull, next(iter(self._logged)))
                del self._logged[oldest], self._raised[oldest]
            alarms, self._raised[cell] = CellAlarms(), Raised()
            self._logged[cell] = alarms
        for one in self._raised[cell].read(line, number, source.path):
            alarms.take(one, number, source.path, at, live=live, early=early, unit=source.unit)

    def restart_cell(self, cell: str, path: str | None = None) -> None:
        """A new attempt began: what the last one logged (in `path`, or anywhere) is history, not news."""
        if path is None:
            failure, others = self.failure(None), self._logged.get(None)
            if failure and others and self._copied_from(failure) == cell:
                others.forget(failure.path)
            self._logged.pop(cell, None)
            self._raised.pop(cell, None)
        elif cell in self._logged:
            self._logged[cell].forget(path)
            self._raised[cell].forget(path)

    def restart_log(self, path: str) -> None:
        """The log began anew: what stood in it before is history."""
        for cell, alarms in self._logged.items():
            alarms.forget(path)
            self._raised[cell].forget(path)

    def begin_anew(self, path: str) -> None:
        """Mark the alarms of one log as those of an earlier attempt: its program was started again."""
        for cell, alarms in self._logged.items():
            alarms.begin_anew(path)
            self._raised[cell].forget(path)

    def date_log(self, path: str, written: float) -> None:
        """Bound the times of the backlog of a log by when it was last `written`, by our clock."""
        for alarms in self._logged.values():
            alarms.date(path, written)

    def failure(self, cell: str | None, *, ended: bool = False) -> Alarm | None:
        """What ended the attempt at a cell, as far as its logs tell; `ended` = others know that it did."""
        return self._logged[cell].failure(ended=ended) if cell in self._logged else None

    def exits(self) -> Mapping[str, str]:
        """By cell, the line in which srun says that a task ended badly, unless the run went on after it."""
        told = ((cell, alarms.exited) for cell, alarms in self._logged.items())
        return {cell: line for cell, line in told if cell is not None and line is not None}

    def cause(self, cell: str | None) -> Alarm | None:
        """The alarm that ended a cell which ended badly, also from earlier readings of its log."""
        without = self._explained_by_end(cell)
        dead = (
            alarm
            for alarm in self._recalled(cell)
            if not alarm.past
            and alarm.label not in without
            and (alarm.severity is Severity.FATAL or alarm.label not in NUMBERS | LASTING)
        )
        alarms = self._logged.get(cell)
        failure = alarms.failure(ended=True, without=without) if alarms is not None else None
        return failure or next(dead, None)

    def outside(self, cell: str) -> Alarm | None:
        """The line of a cell's log that says best who ended it from outside."""
        return scheduler_line(self._alarms(cell))

    def _alarms(self, cell: str | None) -> tuple[Alarm, ...]:
        """The alarms of a cell's logs; of a label that these do not have, the alarm of an earlier reading."""
        alarms = self._logged.get(cell)
        own = alarms.all if alarms is not None else ()
        labels = {alarm.label for alarm in own}
        return (*own, *(one for one in self._recalled(cell) if one.label not in labels))

    def _recalled(self, cell: str | None) -> tuple[Alarm, ...]:
        return self.recalled.get(cell, ()) if cell is not None else ()

    def _explained_by_end(self, cell: str | None) -> frozenset[str]:
        """The labels of the log lines of a cell that its scheduler's end explains."""
        says = self.says.get(cell or "")
        if says is None or says.end is None:
            return frozenset()
        return explained(self._alarms(cell), says)

    def shown(self, cell: str | None) -> Iterator[Alarm]:
        """The alarms of one cell that a person should see, by the logs that are read now."""
        if (alarms := self._logged.get(cell)) is not None:
            ended, without = ("crashed", cell, None) in self._now, self._explained_by_end(cell)
            shown = [*alarms.shown(ended=ended, without=without)]
            for alarm in (one for one in shown if not _named_below(one, shown)):
                if self._is_made_good(alarm, cell):
                    continue
                if cell is not None or self._copied_from(alarm) is None:
                    yield alarm

    def set_conditions(self, conditions: Iterable[Condition], now: float) -> None:
        """Replace the conditions that are so now; one that goes on keeps when it was first seen.

        What the first looks find may have been there before.
        """
        if self.since is None:
            self.since = now
        self._at = now
        fresh: dict[tuple[str, str | None, str | None], Finding] = {}
        for condition in conditions:
            key = (condition.kind, condition.cell, condition.part)
            old = self._now.get(key)
            made = Finding(
                kind=condition.kind,
                severity=condition.severity,
                instance=self.instance,
                evidence=condition.evidence,
                source=condition.source,
                remedy=condition.remedy or remedy(condition.kind),
                first_seen=old.first_seen if old else now,
                last_seen=now,
                cell=condition.cell,
                part=condition.part,
                standing=True,
                first_basis=old.first_basis if old else SEEN,
            )
            fresh[key] = made if old else self._first(made, condition, now)
        self._now = fresh

    def _first(self, made: Finding, condition: Condition, now: float) -> Finding:
        """The finding of a condition that the last look did not have, with the time since when it holds."""
        first = now - (now if self.since is None else self.since) < FIRST_SECONDS
        since = condition.since
        if since is not None and since <= now and (first or condition.since_basis == QUEUE_LOG):
            made = replace(made, first_seen=since, first_basis=condition.since_basis)
        elif first:
            made = replace(made, first_basis=FIRST_LOOK)
        if first and self.recalls and self.before is not None and made.first_basis in BOUNDS:
            known = self.before.of(made, now)
            if known is not None and known.first < made.first_seen:
                made = replace(made, first_seen=known.first, first_basis=known.first_basis)
        return made

    @property
    def standing(self) -> Collection[tuple[str, str | None, str | None]]:
        """(kind, cell, part) of what was so at the last look."""
        return self._now.keys()

    def findings(
        self, since: Callable[[str | None, Alarm], str | None] = lambda *_: None
    ) -> tuple[Finding, ...]:
        """All findings, worst first, then newest. A cause named by a log line covers the bare verdict.

        `since` returns the words for the time and money lost since an alarm of a cell, None for none.
        """
        merged: dict[tuple[str, str | None, str], Finding] = {}
        for finding in self._from_logs(since):
            if finding.kind == "crashed" and self._oom_explains(finding.cell):
                continue
            same = merged.get((finding.kind, finding.cell, ""))
            merged[(finding.kind, finding.cell, "")] = _join(same, finding) if same else finding
        for (kind, cell, part), finding in self._now.items():
            if kind == "crashed" and cell is not None and self._explained(cell):
                continue
            finding = self._with_line(finding)
            same = merged.get((kind, cell, ""))
            if same and part is None:
                merged[(kind, cell, "")] = _join(same, finding)
            else:
                merged[(kind, cell, part or "")] = finding
        return tuple(sorted(merged.values(), key=lambda f: (f.severity.rank, -f.last_seen, f.kind)))

    def _from_logs(self, since: Callable[[str | None, Alarm], str | None]) -> Iterator[Finding]:
        for cell in [*self._logged, *(self.recalled.keys() - self._logged.keys())]:
            labels = set(self._explained_by_end(cell))
            for alarm in (*self.shown(cell), *self._recalled(cell)):
                if alarm.label not in labels and not self._is_made_good(alarm, cell):
                    labels.add(alarm.label)
                    yield self._of_log(alarm, cell, since(cell, alarm))

    def _with_line(self, finding: Finding) -> Finding:
        """The finding of an end by its scheduler, with the line of the log that reports this end as evidence."""
        says = self.says.get(finding.cell or "")
        if says is None or says.end is None or JOINS[says.end].kind != finding.kind:
            return finding
        line = self.outside(finding.cell or "")
        if line is None or finding.part is not None:
            return finding
        return replace(finding, evidence=f"{finding.evidence}; {line.text}", said=line.text)

    def _is_made_good(self, alarm: Alarm, cell: str | None) -> bool:
        """Whether the alarm is of a step of a job that ended well by its steps: a later step did the work."""
        paths, alarms = self.good_steps.get(cell or ""), self._logged.get(cell)
        if paths is None or alarm.label in NUMBERS:
            return False
        return alarm.path in paths or (alarms is not None and alarms.of_a_step(alarm))

    def _of_log(self, alarm: Alarm, cell: str | None, words: str | None) -> Finding:
        cause, says = self.cause(cell), self.says.get(cell or "")
        kind, severity = alarm.kind, alarm.severity
        if says is not None and alarm.label == "preempted":
            kind = kind_of(alarm.text, says)
            severity = Severity.WARN if says.live else severity
        if says is not None:
            severity = max(severity, says.most, key=lambda one: one.rank)
        made = Finding(
            kind=kind,
            severity=severity,
            instance=self.instance,
            evidence=(f"{words}; " if words else "")
            + alarm.told
            + _behind(alarm)
            + self._exit(cell, alarm),
            source=f"log:{alarm.path}:{alarm.number + 1}",
            remedy=remedy(kind),
            first_seen=alarm.first_seen,
            last_seen=alarm.last_seen,
            cell=cell,
            count=alarm.count,
            first_basis=alarm.first_basis,
            last_basis=alarm.last_basis,
            said=alarm.text,
        )
        ends = cause is not None and alarm.label == cause.label and not alarm.past
        return self._timed(made, ends=ends)

    def _timed(self, made: Finding, *, ends: bool) -> Finding:
        """Improve the times of a finding from a log's backlog, by earlier looks and by the cell's end. `ends`: the
        finding ended the attempt, so that both have one time.
        """
        if not {made.first_basis, made.last_basis} & BOUNDS:
            return made
        ran = self.ran.get(made.cell or "", Ran())
        if ends and ran.ended is not None and ran.basis == QUEUE_LOG:
            if made.first_basis in BOUNDS and ran.ended <= made.first_seen + SLACK:
                made = replace(made, first_seen=ran.ended, first_basis=ran.basis)
            if made.last_basis in BOUNDS and ran.ended <= made.last_seen + SLACK:
                made = replace(made, last_seen=ran.ended, last_basis=ran.basis)
        known = self.before.of(made, self._at) if self.before is not None else None
        if known is None or (ran.began is not None and known.first < ran.began - SLACK):
            return made
        saw = known.first_basis not in BOUNDS and known.first <= made.first_seen + AT_ONCE
        # The box's clock is measured at every look, so that the same date of a log differs by a second or two.
        same = made.first_basis == known.first_basis and known.first <= made.first_seen + AT_ONCE
        if made.first_basis != SEEN and (saw or same or known.first < made.first_seen):
            made = replace(made, first_seen=known.first, first_basis=known.first_basis)
        of_one_moment = abs(made.last_seen - known.last) <= AT_ONCE
        same = made.last_basis == known.last_basis and of_one_moment
        unchanged = known.last_basis not in BOUNDS and made.last_seen <= known.last + AT_ONCE
        if made.last_basis in BOUNDS and (same or unchanged):
            made = replace(made, last_seen=known.last, last_basis=known.last_basis)
        if made.last_seen < made.first_seen:
            made = replace(made, last_seen=made.first_seen, last_basis=made.first_basis)
        return made

    def _copied_from(self, alarm: Alarm) -> str | None:
        """The cell whose own log has the same alarm: a queue may print the log of a failed cell again."""
        for cell in self._logged:
            known = self.failure(cell, ended=True) if cell is not None else None
            if known and known.label == alarm.label and alarm.text.endswith(known.text):
                return cell
        return None

    def _exit(self, cell: str | None, alarm: Alarm) -> str:
        """The exit code of this cell as added evidence, if its runner reported one and the alarm's text has none."""
        known, cause = self._now.get(("crashed", cell, None)), self.cause(cell)
        found = _EXIT.search(known.evidence) if known else None
        if found is None or cause is None or cause.label != alarm.label:
            return ""
        said = re.search(rf"(?i)exit.{{0,24}}\b{found[1]}\b", alarm.text)
        return "" if said else f"; {found[0]}"

    def _explained(self, cell: str) -> bool:
        """A log names what ended this cell, or the kernel does."""
        return self.cause(cell) is not None or self._oom_explains(cell)

    def _oom_explains(self, cell: str | None) -> bool:
        return any(
            kind == "host_oom" and owner == cell and finding.severity is Severity.FATAL
            for (kind, owner, _), finding in self._now.items()
        )


def _behind(alarm: Alarm) -> str:
    """What came after it."""
    if alarm.anew:
        return BEGAN_ANEW
    if alarm.past and alarm.again is not None:
        return f"{WENT_ON[:-1]}: finite again at {alarm.again})"
    return WENT_ON if alarm.past else ""


def _named_below(alarm: Alarm, shown: Iterable[Alarm]) -> bool:
    """Of a traceback that the run survived only its head is known, and what it raised is shown as well."""
    return (
        alarm.past
        and alarm.label == "traceback"
        and _HEAD in alarm.text
        and any(
            one is not alarm
            and one.path == alarm.path
            and 0 <= one.last_number - alarm.last_number <= ECHO_WITHIN
            for one in shown
        )
    )


def _join(one: Finding, other: Finding) -> Finding:
    """Two findings under one name: the worse one speaks, both are counted in time."""
    first, second = (one, other) if one.severity.rank <= other.severity.rank else (other, one)
    earlier = min(one, other, key=lambda found: found.first_seen)
    return replace(
        first.seen_again(second, more=0),
        first_seen=earlier.first_seen,
        first_basis=earlier.first_basis,
        standing=one.standing or other.standing,
        count=max(one.count, other.count),
    )


def worst(findings: Iterable[Finding]) -> Severity:
    """The worst severity of all, `none` where there are none."""
    return min((f.severity for f in findings), key=lambda s: s.rank, default=Severity.NONE)
