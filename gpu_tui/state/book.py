"""The findings of one instance: conditions that are so now, and lines that logs have shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from gpu_tui.core.findings import Finding, Severity
from gpu_tui.core.logs import LogLine, LogSource
from gpu_tui.core.remedies import remedy
from gpu_tui.core.rules import Condition

# triage label -> finding kind, where the two differ
KIND_OF_LABEL = {
    "inode": "inode_full",
    "killed": "crashed",
    "exception": "crashed",
    "network": "crashed",
    "overflow": "inf",
    "warning": "crashed",
}
EVIDENCE_CHARS = 240
TRACEBACK_LINES = 400  # the final exception of a traceback comes within this many lines


@dataclass(slots=True)
class _Trail:
    """What one log has shown so far: its last traceback, waiting for its final line, its last alarm."""

    traceback_at: int | None = None
    alarmed: tuple[int, str] | None = None


@dataclass(slots=True)
class Book:
    """De-duplicates; `findings()` is what a person sees."""

    instance: str
    _logged: dict[tuple[str, str | None], Finding] = field(default_factory=dict)
    _counts: dict[tuple[str, str | None], dict[str, int]] = field(default_factory=dict)
    _now: dict[tuple[str, str | None, str | None], Finding] = field(default_factory=dict)
    _trails: dict[LogSource, _Trail] = field(default_factory=dict)

    def log_line(
        self,
        line: LogLine,
        number: int,
        source: LogSource,
        cell: str | None,
        at: float,
        *,
        live: bool = True,
    ) -> None:
        """Take one line with its mark; lines that are no alarm are ignored.

        A progress bar alarms while it is still open, for its newline may be hours away; the same
        line seen again, longer, is the same alarm.
        """
        trail = self._trails.setdefault(source, _Trail())
        label = line.mark.label
        if not line.mark.alarm or trail.alarmed == (number, label):
            return
        trail.alarmed = (number, label)
        if label == "traceback":
            trail.traceback_at = number
        elif trail.traceback_at is not None:
            # The traceback and its last line are one thing: the last line names it.
            if number - trail.traceback_at <= TRACEBACK_LINES:
                self._forget_logged("traceback", cell)
            trail.traceback_at = None
        kind = KIND_OF_LABEL.get(label, label)
        where = f"log:{source.path}:{number + 1}"
        finding = Finding(
            kind=kind,
            severity=line.mark.severity,
            instance=self.instance,
            evidence=line.text[-EVIDENCE_CHARS:] if label == "nan" else line.text[:EVIDENCE_CHARS],
            source=where,
            remedy=remedy(kind),
            first_seen=at,
            last_seen=at,
            cell=cell,
        )
        key = (kind, cell)
        counts = self._counts.setdefault(key, {})
        counts[source.path] = counts.get(source.path, 0) + 1
        old = self._logged.get(key)
        kept = old.seen_again(finding, more=0) if old else finding
        # A line that stands in both the queue's log and the cell's own is one line.
        self._logged[key] = replace(kept, count=max(counts.values()))

    def restart_cell(self, cell: str, path: str | None = None) -> None:
        """A new attempt began: what the last one logged (in `path`, or anywhere) is history, not news."""
        for (kind, owner), finding in list(self._logged.items()):
            if owner == cell and (path is None or finding.source.startswith(f"log:{path}:")):
                self._forget_logged(kind, owner)

    def restart_log(self, path: str) -> None:
        """The log began anew: what stood in it before is history."""
        for (kind, cell), finding in list(self._logged.items()):
            if finding.source.startswith(f"log:{path}:"):
                self._forget_logged(kind, cell)

    def _forget_logged(self, kind: str, cell: str | None) -> None:
        self._logged.pop((kind, cell), None)
        self._counts.pop((kind, cell), None)

    def set_conditions(self, conditions: Iterable[Condition], now: float) -> None:
        """Replace the conditions that are so now; one that goes on keeps when it was first seen."""
        fresh: dict[tuple[str, str | None, str | None], Finding] = {}
        for condition in conditions:
            key = (condition.kind, condition.cell, condition.part)
            old = self._now.get(key)
            fresh[key] = Finding(
                kind=condition.kind,
                severity=condition.severity,
                instance=self.instance,
                evidence=condition.evidence,
                source=condition.source,
                remedy=remedy(condition.kind),
                first_seen=old.first_seen if old else now,
                last_seen=now,
                cell=condition.cell,
                part=condition.part,
            )
        self._now = fresh

    def findings(self) -> tuple[Finding, ...]:
        """All findings, worst first, then newest. A cause named by a log line covers the bare verdict."""
        merged: dict[tuple[str, str | None, str], Finding] = {}
        explained = {cell for (kind, cell) in self._logged if kind != "crashed"}
        for (kind, cell), finding in self._logged.items():
            if kind == "crashed" and self._oom_explains(cell):
                continue
            merged[(kind, cell, "")] = finding
        for (kind, cell, part), finding in self._now.items():
            if (
                kind == "crashed"
                and cell is not None
                and (
                    cell in explained or ("crashed", cell, "") in merged or self._oom_explains(cell)
                )
            ):
                continue
            same = merged.get((kind, cell, ""))
            if same and part is None:
                merged[(kind, cell, "")] = same.seen_again(finding, more=0)
            else:
                merged[(kind, cell, part or "")] = finding
        return tuple(sorted(merged.values(), key=lambda f: (f.severity.rank, -f.last_seen, f.kind)))

    def _oom_explains(self, cell: str | None) -> bool:
        return any(kind == "host_oom" and owner == cell for kind, owner, _ in self._now)


def worst(findings: Iterable[Finding]) -> Severity:
    """The worst severity of all, `none` where there are none."""
    return min((f.severity for f in findings), key=lambda s: s.rank, default=Severity.NONE)
