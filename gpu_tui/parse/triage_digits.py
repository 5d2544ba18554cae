"""Does it matter to a pattern which digits a line holds? Read off the pattern itself.

Most rules say `a number` and mean any. For those, lines that differ in their digits only are one line,
and are judged once. Two things may be told apart all the same: a number that is nothing but zeros, for
many rules ask for `0`, and a digit behind a letter, which is part of a name, as in `f1`. A cast of a
line keeps just that.

Like `triage_words` this reads what the standard library's own reader of patterns, `re._parser`, says.
"""

from __future__ import annotations

import re
import string
from enum import IntEnum
from re import _compiler as compiler  # type: ignore[attr-defined]
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from gpu_tui.parse.triage_words import Written, ways_of

_DIGITS = frozenset(range(ord("0"), ord("9") + 1))
_ZERO = frozenset({ord("0")})
_ANY_DIGIT = (op.RANGE, (ord("0"), ord("9")))
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_WITH_DIGITS = (op.CATEGORY_DIGIT, op.CATEGORY_WORD, op.CATEGORY_NOT_SPACE)
_ONES = bytes.maketrans(b"0123456789", b"0111111111")
_LONGEST = 24  # digits of a number that is cast
_NAMED = re.compile(rb"[A-Za-z][0-9]+").findall
_SORTS = bytes(
    ord("1") if chr(c) in string.digits else ord("a") if chr(c) in string.ascii_letters else c
    for c in range(256)
)


class _Sees(Exception):
    """The pattern tells digits apart."""


class _At(IntEnum):
    """What is known of a digit that would come next."""

    ANYWHERE = 0
    BEGINS = 1  # it begins a number, or stands behind zeros that do
    NAMED = 2  # it stands behind a letter, or behind digits that do: `f1`


def blind_to_digits(pattern: Written) -> bool:
    """True where the pattern fits all lines of one cast or none of them."""
    return not ways_that_see(pattern)


def ways_that_see(pattern: Written) -> list[Any]:
    """The outermost alternatives that tell digits apart, parsed."""
    return [way for way in ways_of(pattern) if _sees(way)]


def _sees(way: list[Any]) -> bool:
    try:
        _walk(way, _At.ANYWHERE, ends=False)
    except _Sees:
        return True
    return False


def widened(pattern: Written) -> re.Pattern[str] | None:
    """A blind pattern that fits wherever this one does, and maybe elsewhere; None where there is none so plain."""
    tree = parser.parse(pattern.pattern, pattern.flags)
    ways = tree[0][1][1] if len(tree) == 1 and tree[0][0] is op.BRANCH else [tree]
    try:
        for way in ways:
            if _sees(list(way)):
                way.data = _widened(way)
    except _Sees:
        return None
    return compiler.compile(tree, pattern.flags)  # type: ignore[no-any-return]


def casts(lines: list[bytes]) -> list[bytes] | None:
    """Equal for lines that differ only in digits that a blind pattern does not tell apart.

    None where a number is too long to tell, or a line is more than one.
    """
    if not lines:
        return []
    joined = b"\n".join(lines)
    found = joined.translate(_ONES)
    for mixed in (b"10", b"01"):
        for _ in range(_LONGEST):
            if mixed not in found:
                break
            found = found.replace(mixed, b"11")
        else:
            return None
    parts = found.split(b"\n")
    if len(parts) != len(lines):
        return None
    sorts = joined.translate(_SORTS).split(b"\n")
    return [
        cast + b"\n" + b"".join(_NAMED(line)) if b"a1" in sort else cast
        for cast, sort, line in zip(parts, sorts, lines, strict=True)
    ]


def _widened(tree: Any) -> list[Any]:
    """Any digit where one is asked for. What must not stand beside is not asked for."""
    found: list[Any] = []
    for code, value in tree:
        if code is op.LITERAL and value in _DIGITS:
            found.append((op.IN, [_ANY_DIGIT]))
        elif code is op.IN and _digits_in(value) not in (_DIGITS, frozenset()):
            if value[0][0] is op.NEGATE:
                raise _Sees
            found.append((op.IN, [*value, _ANY_DIGIT]))
        elif code is op.ASSERT_NOT:
            pass
        elif code is op.ASSERT:
            found.append((code, (value[0], _like(value[1]))))
        elif code is op.SUBPATTERN:
            found.append((code, (*value[:3], _like(value[3]))))
        elif code is op.ATOMIC_GROUP:
            found.append((code, _like(value)))
        elif code is op.BRANCH:
            found.append((code, (value[0], [_like(way) for way in value[1]])))
        elif code in _REPEATS:
            found.append((code, (*value[:2], _like(value[2]))))
        elif code in (op.LITERAL, op.IN, op.AT, op.ANY) or (
            code is op.NOT_LITERAL and value not in _DIGITS
        ):
            found.append((code, value))
        else:
            raise _Sees
    return found


def _like(tree: Any) -> Any:
    return parser.SubPattern(tree.state, _widened(tree))


def _walk(tree: list[Any], at: _At, ends: bool) -> _At:
    """Walk from `at` to what holds behind it. `ends`: no digit can follow the whole of `tree`."""
    for place, (code, value) in enumerate(tree):
        then = _no_digit(tree, place + 1, ends)
        if code is op.LITERAL:
            at = _literal(value, at, then)
        elif code is op.IN:
            at = _one_of(value, at, then)
        elif code is op.AT:
            if value in (op.AT_BEGINNING, op.AT_BEGINNING_STRING, op.AT_BOUNDARY):
                at = max(at, _At.BEGINS)
        elif code in (op.ASSERT, op.ASSERT_NOT):
            way, inside = value
            _walk(list(inside), at if way > 0 else _At.ANYWHERE, ends=False)
            if code is op.ASSERT_NOT and way < 0 and _is_any_digit(inside):
                at = max(at, _At.BEGINS)
        elif code is op.SUBPATTERN:
            at = _walk(list(value[3]), at, then)
        elif code is op.ATOMIC_GROUP:
            at = _walk(list(value), at, then)
        elif code is op.BRANCH:
            at = min([_walk(list(way), at, then) for way in value[1]])
        elif code in _REPEATS:
            least, most, inside = value[0], value[1], list(value[2])
            zeros = inside == [(op.LITERAL, ord("0"))]
            again = most == 1 or zeros or _no_digit(inside, 0, then)
            after = _walk(inside, at, then and again)
            if most > 1 and not zeros:
                after = min(after, _walk(inside, after, then and again))
            at = after if least > 0 else min(at, after)
        elif code is op.ANY or (code is op.NOT_LITERAL and value not in _DIGITS):
            at = _At.ANYWHERE
        else:
            raise _Sees
    return at


def _literal(value: int, at: _At, then: bool) -> _At:
    if value in _DIGITS:
        if at is _At.ANYWHERE or (at is _At.BEGINS and not (value in _ZERO and then)):
            raise _Sees
        return at
    return _At.NAMED if chr(value).isascii() and chr(value).isalpha() else _At.BEGINS


def _one_of(items: Any, at: _At, then: bool) -> _At:
    digits = _digits_in(items)
    if not digits:
        return _At.BEGINS
    if (
        digits != _DIGITS
        and at is not _At.NAMED
        and not (at is _At.BEGINS and digits == _ZERO and then)
    ):
        raise _Sees
    return _At.ANYWHERE


def _no_digit(tree: list[Any], place: int, ends: bool) -> bool:
    """No digit but zeros can stand where the rest of `tree` from `place` on begins, and none behind those."""
    if place >= len(tree):
        return ends
    code, value = tree[place]

    def rest() -> bool:
        return _no_digit(tree, place + 1, ends)

    if code is op.LITERAL:
        return rest() if value in _ZERO else value not in _DIGITS
    if code is op.IN:
        return not _digits_in(value)
    if code is op.AT:
        return value in (op.AT_END, op.AT_END_STRING, op.AT_BOUNDARY) or rest()
    if code is op.ASSERT_NOT and value[0] > 0 and _is_any_digit(value[1]):
        return True
    if code is op.ASSERT and value[0] > 0 and _no_digit(list(value[1]), 0, ends=False):
        return True
    if code in (op.ASSERT, op.ASSERT_NOT):
        return rest()
    if code is op.SUBPATTERN:
        return _no_digit(list(value[3]), 0, rest())
    if code is op.BRANCH:
        return all(_no_digit(list(way), 0, rest()) for way in value[1])
    if code in _REPEATS:
        inside = _no_digit(list(value[2]), 0, rest())
        return inside and (value[0] > 0 or rest())
    return False


def _digits_in(items: Any) -> frozenset[int]:
    found: frozenset[int] = frozenset()
    negated = False
    for code, value in items:
        if code is op.NEGATE:
            negated = True
        elif code is op.LITERAL:
            found |= {value} & _DIGITS
        elif code is op.RANGE:
            found |= _DIGITS & frozenset(range(value[0], min(value[1], ord("9")) + 1))
        elif code is op.CATEGORY and value in _WITH_DIGITS:
            found |= _DIGITS
    return _DIGITS - found if negated else found


def _is_any_digit(inside: Any) -> bool:
    return len(inside) == 1 and inside[0][0] is op.IN and _digits_in(inside[0][1]) == _DIGITS
