"""What the cockpit would refuse of the user's settings, for commands that draw none and never look at it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpu_tui.places import config_dir
from gpu_tui.resources import themes_dir
from gpu_tui.settings import ConfigError, load_config


def misfits(env: Mapping[str, str]) -> Iterator[Exception]:
    """Each with its words and its next step. Raises ConfigError where nothing of the file can be read.

    What is not set costs nothing: the tables of keys and themes are loaded for those that are.
    """
    config = load_config(env)
    if config.keys:
        from gpu_tui.wiring.hand import keys_of

        try:
            keys_of(config, env)
        except ConfigError as error:
            yield error
    if config.theme:
        from gpu_tui.ui.theme import ThemeError, named
        from gpu_tui.ui.theme_file import load_themes
        from gpu_tui.wiring.looks import IN_CONFIG

        try:
            named(load_themes(themes_dir(), config_dir(env) / "themes"), config.theme, IN_CONFIG)
        except ThemeError as error:
            yield error
