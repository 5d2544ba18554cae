"""Which words must stand in a text before a pattern can match it: read off the pattern itself.

A pattern is walked once. It becomes a list of alternatives, each a set of words that all have to be
there; a text that lacks a word of every alternative cannot match, and the pattern need not be run. A word may hold
single spaces; digits are left out of it, for it is looked up in `skeleton`s.

This is the one place that uses `re._parser`, the standard library's own reader of patterns.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from itertools import chain
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple, Protocol

MOST = 2_000  # alternatives of one pattern; a part that would multiply them asks for nothing
DIGITS = b"0123456789"
WILD = "\0"
_EDGES = (op.AT, op.ASSERT_NOT)
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)


class Written(Hashable, Protocol):
    """A pattern as it is written, compiled or not yet."""

    @property
    def pattern(self) -> str:
        """Its text."""
        ...

    @property
    def flags(self) -> int:
        """Of `re`."""
        ...


class Word(NamedTuple):
    """Some bytes of UTF-8. Unless it is `exact`, it is lower case, to be found in lower-case text.

    Where it `begins` no letter stands before it, where it `ends` none behind it. `WILD` in it is any one
    character, or none: a digit that was left out.
    """

    text: bytes
    exact: bool = False
    begins: bool = False
    ends: bool = False


_kept: dict[Word, Word] = {}


def shared(word: Word) -> Word:
    """The same word, always the same object: the patterns name some thousand words, each many times."""
    return _kept.setdefault(word, word)


Needed = frozenset[Word]  # words that must all be there


class _State(NamedTuple):
    """What is needed so far, and the literal that is being read."""

    needed: Needed = frozenset()
    literal: str = ""
    begins: bool = False
    wild: bool = False


def ways_of(pattern: Written) -> list[Any]:
    """The parsed pattern, or its outermost alternatives, each parsed by itself."""
    tree = list(parser.parse(pattern.pattern, pattern.flags))
    if len(tree) == 1 and tree[0][0] is op.BRANCH:
        return [list(way) for way in tree[0][1][1]]
    return [tree]


def needed_by(
    pattern: Written, ways: Iterable[Any] | None = None, *, wild: bool = False
) -> tuple[Needed, ...]:
    """The alternatives of one pattern; an empty set among them says that it may match anywhere.

    With `ways`, only of those; `wild` lets words hold `WILD`.
    """
    if ways is None:
        return _needed_by(pattern, wild)
    return _alternatives(ways, bool(pattern.flags & re.IGNORECASE), wild)


@lru_cache(maxsize=1)  # a rule is asked for its needs, and then for its rows
def _needed_by(pattern: Written, wild: bool) -> tuple[Needed, ...]:
    return _alternatives(ways_of(pattern), bool(pattern.flags & re.IGNORECASE), wild)


def _alternatives(ways: Iterable[Any], fold: bool, wild: bool) -> tuple[Needed, ...]:
    states: list[_State] = []
    for way in ways:
        states += _walk(way, [_State(wild=wild)], fold)
    return _shortest(_ended(state, fold).needed for state in states)


def needed_by_literal(literal: str) -> Needed:
    """The words of one lower-case literal."""
    return _ended(_State(literal=literal), fold=True).needed


def _shortest(found: Iterable[Needed]) -> tuple[Needed, ...]:
    """Without alternatives that ask for all that another one asks for, and more. One that asks for nothing
    stands beside the others: what is read off them holds all the same.
    """
    kept: list[Needed] = []
    alternatives = set(found)
    often = Counter(chain.from_iterable(alternatives))
    holding: dict[Word | None, list[Needed]] = {}  # those kept, by the rarest of their words
    for needed in sorted(alternatives, key=lambda words: (len(words), sorted(words))):
        same = chain.from_iterable(holding.get(word, ()) for word in needed)
        if not any(map(needed.issuperset, same)):
            kept.append(needed)
            rarest = min(needed, key=often.__getitem__, default=None)
            holding.setdefault(rarest, []).append(needed)
    return tuple(kept)


def _ended(state: _State, fold: bool, ends: bool = False) -> _State:
    """The literal that was being read is over: its words are needed."""
    if not state.literal:
        return _State(state.needed, wild=state.wild)
    words = _words_of(state.literal, state.begins, ends, fold)
    return _State(state.needed | words, wild=state.wild)


@lru_cache(maxsize=256)  # alternatives end in the same literal, one after the other
def _words_of(literal: str, begins: bool, ends: bool, fold: bool) -> Needed:
    text = literal.rstrip(WILD)
    parts = re.split(r"\s{2,}|[^\S ]", re.sub("[0-9]", "", text))
    begins = begins and not re.match("[0-9]", text) and parts[0][:1].isalpha()
    ends = ends and literal[-1].isalpha()
    last = len(parts) - 1
    return frozenset(
        shared(
            Word(
                (part.lower() if fold else part).encode(),
                not fold,
                begins and place == 0,
                ends and place == last,
            )
        )
        for place, part in enumerate(parts)
        if part.strip()
    )


def _walk(tree: Any, states: list[_State], fold: bool) -> list[_State]:
    def each(work: Callable[[_State], _State]) -> list[_State]:
        return list(dict.fromkeys(map(work, states)))

    tree = list(tree)
    literal = ""  # letters that follow each other, of which nobody is told one by one
    for place, (code, value) in enumerate(tree):
        if code is op.LITERAL and not (fold and value > 127 and chr(value).isalpha()):
            literal += chr(value)
            continue
        if literal:
            states, literal = _with(states, literal), ""
        if code is op.ANY:
            states = each(lambda state: _any(state, fold))
        elif code is op.AT and value in (op.AT_BEGINNING, op.AT_BOUNDARY):
            # Behind a letter it ends a word, before one it begins one.
            states = each(lambda state: _ended(state, fold, ends=True)._replace(begins=True))
        elif code is op.ASSERT_NOT and value[0] > 0 and _any_letter(value[1], fold):
            states = each(lambda state: _ended(state, fold, ends=True))
        elif code in (op.AT, op.ASSERT, op.ASSERT_NOT):
            pass  # no characters of its own: the literal goes on behind it
        elif code is op.SUBPATTERN:
            _, add, drop, inside = value
            inner = (fold or bool(add & re.IGNORECASE)) and not drop & re.IGNORECASE
            if inner != fold:
                states = each(lambda state: _ended(state, fold))
            states = _walk(inside, states, inner)
            if inner != fold:
                states = each(lambda state, inner=inner: _ended(state, inner))  # type: ignore[misc]
        elif code is op.ATOMIC_GROUP:
            states = _walk(value, states, fold)
        elif code is op.BRANCH:
            ways = [state for way in value[1] for state in _walk(way, states, fold)]
            ways = list(dict.fromkeys(ways))
            states = ways if len(ways) <= MOST else each(lambda state: _ended(state, fold))
        elif code in _REPEATS and value[0] > 0:
            states = _walk(value[2], states, fold)
            states = each(lambda state: _ended(state, fold))
        elif (
            code is op.MAX_REPEAT
            and value[1] == 1
            and place + 1 < len(tree)
            and tree[place + 1][0] in _EDGES
        ):
            ways = [*states, *_walk(value[2], states, fold)]
            states = list(dict.fromkeys(ways))
        else:
            states = each(lambda state: _ended(state, fold))
    return _with(states, literal) if literal else states


def _with(states: list[_State], literal: str) -> list[_State]:
    return [state._replace(literal=state.literal + literal) for state in states]


def _any(state: _State, fold: bool) -> _State:
    """Any one character: the literal goes on behind it."""
    if state.wild and state.literal:
        return state._replace(literal=state.literal + WILD)
    return _ended(state, fold)


def _any_letter(tree: Any, fold: bool) -> bool:
    """`tree` is a set that holds all letters and digits, so that what it must not follow ends a word."""
    if len(tree) != 1 or tree[0][0] is not op.IN:
        return False
    found: set[str] = set()
    for code, value in tree[0][1]:
        if code is op.NEGATE:
            return False
        if code is op.CATEGORY and value is op.CATEGORY_WORD:
            return True
        if code is op.LITERAL:
            found.add(chr(value))
        elif code is op.RANGE:
            found |= {chr(point) for point in range(value[0], min(value[1], 127) + 1)}
    wanted = f"_{string.ascii_lowercase}{string.digits}{'' if fold else string.ascii_uppercase}"
    return found >= set(wanted)
