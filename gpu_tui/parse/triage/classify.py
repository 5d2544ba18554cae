"""Classifies one log line: its label, its severity, and whether it is an alarm.

The launcher's prefix is removed, and parts without meaning (addresses, zero counters, advice) are cut out. Then the
first rule that fits decides. A line without a rule is progress or benign.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpu_tui.core.findings import Severity
from gpu_tui.core.logs import Mark
from gpu_tui.parse.lines import unescape
from gpu_tui.parse.triage.digits import number_key
from gpu_tui.parse.triage.disk_tables import judge_volume, may_be_volume
from gpu_tui.parse.triage.envelope import PREFIX, error_message_start, message
from gpu_tui.parse.triage.ignored import without_ignored
from gpu_tui.parse.triage.labels import RANK
from gpu_tui.parse.triage.rule import Rule
from gpu_tui.parse.triage.rule_set import RuleSet
from gpu_tui.parse.triage.source import load_rules

# Characters judged. A longer line is shortened to its head, its tail and the parts around literals.
LONGEST = 4_096
WINDOW = 256  # characters around a literal
BENIGN = Mark("benign", Severity.NONE, False)
PROGRESS = Mark("progress", Severity.NONE, False)
UNJUDGED = Mark("", Severity.NONE, False)  # no mark is remembered for the line
REMEMBERED = 8_192  # marks
LONGEST_REMEMBERED = 1_024  # characters of a line
# An escape, a bell or a backspace is invisible and may split a literal; a tab becomes spaces.
_CHANGED = b"\x07\x08\t\x1b"


@dataclass(frozen=True, slots=True)
class Decision:
    """The mark of a line and the rule that decided it. `rule` is None for a row of `df` and for a line without a mark."""

    mark: Mark | None
    rule: Rule | None = None


NO_DECISION = Decision(None)


class Classifier:
    """Judges lines by one set of rules.

    Marks are remembered by `number_key`, so that lines that differ in digits only are judged once, unless a rule names
    digits. Safe for several threads: a lookup is one `get`, because another thread may clear the memory in between.
    """

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self._marks = [
            Mark(rule.label, rule.severity, rule.severity.rank <= Severity.SERIOUS.rank)
            for rule in rules.rules
        ]
        self._memory: dict[bytes | None, Mark | None] = {}

    def cause(self, line: str, most: int = LONGEST) -> Mark | None:
        """The mark; None for progress and benign lines. A line longer than `most` characters is shortened to that."""
        long = len(line) > LONGEST_REMEMBERED
        text = self.shortened(line, most)
        raw = text.encode("utf-8", "replace")
        if not text.isascii():
            text = raw.decode("utf-8")  # lone surrogates become `?`
        key = None if long else number_key(raw)
        known = self._memory.get(key, UNJUDGED)
        if known is not UNJUDGED:
            return known
        return self._learn(key, text, self.rules.candidates(raw.lower()))

    def causes(self, lines: list[bytes]) -> list[Mark | None]:
        """The `cause` of each raw line; lines hold no newline."""
        return list(map(self._cause_of_raw, lines))

    def _cause_of_raw(self, line: bytes) -> Mark | None:
        shown = line.translate(None, _CHANGED)
        if len(line) > LONGEST_REMEMBERED or not line.isascii() or shown != line:
            return self.cause(unescape(line)[0])
        candidates = self.rules.candidates(line.lower())
        if not candidates and b"%" not in line:
            return None if line and not line.isspace() else BENIGN
        key = number_key(line)
        known = self._memory.get(key, UNJUDGED)
        if known is not UNJUDGED:
            return known
        return self._learn(key, unescape(line)[0], candidates)

    def unjudged(self, lines: list[bytes]) -> list[bytes]:
        """The lines whose key (see `number_key`) has no remembered mark."""
        return [line for line in lines if number_key(line) not in self._memory]

    def _learn(self, key: bytes | None, text: str, candidates: tuple[int, ...]) -> Mark | None:
        mark = self.decide(text, candidates).mark
        if (
            key is not None
            and not may_be_volume(text.rstrip())
            and not self.rules.names_digits(candidates)
        ):
            if len(self._memory) >= REMEMBERED:
                self._memory.clear()
            self._memory[key] = mark
        return mark

    def decide(self, text: str, candidates: tuple[int, ...]) -> Decision:
        """Apply the rules to one line. `candidates` are the rule orders that the whole text has literals of."""
        bare = text.rstrip()
        body = PREFIX.sub("", bare)
        if not body or body.isspace():
            return Decision(BENIGN)
        if may_be_volume(body) and (volume := judge_volume(body)) is not None:
            return Decision(volume)
        if not candidates:
            return NO_DECISION
        if not any(self._marks[order].alarm for order in candidates):
            return self._decision(
                next((o for o in candidates if self.rules.rules[o].fits(body)), None)
            )
        order = self._first(body, candidates)
        if order is None or order >= self.rules.weak:
            begin = error_message_start(body)
            if begin:
                inner = self._first(PREFIX.sub("", body[begin:]), candidates)
                if inner is not None and (order is None or self._marks[inner].alarm):
                    order = inner
        return self._decision(order)

    def _decision(self, order: int | None) -> Decision:
        if order is None:
            return NO_DECISION
        return Decision(self._marks[order], self.rules.rules[order])

    def _first(self, text: str, candidates: tuple[int, ...]) -> int | None:
        rules, cut = self.rules.rules, without_ignored(text)
        order = next((o for o in candidates if rules[o].fits(cut)), None)
        if order is None or not self._marks[order].alarm:
            return order
        look_alike = self.rules.look_alike(cut, order)
        if look_alike is None and (inner := message(cut)):
            look_alike = self.rules.look_alike(inner, order)
        return order if look_alike is None else look_alike

    def shortened(self, line: str, most: int = LONGEST) -> str:
        """The part of the line that is judged. Of a line longer than `most` characters these are the head, the tail,
        and between them the parts around literals; the first rules have priority.
        """
        if len(line) <= most:
            return line
        end = most // 4
        middle = line[end:-end]
        room = most // 4 // WINDOW  # a part is two windows long
        parts: dict[int, int] = {}
        low = middle.encode("ascii", "replace").lower()
        for start, order in sorted(self.rules.literal_positions(low), key=lambda found: found[1]):
            parts.setdefault(start // WINDOW, order)
            if len(parts) >= room:
                break
        between = (
            middle[max(0, part * WINDOW - WINDOW // 2) : (part + 1) * WINDOW + WINDOW // 2]
            for part in sorted(parts)
        )
        return " ".join((line[:end], *between, line[-end:]))


_classifiers: list[Classifier] = []


def classifier() -> Classifier:
    """The classifier of this process, created on first use."""
    if not _classifiers:
        _classifiers.append(Classifier(load_rules()))
    return _classifiers[0]


def cause(line: str, most: int = LONGEST) -> Mark | None:
    """`Classifier.cause` with the rules in use."""
    return classifier().cause(line, most)


def triage(line: str) -> Mark:
    """The mark of one line or segment without control characters."""
    mark = cause(line)
    if mark is not None:
        return mark
    from gpu_tui.parse.progress import (
        parse_progress,  # takes longer to import than most lines to judge
    )

    return PROGRESS if parse_progress(line) is not None else BENIGN


def triage_segments(segments: Iterable[str]) -> Mark:
    """The mark of a line that carriage returns split into segments, merged by `first`."""
    return first(map(triage, segments))


def first(marks: Iterable[Mark]) -> Mark:
    """Merge the marks of a line's segments: the first label in triage order, with the worst severity.

    So neither the cause nor an alarm is lost.
    """
    seen = list(marks)
    if len(seen) < 2:
        return seen[0] if seen else BENIGN
    label = min((mark.label for mark in seen), key=RANK.__getitem__)
    severity = min((mark.severity for mark in seen), key=lambda severity: severity.rank)
    return Mark(label, severity, severity.rank <= Severity.SERIOUS.rank)
