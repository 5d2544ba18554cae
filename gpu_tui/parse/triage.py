"""One line of a log, judged alone -> its label, its severity, and whether it should jump out now.

The order of the labels is the order of causes: where several fit, the first one is the line's. Shapes
come first (a frame of a traceback quotes errors, it is none), then the tables of rules, then progress.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpu_tui.core.findings import Severity
from gpu_tui.core.logs import Mark
from gpu_tui.parse.progress import parse_progress
from gpu_tui.parse.triage_causes import CAUSES
from gpu_tui.parse.triage_ends import ENDS
from gpu_tui.parse.triage_rule import Rule
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

_ADDRESS = re.compile(r"\bhttps?://[^\s'\")\]]+")
_ZERO = re.compile(  # a counter that is zero, a flag that is off: dead words
    r"\b\w{0,24}(?:oom|ooms|nan|inf|error|errors|fail\w{0,6}|killed|corrupt\w{0,4}|skip\w{0,4}|overflow\w{0,2}|preempt\w{0,6}|xid|timeouts?|anomaly)"
    r"(?:[_ ](?:iters?|iterations|steps?|count|total|samples|batches|kill|skipped|found|images|files|labels))?[\"']?\s?[:=]\s{0,6}(?:0(?![.\d])|0\.0+\b|(?:false|off|none|null|no)(?=\s*(?:[,;|)}\]\"]|$)))"
    r"|\b(?:0|no|without(?: any)?) (?:\w+ )?(?:errors?|fail(?:ed|ures?)?|corrupt(?:ed)?|nans?|ooms?|killed|overflows?|preempt\w+|xids?|warnings?)\b(?! (?:space|such|found at))",
    re.IGNORECASE,
)
_TROUBLE = ("oom", "nan", "inf", "error", "fail", "kill", "corrupt", "skip", "overflow", "preempt", "xid", "timeout", "anomaly", "warning")  # fmt: skip


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
    text, low = _without_dead_words(text)
    for order in _candidates(low):
        rule = _RULES[order]
        if rule.fits(text):
            return _mark(rule.label, rule.severity)
    return None


def _candidates(low: str) -> list[int]:
    """Places in the table of the rules with a need in the line, in order."""
    grams = {low[at : at + 3] for at in range(len(low) - 2)}
    return sorted(
        {order for gram in grams & _BY_GRAM.keys() for need, order in _BY_GRAM[gram] if need in low}
    )


def _by_gram() -> dict[str, list[tuple[str, int]]]:
    """Every need under its first three characters: most lines touch only a few rules."""
    found: dict[str, list[tuple[str, int]]] = {}
    for order, rule in enumerate(_RULES):
        for need in rule.needs:
            found.setdefault(need[:3], []).append((need, order))
    return found


_RULES: tuple[Rule, ...] = (*CAUSES, *ENDS)
_BY_GRAM = _by_gram()


def _mark(label: str, severity: Severity) -> Mark:
    return Mark(label, severity, severity.rank <= Severity.SERIOUS.rank)


def _without_dead_words(text: str) -> tuple[str, str]:
    if "://" in text:
        text = _ADDRESS.sub("URL", text)
    low = text.lower().replace("info", " ")  # or every INFO line would be asked for `inf`
    for word in _TROUBLE:
        if word in low:
            text = _ZERO.sub(" ", text)
            return text, text.lower().replace("info", " ")
    return text, low
