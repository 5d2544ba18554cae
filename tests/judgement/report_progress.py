"""How well the numbers of labelled lines are read: `cd tests && python -m judgement.report_progress [--misses N]`.

Rows with `progress` of three kinds of files beside this one: those the reader was tuned on
(`lines_dev`, `lines_more`), those that were collected for progress alone (`lines_progress`), and
those held out (`lines_holdout`), of which only sums are ever shown. In the second kind every field
that a line shows is labelled, so a field too many is a fault there; `null` says that the line
reports nothing.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpu_tui.core.logs import Progress
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.parse.progress_words import normal

HERE = Path(__file__).parent
DEV = (HERE / "lines_dev.jsonl", HERE / "lines_more.jsonl")
OWN = (HERE / "lines_progress.jsonl",)
HOLDOUT = (HERE / "lines_holdout.jsonl",)
FIELDS = (
    "epoch", "epochs", "step", "steps", "loss", "val_loss", "lr", "percent", "elapsed_seconds",
    "eta_seconds", "rate_per_second",
)  # fmt: skip
NEAR = 0.011  # relative: `4.72G` and the like are printed with three digits
SHOWN = 150  # characters of a missed line


@dataclass(frozen=True, slots=True)
class Row:
    """One line and what it says. `phase` is labelled only where it is not training."""

    line: str
    framework: str
    progress: Mapping[str, Any] | None
    phase: str | None = None
    complete: bool = False  # every field that the line shows is labelled

    @property
    def wanted(self) -> dict[str, float | str]:
        """What should be read, by field name; metrics as `metrics.<name>`."""
        found: dict[str, float | str] = {
            name: value
            for name, value in (self.progress or {}).items()
            if name in FIELDS and value is not None
        }
        for name, value in (self.progress or {}).get("metrics", {}).items():
            found[f"metrics.{normal(name)}"] = value
        if self.complete and self.phase:
            found["phase"] = self.phase
        return found


@dataclass(slots=True)
class Score:
    """Counts over rows. Shares are 1.0 where there is nothing to count."""

    rows: int = 0
    exact: int = 0
    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)  # read, but not so printed
    missed: Counter[str] = field(default_factory=Counter)

    def add(self, row: Row) -> bool:
        """Count one row; true where it is read without a fault."""
        fault = False
        wanted, got = row.wanted, read(row.line)
        for name, value in wanted.items():
            if name in got and same(value, got[name]):
                self.right[_field(name)] += 1
                continue
            fault = True
            self.missed[_field(name)] += 1
            self.wrong[_field(name)] += name in got
        if row.complete:
            for name in got.keys() - wanted.keys():
                if not name.startswith("metrics.") and not _trains(name, got[name]):
                    self.wrong[_field(name)] += 1
                    fault = True
            if row.progress is None and got:
                fault = True
        self.rows += 1
        self.exact += not fault
        return not fault

    def precision(self, name: str | None = None) -> float:
        """Of the numbers read, the share that the line shows."""
        right, wrong = _sum(self.right, name), _sum(self.wrong, name)
        return _share(right, right + wrong)

    def recall(self, name: str | None = None) -> float:
        """Of the numbers that lines show, the share that is read."""
        right, missed = _sum(self.right, name), _sum(self.missed, name)
        return _share(right, right + missed)

    def __str__(self) -> str:
        return (
            f"{self.exact:4} of {self.rows:4} rows exact {_share(self.exact, self.rows):6.1%}   "
            f"numbers: precision {self.precision():6.1%}   recall {self.recall():6.1%}"
        )


def rows_of(paths: Iterable[Path], *, complete: bool = False) -> list[Row]:
    """The rows of some files that say something of progress; none of a file that is not there."""
    rows = []
    for path in paths:
        for text in path.read_text("utf-8").split("\n") if path.exists() else ():
            raw = json.loads(text) if text else {}
            if raw.get("progress") or (complete and raw):
                rows.append(
                    Row(
                        raw["line"],
                        raw["framework"],
                        raw["progress"],
                        raw.get("phase"),
                        complete,
                    )
                )
    return rows


def read(line: str) -> dict[str, float | str]:
    """What the real reader finds in a physical line, by field name."""
    reader = LogReader()
    lines = [*reader.feed(line.encode("utf-8", "surrogatepass")), *reader.close()]
    progress = next((item.progress for item in lines if not item.open), None)
    return {} if progress is None else _numbers(progress)


def _numbers(progress: Progress) -> dict[str, float | str]:
    found: dict[str, float | str] = {}
    for name in FIELDS:
        value = getattr(progress, name)
        if value is not None:
            found[name] = value
    if progress.epoch_exact is not None:
        found["epoch"] = progress.epoch_exact
    if progress.phase is not None:
        found["phase"] = progress.phase
    for name, value in progress.metrics.items():
        found.setdefault(f"metrics.{normal(name)}", value)
    return found


def same(wanted: float | str, got: float | str) -> bool:
    """Whether a number is the labelled one; `"nan"` and `"inf"` are labelled as words."""
    if isinstance(got, str):
        return wanted == got
    return math.isclose(float(wanted), got, rel_tol=NEAR, abs_tol=1e-9) or (
        math.isnan(float(wanted)) and math.isnan(got)
    )


def score(rows: Iterable[Row]) -> Score:
    """The score of rows."""
    total = Score()
    for row in rows:
        total.add(row)
    return total


def report(shown: int) -> Iterator[str]:
    """The whole report, line by line."""
    dev, own, holdout = rows_of(DEV), rows_of(OWN, complete=True), rows_of(HOLDOUT)
    for title, rows in (("tuned on", dev), ("own", own), ("held out", holdout)):
        yield f"{title:10}{score(rows)}"
    for title, rows in (("tuned on", dev), ("own", own)):
        yield f"\n{title}, by field"
        total = score(rows)
        for name in (*FIELDS, "phase", "metrics"):
            if total.right[name] + total.wrong[name] + total.missed[name]:
                yield (
                    f"  {name:16} {total.right[name]:4} right   "
                    f"precision {total.precision(name):6.1%}   recall {total.recall(name):6.1%}"
                )
        yield f"\n{title}, by framework"
        by_framework: defaultdict[str, list[Row]] = defaultdict(list)
        for row in rows:
            by_framework[row.framework].append(row)
        for framework in sorted(by_framework, key=str.casefold):
            yield f"  {framework[:20]:20} {score(by_framework[framework])}"
    missed = [row for row in (*dev, *own) if not Score().add(row)]
    yield f"\nmisses: {len(missed)}"
    for row in missed[:shown]:
        wanted, got = row.wanted, read(row.line)
        yield f"  {row.framework}: {row.line[:SHOWN]!r}"
        off = {n: v for n, v in wanted.items() if n not in got or not same(v, got[n])}
        extra = got.keys() - wanted.keys() if row.complete else set()
        more = {n: got[n] for n in extra if not n.startswith("metrics.")}
        yield f"     wanted {off}   got { ({n: got.get(n) for n in off} | more) }"


def _field(name: str) -> str:
    return name.partition(".")[0]


def _trains(name: str, value: float | str) -> bool:
    return name == "phase" and value == "train"


def _sum(counts: Counter[str], name: str | None) -> int:
    return counts.total() if name is None else counts[name]


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


if __name__ == "__main__":
    at = sys.argv.index("--misses") + 1 if "--misses" in sys.argv else None
    print("\n".join(report(int(sys.argv[at]) if at else 40)))
