"""Patterns of an ssh config: one, a list with exceptions, and a list of algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from asyncssh.pattern import WildcardPattern, WildcardPatternList


@lru_cache(maxsize=4096)
def pattern(text: str) -> WildcardPattern:
    """`*` and `?`."""
    return WildcardPattern(text)


@lru_cache(maxsize=4096)
def patterns(text: str) -> WildcardPatternList:
    """Parted by commas, `!` before what is excepted."""
    return WildcardPatternList(text)


def accepts(listed: str | None, name: str) -> bool:
    """Whether a list of algorithms (`a,b*`, or `+`, `-`, `^` before what changes) takes one of them."""
    if not listed or listed[0] in "+^":
        return True
    return patterns(listed.removeprefix("-")).matches(name) is not listed.startswith("-")


def chosen(listed: str, usual: Sequence[str], possible: Sequence[str]) -> list[str]:
    """The algorithms of such a list in its order; `usual` is what `+`, `-` and `^` change."""
    sign = listed[:1] if listed[:1] in "+-^" else ""
    wanted = [pattern(word) for word in listed.removeprefix(sign).split(",")]
    hits = [name for one in wanted for name in possible if one.matches(name)]
    match sign:
        case "-":
            hits = [name for name in usual if name not in hits]
        case "+":
            hits = [*usual, *hits]
        case "^":
            hits = [*hits, *usual]
    return list(dict.fromkeys(hits))
