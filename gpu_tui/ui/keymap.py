"""The user's own keys: checked against the table before anything is drawn, and written as textual has them.

A key that is wrong is an error with its place in the config file; nothing is dropped silently.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from textual.app import App
from textual.keys import Keys, key_to_character

from gpu_tui.ui.keys import KEYS, PUNCTUATION, Key

FORBIDDEN = {"ctrl+b": "tmux", "ctrl+a": "screen (and many a tmux)", "ctrl+c": "interrupting"}
MODIFIERS = frozenset({"ctrl", "shift", "alt", "super", "hyper", "meta"})
NAMED = frozenset(key.value for key in Keys) | {"space"} | frozenset(PUNCTUATION.values())
# Who sees a key together with whom: one pane at a time, under the cockpit's own and those of any list.
PANES = frozenset({"instances", "clocks", "queue", "log"})
WITHOUT_LIST = frozenset(
    {"chart", "ladder"}
)  # cards that use the keys of a list for something else
TYPED = frozenset({"filter", "place"})
COCKPIT = PANES | {"cockpit", "replay", "list"}


class KeymapError(Exception):
    """One remapped key cannot be taken; `id` is its name in the config file."""

    def __init__(self, id: str, text: str, next: str) -> None:
        super().__init__(text)
        self.id = id
        self.text = text
        self.next = next


def keymap_of(wanted: Mapping[str, str], table: Sequence[Key] = KEYS) -> dict[str, str]:
    """The remapping as textual takes it. Raises KeymapError at the first row that cannot be."""
    rows = {key.id: key for key in table}
    taken: dict[str, str] = {}
    for id, text in wanted.items():
        if id not in rows:
            close = difflib.get_close_matches(id, rows, n=1)
            hint = f'Did you mean "{close[0]}"?' if close else "See: gpu-tui help keys"
            raise KeymapError(id, f'no action is called "{id}"', hint)
        taken[id] = ",".join(_keys(id, text))
    _refuse_collisions(taken, table)
    return taken


def _keys(id: str, text: str) -> Iterator[str]:
    """Each key of a comma-separated list, named as textual names it; a lone comma is a key."""
    for part in [text] if text.strip() == "," else text.split(","):
        key = part.strip() or part[:1]
        name = PUNCTUATION.get(key, key)
        if not key or not _is_key(name):
            hint = 'Write one as "x", "ctrl+x", "slash" or "pagedown".'
            raise KeymapError(id, f'"{part}" is not a key', hint)
        if name in FORBIDDEN:
            text = f'"{name}" belongs to {FORBIDDEN[name]}: it would not reach gpu-tui'
            raise KeymapError(id, text, "Choose a key without it, say a capital letter.")
        if name.startswith("f") and name[1:].isdigit():
            hint = "Choose a letter: many keyboards and terminals have no function keys."
            raise KeymapError(id, f'"{name}" is a function key', hint)
        yield name


def _is_key(name: str) -> bool:
    *modifiers, key = name.split("+")
    return set(modifiers) <= MODIFIERS and (key in NAMED or key_to_character(key) is not None)


def _refuse_collisions(taken: Mapping[str, str], table: Sequence[Key]) -> None:
    """No remapped key may mean another thing where both are seen."""
    for id in taken:
        row = next(key for key in table if key.id == id)
        for other in table:
            if other.id == id or other.call == row.call or not _meet(row.context, other.context):
                continue
            both = {*taken[id].split(",")} & {*taken.get(other.id, other.key).split(",")}
            if both:
                key = sorted(both)[0]
                raise KeymapError(
                    id,
                    f'"{key}" for {id} is already {other.id} ({other.help})',
                    f"Choose another key, or give {other.id} another one too.",
                )


def _meet(one: str, other: str) -> bool:
    """Rows of these contexts can be pressed at the same time."""
    if one == other:
        return True
    if TYPED & {one, other}:
        return False  # whatever else a key does, where something is typed it is typed
    if {one, other} <= COCKPIT:
        return not {one, other} <= PANES
    pair = {one, other}
    if "list" in pair and pair & WITHOUT_LIST:
        return False
    if "first" in pair:
        return "list" in pair
    cards = {"overlay", "list"}
    return (one in cards and other not in COCKPIT) or (other in cards and one not in COCKPIT)


def remapped(app: App[Any]) -> Mapping[str, str]:
    """The keymap that this app was given, for what is written on screen."""
    found = getattr(app, "remapped", None)
    return found if isinstance(found, dict) else {}
