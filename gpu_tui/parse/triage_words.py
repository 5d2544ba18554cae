"""Which words must stand in a text before a pattern can match it: read off the pattern itself.

A pattern is walked once. It becomes a list of alternatives, each a set of words that all have to be
there; a text that lacks a word of every alternative cannot match, and the pattern need not be run. A word may hold
single spaces; digits are left out of it, for it is looked up in `skeleton`s.

This is the one place that uses `re._parser`, the standard library's own reader of patterns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

MOST = 2_000  # alternatives of one pattern; a part that would multiply them asks for nothing
DIGITS = b"0123456789"
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)


class Word(NamedTuple):
    """Some bytes of UTF-8. Unless it is `exact`, it is lower case, to be found in lower-case text."""

    text: bytes
    exact: bool = False


Needed = frozenset[Word]  # words that must all be there
_State = tuple[Needed, str]  # what is needed so far, and the literal that is being read


def needed_by(pattern: re.Pattern[str]) -> tuple[Needed, ...]:
    """The alternatives of one pattern; an empty set among them says that it may match anywhere."""
    fold = bool(pattern.flags & re.IGNORECASE)
    states = _walk(parser.parse(pattern.pattern, pattern.flags), [(frozenset(), "")], fold)
    return _shortest(_ended(state, fold)[0] for state in states)


def needed_by_literal(literal: str) -> Needed:
    """The words of one lower-case literal."""
    return _ended((frozenset(), literal), fold=True)[0]


def _shortest(found: Iterable[Needed]) -> tuple[Needed, ...]:
    """Without alternatives that ask for all that another one asks for, and more."""
    kept: list[Needed] = []
    for needed in sorted(set(found), key=lambda words: (len(words), sorted(words))):
        if not any(fewer <= needed for fewer in kept):
            kept.append(needed)
    return tuple(kept)


def _ended(state: _State, fold: bool) -> _State:
    """The literal that was being read is over: its words are needed."""
    needed, literal = state
    if not literal:
        return state
    parts = re.split(r"\s{2,}|[^\S ]", re.sub("[0-9]", "", literal))
    words = {
        Word((part.lower() if fold else part).encode(), not fold) for part in parts if part.strip()
    }
    return needed | words, ""


def _walk(tree: Any, states: list[_State], fold: bool) -> list[_State]:
    def each(work: Callable[[_State], _State]) -> list[_State]:
        return list(dict.fromkeys(map(work, states)))

    for code, value in tree:
        if code is op.LITERAL and not (fold and value > 127 and chr(value).isalpha()):
            letter = chr(value)
            states = each(lambda state, more=letter: (state[0], state[1] + more))  # type: ignore[misc]
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
        else:
            states = each(lambda state: _ended(state, fold))
    return states
