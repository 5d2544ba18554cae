"""Regular expressions that a person types: compiled, searched within a time limit, and translated for grep."""

from __future__ import annotations

import re
from time import thread_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

LONGEST = 400  # characters of a pattern
LOOK_SECONDS = 0.050  # of the processor, for all searches of one look

_INTERVAL = r"\{(?=[\d,])\d*,?\d*\}"
_TOKEN = re.compile(
    rf"\\[pPN]\{{[^{{}}]*\}}|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|{_INTERVAL}|\{{", re.DOTALL
)
_REPEAT = re.compile(rf"[*+?]|{_INTERVAL}")


class PatternError(ValueError):
    """This is no regular expression, or none that grep knows; the text says what is wrong."""


class TooSlow(Exception):
    """The searches of one look took longer than `LOOK_SECONDS`."""


class Look:
    """One look at any number of texts. Its searches share `LOOK_SECONDS`, so that the screen never waits longer."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = LOOK_SECONDS

    def finds(self, pattern: regex.Pattern[str], text: str) -> bool:
        """Whether the pattern fits somewhere in the text. Raises TooSlow."""
        if self._left <= 0:
            raise TooSlow
        began = thread_time()
        try:
            # `regex` counts the processor time of all threads: while it holds the GIL, that is its own.
            return pattern.search(text, timeout=self._left, concurrent=False) is not None
        except TimeoutError:
            raise TooSlow from None
        finally:
            self._left -= thread_time() - began


def compiled(pattern: str) -> regex.Pattern[str]:
    """The pattern, which ignores case. Raises PatternError."""
    import regex  # with the first pattern: no start waits for it

    if len(pattern) > LONGEST:
        raise PatternError(f"longer than {LONGEST} characters")
    try:
        return regex.compile(_without_fuzzy(pattern), regex.IGNORECASE, cache_pattern=False)
    except (regex.error, ValueError, OverflowError, RecursionError) as wrong:
        raise PatternError(f"not a regular expression ({wrong})") from wrong


def _without_fuzzy(pattern: str) -> str:
    """Braces that are no interval are text, as in `re`: `regex` would read `{e}` as "with any number of errors"."""
    return _TOKEN.sub(lambda token: r"\{" if token[0] == "{" else token[0], pattern)


ERE = {"d": "[0-9]", "D": "[^0-9]", "s": "[[:space:]]", "S": "[^[:space:]]", "w": "[[:alnum:]_]",
       "W": "[^[:alnum:]_]", "t": "\t"}  # fmt: skip
WITHIN = {"d": "0-9", "s": "[:space:]", "w": "[:alnum:]_", "t": "\t", "]": "", "\\": "\\\\"}


def extended(pattern: str) -> str:
    """The pattern as grep -E has it. Raises PatternError for what grep cannot say."""
    compiled(pattern)
    pattern = _without_fuzzy(pattern)
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
        elif not inside and pattern.startswith("(?:", at):
            out, at = out + "(", at + 2
        elif not inside and pattern.startswith(("(?", "(*"), at):
            raise PatternError(f"grep does not know {pattern[at : at + 2]}...)")
        elif not inside and (repeat := _REPEAT.match(pattern, at)):
            out, at = out + repeat[0], repeat.end() - 1
            after = pattern[at + 1 : at + 2]
            if after == "+":
                raise PatternError(f"grep does not know {repeat[0]}+")
            at += after == "?"  # whether it is lazy changes nothing of what is found
        else:
            inside = char == "[" or (inside and char != "]")
            out += char
        at += 1
    return out
