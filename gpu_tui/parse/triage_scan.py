"""Many lines at once -> which of them the rules have to look at. The rest cannot be more than progress.

Logs repeat themselves: lines differ in their numbers and in little else. So a line is reduced to its
`skeleton`, the bytes that are left without escapes and digits, and what a skeleton can mean is worked
out once and remembered. That a line of a certain skeleton cannot match a rule is read off the rules
(`triage_words`), never written down a second time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from gpu_tui.core.findings import Severity
from gpu_tui.parse import progress_words as words
from gpu_tui.parse.lines import unescape
from gpu_tui.parse.queue_log import FORMS as QUEUE_FORMS
from gpu_tui.parse.triage_causes import CAUSES
from gpu_tui.parse.triage_dead_words import DEAD
from gpu_tui.parse.triage_digits import blind_to_digits, ways_that_see, widened
from gpu_tui.parse.triage_ends import ENDS
from gpu_tui.parse.triage_index import Index
from gpu_tui.parse.triage_laid import packed, unpacked
from gpu_tui.parse.triage_laying import Laying, Table
from gpu_tui.parse.triage_rows import Row, parts_of, row_of
from gpu_tui.parse.triage_rule import Rule
from gpu_tui.parse.triage_shapes import PREFIX, SHAPES, WARNED
from gpu_tui.parse.triage_volume import ROW as VOLUME_ROW
from gpu_tui.parse.triage_words import DIGITS, Written, needed_by, needed_by_literal
from gpu_tui.parse.triage_wrapped import AROUND

RULES: tuple[Rule, ...] = (*CAUSES, *ENDS)
REMEMBERED = 8_192  # skeletons
LONGEST_REMEMBERED = 1_024  # bytes of one

_ESCAPE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")
_TABS = bytes.maketrans(b"\t", b" ")
_DROPPED = DIGITS + b"\x07\x08"  # a bell or a backspace leaves no sign: the words around it join
# What the reader of lines drops, or what only a reader of characters can tell from a letter:
# C1 controls (among them another way to begin an escape), emoji selectors and the mark at the
# beginning of a file; the long s, the Kelvin sign and the i's of Turkish, equal to ASCII letters.
_HARD = re.compile(
    rb"\x1b|\xc2[\x80-\x9f]|\xef\xb8[\x80-\x8f]|\xef\xbb\xbf|\xc4[\xb0\xb1]|\xc5\xbf|\xe2\x84\xaa"
)
_ODD = re.compile("[\u0130\u0131\u017f\u212a]")
_SUMMARY = re.compile(
    rb"\b(?:val|valid|validation|eval|evaluation|test|dev)(?:\b|_)|\bepoch\w*\b.{0,20}\b(?:end|done|finish|"
    rb"took|complete|summary)"
)
_SUMS = (b"val", b"test", b"dev", b"epoch")  # one of them stands in each of these
_IN_GROUP = bytes(range(0x21)) + b"-+#=>.|[]" + bytes(range(0x7F, 0x100))
_GROUP = 48  # bytes


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


ODD = b"\n"  # stands in no line
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
    return list(map(_kind, skeletons(b"\n".join(lines))))


def skeletons(lines: bytes) -> list[bytes]:
    """The skeleton of each of these lines, as they came; `ODD` where it must be taken for anything."""
    body = _ESCAPE.sub(b"", lines) if b"\x1b" in lines else lines
    if (b"\x1b" in body or not body.isascii()) and _HARD.search(body):
        return list(map(_skeleton_of_raw, lines.split(b"\n")))
    return body.translate(_TABS, _DROPPED).split(b"\n")


def kind_of_skeleton(bones: bytes) -> Kind:
    """What a line of this skeleton can be."""
    return _kind(bones)


def remembered(bones: bytes) -> bool:
    """Such a line was judged lately."""
    return bones in _memory


def _skeleton_of_raw(raw: bytes) -> bytes:
    if b"\x1b" not in raw and (raw.isascii() or not _HARD.search(raw)):
        return raw.translate(_TABS, _DROPPED)
    found = skeleton(unescape(raw)[0])
    return ODD if found is None else found


class _Memory(dict[bytes, Kind]):
    """Skeletons seen before; when it is full it begins anew."""

    def __missing__(self, bones: bytes) -> Kind:
        kind = _judge(bones) if bones != ODD else ANYTHING
        if len(bones) <= LONGEST_REMEMBERED:
            if len(self) >= REMEMBERED:
                self.clear()
            self[bones] = kind
        return kind


_memory = _Memory()
_kind = _memory.__getitem__


# Words that many lines have and few rules: those of reports, and those of any English text.
COMMON = (
    "step epoch iter train batch time eta memory loading loaded file info model saving checkpoint data output wrote"
    " a about after all an and any are as at back be been but by call came can come could did do down each every find"
    " first for form from get give go good had has have he her him his how i if in into is it its just know like line"
    " long look made make many may me more most my name new no not now number of on one only or other our out over"
    " part people place read run said see she show so some take than that the their them then there these they this"
    " through to two up us use very was way we were what when where which who will with word work would write year you"
    " your"
)
SHAPE, QUEUE = -2, -3  # orders of what is no rule: a shape that is a warning, a line of the queue


class Keeper(Protocol):
    """Keeps the index between two starts."""

    def holds(self, made_of: str) -> bool:
        """Whether there is one for rules written like these."""
        ...

    def read(self, made_of: str) -> bytes | None:
        """What was kept for rules written like these; None where nothing was."""
        ...

    def write(self, made_of: str, body: bytes) -> None:
        """Keep it; best effort."""
        ...


_keepers: list[Keeper] = []  # of this process: one at most


def keep_index(keeper: Keeper) -> None:
    """From now on the index is looked for there before it is made."""
    _keepers[:] = [keeper]


def index_at_hand() -> bool:
    """Whether the first line would wait for no more than reading the index."""
    if _index.cache_info().currsize or not _keepers:
        return bool(_index.cache_info().currsize)
    made_of = _written()
    return any(keeper.holds(made_of) for keeper in _keepers)


def make_index() -> None:
    """Have it now, made and kept where it is not."""
    _index()


@cache
def _index() -> Index:
    """Every alternative of every pattern, by its words."""
    made_of = _written() if _keepers else ""
    for keeper in _keepers:
        if (kept := keeper.read(made_of)) is not None:
            with suppress(ValueError):
                return Index(unpacked(kept))
    laying = Laying()
    laying.read(_tables())
    laid = laying.laid(_common())
    for keeper in _keepers:
        keeper.write(made_of, packed(laid))
    return Index(laid)


def _written() -> str:
    """All that is laid out, as it is written."""
    forms = [(rule.named, rule.pattern.pattern, rule.pattern.flags) for rule in RULES]
    return repr((forms, [(form.pattern, form.flags) for form in (WARNED, *QUEUE_FORMS)], _common()))


def _common() -> bytes:
    names = (*words.LOSS, *words.VAL_LOSS, *words.RATE_NAMES, *words.METRICS, COMMON)
    return " ".join(
        sorted(names)
    ).encode()  # some are of a set, whose order differs with each start


def _tables() -> Iterator[Table]:
    for order, rule in enumerate(RULES):
        needs = map(needed_by_literal, rule.needs)
        yield Table(order, needs, _rows(order, rule.pattern))
    for order, form in ((SHAPE, WARNED), *((QUEUE, form) for form in QUEUE_FORMS)):
        yield Table(order, None, _rows(order, form))


def _rows(order: int, form: Written) -> Iterator[Row]:
    return (row_of(order, need) for need in needed_by(form, wild=True))


@cache
def _needs(order: int, torn: bool) -> tuple[tuple[bytes, ...], list[tuple[bytes, ...]]]:
    """The needs of a rule: those of one word, and those of several that must all be there."""
    needs = map(needed_by_literal, RULES[order].needs)
    found = [tuple(word.text for word in (parts_of(need) if torn else need)) for need in needs]
    return tuple(one[0] for one in found if len(one) == 1), [one for one in found if len(one) != 1]


def _judge(bones: bytes) -> Kind:
    low = bones.lower()
    quiet = low.replace(b"info", b" ")  # as for the rules: `info` is no `inf`
    index = _index()
    rows, torn = index.look(low, quiet)
    found: set[int] = set()
    for row in rows:
        order = index.rows.orders[row]
        if order not in found and index.rows.may_fit(row, bones, low, torn):
            found.add(order)
    rules = tuple(sorted(order for order in found if order >= 0 and _needed(order, quiet, torn)))
    volume = b"%" in low and VOLUME_ROW.search(low) is not None
    loud = (
        any(RULES[order].severity is not Severity.NONE for order in rules)
        or SHAPE in found
        or QUEUE in found
        or volume
        or b"^c" in low[-4:]
    )
    group = low.translate(None, _IN_GROUP)[:_GROUP]
    sees = tuple(
        order for order in rules if any(row.may_fit(bones, low, torn) for row in _seeing(order))
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


@cache
def _seeing(order: int) -> tuple[Row, ...]:
    """What of a rule tells digits apart."""
    rule = RULES[order]
    return tuple(
        row_of(order, needed)
        for pattern in (rule.pattern, rule.unless, rule.also)
        if pattern is not None and (ways := ways_that_see(pattern))
        for needed in needed_by(pattern, ways, wild=True)
    )


def may_see(order: int, text: str) -> bool:
    """A rule that tells digits apart may fit this text, or one with other digits of the same cast."""
    wide = _wide(order)
    return wide is None or wide.search(text) is not None


@cache
def _wide(order: int) -> re.Pattern[str] | None:
    return widened(RULES[order].pattern)


@cache
def _others_are_blind() -> bool:
    return all(map(blind_to_digits, (PREFIX, AROUND, *SHAPES, *DEAD)))


def _needed(order: int, quiet: bytes, torn: bool) -> bool:
    """One of the rule's needs may be there."""
    words, phrases = _needs(order, torn)
    if any(map(quiet.__contains__, words)):
        return True
    return any(all(map(quiet.__contains__, phrase)) for phrase in phrases)
