"""Many lines at once -> which of them the rules have to look at. The rest cannot be more than progress.

Logs repeat themselves: lines differ in their numbers and in little else. So a line is reduced to its
`skeleton`, the bytes that are left without escapes and digits, and what a skeleton can mean is worked
out once and remembered. That a line of a certain skeleton cannot match a rule is read off the rules
(`triage_words`), never written down a second time.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache

from gpu_tui.core.findings import Severity
from gpu_tui.parse import progress_words as words
from gpu_tui.parse.lines import unescape
from gpu_tui.parse.queue_log import FORMS as QUEUE_FORMS
from gpu_tui.parse.triage_causes import CAUSES
from gpu_tui.parse.triage_dead_words import DEAD, TROUBLE
from gpu_tui.parse.triage_digits import blind_to_digits, ways_that_see
from gpu_tui.parse.triage_ends import ENDS
from gpu_tui.parse.triage_rule import Rule
from gpu_tui.parse.triage_shapes import PREFIX, SHAPES, WARNED
from gpu_tui.parse.triage_words import (
    DIGITS,
    Needed,
    Word,
    needed_by,
    needed_by_literal,
)

RULES: tuple[Rule, ...] = (*CAUSES, *ENDS)
REMEMBERED = 8_192  # skeletons
LONGEST_REMEMBERED = 1_024  # bytes of one

_ESCAPE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")
_TORN = tuple(word.encode() for word in TROUBLE)
_TABS = bytes.maketrans(b"\t", b" ")
_DROPPED = DIGITS + b"\x07\x08"  # a bell or a backspace leaves no sign: the words around it join
# What the reader of lines drops, or what only a reader of characters can tell from a letter:
# C1 controls (among them another way to begin an escape), emoji selectors and the mark at the
# beginning of a file; the long s, the Kelvin sign and the i's of Turkish, equal to ASCII letters.
_HARD = re.compile(
    rb"\x1b|\xc2[\x80-\x9f]|\xef\xb8[\x80-\x8f]|\xef\xbb\xbf|\xc4[\xb0\xb1]|\xc5\xbf|\xe2\x84\xaa"
)
_ODD = re.compile("[\u0130\u0131\u017f\u212a]")
_VOLUME = re.compile(rb"%\s+/")  # a row of `df`
_SUMMARY = re.compile(
    rb"\b(?:val|valid|validation|eval|evaluation|test|dev)(?:\b|_)|\bepoch\w*\b.{0,20}\b(?:end|done|finish|took|complete|summary)"
)
_SUMS = (b"val", b"test", b"dev", b"epoch")  # one of them stands in each of these
_IN_GROUP = bytes(range(0x21)) + b"-+#=>.|[]" + bytes(range(0x7F, 0x100))
_GROUP = 48  # bytes
_GAP = re.compile(rb"(?<![A-Za-z_]) ")


@dataclass(frozen=True, slots=True)
class Kind:
    """What lines of one skeleton can be.

    `rules` are the places in `RULES` that may match. `loud` is true where more than a label without
    meaning can come of it: a warning, an alarm, a line of the queue. `group` is equal for reports of
    one sort, `summary` true where one stands for a whole epoch or a validation, `queue` where it may be
    a line of the queue. Where `castable`,
    the rules of a line see only its cast, but for those of `sees`.
    """

    rules: tuple[int, ...]
    loud: bool
    group: bytes
    summary: bool
    queue: bool
    sees: tuple[int, ...]
    castable: bool


ANYTHING = Kind(tuple(range(len(RULES))), True, b"", True, True, (), False)


def skeleton(text: str) -> bytes | None:
    """The skeleton of one line or segment of safe text; None where it must be taken for anything."""
    if not text.isascii() and _ODD.search(text):
        return None
    return text.encode("utf-8", "replace").translate(_TABS, _DROPPED)


def kind_of(text: str) -> Kind:
    """What one line or segment, already safe text, can be."""
    found = skeleton(text)
    return ANYTHING if found is None else _kind(found)


def kinds_of(lines: list[bytes]) -> list[Kind]:
    """What each of these lines, as they came, can be. A line holds no carriage return."""
    joined = b"\n".join(lines)
    if b"\x1b" in joined:
        joined = _ESCAPE.sub(b"", joined)
    if (b"\x1b" in joined or not joined.isascii()) and _HARD.search(joined):
        return [_kind_of_raw(line) for line in lines]
    return list(map(_kind, joined.translate(_TABS, _DROPPED).split(b"\n")))


def _kind_of_raw(raw: bytes) -> Kind:
    if b"\x1b" not in raw and (raw.isascii() or not _HARD.search(raw)):
        return _kind(raw.translate(_TABS, _DROPPED))
    return kind_of(unescape(raw)[0])


class _Memory(dict[bytes, Kind]):
    """Skeletons seen before; when it is full it begins anew."""

    def __missing__(self, bones: bytes) -> Kind:
        kind = _judge(bones)
        if len(bones) <= LONGEST_REMEMBERED:
            if len(self) >= REMEMBERED:
                self.clear()
            self[bones] = kind
        return kind


_kind = _Memory().__getitem__


@dataclass(frozen=True, slots=True)
class _Row:
    """One alternative of one pattern: it can match only where all of `words` are."""

    order: int
    words: tuple[Word, ...]
    parts: tuple[Word, ...]  # the same, for a line that words are cut out of


COMMON = (
    "step",
    "epoch",
    "iter",
    "train",
    "batch",
    "time",
    "eta",
    "memory",
    "loading",
    "file",
    "info",
    "model",
    "saving",
    "checkpoint",
    "data",
    "/s",
)
SHAPE, QUEUE = -1, -2  # orders of what is no rule: a shape that is a warning, a line of the queue
_Gram = tuple[int, ...]  # three bytes


@cache
def _rows() -> dict[_Gram, list[tuple[bytes, list[_Row]]]]:
    """Every alternative under the rarest three bytes of its words, under none where they have none.

    Those of one word are together behind it: in a line that lacks the word they need not be looked at.
    """
    tables = [
        *((order, rule.pattern) for order, rule in enumerate(RULES)),
        (SHAPE, WARNED),
        *((QUEUE, pattern) for pattern in QUEUE_FORMS),
    ]
    rows = [
        _Row(order, tuple(needed), _parts(needed))
        for order, pattern in tables
        for needed in needed_by(pattern)
    ]
    common = Counter(gram for row in rows for gram in _grams_of(row))
    for name in (*words.LOSS, *words.VAL_LOSS, *words.RATE_NAMES, *words.METRICS, *COMMON):
        common.update(dict.fromkeys(_grams(name.encode()), 1_000))  # every log is full of these
    found: dict[_Gram, dict[bytes, list[_Row]]] = {}
    for row in rows:
        gram = min(_grams_of(row), key=lambda gram: (common[gram], gram), default=())
        found.setdefault(gram, {}).setdefault(_word_of(row, bytes(gram)), []).append(row)
    return {gram: list(words.items()) for gram, words in found.items()}


def _word_of(row: _Row, gram: bytes) -> bytes:
    """The longest word of these bytes, in small letters. A torn one is not looked for as a whole."""
    lows = [part.text.lower() for part in row.parts]
    return max((low for low in lows if gram in low and b"url" not in low), key=len, default=gram)


def _grams(low: bytes) -> set[_Gram]:
    return set(zip(low, low[1:], low[2:], strict=False))


def _grams_of(row: _Row) -> set[_Gram]:
    return {gram for part in row.parts for gram in _grams(part.text.lower())}


@cache
def _needs(order: int, torn: bool) -> tuple[tuple[bytes, ...], list[tuple[bytes, ...]]]:
    """The needs of a rule: those of one word, and those of several that must all be there."""
    needs = map(needed_by_literal, RULES[order].needs)
    found = [tuple(word.text for word in (_parts(need) if torn else need)) for need in needs]
    return tuple(one[0] for one in found if len(one) == 1), [one for one in found if len(one) != 1]


def _parts(words: Needed) -> tuple[Word, ...]:
    """The words without the spaces that may stand for something cut out: before it stood no letter."""
    found: list[Word] = []
    for word in words:
        parts = [part for part in _GAP.split(word.text) if part]
        for place, part in enumerate(parts):
            begins, ends = word.begins and place == 0, word.ends and place == len(parts) - 1
            found.append(Word(part, word.exact, begins, ends))
    return tuple(found)


def _judge(bones: bytes) -> Kind:
    low = bones.lower()
    rows = _rows()
    quiet = low.replace(b"info", b" ")  # as for the rules: `info` is no `inf`
    # The rules cut words out of some lines: then what stands together need not have stood so before.
    torn = b"://" in low or any(word in quiet for word in _TORN)
    found: set[int] = set()
    for gram in [(), *(_grams(low) & rows.keys())]:
        for word, some in rows.get(gram, ()):
            if word in low:
                for row in some:
                    if row.order not in found and _may_fit(row, bones, low, torn):
                        found.add(row.order)
    rules = tuple(sorted(order for order in found if order >= 0 and _needed(order, quiet, torn)))
    volume = b"%" in low and _VOLUME.search(low) is not None
    loud = (
        any(RULES[order].severity is not Severity.NONE for order in rules)
        or SHAPE in found
        or QUEUE in found
        or volume
    )
    group = low.translate(None, _IN_GROUP)[:_GROUP]
    sees = tuple(
        order for order in rules if any(_may_fit(row, bones, low, torn) for row in _seeing(order))
    )
    return Kind(
        rules=rules,
        loud=loud,
        group=group,
        summary=any(map(low.__contains__, _SUMS)) and _SUMMARY.search(low) is not None,
        queue=QUEUE in found,
        sees=sees,
        castable=not volume and b"://" not in low and _others_are_blind(),
    )


def _may_fit(row: _Row, bones: bytes, low: bytes, torn: bool) -> bool:
    for word in row.parts if torn else row.words:
        where = bones if word.exact else low
        if word.text in where:
            if not (word.begins or word.ends) or _edged(word).search(where):
                continue
            return False
        if not (torn and b"url" in word.text):
            return False
    return True


@cache
def _edged(word: Word) -> re.Pattern[bytes]:
    """The word where it begins or ends. What digits stood beside it is not known: they are no letters."""
    before = rb"(?<![A-Za-z_])" if word.begins else b""
    return re.compile(before + re.escape(word.text) + (rb"(?![A-Za-z_])" if word.ends else b""))


@cache
def _seeing(order: int) -> tuple[_Row, ...]:
    """What of a rule tells digits apart."""
    rule = RULES[order]
    return tuple(
        _Row(order, tuple(needed), _parts(needed))
        for pattern in (rule.pattern, rule.unless, rule.also)
        if pattern is not None and (ways := ways_that_see(pattern))
        for needed in needed_by(pattern, ways)
    )


@cache
def _others_are_blind() -> bool:
    return all(map(blind_to_digits, (PREFIX, *SHAPES, *DEAD)))


def _needed(order: int, quiet: bytes, torn: bool) -> bool:
    """One of the rule's needs may be there."""
    words, phrases = _needs(order, torn)
    if any(map(quiet.__contains__, words)):
        return True
    return any(all(map(quiet.__contains__, phrase)) for phrase in phrases)
