"""The words of the screen in the language of the person. Pure: it is told its words once, at the start.

English is the language of the program and of its records: journals, JSON, exit codes and what must be typed
stay English everywhere. So the English text is the key: `say` takes a sentence of the screen's own, `told`
one that a room below made (a reason, a finding's remedy) and finds the template that it was made of. What
the catalogue does not have stays as it is.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from functools import lru_cache

CACHE = 4096
LONGEST = 2_000  # characters of a sentence; what is longer is data
Found = tuple[str, re.Pattern[str], str]  # what it begins with, the whole of it, its translation

_words: dict[str, str] = {}
_forms: list[Found] = []
language = "en"


def speak(name: str, words: Mapping[str, str]) -> None:
    """Say everything in language `name` from now on; `words` is English template -> translation."""
    global language
    language = name
    _words.clear()
    _words.update(words)
    _forms[:] = sorted(
        (_form(template, other) for template, other in words.items() if "{" in template),
        key=lambda form: -len(form[1].pattern),
    )
    told.cache_clear()


def say(template: str, /, **fields: object) -> str:
    """`template` in the chosen language, with its fields filled in; without fields no brace is special."""
    words = _words.get(template, template) if _words else template
    return words.format(**fields) if fields else words


@lru_cache(CACHE)
def told(sentence: str) -> str:
    """A finished English sentence of the program's own in the chosen language; else as it is.

    Sentences joined by a semicolon are told one by one. What fills a field stays as it is, unless the
    translation asks for `{field:told}`.
    """
    if not _words or len(sentence) > LONGEST:
        return sentence
    if (known := _words.get(sentence)) is not None:
        return known
    if "; " in sentence:
        parts = sentence.split("; ")
        others = [told(part) for part in parts]
        if others != parts:
            return "；".join(others)
    for start, pattern, other in _forms:
        if sentence.startswith(start) and (match := pattern.fullmatch(sentence)):
            parts_of = {name: _Part(text or "") for name, text in match.groupdict().items()}
            return other.format(**parts_of)
    return sentence


class _Part(str):
    """What stood in a field of a sentence."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return told(str(self)) if spec == "told" else str(self)


def fields_of(template: str) -> tuple[str, ...]:
    """The names of the fields in a template."""
    return tuple(name for _, name, _, _ in string.Formatter().parse(template) if name)


def _form(template: str, other: str) -> Found:
    """A template as a pattern; a field that ends a word (a plural) may be empty."""
    parts, seen, start = [], set[str](), None
    for literal, name, _, _ in string.Formatter().parse(template):
        parts.append(re.escape(literal))
        start = literal if start is None else start
        if name and name not in seen:
            seen.add(name)
            parts.append(f"(?P<{name}>.*?)")
        elif name:
            parts.append(f"(?P={name})")
    # A translation may give a number its form; here it is text already.
    return start or "", re.compile("".join(parts), re.DOTALL), _formless(other)


def _formless(other: str) -> str:
    return re.sub(r"\{(\w+)(?:![rsa])?:(?!told\})[^}]*\}", r"{\1}", other)
