"""The words of the screen in the language of the person. Pure: it is told its words once, at the start.

English is the language of the program and of its records: journals, JSON, exit codes and what must be typed
stay English everywhere. So the English text is the key: `say` takes words of the screen's own, `told` a
sentence that a room below made (a reason, a remedy) and finds the template that it was made of. What the
catalogue does not have stays as it is.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache

CACHE = 4096
LONGEST = 2_000  # characters of a sentence; what is longer is data
# By what a template is known in a whole sentence: all its letters, those that it begins with, or its pieces.
SPECIFIC, BEGINS, PIECES = 12, 4, 4

LANGUAGES = ("en", "zh")
# What stands between the words of a list, between two clauses, and behind what is spoken of.
COMMA = {"en": ", ", "zh": "、"}
SEMICOLON = {"en": "; ", "zh": "；"}
COLON = {"en": ": ", "zh": "："}


@dataclass(frozen=True, slots=True)
class Catalogue:
    """English template -> translation: the screen's own words, the sentences of the rooms below, and what
    the bundled profiles call their disks and verbs, and the steps that they name.
    """

    screen: Mapping[str, str] = field(default_factory=dict)
    sentences: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    language: str = LANGUAGES[0]


@dataclass(frozen=True, slots=True)
class _Form:
    """A template with fields: what it begins with, the whole of it, its translation."""

    start: str
    template: str
    pieces: tuple[
        str, ...
    ]  # what stands between the fields: a sentence without one of them is another
    other: str
    letters: int
    specific: bool
    joins: bool  # a semicolon of its own, or a profile's in a field that is quoted

    def find(self, sentence: str) -> dict[str, str] | None:
        """What stands in its fields, or None where the sentence is another."""
        if not all(piece in sentence for piece in self.pieces):
            return None
        found = _pattern(self.template).fullmatch(sentence)
        return found.groupdict() if found else None


_DURATION = re.compile(
    r"-?[0-9]{1,3}\+? (?:years|days?|h|min|s)(?: [0-9]{1,2} (?:h|min|s))?", re.ASCII
)
_UNIT = re.compile(r"([0-9+]+) ([a-z]+)", re.ASCII)

_spoken = [LANGUAGES[0]]
_words: dict[str, str] = {}
_forms: list[_Form] = []


def speak(catalogue: Catalogue) -> None:
    """Say everything with these words from now on; an empty catalogue is English."""
    _spoken[:] = [catalogue.language]
    _words.clear()
    _words.update({**catalogue.screen, **catalogue.sentences, **catalogue.names})
    forms = (_form(one, other) for one, other in catalogue.sentences.items() if "{" in one)
    _forms[:] = sorted(forms, key=lambda form: -form.letters)
    told.cache_clear()


def language() -> str:
    """The one that is spoken, of LANGUAGES."""
    return _spoken[0]


def say(template: str, /, **fields: object) -> str:
    """`template` in the chosen language, with its fields filled in; without fields no brace is special."""
    words = _words.get(template, template) if _words else template
    return words.format(**fields) if fields else words


@lru_cache(CACHE)
def told(sentence: str, *, own: bool = False) -> str:
    """A finished English sentence of the program's own in the chosen language; else as it is.

    `own`: it is one of them for certain (an error), so that also a template of few letters may fit.

    Sentences joined by a semicolon are told one by one, and a word before a colon is told, and what is behind it. What fills a
    field stays as it is, unless the translation asks for `{field:told}`, or `{field:names}` or `{field:quoted}` of a profile.
    """
    if not _words or len(sentence) > LONGEST:
        return sentence
    return _tell(sentence, (form for form in _forms if own or form.specific))


def _tell(sentence: str, forms: Iterable[_Form]) -> str:
    if _DURATION.fullmatch(sentence):
        return _duration(sentence)
    if (known := _words.get(sentence)) is not None:
        return known
    joined = "; " in sentence
    forms = [form for form in forms if sentence.startswith(form.start)]
    for form in sorted(forms, key=lambda form: not form.joins) if joined else forms:
        if joined and not form.joins and (parts := _parts(sentence)) is not None:
            return parts
        if (found := form.find(sentence)) is not None:
            return form.other.format(**{name: _Part(text) for name, text in found.items()})
    if joined and (parts := _parts(sentence)) is not None:
        return parts
    word, colon, rest = sentence.partition(": ")
    return f"{_words[word]}：{_tell(rest, _forms)}" if colon and word in _words else sentence


def quoted(fact: str) -> str:
    """A fact of a platform in its own words: in another language than theirs it stands in quotes."""
    other = told(fact)
    return f"“{fact}”" if other == fact and language() != LANGUAGES[0] else other


def told_names(text: str) -> str:
    """A name, or several with commas between them and remarks in brackets, each told where it is known."""
    if text in _words:
        return _words[text]
    words = [_words.get(part, part) for part in re.split(r"(, | \()", text)]
    if "".join(words) == text:
        return text
    return "".join(COMMA[language()] if word == ", " else word for word in words)


def listed(parts: Iterable[str]) -> str:
    """The words of one list."""
    return COMMA[language()].join(parts)


def joined(clauses: Iterable[str]) -> str:
    """The clauses of one sentence."""
    return SEMICOLON[language()].join(clauses)


def headed(subject: str, words: str) -> str:
    """What is said of a subject."""
    return f"{subject}{COLON[language()]}{words}"


def counted(number: int, noun: str) -> str:
    """`1 line`, `2 lines`, `3 boxes`."""
    ending = "" if number == 1 else "es" if noun.endswith("x") else "s"
    return say(f"{{number}} {noun}{ending}", number=number)


def _parts(sentence: str) -> str | None:
    """Sentences joined by semicolons, each told by itself; None where none of them is known."""
    parts = sentence.split("; ")
    others = [told(part) for part in parts]
    return joined(others) if others != parts else None


def _duration(text: str) -> str:
    """Translates the units of a duration that `units.words` wrote; returns any other text unchanged."""
    if _DURATION.fullmatch(text) is None:
        return text
    return _UNIT.sub(lambda found: say(f"{{number}} {found[2]}", number=found[1]), text)


class _Part(str):
    """What stood in a field of a sentence."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        if spec == "names":
            return told_names(str(self))
        if spec == "quoted":
            return quoted(str(self))
        return _tell(str(self), _forms) if spec == "told" else _duration(str(self))


def _form(template: str, other: str) -> _Form:
    pieces = tuple(piece for piece, *_ in string.Formatter().parse(template) if piece)
    letters = sum(char.isalpha() for piece in pieces for char in piece)
    start = template.partition("{")[0]
    specific = letters >= SPECIFIC or len(start) > BEGINS or len(pieces) >= PIECES
    joins = "; " in template or ":quoted}" in other
    return _Form(start, template, pieces, other, letters, specific, joins)


@cache  # only for the few sentences that a session says
def _pattern(template: str) -> re.Pattern[str]:
    parts: list[str] = []
    seen: set[str] = set()
    for literal, name, _, _ in string.Formatter().parse(template):
        parts.append(re.escape(literal))
        if name:
            parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>.*?)")
            seen.add(name)
    return re.compile("".join(parts), re.DOTALL)
