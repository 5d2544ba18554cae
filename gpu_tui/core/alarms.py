"""What the alarming lines of one attempt mean together. Pure; one `CellAlarms` per cell.

- Lines of one kind are one alarm with a count, from however many ranks or copies of the log.
- A traceback is named by its final exception, and a chain of them by the last.
- A failure's echoes (lost peers, launchers, exit codes) stand behind its cause: of two failures the one
  that `ORDER` has first, but what other ranks, launchers and schedulers say of an end comes after it.
  A peer that was killed comes before those who lost it.
- A number that is no number ends a run only as the final exception of a traceback.
- What the run went on after is past: a warning. Going on means that its counters advanced, for a log
  without progress proves nothing. Where the run has ended badly that is not believed of its last
  lines: a traceback is written at once, and buffered reports of what came before it only at the exit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from gpu_tui.core.findings import Severity
from gpu_tui.core.logs import LogLine, Progress

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
# These say something of the machine or of the result that progress does not take back.
LASTING = frozenset({"xid", "hardware", "disk_full", "inode", "ckpt_corrupt"})
NUMBERS = frozenset({"nan", "inf", "overflow"})  # only a finite loss says that they are over
ECHOES = frozenset({"hang", "nccl", "preempted", "killed"})
# Of those that were told to end, the one that a person or the kernel killed is whom the others lost.
_SHOT = re.compile(
    r"exitcode\s*: ?-9\b|\bsignal:? \(?9\b|\bSIGKILL\b|\breturn code = -9\b|^\W*Killed\W*$|\bcode:? 137\b|\): Killed\b"
)
_AT_LAST = re.compile(r"\bvia\b|^(?:srun|slurmstepd)|sending|closing|killing", re.IGNORECASE)
# An end that somebody else decided is none.
_DECIDED = re.compile(r"time ?limit|preempt|reclaim|maintenance|node[ _]?fail", re.IGNORECASE)
ECHO_WITHIN = 400  # lines: what other ranks print of their own ends before theirs
WENT_ON = 3  # steps (or epochs) that the counters advance after an alarm
FLUSHED_LINES = 250  # what a buffer of 8 KiB may hold
EVIDENCE_CHARS = 240

_CHAIN = "above exception"
_FINAL = re.compile(r"(?:\[\w{1,20}\]:? ?)?[A-Za-z_][\w.]{2,120}(?:: |$)")
_RAISED = re.compile(r"(?:\[\w{1,20}\]:? ?)?[\w.]{0,120}(?:Error|Exception)(?:: |$)")

Place = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Alarm:
    """All lines of one kind in one attempt. `number` is the first one's, from 0, in `path`."""

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

    @property
    def kind(self) -> str:
        """The kind of finding."""
        return KIND_OF_LABEL.get(self.label, self.label)


@dataclass(slots=True)
class _Trail:
    """Where one log of the attempt stands."""

    place: Place | None = None
    advances: int = 0
    finite: int = 0
    alarmed: tuple[int, str] | None = None
    traceback_at: int | None = None
    chained: bool = False
    number: int = 0  # of the newest line


@dataclass(slots=True)
class CellAlarms:
    """The alarms of the present attempt at one cell."""

    _alarms: dict[str, Alarm] = field(default_factory=dict)  # by label
    _counts: dict[str, dict[str, int]] = field(default_factory=dict)  # label -> path -> lines
    _trails: dict[str, _Trail] = field(default_factory=dict)
    _live: _Trail = field(default_factory=_Trail)  # what any log shows as it is written

    def take(self, line: LogLine, number: int, path: str, at: float, *, live: bool) -> None:
        """One line. A bar alarms while it is open; the same line seen again, longer, is one alarm."""
        trail = self._trails.setdefault(path, _Trail())
        trail.number = number
        if line.progress is not None and line.progress.phase != "load":
            self._advance(trail, line.progress, live=live)
        label = line.mark.label
        if line.mark.alarm:
            if trail.alarmed != (number, label):
                trail.alarmed = (number, label)
                self._alarm(trail, line, number, path, at, live=live)
        elif label == "traceback":
            trail.chained = trail.chained or _CHAIN in line.text
        elif trail.traceback_at is not None and label == "benign":
            self._name(trail, line)

    def _alarm(
        self, trail: _Trail, line: LogLine, number: int, path: str, at: float, *, live: bool
    ) -> None:
        label = line.mark.label
        for counter in (trail, *((self._live,) if live else ())):
            counter.advances = counter.finite = 0
        again = trail.chained and (label == "traceback" or trail.traceback_at is not None)
        if label == "traceback":
            trail.traceback_at = number
        raised = trail.traceback_at is not None and label != "traceback"
        if raised:
            trail.traceback_at = None
            trail.chained = False
        counts = self._counts.setdefault(label, {})
        counts[path] = counts.get(path, 0) + (0 if again and path in counts else 1)
        severity, text = line.mark.severity, _evidence(line)
        if raised and label in NUMBERS and _RAISED.match(line.text):
            severity = Severity.FATAL
        new = Alarm(label, severity, text, path, number, at, at, last_number=number)
        old = self._alarms.get(label)
        if old is not None:
            better = label == "killed" and _shot(text) and not _shot(old.text)
            first = new if old.past or better or (again and old.path == path) else old
            worst = min(old.severity, new.severity, key=lambda severity: severity.rank)
            new = replace(
                first,
                severity=worst,
                first_seen=old.first_seen,
                last_seen=at,
                last_number=number if path == first.path else first.last_number,
            )
        # A line that stands in both the queue's log and the cell's own is one line.
        self._alarms[label] = replace(new, count=max(counts.values()), past=False)

    def _name(self, trail: _Trail, line: LogLine) -> None:
        """The final line of an exception whose name is no word that triage knows."""
        alarm = self._alarms.get("traceback")
        if alarm is not None and not line.open and _FINAL.match(line.text):
            self._alarms["traceback"] = replace(alarm, text=_evidence(line))
            trail.traceback_at = None

    def _advance(self, trail: _Trail, new: Progress, *, live: bool) -> None:
        place = (new.epoch, new.step)
        if place == (None, None):
            return
        old, trail.place = trail.place, place
        further = _further(old, place) if old is not None else 0
        if not further:
            return
        finite = new.loss is None or math.isfinite(new.loss)
        for counter in (trail, *((self._live,) if live else ())):
            before = min(counter.advances, counter.finite)
            counter.advances += further
            counter.finite += further if finite else 0
            if before < WENT_ON <= max(counter.advances, counter.finite):
                self._close(None if counter is self._live else trail, counter)

    def _close(self, trail: _Trail | None, counter: _Trail) -> None:
        """What was logged before the run went on is past: in one log, or live in any of them."""
        for label, alarm in self._alarms.items():
            finite = counter.finite >= WENT_ON
            if alarm.past or label in LASTING or (label in NUMBERS and not finite):
                continue
            if trail is None or all(
                self._trails.get(path) is trail for path in self._counts[label]
            ):
                self._alarms[label] = replace(alarm, past=True)

    def forget(self, path: str) -> None:
        """What stood in one log is history."""
        self._trails.pop(path, None)
        for label, counts in list(self._counts.items()):
            if counts.pop(path, None) is None:
                continue
            if not counts:
                del self._counts[label], self._alarms[label]
            else:
                self._alarms[label] = replace(self._alarms[label], count=max(counts.values()))

    def failure(self, *, ended: bool = False) -> Alarm | None:
        """What ended the attempt, as far as the logs tell: the cause among what is not past.

        With `ended` (badly, as others know) also among what stands near the end of its log.
        """
        dead = [a for a in self._alarms.values() if _kills(a) and not a.past]
        if not dead and ended:
            dead = [a for a in self._alarms.values() if _kills(a) and self._at_end(a)]
        dead = [a for a in dead if a.label != "traceback"] or dead
        first = min(dead, key=_order, default=None)
        if first is None or first.label not in ECHOES or _DECIDED.search(first.text):
            return first
        shot = next((a for a in dead if first.label == "nccl" and _shot(a.text)), first)
        return min((a for a in dead if _echoes(first, a)), key=_order, default=shot)

    def _at_end(self, alarm: Alarm) -> bool:
        trail = self._trails.get(alarm.path)
        return trail is not None and trail.number - alarm.last_number <= FLUSHED_LINES

    def shown(self, *, ended: bool = False) -> Iterator[Alarm]:
        """What a person should see: the failure, what lasts, and as warnings what is past."""
        failure = self.failure(ended=ended)
        ranks = self._alarms.get("traceback")
        for alarm in self._alarms.values():
            if alarm is failure:
                # Each rank prints one traceback, but any number of lines below it.
                many = ranks.count if ranks and ranks.past == alarm.past else alarm.count
                yield replace(alarm, count=many, past=False)
            elif alarm.past and not (failure and failure.past and alarm is ranks):
                yield replace(alarm, severity=Severity.WARN)
            elif not alarm.past and (not _kills(alarm) or alarm.label in LASTING):
                yield alarm


def _order(alarm: Alarm) -> int:
    return ORDER.index(alarm.label)


def _echoes(echo: Alarm, cause: Alarm) -> bool:
    """`cause` stands a little above `echo` in the same log, and is none itself."""
    above = echo.number - cause.number
    return cause.path == echo.path and cause.label not in ECHOES and 0 < above <= ECHO_WITHIN


def _shot(text: str) -> bool:
    """One process was ended with SIGKILL, and not by who cleans up behind another failure."""
    return _SHOT.search(text) is not None and _AT_LAST.search(text) is None


def _kills(alarm: Alarm) -> bool:
    """False for what a run lives with: numbers that diverge, and what a machine or disk merely shows."""
    if alarm.label in NUMBERS or alarm.label in LASTING:
        return alarm.severity is Severity.FATAL
    return True


def _further(old: Place, new: Place) -> int:
    """How far the counters advanced; places that count different things are not compared."""
    if [part is None for part in old] != [part is None for part in new]:
        return 0
    epochs, steps = ((after or 0) - (before or 0) for before, after in zip(old, new, strict=True))
    return max(0, epochs or steps)


def _evidence(line: LogLine) -> str:
    text = line.text
    if len(text) <= EVIDENCE_CHARS:
        return text
    if line.mark.label == "nan":  # it stands behind the bar
        return "…" + text[1 - EVIDENCE_CHARS :]
    return text[: EVIDENCE_CHARS - 1] + "…"
