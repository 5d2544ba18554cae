"""Rows: what must stand in a line that one alternative of one pattern is to fit, and many of them in little room."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from gpu_tui.parse.triage_words import WILD, Needed, Word, shared

EXACT, BEGINS, ENDS = 1, 2, 4  # how a word has to stand
_WILD = WILD.encode()
_CUT = re.compile(rb"(?<![A-Za-z_])[ \0]|(?<![A-Za-z_])url(?![A-Za-z_])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Row:
    """One alternative of one pattern: it can match only where all of `words` are.

    `parts` are the same for a torn line, which words may be cut out of.
    """

    order: int
    words: tuple[Word, ...]
    parts: tuple[Word, ...]

    def may_fit(self, bones: bytes, low: bytes, torn: bool) -> bool:
        """All its words stand in this skeleton; `low` is the same in small letters."""
        words = self.parts if torn else self.words
        return _stand([(word.text, standing(word)) for word in words], bones, low)


def standing(word: Word) -> int:
    """How it has to stand."""
    return EXACT * word.exact | BEGINS * word.begins | ENDS * word.ends


def _stand(words: Iterable[tuple[bytes, int]], bones: bytes, low: bytes) -> bool:
    """All these words stand in this skeleton; `low` is the same in small letters."""
    for text, how in words:
        where, edges = bones if how & EXACT else low, how & (BEGINS | ENDS)
        if text in where:
            if not edges or _edged(text, edges).search(where):
                continue
            return False
        if _WILD not in text or not _edged(text, edges).search(where):
            return False
    return True


def row_of(order: int, needed: Needed) -> Row:
    """The row of what one alternative of pattern `order` needs."""
    words, parts = tuple(needed), parts_of(needed)
    return Row(order, words, words if parts == words else parts)


def parts_of(words: Needed) -> tuple[Word, ...]:
    """What of the words surely stands in a line from which something was cut: not `url`, which an address
    is cut to, and no space before which stood no letter.
    """
    return tuple(part for word in words for part in _parts_in(word))


@lru_cache(maxsize=512)  # the alternatives of a pattern share most of their words
def _parts_in(word: Word) -> tuple[Word, ...]:
    parts = _CUT.split(word.text)
    last = len(parts) - 1
    return tuple(
        shared(Word(part, word.exact, word.begins and place == 0, word.ends and place == last))
        for place, part in enumerate(parts)
        if part
    )


# Bytes that are no sign of ASCII may be many: a run of what nobody can see is shown as one sign.
_CHARACTER = rb"(?:[ -~]|[\x00-\x1f\x7f-\xff]+)?"


@cache
def _edged(text: bytes, edges: int) -> re.Pattern[bytes]:
    """The word where it begins or ends. What digits stood beside it is not known: they are no letters."""
    before = rb"(?<![A-Za-z_])" if edges & BEGINS else b""
    behind = rb"(?![A-Za-z_])" if edges & ENDS else b""
    return re.compile(before + _CHARACTER.join(map(re.escape, text.split(_WILD))) + behind)


class Stretches:
    """Many short sequences of numbers, one behind the other in one long one."""

    def __init__(self, whole: array[int] | None = None, ends: array[int] | None = None) -> None:
        self.whole = array("i") if whole is None else whole
        self.ends = array("i", [0]) if ends is None else ends

    def add(self, some: Iterable[int]) -> None:
        """The next one."""
        self.whole.extend(some)
        self.ends.append(len(self.whole))

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, number: int) -> array[int]:
        return self.whole[self.ends[number] : self.ends[number + 1]]


class Rows:
    """Rows by number. There are some thirty thousand: as objects they would take ten times the room.

    Their words are numbers, too: of each there is its text and how it has to stand.
    """

    def __init__(
        self,
        orders: array[int],
        words: Stretches,
        parts: Stretches,
        texts: Sequence[bytes],
        how: array[int],
    ) -> None:
        """`parts` has none where they are the words."""
        self.orders = orders
        self._words, self._parts = words, parts
        self._texts, self._how = texts, how

    def may_fit(self, number: int, bones: bytes, low: bytes, torn: bool) -> bool:
        """As a row's own."""
        texts, how = self._texts, self._how
        words = (torn and self._parts[number]) or self._words[number]
        return _stand([(texts[word], how[word]) for word in words], bones, low)
