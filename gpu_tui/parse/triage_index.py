"""Which rows a line may fit, told from the words that stand in it.

A row is one alternative of one pattern: all of its words must be there. A word holds runs of letters, and a
line whose own words hold none of these runs fits no row. Lines differ without end, their words come
again: what runs a word holds is found out once and remembered, and so is what rows a set of runs leaves.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from gpu_tui.parse.triage_dead_words import TROUBLE
from gpu_tui.parse.triage_rows import Row, Rows, Stretches, numbers, parts_of
from gpu_tui.parse.triage_words import WILD, Needed, Word

WORDS = 16_384  # of logs that are remembered
LONGEST_WORD = 48  # bytes of one that is remembered
HEAD = 3  # letters by which a run is looked up inside a word; fewer are in every other word
OFTEN = 1_000  # more than the rows of any run

_RUN = re.compile(rb"[a-z]+|[\x80-\xff]+")
_LETTERS = bytes(c if chr(c) in "abcdefghijklmnopqrstuvwxyz" else 32 for c in range(256))
_HIGH = bytes(c if c > 127 else 32 for c in range(256))
_TROUBLE = tuple(word.encode() for word in TROUBLE)
_WILD = WILD.encode()


class Run(NamedTuple):
    """Small letters of ASCII, or bytes of other ones, that must stand in a word of a line.

    Where it `begins`, the word begins with it, where it `ends`, the word ends with it.
    """

    text: bytes
    begins: bool
    ends: bool


_NO_RUNS: frozenset[Run] = frozenset()


def runs_of(words: Iterable[Word]) -> frozenset[Run]:
    """The runs that these words hold."""
    return _NO_RUNS.union(*map(_runs_in, words))


@lru_cache(maxsize=512)  # the alternatives of a pattern share most of their words
def _runs_in(word: Word) -> tuple[Run, ...]:
    found = []
    low = word.text.lower()
    for match in _RUN.finditer(low):
        before, after = low[: match.start()][-1:], low[match.end() :][:1]
        known = match[0].isascii()  # of other letters it is not known where a word ends
        begins = known and (before != _WILD if before else word.begins)
        ends = known and (after != _WILD if after else word.ends)
        found.append(Run(match[0], begins, ends))
    return tuple(found)


Sign = int  # what a word shows: the number of a run, or of a rule that has a need there, or `TORN`
TORN = -1  # something may be cut out of the line
RUNS = 10_000  # the numbers of runs are behind those of the rules
_NOTHING: frozenset[Sign] = frozenset()


class Table(NamedTuple):
    """The rows of one pattern. Of a rule, one of its `needs` must stand there beside a row's words."""

    order: int
    needs: Iterable[Needed] | None
    rows: Iterable[Row]


class Index:
    """Rows by the two rarest of their signs."""

    def __init__(self, tables: Iterable[Table], common: bytes) -> None:
        """`common` are words that most lines hold. Each row is let go of before the next one is made."""
        self.rows = Rows()
        self._always: set[Sign] = set()
        self._short: dict[Sign, list[tuple[bytes, int]]] = {}  # needs that few letters show
        # Of each row, the third rarest of its signs (else the first), and those behind.
        self._thirds, self._others = array("i"), numbers()
        self._anywhere: list[int] = []  # rows without a sign
        # The rarest sign of a row -> the number of the first pair with it, and the second sign of each.
        self._firsts: dict[Sign, tuple[int, tuple[Sign, ...]]] = {}
        self._pairs = numbers()  # the rows of each pair
        self._order(*self._read(tables, common))
        self._shorts = frozenset(self._short)

    def _read(
        self, tables: Iterable[Table], common: bytes
    ) -> tuple[Stretches[Sign], Counter[Sign]]:
        """Which signs each row has, and how often each sign is had."""
        shows: dict[Run, set[Sign]] = {}
        known: dict[Run, Sign] = {}
        signs = numbers()
        for table in tables:
            order = table.order
            for need in table.needs or ():
                runs = runs_of(parts_of(need))
                longest = max(runs, key=lambda run: (len(run.text), run), default=None)
                if longest is None:
                    self._always.add(order)
                elif len(longest.text) >= HEAD:
                    shows.setdefault(longest, set()).add(order)
                else:
                    sign = known.setdefault(longest, RUNS + len(known))
                    text = max(word.text for word in need)
                    self._short.setdefault(sign, []).append((text, order))
            for row in table.rows:
                its: set[Sign] = set() if table.needs is None else {order}
                for run in sorted(runs_of(row.parts)):
                    if len(run.text) >= HEAD or run.begins or run.ends:
                        its.add(known.setdefault(run, RUNS + len(known)))
                self.rows.add(row)
                signs.add(its)
        for run, sign in known.items():
            shows.setdefault(run, set()).add(sign)
        self._words = _Words({run: tuple(some) for run, some in shows.items()})
        counts = Counter(signs.whole)
        often = [sign for run, sign in known.items() if len(run.text) < HEAD]
        often += self._words.show(common)
        counts.update(dict.fromkeys(often, OFTEN))
        return signs, counts

    def _order(self, signs: Stretches[Sign], counts: Counter[Sign]) -> None:
        """Lay the rows down by their first and second."""
        firsts, seconds = array("i"), array("i")
        for number in range(len(signs)):
            its = sorted(signs[number], key=lambda sign: (counts[sign], -sign))
            firsts.append(its[0] if its else TORN)
            seconds.append(its[:2][-1] if its else TORN)
            self._thirds.append(its[2] if len(its) > 2 else firsts[number])
            self._others.add(its[3:])
        self._anywhere += [number for number, first in enumerate(firsts) if first == TORN]
        placed = (number for number, first in enumerate(firsts) if first != TORN)
        ordered = array("i", sorted(placed, key=lambda row: (firsts[row], seconds[row])))
        for first, same in groupby(ordered, key=firsts.__getitem__):
            begin, beside = len(self._pairs), []
            for second, some in groupby(same, key=seconds.__getitem__):
                self._pairs.add(some)
                beside.append(second)
            self._firsts[first] = begin, tuple(beside)

    def look(self, low: bytes, quiet: bytes) -> tuple[list[int], bool]:
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
        thirds, others, of, ends = self._thirds, self._others, self._pairs.whole, self._pairs.ends
        for first in shown & self._firsts.keys():
            begin, beside = self._firsts[first]
            for pair, second in enumerate(beside, begin):
                if second in shown:
                    for row in of[ends[pair] : ends[pair + 1]]:
                        if thirds[row] in shown and shown.issuperset(others[row]):
                            found.append(row)
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
