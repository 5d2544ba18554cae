"""The one filter language of all panes: `word`, `!without`, `tag:x` and `/regex/`, all of which must hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from gpu_tui.core.log_range import Term
from gpu_tui.core.speech import headed, say, told
from gpu_tui.ui.text.pattern import PatternError, extended, search_of

TERM = re.compile(r"(!?)(?:/((?:[^/\\]|\\.)+)/(?=\s|$)|(\S+))")
LONGEST = 1_000  # characters of a filter
Test = Callable[[str, Collection[str] | None], bool]


class FilterError(ValueError):
    """A filter that cannot be read; the message says which part."""


@dataclass(frozen=True, slots=True)
class _Term:
    wanted: bool
    pattern: str | None
    word: str
    test: Test


class Filter:
    """What to keep. Nothing compares by case; a filter without terms keeps everything."""

    def __init__(self, wanted: str = "") -> None:
        """Read `wanted`; raises FilterError for a regular expression that is none, or none that is
        safe.
        """
        self.wanted = wanted.strip()[:LONGEST]
        self._terms = [
            _Term(not match[1], match[2], match[3], _test(match[2], match[3]))
            for match in TERM.finditer(self.wanted)
            if match[0] not in ("!", "/", "!/")  # the start of a term still being typed
        ]

    def __bool__(self) -> bool:
        """True where it may leave something out."""
        return bool(self._terms)

    def keeps(self, text: str, tags: Collection[str] | None = None) -> bool:
        """Whether every term holds for `text`; without tags `tag:x` is a word like any other."""
        return all(term.test(text, tags) is term.wanted for term in self._terms)

    @property
    def word(self) -> bytes:
        """The longest plain word of small ASCII letters that every kept text has; empty where none is."""
        words = [term.word.lower() for term in self._terms if term.wanted and not term.pattern]
        plain = [word.encode() for word in words if word.isascii() and not word.startswith("tag:")]
        return max(plain, key=len, default=b"")

    def terms(self) -> tuple[Term, ...]:
        """The same for a grep on the box. Raises FilterError for what grep cannot say."""
        try:
            return tuple(
                Term(term.word, wanted=term.wanted)
                if term.pattern is None
                else Term(extended(term.pattern), regex=True, wanted=term.wanted)
                for term in self._terms
            )
        except PatternError as wrong:
            raise FilterError(
                say("not for a search on the box: {wrong}", wrong=_reason(wrong))
            ) from wrong


def _reason(wrong: PatternError) -> str:
    return told(str(wrong), own=True)


def _test(pattern: str | None, word: str) -> Test:
    """One term without its `!`."""
    if pattern is not None:
        try:
            search = search_of(pattern)
        except PatternError as wrong:
            raise FilterError(headed(f"/{pattern}/", _reason(wrong))) from wrong
        return lambda text, tags: search(text)
    folded = word.casefold()
    tag = folded.removeprefix("tag:")

    def test(text: str, tags: Collection[str] | None) -> bool:
        if tag != folded and tags is not None:
            return any(tag == one.casefold() for one in tags)
        return folded in text.casefold()

    return test
