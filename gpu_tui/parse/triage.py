"""One line of a log, judged alone -> its label, its severity, and whether it should jump out now.

The order of the labels is the order of causes: where several fit, the first one is the line's. Shapes
come first (a frame of a traceback quotes errors, it is none), then the tables of rules, then progress.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpu_tui.core.findings import Severity
from gpu_tui.core.logs import Mark
from gpu_tui.parse.progress import parse_progress
from gpu_tui.parse.triage_dead_words import without_dead_words
from gpu_tui.parse.triage_scan import RULES, kind_of
from gpu_tui.parse.triage_shapes import PREFIX, shape_of
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
    text = PREFIX.sub("", text.rstrip())
    if not text or text.isspace():
        return BENIGN
    if (shape := shape_of(text)) is not None:
        severity = Severity.WARN if shape == "warning" else Severity.NONE
        return Mark(shape, severity, False)
    if "%" in text and (volume := judge_volume(text)) is not None:
        return volume
    rules = kind_of(text).rules
    if not rules:
        return None
    text, low = without_dead_words(text)
    for order in rules:
        rule = RULES[order]
        if any(need in low for need in rule.needs) and rule.fits(text):
            return _mark(rule.label, rule.severity)
    return None


def _mark(label: str, severity: Severity) -> Mark:
    return Mark(label, severity, severity.rank <= Severity.SERIOUS.rank)
