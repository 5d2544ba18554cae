"""Typed reading of one YAML mapping: known keys only, right types only, and errors that point."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from gpu_tui.parse.duration import DurationError, parse_duration
from gpu_tui.parse.yaml_strict import Node, did_you_mean

T = TypeVar("T")
# Half a character, which YAML can spell as "\ud800", is nothing that can be written anywhere.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def secretive(word: str) -> bool:
    """Whether what should be the name of a variable looks like what it holds."""
    return len(word) >= 16 and "_" not in word and any(letter.isdigit() for letter in word)


class Fields:
    """The fields of one mapping. `what` names it in errors; unknown keys are refused at once."""

    def __init__(self, node: Node, what: str, known: Iterable[str]) -> None:
        names = list(known)
        if not isinstance(node.value, Mapping):
            hint = f"Known keys: {', '.join(names)}." if names else "Write one `key: value` a line."
            raise node.error(f"{what} must be a mapping of keys, not {node.shown}", hint)
        self.node = node
        self.what = what
        self.values: Mapping[str, Node] = node.value
        for key, at in node.keys.items():
            if key not in names:
                hint = did_you_mean(key, names) or f"Known keys: {', '.join(names)}."
                raise at.error(f'unknown key "{_short(key)}" in {what}', hint)

    def __contains__(self, key: str) -> bool:
        """True where the key is there and is not null."""
        return key in self.values and self.values[key].value is not None

    def node_of(self, key: str) -> Node:
        """The node of a key that must be there; null is a value."""
        if key not in self.values:
            raise self.node.error(f'{self.what} lacks the key "{key}"', f'Add "{key}: ...".')
        return self.values[key]

    def place(self, key: str) -> Node:
        """Where an error about `key` should point: its value, else the mapping."""
        return self.values.get(key, self.node)

    def text(self, key: str) -> str:
        """A text that is not empty and holds no control characters."""
        return text_of(self.node_of(key), key)

    def maybe_text(self, key: str) -> str | None:
        """A text, or None where the key is missing or null."""
        return self.text(key) if key in self else None

    def flag(self, key: str) -> bool:
        """A boolean that must be there."""
        node = self.node_of(key)
        if not isinstance(node.value, bool):
            raise node.error(f'"{key}" must be true or false, not {node.shown}')
        return node.value

    def maybe_flag(self, key: str) -> bool | None:
        """A boolean, or None where the key is missing or null."""
        return self.flag(key) if key in self else None

    def choice(self, key: str, choices: Iterable[str]) -> str:
        """One word of a closed set."""
        return choice_of(self.node_of(key), key, choices)

    def duration(self, key: str, unit: str = "m") -> float:
        """Seconds of a duration written as a text with units; `unit` is the one that people mean here."""
        node = self.node_of(key)
        if not isinstance(node.value, str):
            bare = isinstance(node.value, int | float) and not isinstance(node.value, bool)
            hint = f'Write it with a unit, like "{node.written if bare else 15}{unit}".'
            raise node.error(f'"{key}" must be a duration with a unit, not {node.shown}', hint)
        try:
            return parse_duration(node.value)
        except DurationError as error:
            raise node.error(f'"{key}": {error.text}', error.next) from None

    def maybe_duration(self, key: str, unit: str = "m") -> float | None:
        """Seconds, or None where the key is missing or null."""
        return self.duration(key, unit) if key in self else None

    def items(self, key: str, read: Callable[[Node], T]) -> tuple[T, ...]:
        """A list, each item read by `read`; a missing or null list is empty."""
        if key not in self:
            return ()
        node = self.values[key]
        if not isinstance(node.value, tuple):
            raise node.error(f'"{key}" must be a list, not {node.shown}', "Write it as [a, b].")
        return tuple(read(item) for item in node.value)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        return self.items(key, lambda node: text_of(node, key))


def text_of(node: Node, what: str) -> str:
    """The node's text; refuses other types, the empty text and control characters."""
    if not isinstance(node.value, str):
        hint = "Write it in quotes." if isinstance(node.value, (bool, int, float)) else None
        raise node.error(f'"{what}" must be a text, not {node.shown}', hint)
    if not node.value.strip():
        raise node.error(f'"{what}" is empty', "Write null where there is nothing to say.")
    if _CONTROL.search(node.value):
        raise node.error(f'"{what}" holds a control character', "Remove it.")
    return node.value


def choice_of(node: Node, what: str, choices: Iterable[str]) -> str:
    """The node's text if it is one of `choices`."""
    word = text_of(node, what)
    known = list(choices)
    if word not in known:
        hint = did_you_mean(word, known) or f"One of: {', '.join(known)}."
        raise node.error(f'"{what}" cannot be {node.shown}', hint)
    return word


def _short(text: str) -> str:
    clean = _CONTROL.sub("?", text)
    return clean if len(clean) <= 60 else clean[:57] + "..."
