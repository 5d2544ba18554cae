"""A triage rule: its patterns, and the label and severity of the lines that it fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pcre2

from gpu_tui.core.findings import Severity

# Digits in the syntax of a pattern (escapes, quantifiers, group names), and `0-9`: they match no certain digit.
_SYNTAX_DIGITS = re.compile(
    r"\\(?:x(?!3\d)[0-9a-fA-F]{2}|u(?!003\d)[0-9a-fA-F]{4}|[^\dkg])|\{\d*,?\d*\}|\(\?P?<[A-Za-z_]\w*>"
    r"|(?<=[\[^A-Za-z_.,:/+-])0-9(?=[\]\\A-Za-z_.,:/+-])|\b0x"
)
_NAMED_REFERENCE = re.compile(
    r"\(\?P=|\\[kg]"
)  # the group may hold digits, which must be the same again
MAX_STEPS = 300_000  # of a search without JIT: 4 to 15 ms


class LazyPattern:
    """A case-insensitive pattern that is compiled on its first search.

    `written` is its text in the file, `expanded` the same text with each `%{NAME}` replaced.
    """

    __slots__ = ("expanded", "search", "written")

    def __init__(self, written: str, expanded: str) -> None:
        self.written = written
        self.expanded = expanded
        self.search: Callable[[str], object] = self._compile

    def _compile(self, text: str) -> object:
        compiled = pcre2.compile(self.expanded, pcre2.IGNORECASE, jit=True)
        begins = all(part.startswith("^") for part in alternatives(self.expanded))
        # `search` tries `^` at every character.
        self.search = compiled.match if begins else compiled.search
        return self.search(text)

    def use_interpreter(self) -> None:
        """Search without JIT from now on, because its stack is small; after `MAX_STEPS` steps nothing is found."""
        limit = f"(*LIMIT_MATCH={MAX_STEPS})"
        compiled = pcre2.compile(limit + self.expanded, pcre2.IGNORECASE, jit=False)

        def search(text: str) -> object:
            try:
                return compiled.search(text)
            except pcre2.LibraryError:
                return None

        self.search = search

    @property
    def names_digits(self) -> bool:
        """True if the pattern matches certain digits, so that it can tell apart lines that differ in digits only."""
        rest = _SYNTAX_DIGITS.sub("", self.expanded)
        return any(c.isdigit() for c in rest) or _NAMED_REFERENCE.search(rest) is not None


def alternatives(pattern: str) -> list[str]:
    """The top-level alternatives of a pattern: `a|b(c|d)` has two."""
    found, depth, start, at = [], 0, 0, 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            at += 1
        elif sign == "[":
            at += 2 if pattern[at + 1] == "^" else 1
            at += pattern[at] == "]"
            while pattern[at] != "]":
                at += 2 if pattern[at] == "\\" else 1
        elif sign in "()":
            depth += 1 if sign == "(" else -1
        elif sign == "|" and not depth:
            found.append(pattern[start:at])
            start = at + 1
        at += 1
    return [*found, pattern[start:]]


def any_of(patterns: Iterable[LazyPattern]) -> Callable[[str], bool]:
    """A function that is False if none of these patterns fits a text. It makes one search.

    It is always True if one of them is a user's pattern, because those have an own time limit.
    """
    some = list(patterns)
    if any(type(one) is not LazyPattern for one in some):
        return lambda _: True
    # `(?|` lets each pattern count its groups from 1.
    whole = "(?|" + "|".join(f"(?:{one.expanded})" for one in some) + ")"
    lazy = LazyPattern(whole, whole)

    def search(text: str) -> bool:
        try:
            return bool(lazy.search(text))
        except pcre2.LibraryError:  # the search exceeds a limit of PCRE2
            return True

    return search


@dataclass(frozen=True, slots=True)
class Sample:
    """A log line and its source: `owner/name#12`, a vendor's document, `our own runs` or `made up`."""

    line: str
    source: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a file.

    It fits a line that contains one of `literals` (in any case), matches `pattern` and `also`, and no pattern of
    `unless`. A rule without literals is a look-alike: it is asked only about lines that a later rule would make an
    alarm. `also` is separate from `pattern`, because a long gap inside one pattern is slow. `document` is the URL of the
    vendor's document that the rule follows.
    """

    id: str
    label: str
    severity: Severity
    literals: tuple[str, ...]
    pattern: LazyPattern
    also: LazyPattern | None
    unless: tuple[LazyPattern, ...]
    matches: tuple[Sample, ...]
    rejects: tuple[Sample, ...]
    document: str | None
    file: str
    line: int
    names_digits: bool = field(init=False)

    def __post_init__(self) -> None:
        asked = (self.pattern, *self.unless, *((self.also,) if self.also else ()))
        object.__setattr__(self, "names_digits", any(one.names_digits for one in asked))

    def fits(self, text: str) -> bool:
        """True if the patterns fit. The caller checks the literals."""
        try:
            return self._fits(text)
        except pcre2.LibraryError:  # the JIT stack or the match limit is exceeded
            for pattern in (self.pattern, *self.unless, *((self.also,) if self.also else ())):
                pattern.use_interpreter()
            return self._fits(text)

    def _fits(self, text: str) -> bool:
        if (self.also and not self.also.search(text)) or not self.pattern.search(text):
            return False
        return not any(one.search(text) for one in self.unless)

    def veto(self, text: str) -> str | None:
        """The `unless` pattern, as written, that alone keeps the rule from fitting; None if there is none."""
        if self.fits(text) or not self.pattern.search(text):
            return None
        if self.also and not self.also.search(text):
            return None
        return next((one.written for one in self.unless if one.search(text)), None)
