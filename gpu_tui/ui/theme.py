"""Themes: files of colours named for what they mean, turned into what textual and rich want."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from rich.errors import StyleSyntaxError
from rich.style import Style
from rich.theme import Theme as RichTheme
from textual.theme import Theme

BASE = (
    "background", "surface", "panel", "foreground",
    "primary", "secondary", "accent", "success", "warning", "error",
)  # fmt: skip
MEANINGS = frozenset((
    "text", "strong", "muted", "faint", "heading", "brand", "accent", "key", "cursor", "cursor-away",
    "border", "border-focus", "track", "history", "badge", "money",
    "level-none", "level-ok", "level-watch", "level-act", "stale", "absent", "unknown",
    "severity-fatal", "severity-serious", "severity-warn", "severity-none",
    "mark-numeric", "mark-memory", "mark-storage", "mark-peers", "mark-hardware", "mark-program",
    "mark-outside", "mark-warning", "mark-progress", "mark-none", "match",
    "rung-passed", "rung-working", "rung-blocked", "rung-waiting", "danger", "danger-badge", "safe",
    "box-1", "box-2", "box-3", "box-4", "box-5", "box-6",
))  # fmt: skip
TAKEN = {"text": "text-colour"}  # `$text` means something of textual's own


class ThemeError(Exception):
    """A theme file that cannot be used; the message names the file and what to change."""


@dataclass(frozen=True, slots=True)
class CockpitTheme:
    """One theme file. `styles` maps every meaning to a rich style; `base` holds textual's own colours."""

    name: str
    dark: bool
    base: Mapping[str, str]
    styles: Mapping[str, Style]

    @property
    def textual(self) -> Theme:
        """The theme for textual: layout files use `$level-act` and its kin."""
        variables = {
            TAKEN.get(name, name): _colour(style, self.base) for name, style in self.styles.items()
        }
        variables |= {
            f"{name}-background": style.bgcolor.get_truecolor().hex
            for name, style in self.styles.items()
            if style.bgcolor is not None
        }
        base = self.base
        return Theme(
            name=self.name,
            primary=base["primary"],
            secondary=base["secondary"],
            warning=base["warning"],
            error=base["error"],
            success=base["success"],
            accent=base["accent"],
            foreground=base["foreground"],
            background=base["background"],
            surface=base["surface"],
            panel=base["panel"],
            dark=self.dark,
            variables=variables,
        )

    @property
    def rich(self) -> RichTheme:
        """The theme for rich: a `Text` names its styles by meaning."""
        return RichTheme(dict(self.styles))


def load_themes(directory: Path) -> tuple[CockpitTheme, ...]:
    """Every `*.yaml` of `directory`, dark ones first."""
    themes = [load_theme(path) for path in sorted(directory.glob("*.yaml"))]
    if not themes:
        raise ThemeError(f"{directory}: no theme files (*.yaml) here; reinstall gpu-tui")
    return tuple(sorted(themes, key=lambda theme: (not theme.dark, theme.name)))


def load_theme(path: Path) -> CockpitTheme:
    """One theme file, whole: a missing or unknown meaning is an error."""
    try:
        raw = yaml.safe_load(path.read_text("utf-8"))
        base = {name: str(raw["base"][name]) for name in BASE}
        meanings = {str(name): str(style) for name, style in raw["meanings"].items()}
        name, dark = str(raw["name"]), bool(raw["dark"])
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError) as wrong:
        raise ThemeError(f"{path}: not a theme ({wrong!r}); compare it with night.yaml") from wrong
    if missing := MEANINGS - meanings.keys():
        raise ThemeError(f"{path}: no colour for {', '.join(sorted(missing))}")
    if extra := meanings.keys() - MEANINGS:
        raise ThemeError(f"{path}: unknown meaning {', '.join(sorted(extra))}")
    try:
        styles = {meaning: Style.parse(style) for meaning, style in meanings.items()}
    except StyleSyntaxError as wrong:
        raise ThemeError(f"{path}: {wrong}") from wrong
    return CockpitTheme(name, dark, base, styles)


def _colour(style: Style, base: Mapping[str, str]) -> str:
    """The one colour that a layout file means by this name."""
    colour = style.color or style.bgcolor
    return colour.get_truecolor().hex if colour is not None else base["foreground"]
