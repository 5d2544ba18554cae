"""Prefilter: which lines of a batch triage has to judge. The others are progress or benign.

Most lines of a log differ in their numbers only. A line is reduced to its skeleton: its bytes without escapes and
digits. The kind of a skeleton is determined once and remembered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpu_tui.core.findings import Severity
from gpu_tui.parse.lines import unescape
from gpu_tui.parse.queue_log import SIGNS as QUEUE_SIGNS
from gpu_tui.parse.triage.classify import Classifier, classifier
from gpu_tui.parse.triage.disk_tables import ROW as VOLUME_ROW

REMEMBERED = 8_192  # skeletons
LONGEST_REMEMBERED = 1_024  # bytes of one

_ESCAPE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")
_TABS = bytes.maketrans(b"\t", b" ")
_DROPPED = b"0123456789\x07\x08"  # bell and backspace are invisible: the words around them join
# Bytes that only `unescape` removes: C1 controls (they can begin an escape), variation selectors, byte order marks.
_NEEDS_UNESCAPE = re.compile(rb"\x1b|\xc2[\x80-\x9f]|\xef\xb8[\x80-\x8f]|\xef\xbb\xbf")
_QUEUE_SIGNS = tuple(sign.encode().lower() for sign in QUEUE_SIGNS)
_SUMMARY = re.compile(
    rb"\b(?:val|valid|validation|eval|evaluation|test|dev)(?:\b|_)|\bepoch\w*\b.{0,20}\b(?:end|done|finish|"
    rb"took|complete|summary)"
)
_SEPARATORS = bytes(range(0x21)) + b"-+#=>.|[]" + bytes(range(0x7F, 0x100))
_GROUP_LENGTH = 48  # bytes


@dataclass(frozen=True, slots=True)
class Kind:
    """The properties that lines of one skeleton share.

    `loud`: triage must judge them, because they may be a warning, an alarm or a line of the queue. `group`: equal for
    reports of one sort. `summary`: they may report a whole epoch or a validation. `queue`: they may be lines of the queue.
    """

    loud: bool
    group: bytes
    summary: bool
    queue: bool


class _Memory(dict[bytes, Kind]):
    """Skeleton -> kind, for one classifier. Cleared when it is full."""

    def __init__(self, judge: Classifier) -> None:
        self.judge = judge

    def __missing__(self, skeleton: bytes) -> Kind:
        kind = _determine_kind(skeleton, self.judge)
        if len(skeleton) <= LONGEST_REMEMBERED:
            if len(self) >= REMEMBERED:
                self.clear()
            self[skeleton] = kind
        return kind


_memory: list[_Memory] = []


def _kinds() -> _Memory:
    judge = classifier()
    if not _memory or _memory[0].judge is not judge:
        _memory[:] = [_Memory(judge)]
    return _memory[0]


def kind_of(text: str) -> Kind:
    """The kind of a line or segment without control characters."""
    return _kinds()[text.encode("utf-8", "replace").translate(_TABS, _DROPPED)]


def kind_of_skeleton(skeleton: bytes) -> Kind:
    """The kind of the lines that have this skeleton."""
    return _kinds()[skeleton]


def is_remembered(skeleton: bytes) -> bool:
    """True if the kind of this skeleton is known already."""
    return skeleton in _kinds()


def skeletons(lines: bytes) -> list[bytes]:
    """The skeleton of each raw line in `lines`, which are separated by newlines."""
    body = _ESCAPE.sub(b"", lines) if b"\x1b" in lines else lines
    if (b"\x1b" in body or not body.isascii()) and _NEEDS_UNESCAPE.search(body):
        return [_skeleton(line) for line in lines.split(b"\n")]
    return body.translate(_TABS, _DROPPED).split(b"\n")


def _skeleton(raw: bytes) -> bytes:
    if b"\x1b" in raw or _NEEDS_UNESCAPE.search(raw):
        raw = unescape(raw)[0].encode("utf-8", "replace")
    return raw.translate(_TABS, _DROPPED)


def _determine_kind(skeleton: bytes, judge: Classifier) -> Kind:
    low = skeleton.lower()
    rules = judge.rules
    queue = any(sign in low for sign in _QUEUE_SIGNS)
    loud = (
        queue
        or (b"%" in low and VOLUME_ROW.search(low) is not None)
        or any(rules.rules[order].severity is not Severity.NONE for order in rules.candidates(low))
    )
    return Kind(
        loud=loud,
        group=low.translate(None, _SEPARATORS)[:_GROUP_LENGTH],
        summary=_SUMMARY.search(low) is not None,
        queue=queue,
    )
