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
from gpu_tui.parse.triage_wrapped import inside

LABELS = (
    "xid", "hardware", "gpu_oom", "host_oom", "disk_full", "inode", "hang", "nccl", "cuda_error",
    "ckpt_corrupt", "preempted", "killed", "nan", "inf", "overflow", "traceback", "network",
    "exception", "warning", "progress", "benign",
)  # fmt: skip
_RANK = {label: rank for rank, label in enumerate(LABELS)}
WEAK = len(RULES) - 2  # the last rules take a warning or a report by its words alone
LONGEST = 4_096  # characters judged; of a longer line its head, its tail and what is worst between
STRETCH = 512  # of the characters between
SEAM = 64  # of those around it that are looked at with a stretch
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


def cause(line: str, most: int = LONGEST) -> Mark | None:
    """As `triage`, but None where nothing is named: then the line is progress or benign.

    A rule takes its time for each character, and many may have to look: of a line longer than `most`, so much is judged.
    """
    text = line if len(line) <= most else _stretches(line, most)
    kind = kind_of(text)
    if not kind.rules:
        return _seen(text, _plan(text, kind))
    return _judged(casts([text.encode("utf-8", "replace")]), lambda _: text, [kind])[0]


def _stretches(line: str, most: int) -> str:
    """The head and the tail, and between them of each sort of stretch one, those that may name the worst first."""
    end = most // 4
    sorts: dict[tuple[int, ...], int] = {}
    for at in range(end, len(line) - end, STRETCH):
        kind = kind_of(line[at - SEAM : at + STRETCH + SEAM])
        if kind.loud:
            sorts.setdefault(kind.rules, at)
    room = max(1, most // 2 // STRETCH)
    chosen = (
        sorted(sorts.values())
        if len(sorts) <= room
        else sorted(sorts[rules] for rules in sorted(sorts)[:room])
    )
    between = (_whole_words(line[at - SEAM : at + STRETCH + SEAM]) for at in chosen)
    return " ".join((line[:end], *between, line[-end:]))


def _whole_words(text: str) -> str:
    """Without the word that it begins in the middle of."""
    at = text.find(" ", 0, SEAM)
    return text[at + 1 :]


def causes(lines: list[bytes], kinds: list[Kind]) -> list[Mark | None]:
    """The `cause` of each of these lines, as they came; what digits cannot change is judged once."""
    return _judged(casts(lines), lambda place: unescape(lines[place])[0], kinds)


def unjudged(lines: list[bytes]) -> list[bytes]:
    """Those that no line of their cast was judged before."""
    keys = casts(lines)
    return [line for line, key in zip(lines, keys or lines, strict=True) if key not in _plans]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is settled for all lines of one cast: the mark, unless a rule of `sees` fits.

    Those tell digits apart, so they are asked each time, about the text from `start` on, `cuts` cut out. Where no
    more than a `weak` rule answers, the line `inside` may raise an alarm; where that one is a `frame`, none is raised.
    """

    mark: Mark | None
    sees: tuple[int, ...] = ()
    start: int = 0
    cuts: tuple[tuple[int, int], ...] = ()
    weak: bool = False
    inside: _Plan | None = None
    frame: bool = False

    @property
    def settled(self) -> bool:
        """No digit can change the mark any more."""
        return not self.sees and (self.inside is None or self.inside.settled)


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
        found.append(plan.mark if plan.settled else _seen(text(place), plan))
    return found


def _plan(line: str, kind: Kind, at: int = 0) -> _Plan:
    """Everything but the rules that tell digits apart, for what stands from `at` on."""
    bare = line[at:].rstrip()
    text = PREFIX.sub("", bare)
    if not text or text.isspace():
        return _Plan(BENIGN)
    if (shape := shape_of(text)) is not None:
        return _Plan(_of_shape(shape))
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
    start = at + len(bare) - len(text)
    begin = inside(text)
    if begin and order < WEAK and RULES[order].severity.rank <= Severity.SERIOUS.rank:
        # What would alarm is asked for without what stands around it too: some rules know a line by how it begins.
        order = min(order, _first(PREFIX.sub("", text[begin:]), kind))
    mark = _mark(RULES[order].label, RULES[order].severity) if order < len(RULES) else None
    sees = tuple(o for o in sees if o < order)
    weak, frame = order >= WEAK, begin > 0 and shape_of(PREFIX.sub("", text[begin:])) == "traceback"
    inner = _plan(line, kind, start + begin) if begin and weak else None
    plan = _Plan(mark, sees, start, cuts, weak, inner, frame)
    return _Plan(_seen(line, plan)) if plan.settled else plan


def _first(text: str, kind: Kind) -> int:
    """The first rule that answers to the text, of those that tell no digits apart."""
    rest, low = without_dead_words(text)
    fits = (o for o in kind.rules if o not in kind.sees and _fits(o, rest, low))
    return next(fits, len(RULES))


def _seen(line: str, plan: _Plan) -> Mark | None:
    """The mark where a rule must look at the digits, or at the line inside."""
    mark, weak = plan.mark, plan.weak
    if plan.sees:
        text = cut(line.rstrip()[plan.start :], plan.cuts)
        low = lower(text)
        order = next((order for order in plan.sees if _fits(order, text, low)), None)
        if order is not None:
            mark, weak = _mark(RULES[order].label, RULES[order].severity), order >= WEAK
    if plan.frame and mark is not None and mark.alarm:
        return _of_shape("traceback")
    if weak and plan.inside is not None:
        inner = _seen(line, plan.inside)
        return inner if inner is not None and inner.alarm else mark
    return mark


def _fits(order: int, text: str, low: str) -> bool:
    rule = RULES[order]
    return any(need in low for need in rule.needs) and rule.fits(text)


def _of_shape(shape: str) -> Mark:
    return _mark(shape, Severity.WARN if shape == "warning" else Severity.NONE)


def _mark(label: str, severity: Severity) -> Mark:
    return Mark(label, severity, severity.rank <= Severity.SERIOUS.rank)
