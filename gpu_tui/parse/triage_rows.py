"""Rows: what must stand in a line that one alternative of one pattern is to fit, and many of them in little room."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, MutableSequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Generic, TypeVar

from gpu_tui.parse.triage_words import WILD, Needed, Word, shared

T = TypeVar("T")

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
        return _stand(self.parts if torn else self.words, bones, low)


def _stand(words: Iterable[Word], bones: bytes, low: bytes) -> bool:
    """All these words stand in this skeleton; `low` is the same in small letters."""
    for word in words:
        where = bones if word.exact else low
        if word.text in where:
            if not (word.begins or word.ends) or _edged(word).search(where):
                continue
            return False
        if _WILD not in word.text or not _edged(word).search(where):
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
def _edged(word: Word) -> re.Pattern[bytes]:
    """The word where it begins or ends. What digits stood beside it is not known: they are no letters."""
    before = rb"(?<![A-Za-z_])" if word.begins else b""
    text = _CHARACTER.join(map(re.escape, word.text.split(_WILD)))
    return re.compile(before + text + (rb"(?![A-Za-z_])" if word.ends else b""))


class Stretches(Generic[T]):
    """Many short sequences, one behind the other in one long one."""

    def __init__(self, whole: MutableSequence[T]) -> None:
        self.whole = whole
        self.ends = array("I", [0])

    def add(self, some: Iterable[T]) -> None:
        """The next one."""
        self.whole.extend(some)
        self.ends.append(len(self.whole))

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, number: int) -> MutableSequence[T]:
        return self.whole[self.ends[number] : self.ends[number + 1]]


def numbers() -> Stretches[int]:
    """None yet."""
    return Stretches(array("i"))


class Rows:
    """Rows by number. There are some twenty thousand: as objects they would take ten times the room."""

    def __init__(self) -> None:
        self.orders = array("i")
        self._words: Stretches[Word] = Stretches([])
        self._parts: Stretches[Word] = Stretches([])  # none where they are the words

    def add(self, row: Row) -> None:
        """The next one."""
        self.orders.append(row.order)
        self._words.add(row.words)
        self._parts.add(row.parts if row.parts != row.words else ())

    def may_fit(self, number: int, bones: bytes, low: bytes, torn: bool) -> bool:
        """As a row's own."""
        return _stand((torn and self._parts[number]) or self._words[number], bones, low)
