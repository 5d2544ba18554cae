"""What the alarming lines of one attempt mean together. Pure; one `CellAlarms` per cell.

- Lines of one kind are one alarm with a count, from however many ranks or copies of the log.
- A traceback is named by its final exception, and a chain of them by the last. A direct cause (`raise … from`) names
  the chain instead.
- A failure's echoes (lost peers, launchers, exit codes) stand behind its cause: of two failures the one
  that `ORDER` has first, but what other ranks, launchers and schedulers say of an end comes after it.
  A peer that was killed comes before those who lost it.
- A number that is no number ends a run only as the final exception of a traceback.
- What the run went on after is past: a warning. Going on means that its counters advanced, for a log
  without progress proves nothing, or that they began again: then an earlier attempt wrote it. A NaN or Inf is past
  when the same metric is finite again (`nonfinite`).
- While srun says that some of the tasks ended, the reports of the others take nothing back (`task_exits`).
- Where the run has ended badly that is believed of its last lines only where it is sure (`went_on`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from gpu_tui.core.findings import FIRST_LOOK, LOG_DATE, SEEN, Severity
from gpu_tui.core.logs import LogLine, Progress
from gpu_tui.core.nonfinite import LABELS, Lost, NonFinite
from gpu_tui.core.raised import LAUNCHER
from gpu_tui.core.scheduler_end import is_more_exact
from gpu_tui.core.task_exits import TaskExits, by_srun, reports_exit
from gpu_tui.core.went_on import WENT_ON, Come, Trail, from_first_epoch, further, shape_of

# Causes before symptoms: of two failures at one time the first here names it.
ORDER = (
    "xid",
    "hardware",
    "gpu_oom",
    "host_oom",
    "disk_full",
    "inode",
    "hang",
    "nccl",
    "cuda_error",
    "ckpt_corrupt",
    "preempted",
    "killed",
    "nan",
    "inf",
    "overflow",
    "exception",
    "network",
    "traceback",
)
# triage label -> finding kind, where the two differ
KIND_OF_LABEL = {
    "inode": "inode_full",
    "killed": "crashed",
    "exception": "crashed",
    "network": "crashed",
    "overflow": "inf",
    "warning": "crashed",
}
# Kinds of finding for the end of one cell, from the cause to the vaguest: reading more of a log may give a better one.
ENDS = (
    "gpu_oom",
    "host_oom",
    "disk_full",
    "inode_full",
    "hang",
    "nccl",
    "cuda_error",
    "ckpt_corrupt",
    "preempted",
    "nan",
    "inf",
    "crashed",
    "traceback",
    "suspicious_end",
)
# These say something of the machine or of the result that progress does not take back.
LASTING = frozenset({"xid", "hardware", "disk_full", "inode", "ckpt_corrupt"})
NUMBERS = LABELS | {"overflow"}  # labels that only a finite value ends
ECHOES = frozenset({"hang", "nccl", "preempted", "killed"})
# Of those that were told to end, the one that a person or the kernel killed is whom the others lost.
_SHOT = re.compile(
    r"exitcode\s*: ?-9\b|\bsignal:? \(?9\b|\bSIGKILL\b|\breturn code = -9\b|^\W*Killed\W*$|\bcode:? 137\b|\): Killed\b"
)
# A shell reports a killed child; bash: "line 4: 41 Killed   python".
_CHILD = re.compile(r"\d\s+Killed\b|: Killed\b|[\])%s]\s*Killed\W*$")
_AT_LAST = re.compile(r"\bvia\b|^(?:srun|slurmstepd)|sending|closing|killing", re.IGNORECASE)
_CLOSES = re.compile(r"\b(?:terminating|killing|sending|closing) process", re.IGNORECASE)
# An end that somebody else decided is none.
_DECIDED = re.compile(r"time ?limit|preempt|reclaim|maintenance|node[ _]?fail", re.IGNORECASE)
ECHO_WITHIN = 400  # lines: what other ranks print of their own ends before theirs
FLUSHED_LINES = 250  # what a buffer of 8 KiB may hold
EVIDENCE_CHARS = 240

_CHAIN, _DIRECT = "above exception", "direct cause"
_RAISED = re.compile(r"(?:\[\w{1,20}\]:? ?)?[\w.]{0,120}(?:Error|Exception)(?:: |$)")


@dataclass(frozen=True, slots=True)
class Alarm:
    """All lines of one kind in one attempt. `number` is the first one's, from 0, in `path`.

    `first_in` and `last_in` are the logs that the two times come from; `first_basis` and `last_basis` say how the times
    are known.
    """

    label: str
    severity: Severity
    text: str
    path: str
    number: int
    first_seen: float
    last_seen: float
    count: int = 1
    past: bool = False  # the run went on after it
    last_number: int = 0
    above: bool = False  # reports stand below it
    anew: bool = False  # past, for the counters began anew: it is of an earlier attempt
    sure: bool = False  # past whatever becomes of the run: no buffer kept the reports below it
    lost: Lost | None = None  # the metric that is not finite at its newest report
    again: str | None = None  # past: where it was finite again
    then: str = ""  # the last exception that was raised because of it
    first_basis: str = SEEN
    last_basis: str = SEEN
    first_in: str = ""
    last_in: str = ""
    reached: int | None = None  # the epoch that its log had reported before it
    begun: int | None = None  # the first epoch that its log reported after it

    @property
    def told(self) -> str:
        """The text of the exception, and of the one that it led to: `KeyError: 'lr' -> ConfigError: no lr`."""
        return f"{self.text} -> {self.then}" if self.then else self.text

    @property
    def kind(self) -> str:
        """The kind of finding."""
        return KIND_OF_LABEL.get(self.label, self.label)


def by_sigkill(alarm: Alarm) -> bool:
    """Whether a shell or a launcher reports a SIGKILL, which the kernel's OOM killer sends, too."""
    return alarm.label == "killed" and bool(_SHOT.search(alarm.text) or _CHILD.search(alarm.text))


@dataclass(slots=True)
class CellAlarms:
    """The alarms of the present attempt at one cell."""

    _alarms: dict[str, Alarm] = field(default_factory=dict)  # by label
    _counts: dict[str, dict[str, int]] = field(default_factory=dict)  # label -> path -> lines
    _trails: dict[str, Trail] = field(default_factory=dict)
    # The progress of all live logs of one program; by `LogSource.unit`.
    _live: dict[str | None, Trail] = field(default_factory=dict)
    _lost: dict[str | None, NonFinite] = field(default_factory=dict)
    _units: dict[str, str | None] = field(default_factory=dict)  # by path
    _exits: TaskExits = field(default_factory=TaskExits)

    def take(
        self,
        line: LogLine,
        number: int,
        path: str,
        at: float,
        *,
        live: bool,
        early: bool = False,
        unit: str | None = None,
    ) -> None:
        """One line. A bar alarms while it is open; the same line seen again, longer, is one alarm.

        `early`: it is so near the first byte of its file that no buffer has been full before it. `unit`: which of
        several programs writes this log; the progress of one is no recovery of another.
        """
        trail = self._trails.setdefault(path, Trail())
        self._units[path] = unit
        trail.number = number
        if not line.open:
            self._exits.read_line(line.text, path, number)
        if line.progress is not None and line.progress.phase != "load":
            self._report(trail, line, line.progress, path, at, live=live)
        label = line.mark.label
        if line.mark.alarm:
            if trail.alarmed != (number, label):
                trail.alarmed = (number, label)
                if LAUNCHER.search(line.text):
                    self._reopen(path, number)
                self._alarm(trail, line, number, path, at, live=live, early=early)
        elif label == "traceback":
            trail.chained = trail.chained or _CHAIN in line.text
            trail.direct = trail.direct or _DIRECT in line.text
        if not LABELS.isdisjoint(self._alarms):
            self._recover(trail, line, number, path, at if live else None)

    def _recover(
        self, trail: Trail, line: LogLine, number: int, path: str, at: float | None
    ) -> None:
        """Note metrics that are NaN or Inf, and those that are finite again; one bar may show both in turn."""
        new = line.progress
        if new is not None and new.step is not None and new.epoch is None:
            line = replace(line, progress=replace(new, epoch=trail.epoch))
        lost = self._lost.setdefault(self._units.get(path), NonFinite())
        again = set(lost.take(line, number, path, at))
        for label in LABELS & self._alarms.keys():
            alarm, past = self._alarms[label], self._worst(label) is None
            if _kills(alarm) or alarm.anew or past is alarm.past:
                continue
            if not past or label in again:
                where = _where(line, number) if past else None
                self._alarms[label] = replace(alarm, past=past, again=where)

    def _worst(self, label: str) -> Lost | None:
        """The metric of this label with the most non-finite reports, in any of the programs."""
        lost = [one for each in self._lost.values() if (one := each.worst(label)) is not None]
        return max(lost, key=lambda one: one.reports, default=None)

    def _alarm(
        self,
        trail: Trail,
        line: LogLine,
        number: int,
        path: str,
        at: float,
        *,
        live: bool,
        early: bool,
    ) -> None:
        label = line.mark.label
        trail.alarm(at if live else None, early=early)
        shared = self._live.setdefault(self._units.get(path), Trail())
        if live:
            shared.alarm(at)
        else:
            shared.alarmed_at = shared.since = None
        again = trail.chained and (label == "traceback" or trail.traceback_at is not None)
        if label == "traceback":
            trail.traceback_at = number
        raised = trail.traceback_at is not None and label != "traceback"
        direct = trail.direct and again
        if raised:
            trail.traceback_at = None
            trail.chained = trail.direct = False
        old = self._alarms.get(label)
        if old is not None and old.anew:
            old = None
            self._counts[label] = dict.fromkeys(self._counts[label], 0)
        counts = self._counts.setdefault(label, {})
        counts[path] = counts.get(path, 0) + (0 if again and path in counts else 1)
        severity, text = line.mark.severity, _evidence(line)
        if raised and label in NUMBERS and _RAISED.match(line.text):
            severity = Severity.FATAL
        basis = SEEN if live else FIRST_LOOK
        new = Alarm(
            label, severity, text, path, number, at, at,
            last_number=number, first_basis=basis, last_basis=basis, first_in=path, last_in=path, reached=trail.epoch,
        )  # fmt: skip
        if old is not None:
            better = label == "killed" and _shot(text) and not _shot(old.text)
            named = raised or _RAISED.match(text) is not None
            better = better or (named and reports_exit(old.text))
            better = better or (label == "preempted" and is_more_exact(text, old.text))
            first = new if old.past or better or (again and old.path == path) else old
            if direct and first is new and label != "traceback" and not old.past:
                first = replace(old, then="" if text in (old.text, old.then) else text)
            if raised and first is old and LAUNCHER.search(text):
                self._uncount(path)
            worst = min(old.severity, new.severity, key=lambda severity: severity.rank)
            new = replace(
                first,
                severity=worst,
                first_seen=old.first_seen,
                first_basis=old.first_basis,
                first_in=old.first_in,
                **_later(old, new),
                last_number=number if path == first.path else first.last_number,
            )
        # A line that stands in both the queue's log and the cell's own is one line.
        self._alarms[label] = replace(
            new, count=max(counts.values()), past=False, above=False, sure=False, again=None,
            reached=trail.epoch if path == new.path else new.reached, begun=None,
        )  # fmt: skip

    def _uncount(self, path: str) -> None:
        """Drop the traceback of a launcher, which is not a rank's own."""
        ranks, counts = self._alarms["traceback"], self._counts["traceback"]
        counts[path] = max(1, counts[path] - 1)
        self._alarms["traceback"] = replace(ranks, count=max(counts.values()))

    def _report(
        self, trail: Trail, line: LogLine, new: Progress, path: str, at: float, *, live: bool
    ) -> None:
        shape = shape_of(new)
        if not any(shape):
            return
        now, old = at if live else None, trail.reports.get(shape)
        trail.epoch = trail.epoch if new.epoch is None else new.epoch
        first, anew = shape not in trail.behind, trail.began_anew(new, now, open=line.open)
        trail.reports[shape] = new
        trail.behind.add(shape)
        self._exits.note_progress()
        if self._exits.partial and not (old is not None and from_first_epoch(old, new)):
            self._below(trail)
            return
        if not self._alarms:
            return
        if new.epoch is not None:
            self._begin(trail, new.epoch, anew=anew)
        come = Come(0, 0) if old is None else further(old, new)
        if anew or old is None or any(come):
            self._below(trail)
        if old is not None and anew:
            begun = from_first_epoch(old, new)
            sure = trail.surely_anew(old, new)
            self._close(trail, lambda alarm: begun or _kills(alarm), anew=True, sure=sure)
        if any(come):
            self._went_on(trail, trail, new, come, now, first=first)
        if any(come) and live:
            shared = self._live.setdefault(self._units.get(path), Trail())
            self._went_on(None, shared, new, come, now, first=first)

    def _went_on(
        self,
        trail: Trail | None,
        counter: Trail,
        new: Progress,
        come: Come,
        at: float | None,
        *,
        first: bool,
    ) -> None:
        """In one log, or live in any log of one program."""
        counter.advance(new, come, at, first=first)
        if counter.finite >= WENT_ON:
            self._close(
                trail or counter, lambda alarm: not _kills(alarm) and alarm.label not in LABELS
            )
        if counter.lives(new, at):
            self._close(trail or counter, _kills, sure=counter.stays(new, at))

    def _reopen(self, path: str, number: int) -> None:
        """Restore alarms when a launcher reports the end of a task: the restart seen above was another rank's."""
        for label, alarm in self._alarms.items():
            near = alarm.path == path and 0 <= number - alarm.last_number <= ECHO_WITHIN
            if near and alarm.anew and not alarm.sure and _kills(alarm):
                self._alarms[label] = replace(alarm, past=False, anew=False)

    def _begin(self, trail: Trail, epoch: int, *, anew: bool) -> None:
        """Note the first epoch after the alarms of one log. A flushed buffer may print older epochs first."""
        for label, alarm in self._alarms.items():
            first = alarm.begun is None or (anew and epoch < alarm.begun)
            if first and self._trails.get(alarm.path) is trail:
                self._alarms[label] = replace(alarm, begun=epoch)

    def _below(self, trail: Trail) -> None:
        """A report stands below what one log said."""
        for label, alarm in self._alarms.items():
            if not alarm.above and self._trails.get(alarm.path) is trail:
                self._alarms[label] = replace(alarm, above=True)

    def _close(
        self,
        trail: Trail,
        over: Callable[[Alarm], bool],
        *,
        anew: bool = False,
        sure: bool = False,
    ) -> None:
        """Mark the alarms from before the run went on as past: in one log, or live in any log of one program."""
        for label, alarm in self._alarms.items():
            known = alarm.past and alarm.sure >= sure and alarm.anew >= anew
            if known or label in LASTING or not over(alarm):
                continue
            if all(self._is_of(path, trail) for path in self._counts[label]):
                for lost in self._lost.values():
                    lost.drop(label)
                self._alarms[label] = replace(
                    alarm, past=True, anew=alarm.anew or anew, sure=alarm.sure or sure
                )

    def _is_of(self, path: str, trail: Trail) -> bool:
        """Whether `trail` belongs to this log, or to the live logs of its program."""
        shared = self._live.get(self._units.get(path))
        return trail is self._trails.get(path) or trail is shared

    def begin_anew(self, path: str) -> None:
        """Mark the alarms of one log as those of an earlier attempt: its program was started again."""
        trail = self._trails.get(path)
        if trail is not None:
            self._close(trail, lambda _: True, anew=True, sure=True)
            self._trails[path] = Trail(number=trail.number)

    def date(self, path: str, written: float) -> None:
        """Bound the times of the backlog of a log by when it was last `written`, by our clock."""
        for label, one in self._alarms.items():
            if one.first_basis == FIRST_LOOK and one.first_in == path:
                at = min(one.first_seen, written)
                one = replace(one, first_seen=at, first_basis=LOG_DATE)
            if one.last_basis == FIRST_LOOK and one.last_in == path:
                one = replace(one, last_seen=min(one.last_seen, written), last_basis=LOG_DATE)
            self._alarms[label] = one

    @property
    def any(self) -> bool:
        """Something alarmed."""
        return bool(self._alarms)

    def forget(self, path: str) -> None:
        """What stood in one log is history."""
        self._trails.pop(path, None)
        for lost in self._lost.values():
            lost.forget(path)
        self._exits = TaskExits()
        for label, counts in list(self._counts.items()):
            if counts.pop(path, None) is None:
                continue
            if not counts:
                del self._counts[label], self._alarms[label]
            else:
                self._alarms[label] = replace(self._alarms[label], count=max(counts.values()))

    def failure(self, *, ended: bool = False, without: Collection[str] = ()) -> Alarm | None:
        """What ended the attempt, as far as the logs tell: the cause among what is not past, and not in a label of
        `without`.

        With `ended` (badly, as others know) also among what stands near the end of its log, unless it is sure
        that the run went on after it.
        """
        kills = [a for a in self._alarms.values() if a.label not in without and _kills(a)]
        dead = [a for a in kills if not a.past]
        if not dead and ended:
            dead = [a for a in kills if not a.sure and self._at_end(a)]
        dead = [a for a in dead if a.label != "traceback"] or dead
        first = min(dead, key=_order, default=None)
        if first is None or first.label not in ECHOES or _DECIDED.search(first.text):
            return first
        shot = next((a for a in dead if first.label == "nccl" and _shot(a.text)), first)
        return min((a for a in dead if _echoes(first, a)), key=_order, default=shot)

    @property
    def exited(self) -> str | None:
        """The line of srun that says that a task ended badly, unless the run went on after that."""
        line = self._exits.line
        return None if line is None or self.failure() is None else line

    def of_a_step(self, alarm: Alarm) -> bool:
        """Whether srun reports the end of the step that this alarm is of: on its line, or a little below it."""
        if by_srun(alarm.text):
            return True
        path, number = self._exits.at or ("", 0)
        return path == alarm.path and 0 <= number - alarm.last_number <= ECHO_WITHIN

    def _at_end(self, alarm: Alarm) -> bool:
        trail = self._trails.get(alarm.path)
        return trail is not None and trail.number - alarm.last_number <= FLUSHED_LINES

    @property
    def all(self) -> tuple[Alarm, ...]:
        """Every alarm, one per label."""
        return tuple(self._alarms.values())

    def shown(self, *, ended: bool = False, without: Collection[str] = ()) -> Iterator[Alarm]:
        """What a person should see: the failure, what lasts, and as warnings what is past; no label of `without`."""
        failure = self.failure(ended=ended, without=without)
        ranks = self._alarms.get("traceback")
        for alarm in self._alarms.values():
            if alarm.label in without:
                continue
            if alarm is failure:
                # Each rank prints one traceback, but any number of lines below it.
                many = ranks.count if ranks and ranks.past == alarm.past else alarm.count
                yield replace(alarm, count=many, past=False, anew=False)
            elif alarm.past and not (failure and failure.past and alarm is ranks):
                yield replace(alarm, severity=Severity.WARN)
            elif not alarm.past and (not _kills(alarm) or alarm.label in LASTING):
                yield replace(alarm, lost=self._worst(alarm.label))


def _later(old: Alarm, new: Alarm) -> dict[str, Any]:
    """The fields of the last line. A line from a backlog is not known to be later than one that was seen live."""
    last = old if old.last_basis == SEEN and new.last_basis != SEEN else new
    return {
        "last_seen": last.last_seen, "last_basis": last.last_basis, "last_in": last.last_in,
    }  # fmt: skip


def _order(alarm: Alarm) -> int:
    return ORDER.index(alarm.label)


def _echoes(echo: Alarm, cause: Alarm) -> bool:
    """Whether `cause` is a little above `echo` in the same log and no echo itself. A launcher that ends the other ranks
    may report that before.
    """
    above = echo.number - cause.number
    if echo.label == "killed" and _CLOSES.search(echo.text):
        above = abs(above)
    return cause.path == echo.path and cause.label not in ECHOES and 0 < above <= ECHO_WITHIN


def _shot(text: str) -> bool:
    """One process was ended with SIGKILL, and not by who cleans up behind another failure."""
    return _SHOT.search(text) is not None and _AT_LAST.search(text) is None


def _kills(alarm: Alarm) -> bool:
    """False for what a run lives with: numbers that diverge, and what a machine or disk merely shows."""
    if alarm.label in NUMBERS or alarm.label in LASTING:
        return alarm.severity is Severity.FATAL
    return True


def _where(line: LogLine, number: int) -> str:
    """The epoch and step of a report, otherwise its line in the log."""
    new = line.progress
    named = () if new is None else (("epoch", new.epoch_exact or new.epoch), ("step", new.step))
    words = [f"{name} {value:g}" for name, value in named if value is not None]
    return ", ".join(words) or f"line {number + 1}"


def _evidence(line: LogLine) -> str:
    text = line.text
    if len(text) <= EVIDENCE_CHARS:
        return text
    if line.mark.label == "nan":  # it stands behind the bar
        return "…" + text[1 - EVIDENCE_CHARS :]
    return text[: EVIDENCE_CHARS - 1] + "…"
