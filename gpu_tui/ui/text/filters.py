"""The one filter language of all panes: `word`, `!without`, `tag:x` and `/regex/`, all of which must hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TypeVar

from gpu_tui.core.log_range import Term
from gpu_tui.core.speech import headed, say, told
from gpu_tui.ui.text.pattern import Look, PatternError, TooSlow, compiled, extended

TERM = re.compile(r"(!?)(?:/((?:[^/\\]|\\.)+)/(?=\s|$)|(\S+))")
LONGEST = 1_000  # characters of a filter
Test = Callable[[Look, str, Collection[str] | None], bool]
Row = TypeVar("Row")


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
        """Read `wanted`; raises FilterError for a regular expression that is none."""
        self.slow = False  # a `select` took too long and keeps everything
        self.wanted = wanted.strip()[:LONGEST]
        self._terms = [
            _Term(not match[1], match[2], match[3], _test(match[2], match[3]))
            for match in TERM.finditer(self.wanted)
            if match[0] not in ("!", "/", "!/")  # the start of a term still being typed
        ]

    def __bool__(self) -> bool:
        """True where it may leave something out."""
        return bool(self._terms)

    def keeps(
        self, text: str, tags: Collection[str] | None = None, look: Look | None = None
    ) -> bool:
        """Whether every term holds for `text`; without tags `tag:x` is a word like any other.

        Raises TooSlow where the patterns have taken all the time of `look`.
        """
        look = look or Look()
        return all(term.test(look, text, tags) is term.wanted for term in self._terms)

    def select(
        self,
        rows: Iterable[Row],
        words: Callable[[Row], str],
        tags: Callable[[Row], Collection[str] | None] = lambda row: None,
    ) -> list[Row]:
        """The rows whose words it keeps. All of them, now and later, where one look took too long: `slow`."""
        every = list(rows)
        if not self or self.slow:
            return every
        look = Look()
        try:
            return [row for row in every if self.keeps(words(row), tags(row), look)]
        except TooSlow:
            self.slow = True
            return every

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
            search = compiled(pattern)
        except PatternError as wrong:
            raise FilterError(headed(f"/{pattern}/", _reason(wrong))) from wrong
        return lambda look, text, tags: look.finds(search, text)
    folded = word.casefold()
    tag = folded.removeprefix("tag:")

    def test(look: Look, text: str, tags: Collection[str] | None) -> bool:
        if tag != folded and tags is not None:
            return any(tag == one.casefold() for one in tags)
        return folded in text.casefold()

    return test
