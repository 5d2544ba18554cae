"""The sketch of the cockpit for one fleet, in the theme and the layout that the cockpit will have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gpu_tui import settings
from gpu_tui.core.fleet import Fleet
from gpu_tui.places import config_dir
from gpu_tui.resources import themes_dir
from gpu_tui.state.habits import FILE, Habits
from gpu_tui.ui.depth import depth_of
from gpu_tui.ui.layout import Preset, preset_named
from gpu_tui.ui.sketch import pens_of, sketch

DEFAULT = "night"


def outline_of(
    fleet: Fleet, env: Mapping[str, str], *, theme: str | None = None, layout: str | None = None
) -> Callable[[int, int], Sequence[str]]:
    """What draws it for a width and a height. Raises what reading the settings raises."""
    config = settings.load_config(env)
    habits = Habits(settings.state_dir(env) / FILE)

    def wish(name: str, flag: str | None, set_: str | None) -> str | None:
        """Asked for by flag, else chosen on screen, else set: as `looks_of` has it."""
        new = (habits.get(f"{name} in config") or "") != (set_ or "")
        return flag or (None if new else habits.get(name)) or set_ or None

    preset = preset_named(wish("layout", layout, config.layout)) or Preset.BALANCED
    worn = wish("theme", theme, config.theme) or DEFAULT
    pens = pens_of(_file(worn, config_dir(env) / "themes"), depth_of(env))

    def draw(width: int, height: int) -> Sequence[str]:
        return sketch(fleet.names, fleet.sweep, width, height, preset, pens)

    return draw


def _file(theme: str, own: Path) -> str:
    """The text of the file called so; empty where none is, or a theme has another name than its file."""
    for directory in (own, themes_dir()):
        try:
            return (directory / f"{Path(theme).name}.yaml").read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
    return ""
