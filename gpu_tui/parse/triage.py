"""One line of a log, judged alone -> its label, its severity, and whether it should jump out now.

The order of the labels is the order of causes: where several fit, the first one is the line's. Shapes
come first (a frame of a traceback quotes errors, it is none), then the tables of rules, then progress.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gpu_tui.core.findings import Severity
from gpu_tui.core.logs import Mark
from gpu_tui.parse.lines import unescape
from gpu_tui.parse.progress import parse_progress
from gpu_tui.parse.triage_dead_words import cut, dead_words, lower, without_dead_words
from gpu_tui.parse.triage_digits import casts
from gpu_tui.parse.triage_scan import LONGEST_REMEMBERED, REMEMBERED, RULES, Kind, kind_of, may_see
from gpu_tui.parse.triage_shapes import PREFIX, interrupted, quoted, shape_of
from gpu_tui.parse.triage_volume import judge_volume

LABELS = (
    "xid", "hardware", "gpu_oom", "host_oom", "disk_full", "inode", "hang", "nccl", "cuda_error",
    "ckpt_corrupt", "preempted", "killed", "nan", "inf", "overflow", "traceback", "network",
    "exception", "warning", "progress", "benign",
)  # fmt: skip
_RANK = {label: rank for rank, label in enumerate(LABELS)}
LONGEST = 16_384  # characters judged; of a longer line the head and the tail
BENIGN = Mark("benign", Severity.NONE, False)
PROGRESS = Mark("progress", Severity.NONE, False)
_BY_HAND = Mark("killed", Severity.FATAL, True)


def triage(line: str) -> Mark:
    """The mark of one line or segment, already safe text."""
    mark = cause(line)
    if mark is not None:
        return mark
    return PROGRESS if parse_progress(line) is not None else BENIGN


def triage_segments(segments: Iterable[str]) -> Mark:
    """The mark of a line with carriage returns: the first label, in triage order, of any segment."""
    return first(map(triage, segments))


def first(marks: Iterable[Mark]) -> Mark:
    """One mark for all segments of a line: the first label in triage order and the worst severity,
    so that neither the cause nor an alarm is lost.
    """
    seen = list(marks)
    if len(seen) < 2:
        return seen[0] if seen else BENIGN
    label = min((mark.label for mark in seen), key=_RANK.__getitem__)
    severity = min((mark.severity for mark in seen), key=lambda severity: severity.rank)
    return _mark(label, severity)


def cause(line: str) -> Mark | None:
    """As `triage`, but None where nothing is named: then the line is progress or benign."""
    text = line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} {line[-LONGEST // 2 :]}"
    kind = kind_of(text)
    if not kind.rules:
        return _plan(text, kind).mark
    return _judged(casts([text.encode("utf-8", "replace")]), lambda _: text, [kind])[0]


def causes(lines: list[bytes], kinds: list[Kind]) -> list[Mark | None]:
    """The `cause` of each of these lines, as they came; what digits cannot change is judged once."""
    return _judged(casts(lines), lambda place: unescape(lines[place])[0], kinds)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is settled for all lines of one cast: the mark, unless a rule of `sees` fits.

    Those tell digits apart, so they are asked each time, about the text from `start` on, `cuts` cut out.
    """

    mark: Mark | None
    sees: tuple[int, ...] = ()
    start: int = 0
    cuts: tuple[tuple[int, int], ...] = ()


_plans: dict[bytes, _Plan] = {}


def _judged(
    keys: list[bytes] | None, text: Callable[[int], str], kinds: list[Kind]
) -> list[Mark | None]:
    found: list[Mark | None] = []
    for place, kind in enumerate(kinds):
        plan = None
        key = keys[place] if keys is not None and kind.castable else b""
        if not 0 < len(key) <= LONGEST_REMEMBERED:
            plan = _plan(text(place), kind)
        elif (plan := _plans.get(key)) is None:
            plan = _plan(text(place), kind)
            if len(_plans) >= REMEMBERED:
                _plans.clear()
            _plans[key] = plan
        found.append(_seen(text(place), plan) if plan.sees else plan.mark)
    return found


def _plan(line: str, kind: Kind) -> _Plan:
    """Everything but the rules that tell digits apart."""
    bare = line.rstrip()
    text = PREFIX.sub("", bare)
    if not text or text.isspace():
        return _Plan(BENIGN)
    if (shape := shape_of(text)) is not None:
        severity = Severity.WARN if shape == "warning" else Severity.NONE
        return _Plan(Mark(shape, severity, False))
    if interrupted(text):
        return _Plan(_BY_HAND)
    if "%" in text and (volume := judge_volume(text)) is not None:
        return _Plan(volume)
    if not kind.rules or quoted(text):
        return _Plan(None)
    rest, low = without_dead_words(text)
    sees = tuple(o for o in kind.sees if may_see(o, rest)) if kind.castable else ()
    cuts = dead_words(text) if sees else ()
    blind = (order for order in kind.rules if order not in sees and _fits(order, rest, low))
    order = next(blind, len(RULES))
    mark = _mark(RULES[order].label, RULES[order].severity) if order < len(RULES) else None
    return _Plan(mark, tuple(o for o in sees if o < order), len(bare) - len(text), cuts)


def _seen(line: str, plan: _Plan) -> Mark | None:
    """The mark where a rule must look at the digits."""
    text = cut(line.rstrip()[plan.start :], plan.cuts)
    low = lower(text)
    order = next((order for order in plan.sees if _fits(order, text, low)), None)
    return plan.mark if order is None else _mark(RULES[order].label, RULES[order].severity)


def _fits(order: int, text: str, low: str) -> bool:
    rule = RULES[order]
    return any(need in low for need in rule.needs) and rule.fits(text)


def _mark(label: str, severity: Severity) -> Mark:
    return Mark(label, severity, severity.rank <= Severity.SERIOUS.rank)
