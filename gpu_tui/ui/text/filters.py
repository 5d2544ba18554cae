"""The one filter language of all panes: `word`, `!without`, `tag:x` and `/regex/`, all of which must hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

TERM = re.compile(r"(!?)(?:/((?:[^/\\]|\\.)+)/(?=\s|$)|(\S+))")
Test = Callable[[str, Collection[str] | None], bool]


class FilterError(ValueError):
    """A filter that cannot be read; the message says which part."""


class Filter:
    """What to keep. Nothing compares by case; a filter without terms keeps everything."""

    def __init__(self, wanted: str = "") -> None:
        """Read `wanted`; raises FilterError for a regular expression that is none."""
        self.wanted = wanted.strip()
        self._terms = [
            (not match[1], _test(match[2], match[3]))
            for match in TERM.finditer(wanted)
            if match[0] not in ("!", "/", "!/")  # the start of a term still being typed
        ]

    def __bool__(self) -> bool:
        """True where it may leave something out."""
        return bool(self._terms)

    def keeps(self, text: str, tags: Collection[str] | None = None) -> bool:
        """Whether every term holds for `text`; without tags `tag:x` is a word like any other."""
        return all(test(text, tags) is wanted for wanted, test in self._terms)


def _test(pattern: str | None, word: str) -> Test:
    """One term without its `!`."""
    if pattern is not None:
        try:
            search = re.compile(pattern, re.IGNORECASE).search
        except re.error as wrong:
            raise FilterError(f"/{pattern}/: not a regular expression ({wrong})") from wrong
        return lambda text, tags: search(text) is not None
    folded = word.casefold()
    tag = folded.removeprefix("tag:")

    def test(text: str, tags: Collection[str] | None) -> bool:
        if tag != folded and tags is not None:
            return any(tag == one.casefold() for one in tags)
        return folded in text.casefold()

    return test
