"""How the cockpit looks in this terminal to this person: theme, colours, signs, layout."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from gpu_tui.parse.config_file import UserConfig
from gpu_tui.places import config_dir
from gpu_tui.resources import themes_dir
from gpu_tui.settings import state_dir
from gpu_tui.state.habits import FILE, Habits

if TYPE_CHECKING:  # `check` and `triage` must not pay for the screen
    from collections.abc import Sequence

    from textual.filter import LineFilter

    from gpu_tui.ui.theme import CockpitTheme

IN_CONFIG = '"theme" in config.yaml'


class Looks(TypedDict):
    """What the cockpit is told of it."""

    themes: Sequence[CockpitTheme]
    theme: str
    filters: Sequence[LineFilter]
    habits: Habits
    preset: str | None


def looks_of(
    config: UserConfig,
    env: Mapping[str, str],
    *,
    theme: str | None = None,
    layout: str | None = None,
    state: Path | None = None,
) -> Looks:
    """What was asked for by flag, else chosen on screen, else set in the config file.

    A choice on screen lasts until the config file names another one. Raises ThemeError.
    """
    from gpu_tui.ui.depth import Depth, depth_of
    from gpu_tui.ui.glyphs import filters_of, glyphs_of
    from gpu_tui.ui.theme import named
    from gpu_tui.ui.theme_file import load_themes

    depth = depth_of(env)
    themes = load_themes(themes_dir(), config_dir(env) / "themes")
    habits = Habits((state or state_dir(env)) / FILE)
    for name, wish in (("theme", config.theme), ("layout", config.layout)):
        if (habits.get(f"{name} in config") or "") != (wish or ""):
            habits.keep(f"{name} in config", wish or "")
            habits.keep(name, "")
    chosen = habits.get("theme") or None
    if theme is not None:
        worn = named(themes, theme, "--theme")
    elif chosen in [one.name for one in themes]:
        worn = named(themes, chosen, "the last choice")
    else:
        worn = named(themes, config.theme, IN_CONFIG)
    glyphs = glyphs_of(env, getattr(sys.__stdout__, "encoding", None))
    return Looks(
        themes=[one.at(depth) for one in themes],
        theme=worn.name,
        filters=filters_of(glyphs, colours=depth is not Depth.NONE),
        habits=habits,
        preset=layout or habits.get("layout") or config.layout,
    )
