"""Which metrics of one attempt are NaN or Inf at their newest report, since when, and for how many reports. Pure.

Counters and bars advance over weights that are NaN as they do over others, and the Hugging Face Trainer prints
`'loss': 0.0` beside `'grad_norm': nan` (its `logging_nan_inf_filter`). So only a later finite value of the same metric
is a recovery. What names no metric ("NaN detected") is over by several finite training losses.
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
IN_A_ROW = 3  # finite reports that count where one alone proves nothing

# A message names no metric; a report whose metrics are not known by name is known by its form.
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

    `since` is our time at which the first of them was just written, None where it was there before we looked.
    """

    since: float | None
    first: Progress | None
    last: Progress | None
    number: int  # of its newest line
    reports: int = 1
    back: Progress | None = None  # the newest of the finite reports behind it
    finite: int = 0  # of these


@dataclass(slots=True)
class NonFinite:
    """The logs of one attempt, line by line, each report with the epoch that it belongs to."""

    _lost: dict[str, dict[tuple[str, str], Lost]] = field(default_factory=dict)  # label: path, name

    def take(self, line: LogLine, number: int, path: str, at: float | None) -> Iterator[str]:
        """The labels of which every metric is finite again after this line; `at`: it was just written.

        A label whose line shows that what was NaN in it was overwritten by finite values is among them at once.
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
                old, last=place, number=number, reports=old.reports + more, back=None, finite=0
            )

    def _find(self, line: LogLine, path: str, *, live: bool) -> Iterator[str]:
        new = line.progress
        if not self._lost or (new is not None and new.phase == "load"):
            return
        if line.open and not line.text.rstrip().endswith(_ENDS):
            return  # what is to come may say otherwise
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
                if same and not line.open and not alarms and _moved(lost.back, new):
                    known[key] = replace(lost, back=new, finite=lost.finite + 1)
                    if lost.finite + 1 >= IN_A_ROW:
                        del known[key]
            if not known:
                del self._lost[label]
                yield label

    def worst(self, label: str) -> Lost | None:
        """Of the metrics that are not finite the one of most reports."""
        known = self._lost.get(label, {}).values()
        return max(known, key=lambda lost: lost.reports, default=None)

    def drop(self, label: str) -> None:
        """It is of an earlier attempt."""
        self._lost.pop(label, None)

    def forget(self, path: str) -> None:
        """What stood in one log is history."""
        for label, known in list(self._lost.items()):
            kept = {key: lost for key, lost in known.items() if key[0] != path}
            if kept:
                self._lost[label] = kept
            else:
                del self._lost[label]


def _lost_in(line: LogLine) -> Collection[str]:
    """The names of what is NaN or Inf in a line that alarms; none where finite values overwrote it."""
    named = [name for name, value in _values(line.progress) if not math.isfinite(value)]
    if named:
        return [name for name in named if _MATTERS.search(name)] or named
    says = _WORD.search(_AVERAGE.sub("", line.text)) is not None
    if line.progress is not None and not says and any(True for _ in _values(line.progress)):
        return ()
    return [_FORM + _form(line.text) if says else _MESSAGE]


def _finite_in(line: LogLine, names: Collection[str]) -> Collection[str]:
    """Of these names those whose value is finite in a line; `loss` where it has a finite one."""
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
    """A line without its numbers and its bar."""
    return " ".join(_VALUE.sub("#", _BAR.sub("", text)).split())[:FORM_CHARS]


def _place(progress: Progress | None) -> Progress | None:
    """A report that counts; a rounded epoch stands still over many reports."""
    if progress is None or not any(shape_of(progress)):
        return None
    return None if progress.step is None and progress.epoch_exact is not None else progress


def _moved(old: Progress | None, new: Progress | None) -> bool:
    """Whether the counters of two reports differ, as far as both count."""
    old, new = _place(old), _place(new)
    if old is None or new is None:
        return True
    return (old.epoch, old.step) != (new.epoch, new.step)


def _is_later(old: Progress | None, new: Progress | None) -> bool:
    """Not at the same place, where another rank reports, nor before it, where another program does."""
    old, place = _place(old), _place(new)
    if old is None or place is None or shape_of(old) != shape_of(place):
        return True
    return any(further(old, place))


def share_since(lost: Lost) -> float | None:
    """The part (0-1) of the way to its newest report that lies behind the first one; None where nothing counts it."""
    first, last = _way(lost.first), _way(lost.last)
    if first is None or last is None or not 0 <= first <= last or not last:
        return None
    return (last - first) / last


def _way(place: Progress | None) -> float | None:
    if place is None or place.epoch is None:
        return None if place is None or place.step is None else float(place.step)
    if place.epoch_exact is not None:
        return place.epoch_exact
    part = place.step / place.steps if place.step is not None and place.steps else 0.0
    return place.epoch + part
