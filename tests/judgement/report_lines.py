"""How well triage judges real labelled lines: `cd tests && python -m judgement.report_lines [--misses N]`.

Files of rows beside this one: `lines_dev.jsonl`, `lines_more.jsonl`, `lines_second.jsonl`, `lines_third.jsonl`,
`lines_fresh.jsonl`, `lines_sight.jsonl`, `lines_reading1.jsonl`, `lines_reading2.jsonl`, `lines_batch1.jsonl`,
`lines_batch2.jsonl` and `lines_batch3.jsonl`, which the rules were tuned on, and `lines_holdout.jsonl` and `lines_unseen.jsonl`, which they were not:
of these only totals are shown, one of them over programs without a tuned line. `lines_card.jsonl` holds whole logs of
runs of our own on a real card, every line of them: only there do shares say how often something happens.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from gpu_tui.core.logs import Mark
from gpu_tui.parse.lines import unescape
from gpu_tui.parse.triage.classify import triage_segments

HERE = Path(__file__).parent
TUNED = tuple(
    HERE / f"lines_{name}.jsonl"
    for name in (
        "dev",
        "more",
        "second",
        "third",
        "fresh",
        "sight",
        "reading1",
        "reading2",
        "batch1",
        "batch2",
        "batch3",
    )
)
CARD = HERE / "lines_card.jsonl"
HOLDOUT = HERE / "lines_holdout.jsonl"
UNSEEN = HERE / "lines_unseen.jsonl"
SHOWN = 150  # characters of a missed line


@dataclass(frozen=True, slots=True)
class Row:
    """One real line, what it means, and where it was seen."""

    line: str
    label: str
    severity: str
    alarm: bool
    framework: str
    source: str
    progress: dict[str, Any] | None = None
    edited: bool | str | None = None  # where a name or an address was replaced
    batch: str | None = None  # labelled before any rule saw it, and scored once; or `tuned`


@dataclass(slots=True)
class Score:
    """Counts over rows. Shares are 1.0 where there is nothing to count."""

    true: int = 0  # alarms that are alarms
    false: int = 0  # alarms that are none
    missed: int = 0
    quiet: int = 0
    named: int = 0  # true alarms with the right label
    labels: int = 0  # rows of any kind with the right label
    confusion: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, row: Row, mark: Mark) -> None:
        """Count one judged row."""
        if row.alarm:
            self.true += mark.alarm
            self.missed += not mark.alarm
            self.named += mark.alarm and mark.label == row.label
        else:
            self.false += mark.alarm
            self.quiet += not mark.alarm
        self.labels += mark.label == row.label
        self.confusion[_name(row.label, row.alarm), _name(mark.label, mark.alarm)] += 1

    @property
    def rows(self) -> int:
        """Rows counted."""
        return self.true + self.false + self.missed + self.quiet

    @property
    def precision(self) -> float:
        """Share of the alarms that are alarms."""
        return _share(self.true, self.true + self.false)

    @property
    def recall(self) -> float:
        """Share of what should alarm that does."""
        return _share(self.true, self.true + self.missed)

    @property
    def accuracy(self) -> float:
        """Share of the rightly raised alarms that carry the right label."""
        return _share(self.named, self.true)

    @property
    def agreement(self) -> float:
        """Share of all rows with the right label."""
        return _share(self.labels, self.rows)

    def __str__(self) -> str:
        return (
            f"{self.rows:5} rows {self.true + self.missed:4} alarms   precision {self.precision:6.1%}   "
            f"recall {self.recall:6.1%}   label {self.accuracy:6.1%}   all labels {self.agreement:6.1%}"
        )


def rows_of(path: Path) -> list[Row]:
    """The rows of one file; none where the file is not there."""
    if not path.exists():
        return []
    return [Row(**json.loads(text)) for text in path.read_text("utf-8").split("\n") if text]


@cache  # a report asks about the same line a dozen times
def judge(line: str) -> Mark:
    """The mark of a physical line, as the commands and the screen get it."""
    segments = line.encode("utf-8", "surrogatepass").split(b"\r")
    return triage_segments(unescape(segment)[0] for segment in segments)


def score(rows: Iterable[Row]) -> Score:
    """The score of rows."""
    total = Score()
    for row in rows:
        total.add(row, judge(row.line))
    return total


def misses(rows: Iterable[Row]) -> Iterator[tuple[str, Row, Mark]]:
    """Rows whose alarm, or whose label on an alarm, is wrong: why, the row, and what it got."""
    for row in rows:
        mark = judge(row.line)
        if row.alarm != mark.alarm:
            yield ("missed" if row.alarm else "false alarm"), row, mark
        elif row.alarm and row.label != mark.label:
            yield "wrong label", row, mark


def report(shown: int) -> Iterator[str]:
    """The whole report, line by line."""
    dev, holdout = [row for path in TUNED for row in rows_of(path)], rows_of(HOLDOUT)
    known = {row.framework for row in dev}
    yield f"tuned on      {score(dev)}"
    yield f"held out      {score(holdout)}"
    yield f"new programs  {score(row for row in holdout if row.framework not in known)}"
    yield f"unseen        {score(rows_of(UNSEEN))}"
    yield f"whole logs    {score(rows_of(CARD))}"
    for title, rows in (("tuned on", dev), ("held out", holdout)):
        yield f"\n{title}, by framework"
        by_framework: defaultdict[str, list[Row]] = defaultdict(list)
        for row in rows:
            by_framework[row.framework].append(row)
        for framework in sorted(by_framework, key=str.casefold):
            yield f"  {framework[:24]:24} {score(by_framework[framework])}"
        yield f"\n{title}, confused labels (`!` raises an alarm)"
        for (want, got), count in score(rows).confusion.most_common():
            if want != got:
                yield f"  {count:4}  {want:16} -> {got}"
    worst = sorted(misses(dev), key=lambda miss: miss[0])
    yield f"\nmisses: {len(worst)}"
    for why, row, mark in worst[:shown]:
        yield f"  {why:11} {row.label} -> {mark.label}: {row.line[:SHOWN]!r}"


def _name(label: str, alarm: bool) -> str:
    return f"{label}!" if alarm else label


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


if __name__ == "__main__":
    at = sys.argv.index("--misses") + 1 if "--misses" in sys.argv else None
    print("\n".join(report(int(sys.argv[at]) if at else 40)))
