"""Which rows a line may fit, told from the words that stand in it.

A row is one alternative of one pattern: all of its words must be there. A word holds runs of letters, and a
line whose own words hold none of these runs fits no row. Lines differ without end, their words come
again: what runs a word holds is found out once and remembered, and so is what rows a set of runs leaves.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpu_tui.parse.triage_dead_words import TROUBLE
from gpu_tui.parse.triage_laid import Laid, Numbers
from gpu_tui.parse.triage_rows import BEGINS, ENDS, Rows, Stretches

WORDS = 16_384  # of logs that are remembered
LONGEST_WORD = 48  # bytes of one that is remembered
HEAD = 3  # letters by which a run is looked up inside a word; fewer are in every other word

Sign = int  # what a word shows: the number of a run, or of a rule that has a need there, or `TORN`
TORN = -1  # something may be cut out of the line
RUNS = 1_000  # the numbers of runs are behind those of the rules

_LETTERS = bytes(c if chr(c) in "abcdefghijklmnopqrstuvwxyz" else 32 for c in range(256))
_HIGH = bytes(c if c > 127 else 32 for c in range(256))
_TROUBLE = tuple(word.encode() for word in TROUBLE)
_NOTHING: frozenset[Sign] = frozenset()
_TORN = frozenset({TORN})


class Index:
    """Rows by the two rarest of their signs."""

    def __init__(self, laid: Laid) -> None:
        self.laid = laid
        self.rows = Rows(
            laid.orders,
            Stretches(laid.row_words, laid.row_words_ends),
            Stretches(laid.row_parts, laid.row_parts_ends),
            laid.words,
            laid.words_how,
        )
        self._words = Words(
            laid.runs, laid.runs_how, Stretches(laid.run_signs, laid.run_signs_ends)
        )
        self._others = Stretches(laid.others, laid.others_ends)
        self._always = frozenset(laid.always)
        self._short: dict[Sign, list[tuple[bytes, int]]] = {}
        for text, sign, order in zip(laid.short, laid.short_signs, laid.short_orders, strict=True):
            self._short.setdefault(sign, []).append((text, order))
        self._shorts = frozenset(self._short)

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
        laid, others = self.laid, self._others
        firsts, seconds, thirds = laid.firsts, laid.seconds, laid.thirds
        of, ends = laid.pairs, laid.pairs_ends
        found = list(laid.anywhere)
        for first in shown - _TORN:
            for pair in range(firsts[first], firsts[first + 1]):
                if seconds[pair] in shown:
                    found += [
                        row
                        for row in of[ends[pair] : ends[pair + 1]]
                        if thirds[row] in shown and shown.issuperset(others[row])
                    ]
        return found, torn


class Words(dict[bytes, frozenset[Sign]]):
    """Word -> what it shows. When it is full it begins anew."""

    def __init__(self, texts: Sequence[bytes], how: Numbers, shows: Stretches) -> None:
        """The text of each run, whether a word begins or ends with it, and what it shows."""
        super().__init__()
        self._texts, self._shows = texts, shows
        self._whole: dict[bytes, int] = {}
        self._heads: dict[bytes, list[int]] = {}  # of runs that begin a word
        self._tails: dict[bytes, list[int]] = {}  # of those that end one
        self._inner: dict[bytes, list[int]] = {}
        for run, text in enumerate(texts):
            if how[run] == BEGINS | ENDS:
                self._whole[text] = run
            elif how[run] == BEGINS:
                self._heads.setdefault(text[:HEAD], []).append(run)
            elif how[run] == ENDS:
                self._tails.setdefault(text[-HEAD:], []).append(run)
            else:
                self._inner.setdefault(text[:HEAD], []).append(run)
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
        texts = self._texts
        runs = [self._whole[word]] if word in self._whole else []
        for size in range(1, HEAD + 1):
            heads, tails = self._heads.get(word[:size], ()), self._tails.get(word[-size:], ())
            runs += [run for run in heads if word.startswith(texts[run])]
            runs += [run for run in tails if word.endswith(texts[run])]
        for size in self._sizes:
            for at in range(len(word) - size + 1):
                if some := self._inner.get(word[at : at + size]):
                    runs += [run for run in some if word.startswith(texts[run], at)]
        found = {sign for run in runs for sign in self._shows[run]}
        quiet = word.replace(b"info", b" ")  # as for the rules: `info` is no `inf`
        if any(trouble in quiet for trouble in _TROUBLE):
            found.add(TORN)
        return frozenset(found) if found else _NOTHING
