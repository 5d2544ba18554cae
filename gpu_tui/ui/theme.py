"""Themes: colours named for what they mean, turned into what textual and rich want."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.color import Color
from rich.style import Style
from rich.theme import Theme as RichTheme
from textual.theme import Theme

from gpu_tui.ui.depth import Depth, drawn, fitted

BASE = (
    "background", "surface", "panel", "foreground",
    "primary", "secondary", "accent", "success", "warning", "error",
)  # fmt: skip
MEANINGS = (
    "text", "strong", "muted", "faint", "heading", "brand", "accent", "key", "cursor", "cursor-away",
    "border", "border-focus", "track", "history", "badge", "money",
    "level-none", "level-ok", "level-watch", "level-act", "stale", "absent", "unknown",
    "severity-fatal", "severity-serious", "severity-warn", "severity-none",
    "mark-numeric", "mark-memory", "mark-storage", "mark-peers", "mark-hardware", "mark-program",
    "mark-outside", "mark-warning", "mark-progress", "mark-none", "match",
    "rung-passed", "rung-working", "rung-blocked", "rung-waiting", "danger", "danger-badge", "safe",
    "box-1", "box-2", "box-3", "box-4", "box-5", "box-6",
)  # fmt: skip
# Of these something may depend: they must be read at once, by anybody, on any terminal.
DANGER = (
    "danger", "danger-badge", "level-act", "severity-fatal", "rung-blocked", "mark-memory", "mark-hardware",
)  # fmt: skip
DRAWN = ("border", "track", "history", "cursor", "cursor-away", "match")  # no text wears them alone
EDGES = ("danger",)  # whose borders layout files draw, as `$danger-edge`
TAKEN = {"text": "text-colour"}  # `$text` means something of textual's own
DEFAULT = "night"


class ThemeError(Exception):
    """A theme that cannot be used: what, where, and what to do."""

    def __init__(
        self, text: str, file: str | None = None, line: int | None = None, next: str | None = None
    ) -> None:
        place = "" if file is None else f"{file}: " if line is None else f"{file}:{line}: "
        super().__init__(f"{place}{text}")
        self.text, self.file, self.line, self.next = text, file, line, next


@dataclass(frozen=True, slots=True)
class Look:
    """What one depth changes: some of textual's own colours, and some of the meanings."""

    base: Mapping[str, Color] = field(default_factory=dict)
    styles: Mapping[str, Style] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CockpitTheme:
    """One theme. `styles` maps every meaning to a rich style; `base` holds textual's own colours.

    `looks` says what fewer colours change: all of it for 16, what the nearest colour spoils for 256.
    """

    name: str
    dark: bool
    base: Mapping[str, Color]
    styles: Mapping[str, Style]
    looks: Mapping[Depth, Look] = field(default_factory=dict)
    about: str = ""
    path: Path | None = None
    depth: Depth = Depth.FULL

    def at(self, depth: Depth) -> CockpitTheme:
        """This theme as a terminal of that depth shows it."""
        if depth is Depth.FULL:
            return self
        if depth is Depth.NONE:
            ink, paper = Color.from_rgb(255, 255, 255), Color.from_rgb(0, 0, 0)
            base = dict.fromkeys(BASE, ink) | dict.fromkeys(
                ("background", "surface", "panel"), paper
            )
            styles = {name: fitted(style, depth) for name, style in self.styles.items()}
            styles["level-act"] = styles["danger"] = Style(bold=True)
            return replace(self, base=base, styles=styles, dark=True, depth=depth)
        look = self.looks.get(depth, Look())
        base = {name: drawn(colour, depth) for name, colour in {**self.base, **look.base}.items()}
        styles = {
            name: fitted(style, depth) for name, style in {**self.styles, **look.styles}.items()
        }
        return replace(self, base=base, styles=styles, depth=depth)

    @property
    def textual(self) -> Theme:
        """The theme for textual: layout files use `$level-act` and its kin."""
        variables = {
            TAKEN.get(name, name): _ink(style, self.base) for name, style in self.styles.items()
        }
        variables |= {
            f"{name}-background": _paper(style, self.base) for name, style in self.styles.items()
        }
        variables |= {f"{name}-edge": _edge(self.styles[name], self.base) for name in EDGES}
        base = {name: _hex(colour) for name, colour in self.base.items()}
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


def named(themes: Sequence[CockpitTheme], name: str | None, origin: str) -> CockpitTheme:
    """The theme called `name`, which `origin` asks for; the default one where none is asked for."""
    for theme in themes:
        if theme.name == (name or DEFAULT):
            return theme
    if name is None:
        return themes[0]
    names = [theme.name for theme in themes]
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"Did you mean {close[0]}?" if close else f"There are: {', '.join(names)}."
    raise ThemeError(
        f"{origin} asks for the theme {name!r}, and there is none of that name",
        next=hint,
    )


def _ink(style: Style, base: Mapping[str, Color]) -> str:
    """The one colour that a layout file means by this name."""
    if style.reverse:
        return _hex(style.bgcolor or base["background"])
    return _hex(style.color or style.bgcolor or base["foreground"])


def _paper(style: Style, base: Mapping[str, Color]) -> str:
    """What is behind it."""
    if style.reverse:
        return _hex(style.color or base["foreground"])
    return _hex(style.bgcolor or base["panel"])


def _edge(style: Style, base: Mapping[str, Color]) -> str:
    """A border of this meaning: the ink, or its own paper where that is seen better on the ground."""
    ink, paper = style.color or base["foreground"], style.bgcolor
    return _hex(paper if paper is not None and _far(paper, base) > _far(ink, base) else ink)


def _far(colour: Color, base: Mapping[str, Color]) -> float:
    """How far from the ground, as the eye weighs colours."""
    parts = zip(
        colour.get_truecolor(), base["background"].get_truecolor(), (0.3, 0.6, 0.1), strict=True
    )
    return sum(abs(one - other) * weight for one, other, weight in parts)


def _hex(colour: Color) -> str:
    return colour.get_truecolor().hex
