"""From the words that the rules ask for to their index, laid out. It takes a second of the processor."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from gpu_tui.parse.triage_index import HEAD, RUNS, TORN, Sign, Words
from gpu_tui.parse.triage_laid import Laid
from gpu_tui.parse.triage_rows import BEGINS, ENDS, Row, Stretches, parts_of, standing
from gpu_tui.parse.triage_words import WILD, Needed, Word

OFTEN = 1_000  # more than the rows of any run

_RUN = re.compile(rb"[a-z]+|[\x80-\xff]+")
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


class Table(NamedTuple):
    """The rows of one pattern. Of a rule, one of its `needs` must stand there beside a row's words."""

    order: int
    needs: Iterable[Needed] | None
    rows: Iterable[Row]


class Laying:
    """What is known while the tables are read."""

    def __init__(self) -> None:
        self._orders = array("i")
        self._numbers: dict[Word, int] = {}
        self._words, self._parts = Stretches(), Stretches()  # of each row
        self._signs = Stretches()  # of each row
        self._known: dict[Run, Sign] = {}
        self._shows: dict[Run, set[Sign]] = {}
        self._always: set[Sign] = set()
        self._short: list[tuple[bytes, Sign, int]] = []

    def read(self, tables: Iterable[Table]) -> None:
        """Take the rows and needs of all rules. Each row is let go of before the next one is made."""
        for table in tables:
            for need in table.needs or ():
                self._need(table.order, need)
            for row in table.rows:
                self._row(row, needed=table.needs is not None)
        for run, sign in self._known.items():
            self._shows.setdefault(run, set()).add(sign)

    def _need(self, order: int, need: Needed) -> None:
        runs = runs_of(parts_of(need))
        longest = max(runs, key=lambda run: (len(run.text), run), default=None)
        if longest is None:
            self._always.add(order)
        elif len(longest.text) >= HEAD:
            self._shows.setdefault(longest, set()).add(order)
        else:
            self._short.append((max(word.text for word in need), self._sign(longest), order))

    def _row(self, row: Row, *, needed: bool) -> None:
        runs = sorted(runs_of(row.parts))
        its = {row.order} if needed else set()
        its |= {self._sign(run) for run in runs if len(run.text) >= HEAD or run.begins or run.ends}
        self._signs.add(its)
        self._orders.append(row.order)
        self._words.add(map(self._number, row.words))
        self._parts.add(map(self._number, row.parts if row.parts != row.words else ()))

    def _sign(self, run: Run) -> Sign:
        return self._known.setdefault(run, RUNS + len(self._known))

    def _number(self, word: Word) -> int:
        return self._numbers.setdefault(word, len(self._numbers))

    def laid(self, common: bytes) -> Laid:
        """All of it, each row by the rarest of its signs; `common` are words that most lines hold."""
        runs, shows = [run.text for run in self._shows], Stretches()
        how = array("i", (BEGINS * run.begins | ENDS * run.ends for run in self._shows))
        for some in self._shows.values():
            shows.add(some)
        rare = Counter(self._signs.whole)
        often = [sign for run, sign in self._known.items() if len(run.text) < HEAD]
        often += Words(runs, how, shows).show(common)
        rare.update(dict.fromkeys(often, OFTEN))
        places, others = array("i"), Stretches()  # of each row: its first, second and third sign
        for number in range(len(self._signs)):
            its = sorted(self._signs[number], key=lambda sign: (rare[sign], -sign)) or [TORN]
            places.extend((its[0], its[:2][-1], its[2] if len(its) > 2 else its[0]))
            others.add(its[3:])
        firsts, seconds, pairs = array("i"), array("i"), Stretches()
        for first, second, rows in _pairs(places):
            while len(firsts) <= first:
                firsts.append(len(pairs))
            seconds.append(second)
            pairs.add(rows)
        ends = RUNS + len(self._known) + 1 - len(firsts)  # for the signs that are no row's first
        return Laid(
            orders=self._orders,
            words=[word.text for word in self._numbers],
            words_how=array("i", map(standing, self._numbers)),
            row_words=self._words.whole,
            row_words_ends=self._words.ends,
            row_parts=self._parts.whole,
            row_parts_ends=self._parts.ends,
            anywhere=array("i", (row for row, first in enumerate(places[::3]) if first == TORN)),
            thirds=places[2::3],
            others=others.whole,
            others_ends=others.ends,
            firsts=firsts + array("i", [len(pairs)]) * ends,
            seconds=seconds,
            pairs=pairs.whole,
            pairs_ends=pairs.ends,
            always=array("i", sorted(self._always)),
            short=[text for text, _, _ in self._short],
            short_signs=array("i", (sign for _, sign, _ in self._short)),
            short_orders=array("i", (order for _, _, order in self._short)),
            runs=runs,
            runs_how=how,
            run_signs=shows.whole,
            run_signs_ends=shows.ends,
        )


def _pairs(places: array[int]) -> Iterator[tuple[Sign, Sign, Iterable[int]]]:
    """The first and the second sign, and the rows that have both, in the order of the signs."""
    firsts, seconds = places[::3], places[1::3]

    def pair(row: int) -> tuple[Sign, Sign]:
        return firsts[row], seconds[row]

    placed = (row for row, first in enumerate(firsts) if first != TORN)
    for (first, second), some in groupby(sorted(placed, key=pair), key=pair):
        yield first, second, some
