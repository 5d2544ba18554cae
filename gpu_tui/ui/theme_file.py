"""Reading theme files: the bundled ones and the user's own, with the line of whatever is wrong.

A file of the user's may say `extends: night` and change a few meanings; one with a bundled name stands
before the bundled one.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import yaml
from rich.color import Color, ColorParseError
from rich.errors import StyleSyntaxError
from rich.style import Style

from gpu_tui.ui.depth import Depth
from gpu_tui.ui.theme import BASE, MEANINGS, CockpitTheme, Look, ThemeError

LARGEST_BYTES = 64 * 1024
KEYS = ("name", "about", "dark", "extends", "base", "meanings", "256", "ansi")
DEPTHS = {"256": Depth.MANY, "ansi": Depth.FEW}
LIKE = {True: "night", False: "day"}  # whose sixteen colours are used where a file names none
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
T = TypeVar("T")
Entries = Mapping[str, tuple[yaml.Node, int]]  # a value, and the line of its key


def load_themes(directory: Path, own: Path | None = None) -> tuple[CockpitTheme, ...]:
    """Every `*.yaml` of `directory`, dark ones first, then those of `own` that have another name."""
    bundled = {theme.name: theme for theme in _all(directory, {})}
    if not bundled:
        raise ThemeError(
            f"{directory}: no theme files (*.yaml) here", next="Install gpu-tui again."
        )
    ordered = sorted(bundled.values(), key=lambda theme: (not theme.dark, theme.name))
    found = {theme.name: theme for theme in ordered}
    if own is not None:
        found |= {theme.name: theme for theme in _all(own, bundled)}
    return tuple(found.values())


def _all(directory: Path, known: Mapping[str, CockpitTheme]) -> Iterator[CockpitTheme]:
    for path in sorted(directory.glob("*.yaml")):
        yield load_theme(path, known)


def load_theme(path: Path, known: Mapping[str, CockpitTheme] | None = None) -> CockpitTheme:
    """One theme file. Without `extends` it is whole: a missing or unknown meaning is an error."""
    return _File(path).theme(known or {})


class _File:
    """One theme file while it is read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def theme(self, known: Mapping[str, CockpitTheme]) -> CockpitTheme:
        top = self._entries(self._root(), "the file", KEYS)
        parent = self._parent(top, known)
        base = self._section(top, "base", BASE, _read_colour)
        styles = self._section(top, "meanings", MEANINGS, _read_style)
        if parent is not None:
            base, styles = {**parent.base, **base}, {**parent.styles, **styles}
        self._whole(base, BASE, "base")
        self._whole(styles, MEANINGS, "meanings")
        name = self._word(top, "name") or self._path.stem
        dark = self._flag(top, "dark", parent)
        looks = {depth: self._look(top, key) for key, depth in DEPTHS.items() if key in top}
        like = parent or known.get(LIKE[dark])
        if like is not None:
            for depth, look in like.looks.items():
                mine = looks.get(depth, Look())
                if depth is Depth.FEW or parent is not None:
                    looks[depth] = Look({**look.base, **mine.base}, {**look.styles, **mine.styles})
        return CockpitTheme(name, dark, base, styles, looks, self._word(top, "about"), self._path)

    def _root(self) -> yaml.Node:
        try:
            with self._path.open("rb") as file:
                raw = file.read(LARGEST_BYTES + 1)
            if len(raw) > LARGEST_BYTES:
                raise self._wrong("far too large for a theme", None)
            root = yaml.compose(raw.decode("utf-8-sig"), Loader=LOADER)
        except OSError as error:
            raise self._wrong(f"cannot be read: {error.strerror}", None) from None
        except UnicodeDecodeError as error:
            raise self._wrong("not UTF-8 text", raw[: error.start].count(b"\n") + 1) from None
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else None
            raise self._wrong(f"not YAML: {error.problem}", line) from None
        if root is None:
            raise self._wrong("the file is empty", 1)
        return root

    def _entries(self, node: yaml.Node, what: str, allowed: Sequence[str]) -> Entries:
        if not isinstance(node, yaml.MappingNode):
            raise self._wrong(f"{what} must be names with values", node.start_mark.line + 1)
        found: dict[str, tuple[yaml.Node, int]] = {}
        for key, value in node.value:
            name, line = str(getattr(key, "value", "?")), key.start_mark.line + 1
            if name not in allowed:
                close = difflib.get_close_matches(name, allowed, n=1)
                hint = f"Did you mean {close[0]}?" if close else f"Known: {', '.join(allowed)}."
                raise self._wrong(f"{what} has no {name!r}", line, hint)
            if name in found:
                raise self._wrong(f"{name!r} stands here twice", line)
            found[name] = (value, line)
        return found

    def _section(
        self, top: Entries, key: str, allowed: Sequence[str], read: Callable[[str], T]
    ) -> dict[str, T]:
        if key not in top:
            return {}
        values: dict[str, T] = {}
        for name, (node, line) in self._entries(top[key][0], f"{key!r}", allowed).items():
            written = node.value if isinstance(node, yaml.ScalarNode) else ""
            try:
                values[name] = read(written)
            except (StyleSyntaxError, ColorParseError):
                hint = 'Write red and green and blue as in the bundled files, "bright_red", or "color(39)".'
                raise self._wrong(f"{name}: {written!r} is no colour", line, hint) from None
        return values

    def _look(self, top: Entries, key: str) -> Look:
        parts = self._entries(top[key][0], f"{key!r}", ("base", "meanings"))
        return Look(
            self._section(parts, "base", BASE, _read_colour),
            self._section(parts, "meanings", MEANINGS, _read_style),
        )

    def _parent(self, top: Entries, known: Mapping[str, CockpitTheme]) -> CockpitTheme | None:
        wanted = self._word(top, "extends")
        if not wanted:
            return None
        if wanted not in known:
            hint = f"There are: {', '.join(known)}."
            raise self._wrong(f"extends {wanted!r}, which is no theme", top["extends"][1], hint)
        return known[wanted]

    def _word(self, top: Entries, key: str) -> str:
        node = top[key][0] if key in top else None
        return str(node.value) if isinstance(node, yaml.ScalarNode) else ""

    def _flag(self, top: Entries, key: str, parent: CockpitTheme | None) -> bool:
        word = self._word(top, key).lower()
        if word in ("true", "false"):
            return word == "true"
        if parent is not None and key not in top:
            return parent.dark
        raise self._wrong(f"{key!r} must be true or false", top[key][1] if key in top else 1)

    def _whole(self, values: Mapping[str, object], wanted: Sequence[str], key: str) -> None:
        missing = [name for name in wanted if name not in values]
        if missing:
            hint = "Add it, or write `extends: night` to take over what this file leaves out."
            raise self._wrong(f"{key!r} has no colour for {', '.join(missing)}", None, hint)

    def _wrong(self, text: str, line: int | None, hint: str | None = None) -> ThemeError:
        hint = hint or "Compare it with a bundled theme: gpu-tui help themes."
        return ThemeError(text, str(self._path), line, hint)


def _read_colour(written: str) -> Color:
    return Color.parse(written)


def _read_style(written: str) -> Style:
    return Style.parse(written)
