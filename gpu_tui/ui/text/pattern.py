"""Regular expressions that a person types, and only such as cannot freeze the screen.

Python's engine goes back and tries again: two open-ended repeats of the same characters, one within or
one behind the other, take time that grows with the square of a line's length or beyond. Such patterns
are refused with a word on how to say it otherwise; `.*` between parts of fixed length is taken apart and
searched part by part, which is linear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import combinations

# The parser of the standard library, which has no public name; a test keeps watch over it.
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

Search = Callable[[str], bool]
LONGEST = 400  # characters of a pattern
FIXED = 8  # a repeat that may vary by this little is as good as a fixed one
WAYS = 1_000  # in which repeats that vary by little may be tried one after the other, from each character
SAMPLE = [*map(chr, range(128)), "中", "é"]
EVERY = frozenset(SAMPLE)
ATOMIC = getattr(op, "ATOMIC_GROUP", None)  # from Python 3.11 on


class PatternError(ValueError):
    """This is no regular expression, or none that is safe to run; the text says what is wrong."""


def search_of(pattern: str) -> Search:
    """Whether the pattern stands somewhere in a text, case aside. Raises PatternError."""
    if len(pattern) > LONGEST:
        raise PatternError(f"longer than {LONGEST} characters")
    try:
        compiled = re.compile(pattern, re.IGNORECASE)
        tree = parser.parse(pattern, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as wrong:
        raise PatternError(f"not a regular expression ({wrong})") from wrong
    parts = _parted(pattern)
    if len(parts) > 1 and all(_fixed(part) for part in parts):
        searches = [re.compile(part, re.IGNORECASE) for part in parts if part]

        def one_after_another(text: str) -> bool:
            at = 0
            for search in searches:
                found = search.search(text, at)
                if found is None:
                    return False
                at = found.end()
            return True

        return one_after_another
    _refuse_slow(tree)
    if _ways(tree) > WAYS:
        raise PatternError("so many parts that may be there or not can take for ever")
    return lambda text: compiled.search(text) is not None


def _parted(pattern: str) -> list[str]:
    """What stands between the `.*` of the top level; the whole where it has groups or alternatives."""
    if re.search(r"[()|^$]|\\[bBAZ]", pattern):
        return [pattern]
    parts, part, at, inside = [], "", 0, False
    while at < len(pattern):
        if pattern[at] == "\\":
            part, at = part + pattern[at : at + 2], at + 2
        elif not inside and pattern.startswith(".*", at):
            parts.append(part)
            part, at = "", at + 2 + pattern.startswith("?", at + 2)
        else:
            inside = pattern[at] == "[" or (inside and pattern[at] != "]")
            part, at = part + pattern[at], at + 1
    return [*parts, part]


def _fixed(part: str) -> bool:
    try:
        low, high = parser.parse(part).getwidth()
    except re.error:
        return False
    return bool(low == high)


def _refuse_slow(tree: Any) -> None:
    repeats = list(_repeats(tree))
    if not repeats:
        return
    open_ended = [(at, chars) for at, chars, kind in repeats if kind == "open"]
    for (start, one), (stop, other) in combinations(open_ended, 2):
        between = [chars for at, chars, kind in repeats if kind == "must" and start < at < stop]
        if one & other and not any(not one & chars for chars in between):
            raise PatternError(
                "two open-ended repeats could run over the same characters and take for ever: "
                "write them as two terms, like /a.*b/ /b.*c/"
            )


def _repeats(tree: Any, depth: int = 0) -> Iterator[tuple[int, frozenset[str], str]]:
    """Open-ended repeats and single characters that must stand, numbered in order."""
    yield from _walk(tree, [0], depth)


def _walk(tree: Any, count: list[int], depth: int) -> Iterator[tuple[int, frozenset[str], str]]:
    for code, value in tree:
        count[0] += 1
        if code in (op.MAX_REPEAT, op.MIN_REPEAT) or code is getattr(op, "POSSESSIVE_REPEAT", None):
            low, high, body = value
            if (depth and low != high) or (high > 1 and body.getwidth()[0] != body.getwidth()[1]):
                raise PatternError("a repeat of what varies in length can take for ever")
            if high == op.MAXREPEAT or high - low > FIXED:
                if len(body) != 1 or _chars(*body[0]) is None:
                    inner = list(_walk(body, count, depth + 1))
                    chars = frozenset[str]().union(*(some for _, some, _ in inner)) or EVERY
                    yield count[0], chars, "open"
                    continue
                yield count[0], _chars(*body[0]) or EVERY, "open"
            else:
                for at, chars, kind in _walk(body, count, depth + (high > 1)):
                    if low or kind == "open":
                        yield at, chars, kind
        elif code is op.SUBPATTERN:
            yield from _walk(value[-1], count, depth)
        elif code is op.BRANCH:
            if depth:
                _refuse_alike(value[1])
            for branch in value[1]:
                for at, chars, kind in _walk(branch, count, depth):
                    if kind == "open" or depth:
                        yield at, chars, kind
        elif code in (op.GROUPREF, op.GROUPREF_EXISTS, op.ASSERT, op.ASSERT_NOT, ATOMIC):
            raise PatternError("references, look-around and atomic groups are not taken here")
        elif (one := _chars(code, value)) is not None:
            yield count[0], one, "must"


def _ways(tree: Any) -> int:
    """In how many ways one stretch of text may be tried: what is small each time multiplies."""
    ways = 1
    for code, value in tree:
        if code in (op.MAX_REPEAT, op.MIN_REPEAT):
            low, high, body = value
            ways *= _ways(body) * (high - low + 1 if high - low <= FIXED else 1)
        elif code is op.SUBPATTERN:
            ways *= _ways(value[-1])
        elif code is op.BRANCH:
            each = [_ways(branch) for branch in value[1]]
            ways *= sum(each) if _alike(value[1]) else max(each)
    return ways


def _alike(branches: Any) -> bool:
    """Two of them may begin with the same character."""
    firsts = [(_chars(*branch[0]) if len(branch) else None) or EVERY for branch in branches]
    return any(one & other for one, other in combinations(firsts, 2))


def _refuse_alike(branches: Any) -> None:
    """Repeated alternatives must differ in their first character."""
    if _alike(branches):
        raise PatternError("repeated alternatives that begin alike can take for ever")


def _chars(code: Any, value: Any) -> frozenset[str] | None:
    """Which of the sample one element takes; None where it is no single character."""
    if code is op.ANY:
        return EVERY
    if code in (op.LITERAL, op.NOT_LITERAL, op.RANGE, op.CATEGORY):
        found = frozenset(char for char in SAMPLE if _takes(code, value, char))
        return found or (EVERY if code is not op.LITERAL else frozenset({chr(value)}))
    if code is op.IN:
        items = list(value)
        no = bool(items) and items[0][0] is op.NEGATE
        taken = frozenset(
            char for char in SAMPLE if any(_takes(item[0], item[1], char) for item in items[no:])
        )
        return EVERY - taken if no else taken
    return None


def _takes(code: Any, value: Any, char: str) -> bool:
    if code is op.LITERAL:
        return chr(value).casefold() == char.casefold()
    if code is op.NOT_LITERAL:
        return chr(value).casefold() != char.casefold()
    if code is op.RANGE:
        return any(value[0] <= ord(one) <= value[1] for one in {char, char.lower(), char.upper()})
    kind, no = str(value).rpartition("_")[2], "_NOT_" in str(value)
    test = {"DIGIT": str.isdigit, "SPACE": str.isspace, "WORD": _is_word}[kind]
    return bool(test(char)) is not no


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


ERE = {"d": "[0-9]", "D": "[^0-9]", "s": "[[:space:]]", "S": "[^[:space:]]", "w": "[[:alnum:]_]",
       "W": "[^[:alnum:]_]", "t": "\t"}  # fmt: skip
WITHIN = {"d": "0-9", "s": "[:space:]", "w": "[:alnum:]_", "t": "\t", "]": "", "\\": "\\\\"}


def extended(pattern: str) -> str:
    """The pattern as grep -E has it. Raises PatternError for what grep cannot say."""
    search_of(pattern)
    out, at, inside = "", 0, False
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
            escaped = pattern[at]
            if inside:
                if escaped.isalnum() and escaped not in WITHIN:
                    raise PatternError(f"grep does not know \\{escaped} in brackets")
                out += WITHIN.get(escaped, escaped)
            elif escaped in ERE:
                out += ERE[escaped]
            elif escaped.isalnum():
                raise PatternError(f"grep does not know \\{escaped}")
            else:
                out += "\\" + escaped
        elif not inside and char in "*+?}" and pattern[at + 1 : at + 2] == "?":
            out, at = out + char, at + 1  # whether it is lazy changes nothing of what is found
        elif not inside and pattern.startswith("(?:", at):
            out, at = out + "(", at + 2
        elif not inside and pattern.startswith("(?", at):
            raise PatternError("grep does not know (?...)")
        else:
            inside = char == "[" or (inside and char != "]")
            out += char
        at += 1
    return out
