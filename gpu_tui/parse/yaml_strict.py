"""YAML with one meaning: every value keeps its place in the file, and whatever two YAML readers would
understand differently is refused.

Refused: duplicate keys, anchors, aliases, merge keys, tags, a second document, deep nesting, large
files, and plain scalars such as `no`, `1:30`, `022` or `2026-06-01`, which YAML 1.1 silently turns
into something else. Plain `true`, `false`, `null`, decimal numbers and words mean what they say.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from gpu_tui.core import units

LARGEST_BYTES = 524_288  # a fleet of 300 boxes that says everything of each takes half of it
DEEPEST = 12

_INT = re.compile(r"-?(?:0|[1-9][0-9]{0,17})", re.ASCII)
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,30}", re.ASCII)
# What some YAML reader takes for a boolean, null, number, time or merge key, but not every one.
_AMBIGUOUS = re.compile(
    r"""(?ix: y|n|yes|no|on|off|true|false|null
      | [-+]?[0-9][0-9_,]*(?:\.[0-9_]*)?(?:e[-+]?[0-9]+)?   # 022, 1_000, 1., 1e5
      | [-+]?\.[0-9_]+(?:e[-+]?[0-9]+)? | [-+]?\.inf | \.nan
      | [-+]?0[box][0-9a-f_]+
      | [-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?    # 1:30 is 90
      | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt\ \t].*)?       # a date
      | = | << )""",
    re.ASCII,
)

_FAST: Any = getattr(yaml, "CSafeLoader", None)
# Where libyaml takes what Python's reader refuses, or reads it otherwise: tabs and the odder ends of a line,
# complex keys and a ? in a list, directives, tags, a comment that is glued to the sign of a block.
_READ_OTHERWISE = re.compile(r"[\t\r\x85\u2028\u2029\ufeff?!]|[|>][-+0-9]*#|^%", re.MULTILINE)
_QUOTED = re.compile(
    r'(?<=[:,\[{] )"[^"\\\n\t\r\x85\u2028\u2029\ufeff]*"'
)  # where all of that is only text


class SourceError(Exception):
    """Something in a file is wrong: `file`, `line` and `column` (from 1) say where, `next` what to do."""

    def __init__(
        self,
        text: str,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        next: str | None = None,
    ) -> None:
        place = ":".join(str(part) for part in (file, line, column) if part is not None)
        super().__init__(f"{place}: {text}" if place else text)
        self.text = text
        self.file = file
        self.line = line
        self.column = column
        self.next = next

    @property
    def path(self) -> str | None:
        """The file, by its other name."""
        return self.file


class FleetError(SourceError):
    """The fleet file is wrong, or there is none."""


class ConfigError(SourceError):
    """The user's config file is wrong."""


Value = bool | int | float | str | tuple["Node", ...] | Mapping[str, "Node"] | None


@dataclass(frozen=True, slots=True)
class Node:
    """One value and where it stands. `written` is a scalar's text; `keys` place a mapping's keys."""

    value: Value
    file: str
    line: int
    column: int
    written: str = ""
    keys: Mapping[str, Node] = field(default_factory=dict)
    raises: type[SourceError] = SourceError

    def error(self, text: str, next: str | None = None) -> SourceError:
        """An error that points here, of the class that `load` was given."""
        return self.raises(text, self.file, self.line, self.column, next)

    @property
    def shown(self) -> str:
        """The value as an error message names it."""
        if isinstance(self.value, Mapping):
            return "a mapping"
        if isinstance(self.value, tuple):
            return "a list"
        text = self.written if len(self.written) <= 60 else self.written[:57] + "..."
        return repr(text) if text else "nothing"

    def plain(self) -> object:
        """The value without places: dicts, lists and scalars."""
        if isinstance(self.value, Mapping):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, tuple):
            return [node.plain() for node in self.value]
        return self.value


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """`Did you mean "x"?` for the nearest known word, or None."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f'Did you mean "{close[0]}"?' if close else None


def load(
    text: str, path: str, *, raises: type[SourceError] = SourceError, first_line: int = 1
) -> Node:
    """The one document in `text` as a Node; raises `raises`.

    `first_line` is the line of the file on which `text` begins (a frontmatter begins later).
    """
    if len(text.encode("utf-8", "surrogatepass")) > LARGEST_BYTES:
        raise raises(
            f"larger than {units.size(LARGEST_BYTES)}", path, None, None, "Make it shorter."
        )
    builder = _Builder(path, raises, first_line - 1)
    with suppress(raises, yaml.YAMLError, UnicodeError):  # what is wrong, the other reader says
        return builder.build(_fast(text))
    try:
        return builder.build(yaml.parse(text, Loader=yaml.SafeLoader))
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        line = before.count("\n") + first_line
        column = len(before) - (before.rfind("\n") + 1) + 1
        what = f"a character that YAML does not allow (U+{ord(text[error.position]):04X})"
        raise raises(what, path, line, column, "Remove it.") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = error.problem or error.context or "not YAML"
        line = mark.line + first_line if mark else first_line
        tab = "'\\t'" in what
        star = "scanning an alias" in str(error.context)
        hint = "Indent with spaces: YAML takes no tabs." if tab else None
        hint = (
            "Entries of one list or mapping begin in one column: look here and above."
            if "<block end>" in what
            else hint
        )
        hint = "Write a text that begins with * in quotes." if star else hint
        raise raises(
            f"not valid YAML: {what}", path, line, mark.column + 1 if mark else 1, hint
        ) from None


class _OnlySlow(yaml.YAMLError):
    """libyaml may read this text in another way than Python's reader, which is the one that counts."""


def _fast(text: str) -> Iterator[Event]:
    """The events of libyaml, where it is there: the same, for a twentieth of the time. Raises YAMLError, UnicodeError."""
    if _FAST is None or _READ_OTHERWISE.search(_QUOTED.sub('""', text)):
        raise _OnlySlow
    for event in yaml.parse(text, Loader=_FAST):
        if isinstance(event, ScalarEvent) and not (event.value or event.style):
            raise _OnlySlow  # where nothing is, they see it in two places
        yield event


class _Builder:
    """Turns parser events into Nodes; keeps no recursion deeper than DEEPEST."""

    def __init__(self, path: str, raises: type[SourceError], offset: int) -> None:
        self.path = path
        self.raises = raises
        self.offset = offset

    def build(self, events: Iterable[Event]) -> Node:
        stream = iter(events)
        root: Node | None = None
        for event in stream:
            if isinstance(event, DocumentStartEvent):
                if root is not None:
                    raise self._error(event, "a second document begins here", "Keep only one.")
                root = self._node(next(stream), stream, 1)
        if root is None:
            return Node(None, self.path, self.offset + 1, 1, raises=self.raises)
        return root

    def _node(self, event: Event, stream: Iterable[Event], depth: int) -> Node:
        if depth > DEEPEST:
            raise self._error(event, f"nested deeper than {DEEPEST} levels")
        if isinstance(event, AliasEvent):
            raise self._error(
                event,
                "aliases (*name) are not allowed",
                "Write the value out; a text that begins with * in quotes.",
            )
        if getattr(event, "anchor", None) is not None:
            raise self._error(event, "anchors (&name) are not allowed", "Remove the anchor.")
        if getattr(event, "tag", None) is not None:
            raise self._error(event, "tags (!name) are not allowed", "Remove the tag.")
        if isinstance(event, ScalarEvent):
            return self._place(event, self._scalar(event), event.value)
        if isinstance(event, SequenceStartEvent):
            items = []
            for inner in stream:
                if isinstance(inner, SequenceEndEvent):
                    break
                items.append(self._node(inner, stream, depth + 1))
            return self._place(event, tuple(items))
        if isinstance(event, MappingStartEvent):
            return self._mapping(event, stream, depth)
        raise self._error(event, "not a value")

    def _mapping(self, start: Event, stream: Iterable[Event], depth: int) -> Node:
        values: dict[str, Node] = {}
        keys: dict[str, Node] = {}
        for event in stream:
            if isinstance(event, MappingEndEvent):
                break
            key = self._node(event, stream, depth + 1)
            if not isinstance(key.value, str):
                raise key.error(f"a key must be a word, not {key.shown}", "Write it in quotes.")
            if key.value in keys:
                first = keys[key.value].line
                raise key.error(
                    f'the key "{key.value}" stands here a second time (first in line {first})',
                    "Keep one of them.",
                )
            keys[key.value] = key
            values[key.value] = self._node(next(iter(stream)), stream, depth + 1)
        return self._place(start, values, keys=keys)

    def _scalar(self, event: ScalarEvent) -> Value:
        text: str = event.value
        if event.style:
            return text
        if text in ("", "~", "null"):
            return None
        if text in ("true", "false"):
            return text == "true"
        if _INT.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text) and math.isfinite(float(text)):
            return float(text)
        if text == "<<":
            raise self._error(event, "merge keys (<<) are not allowed", "Write the keys out.")
        if _AMBIGUOUS.fullmatch(text):
            raise self._error(
                event,
                f"{text!r} without quotes means different things to different YAML readers",
                f'Write "{text}" in quotes, or true, false, null or a plain decimal number.',
            )
        return text

    def _place(
        self,
        event: Event,
        value: Value,
        written: str = "",
        keys: Mapping[str, Node] | None = None,
    ) -> Node:
        line, column = self._where(event)
        return Node(value, self.path, line, column, written, keys or {}, self.raises)

    def _error(self, event: Event, text: str, next: str | None = None) -> SourceError:
        line, column = self._where(event)
        return self.raises(text, self.path, line, column, next)

    def _where(self, event: Event) -> tuple[int, int]:
        mark = event.start_mark
        return (mark.line + self.offset + 1, mark.column + 1) if mark else (self.offset + 1, 1)
