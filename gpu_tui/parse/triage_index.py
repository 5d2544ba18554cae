"""Which rows a line may fit, told from the words that stand in it.

A row is one alternative of one pattern: all of its words must be there. A word holds runs of letters, and a
line whose own words hold none of these runs fits no row. Lines differ without end, their words come
again: what runs a word holds is found out once and remembered, and so is what rows a set of runs leaves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from gpu_tui.parse.triage_dead_words import TROUBLE
from gpu_tui.parse.triage_words import WILD, Needed, Word, shared

WORDS = 16_384  # of logs that are remembered
LONGEST_WORD = 48  # bytes of one that is remembered
HEAD = 3  # letters by which a run is looked up inside a word; fewer are in every other word
OFTEN = 1_000  # more than the rows of any run

_RUN = re.compile(rb"[a-z]+|[\x80-\xff]+")
_LETTERS = bytes(c if chr(c) in "abcdefghijklmnopqrstuvwxyz" else 32 for c in range(256))
_HIGH = bytes(c if c > 127 else 32 for c in range(256))
_TROUBLE = tuple(word.encode() for word in TROUBLE)
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
        for word in self.parts if torn else self.words:
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
    found: list[Word] = []
    for word in words:
        parts = _CUT.split(word.text)
        for place, part in enumerate(parts):
            begins, ends = word.begins and place == 0, word.ends and place == len(parts) - 1
            if part:
                found.append(shared(Word(part, word.exact, begins, ends)))
    return tuple(found)


# Bytes that are no sign of ASCII may be many: a run of what nobody can see is shown as one sign.
_CHARACTER = rb"(?:[ -~]|[\x00-\x1f\x7f-\xff]+)?"


@cache
def _edged(word: Word) -> re.Pattern[bytes]:
    """The word where it begins or ends. What digits stood beside it is not known: they are no letters."""
    before = rb"(?<![A-Za-z_])" if word.begins else b""
    text = _CHARACTER.join(map(re.escape, word.text.split(_WILD)))
    return re.compile(before + text + (rb"(?![A-Za-z_])" if word.ends else b""))


class Run(NamedTuple):
    """Small letters of ASCII, or bytes of other ones, that must stand in a word of a line.

    Where it `begins`, the word begins with it, where it `ends`, the word ends with it.
    """

    text: bytes
    begins: bool
    ends: bool


def runs_of(words: Iterable[Word]) -> frozenset[Run]:
    """The runs that these words hold."""
    found: set[Run] = set()
    for word in words:
        low = word.text.lower()
        for match in _RUN.finditer(low):
            before, after = low[: match.start()][-1:], low[match.end() :][:1]
            known = match[0].isascii()  # of other letters it is not known where a word ends
            begins = known and (before != _WILD if before else word.begins)
            ends = known and (after != _WILD if after else word.ends)
            found.add(Run(match[0], begins, ends))
    return frozenset(found)


Sign = int  # what a word shows: the number of a run, or of a rule that has a need there, or `TORN`
TORN = -1  # something may be cut out of the line
_NOTHING: frozenset[Sign] = frozenset()
_Rows = list[tuple[tuple[Sign, ...], Row]]  # each with the signs without which it does not fit


class Index:
    """Rows by the two rarest of their signs."""

    def __init__(
        self, rows: Iterable[Row], needs: Mapping[int, Iterable[Needed]], common: bytes
    ) -> None:
        """`needs` are those of each rule, one of which must stand there beside a row's words; `common` are
        words that most lines hold.
        """
        shows: dict[Run, set[Sign]] = {}
        numbers: dict[Run, Sign] = {}  # behind those of the rules
        self._always: set[Sign] = set()
        self._short: dict[Sign, list[tuple[bytes, int]]] = {}  # needs that few letters show
        for order, some in needs.items():
            for need in some:
                runs = runs_of(parts_of(need))
                longest = max(runs, key=lambda run: (len(run.text), run), default=None)
                if longest is None:
                    self._always.add(order)
                elif len(longest.text) >= HEAD:
                    shows.setdefault(longest, set()).add(order)
                else:
                    sign = numbers.setdefault(longest, len(needs) + len(numbers))
                    text = max(word.text for word in need)
                    self._short.setdefault(sign, []).append((text, order))
        table: _Rows = []
        for row in rows:
            signs: set[Sign] = {row.order} if row.order in needs else set()
            for run in sorted(runs_of(row.parts)):
                if len(run.text) >= HEAD or run.begins or run.ends:
                    signs.add(numbers.setdefault(run, len(needs) + len(numbers)))
            table.append((tuple(signs), row))
        for run, sign in numbers.items():
            shows.setdefault(run, set()).add(sign)
        self._words = _Words(shows)
        counts = Counter(sign for signs, _ in table for sign in signs)
        often = [sign for run, sign in numbers.items() if len(run.text) < HEAD]
        often += self._words.show(common)
        counts.update(dict.fromkeys(often, OFTEN))
        by_two: dict[Sign, dict[Sign, _Rows]] = {}
        self._anywhere: list[Row] = []
        for those, row in table:
            rare = sorted(those, key=lambda sign: (counts[sign], -sign))
            if rare:
                by_two.setdefault(rare[0], {}).setdefault(rare[:2][-1], []).append((those, row))
            else:
                self._anywhere.append(row)
        self._rows = {first: list(some.items()) for first, some in by_two.items()}
        self._firsts, self._shorts = frozenset(self._rows), frozenset(self._short)

    def look(self, low: bytes, quiet: bytes) -> tuple[list[Row], bool]:
        """The rows that a skeleton in small letters may fit, and whether it is torn: something may be cut
        out of it. The needs of the rules are looked for in `quiet`.
        """
        shown = self._words.show(low) | self._always
        if quiet != low:
            shown |= self._words.show(quiet)
        torn = TORN in shown or b"://" in low
        for sign in shown & self._shorts:
            shown |= {order for text, order in self._short[sign] if torn or text in quiet}
        found = self._anywhere.copy()
        for first in shown & self._firsts:
            for second, some in self._rows[first]:
                if second in shown:
                    found += [row for signs, row in some if shown.issuperset(signs)]
        return found, torn


class _Words(dict[bytes, frozenset[Sign]]):
    """Word -> what it shows. When it is full it begins anew."""

    def __init__(self, shows: Mapping[Run, Iterable[Sign]]) -> None:
        """What each run shows."""
        super().__init__()
        self._shows = shows
        self._whole: dict[bytes, Run] = {}
        self._heads: dict[bytes, list[Run]] = {}  # of runs that begin a word
        self._tails: dict[bytes, list[Run]] = {}  # of those that end one
        self._inner: dict[bytes, list[Run]] = {}
        for run in shows:
            if run.begins and run.ends:
                self._whole[run.text] = run
            elif run.begins:
                self._heads.setdefault(run.text[:HEAD], []).append(run)
            elif run.ends:
                self._tails.setdefault(run.text[-HEAD:], []).append(run)
            else:
                self._inner.setdefault(run.text[:HEAD], []).append(run)
        self._sizes = sorted(set(map(len, self._inner)))

    def show(self, low: bytes) -> frozenset[Sign]:
        """What the words of a text in small letters show."""
        words = set(low.translate(_LETTERS).split())
        if not low.isascii():
            words.update(low.translate(_HIGH).split())
        return _NOTHING.union(*map(self.__getitem__, words))

    def __missing__(self, word: bytes) -> frozenset[Sign]:
        found = self._look(word)
        if len(word) <= LONGEST_WORD:
            if len(self) >= WORDS:
                self.clear()
            self[word] = found
        return found

    def _look(self, word: bytes) -> frozenset[Sign]:
        runs = [self._whole[word]] if word in self._whole else []
        for size in range(1, HEAD + 1):
            heads, tails = self._heads.get(word[:size], ()), self._tails.get(word[-size:], ())
            runs += [run for run in heads if word.startswith(run.text)]
            runs += [run for run in tails if word.endswith(run.text)]
        for size in self._sizes:
            for at in range(len(word) - size + 1):
                if some := self._inner.get(word[at : at + size]):
                    runs += [run for run in some if word.startswith(run.text, at)]
        found = {sign for run in runs for sign in self._shows[run]}
        quiet = word.replace(b"info", b" ")  # as for the rules: `info` is no `inf`
        if any(trouble in quiet for trouble in _TROUBLE):
            found.add(TORN)
        return frozenset(found) if found else _NOTHING
