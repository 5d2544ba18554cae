"""Tracks which metrics of one attempt are NaN or Inf at their newest report, since when, and for how many reports. Pure.

Counters and bars also advance when the weights are NaN, and the Hugging Face Trainer prints `'loss': 0.0` next to
`'grad_norm': nan` (its `logging_nan_inf_filter`). So only a later finite value of the same metric is a recovery. A
message that names no metric ("NaN detected") is over after several finite training losses.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from gpu_tui.core.logs import LogLine, Progress
from gpu_tui.core.went_on import further, shape_of

LABELS = frozenset({"nan", "inf"})
METRICS_KEPT = 32  # of one label in one attempt
FORM_CHARS = 400
IN_A_ROW = 3  # finite reports that are a recovery where a single one proves nothing

# Keys of a message, which names no metric, and of a report whose metric names are unknown: then its form is the name.
_MESSAGE, _FORM = "", "~"
_NOT_FINITE = r"[-+]?\b(?:nan|inf(?:inity)?)(?:\.0*)?(?![\w.])"
_WORD = re.compile(_NOT_FINITE, re.IGNORECASE)
# An average that has met one NaN stays NaN until it is reset: `Loss: 0.5 (nan)`.
_AVERAGE = re.compile(rf"(?<=\d) ?\( *{_NOT_FINITE} *\)", re.IGNORECASE)
_VALUE = re.compile(
    rf"{_NOT_FINITE}|[-+]?\d(?:[\d.,:%]*[\d%])?(?:e[-+]?\d+)?(?:it/s|s/it)?", re.IGNORECASE
)
_BAR = re.compile(r"\|[^|]{0,300}\||[\u2500-\u259f]+")
_MATTERS = re.compile(
    r"loss|cost|perplexity|ppl|grad|gnorm|nll|entropy|objective|elbo", re.IGNORECASE
)
_ENDS = ("]", "}")  # of a bar and of a dictionary: an unfinished line that ends so was not cut off


@dataclass(frozen=True, slots=True)
class Lost:
    """One metric that is NaN or Inf at its newest `reports` reports.

    `since` is our time at which the first of them was written, None if that was before we looked.
    """

    since: float | None
    first: Progress | None
    last: Progress | None
    number: int  # of its newest line
    reports: int = 1
    last_finite: Progress | None = None  # the newest finite report after it
    finite: int = 0  # number of finite reports after it


@dataclass(slots=True)
class NonFinite:
    """Tracks the logs of one attempt, line by line; each report is taken with the epoch that it belongs to."""

    _lost: dict[str, dict[tuple[str, str], Lost]] = field(default_factory=dict)  # label: path, name

    def take(self, line: LogLine, number: int, path: str, at: float | None) -> Iterator[str]:
        """Take a line and return the labels whose metrics are all finite again. `at`: our time, if it was just written.

        A label is among them at once if finite values overwrote its NaN within the same line.
        """
        alarms = line.mark.alarm and line.mark.label in LABELS
        if alarms:
            self._lose(line, number, path, at)
        closed = set(self._find(line, path, live=at is not None))
        if alarms and line.mark.label not in self._lost:
            closed.add(line.mark.label)
        yield from closed

    def _lose(self, line: LogLine, number: int, path: str, at: float | None) -> None:
        label, place = line.mark.label, line.progress
        for name in _lost_in(line):
            known = self._lost.setdefault(label, {})
            old = known.get((path, name))
            if old is None:
                if len(known) < METRICS_KEPT:
                    known[(path, name)] = Lost(at, place, place, number)
                continue
            # Ranks report one place several times, and an unfinished line is seen again.
            counts = _place(old.last) and _place(place)
            more = _moved(old.last, place) if counts else number != old.number
            known[(path, name)] = replace(
                old,
                last=place,
                number=number,
                reports=old.reports + more,
                last_finite=None,
                finite=0,
            )

    def _find(self, line: LogLine, path: str, *, live: bool) -> Iterator[str]:
        new = line.progress
        if not self._lost or (new is not None and new.phase == "load"):
            return
        if line.open and not line.text.rstrip().endswith(_ENDS):
            return  # the rest of the line may still be NaN
        alarms = line.mark.alarm and line.mark.label in LABELS
        for label, known in list(self._lost.items()):
            values = _finite_in(line, {name for _, name in known})
            for key, lost in list(known.items()):
                where, name = key
                if where != path and not live:
                    continue
                if name in values and _is_later(lost.last, new):
                    del known[key]
                    continue
                same = name in values or (name[:1] in (_MESSAGE, _FORM) and "loss" in values)
                if same and not line.open and not alarms and _moved(lost.last_finite, new):
                    known[key] = replace(lost, last_finite=new, finite=lost.finite + 1)
                    if lost.finite + 1 >= IN_A_ROW:
                        del known[key]
            if not known:
                del self._lost[label]
                yield label

    def worst(self, label: str) -> Lost | None:
        """The metric of this label with the most non-finite reports."""
        known = self._lost.get(label, {}).values()
        return max(known, key=lambda lost: lost.reports, default=None)

    def drop(self, label: str) -> None:
        """Forget a label that belongs to an earlier attempt."""
        self._lost.pop(label, None)

    def forget(self, path: str) -> None:
        """Forget the metrics of one log."""
        for label, known in list(self._lost.items()):
            kept = {key: lost for key, lost in known.items() if key[0] != path}
            if kept:
                self._lost[label] = kept
            else:
                del self._lost[label]


def _lost_in(line: LogLine) -> Collection[str]:
    """Names of the metrics that are NaN or Inf in an alarming line; none if finite values overwrote them."""
    named = [name for name, value in _values(line.progress) if not math.isfinite(value)]
    if named:
        return [name for name in named if _MATTERS.search(name)] or named
    says = _WORD.search(_AVERAGE.sub("", line.text)) is not None
    if line.progress is not None and not says and any(True for _ in _values(line.progress)):
        return ()
    return [_FORM + _form(line.text) if says else _MESSAGE]


def _finite_in(line: LogLine, names: Collection[str]) -> Collection[str]:
    """Those of `names` that have a finite value in the line; `loss` if the line has a finite loss."""
    found = {name for name, value in _values(line.progress) if math.isfinite(value)}
    found &= {*names, "loss"}
    if any(name.startswith(_FORM) for name in names) and not _WORD.search(line.text):
        found.add(_FORM + _form(line.text))
    return found


def _values(progress: Progress | None) -> Iterator[tuple[str, float]]:
    if progress is None:
        return
    if progress.loss is not None:
        yield "loss", progress.loss
    if progress.val_loss is not None:
        yield "val_loss", progress.val_loss
    yield from progress.metrics.items()


def _form(text: str) -> str:
    """The line without its numbers and its bar, by which reports of one kind are recognised."""
    return " ".join(_VALUE.sub("#", _BAR.sub("", text)).split())[:FORM_CHARS]


def _place(progress: Progress | None) -> Progress | None:
    """The report if it has a counter; a rounded epoch alone does not count, as it repeats over many reports."""
    if progress is None or not any(shape_of(progress)):
        return None
    return None if progress.step is None and progress.epoch_exact is not None else progress


def _moved(old: Progress | None, new: Progress | None) -> bool:
    """Whether the counters of two reports differ; True if one of them has none."""
    old, new = _place(old), _place(new)
    if old is None or new is None:
        return True
    return (old.epoch, old.step) != (new.epoch, new.step)


def _is_later(old: Progress | None, new: Progress | None) -> bool:
    """Whether a report is later than the other: neither at the same place (another rank) nor before it (another program)."""
    old, place = _place(old), _place(new)
    if old is None or place is None or shape_of(old) != shape_of(place):
        return True
    return any(further(old, place))


def share_since(lost: Lost) -> float | None:
    """Share (0-1) of the run's progress so far that came after the first non-finite report; None without counters."""
    first, last = _position(lost.first), _position(lost.last)
    if first is None or last is None or not 0 <= first <= last or not last:
        return None
    return (last - first) / last


def _position(place: Progress | None) -> float | None:
    if place is None or place.epoch is None:
        return None if place is None or place.step is None else float(place.step)
    if place.epoch_exact is not None:
        return place.epoch_exact
    part = place.step / place.steps if place.step is not None and place.steps else 0.0
    return place.epoch + part
