"""The user's own settings, `config.yaml`: theme, keys, alerts. Pure; an empty file is all defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from gpu_tui.parse.fields import Fields, text_of
from gpu_tui.parse.yaml_strict import Node, SourceError, load

_HOURS = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])", re.ASCII)


class ConfigError(SourceError):
    """The user's config file is wrong."""


@dataclass(frozen=True, slots=True)
class Alerts:
    """How a new finding is told, once each. `quiet` is minutes after local midnight, from and to."""

    bell: bool = True
    desktop: bool = True
    command: tuple[str, ...] = ()  # an argument list, never a shell line
    quiet: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class UserConfig:
    """`keys` maps a key's id of the key table to the key that replaces it; None = the default theme."""

    theme: str | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    alerts: Alerts = Alerts()


def parse_config(text: str, path: str) -> UserConfig:
    """The settings in `text`. Raises ConfigError."""
    root = load(text, path, raises=ConfigError)
    if root.value is None:
        return UserConfig()
    top = Fields(root, "the config file", ("theme", "keys", "alerts"))
    return UserConfig(top.maybe_text("theme"), _keys(top), _alerts(top))


def _keys(top: Fields) -> Mapping[str, str]:
    if "keys" not in top:
        return {}
    node = top.values["keys"]
    rows = Fields(node, '"keys"', node.keys)
    return {name: _key(rows.values[name], name) for name in node.keys}


def _key(node: Node, name: str) -> str:
    # A digit is a key too, and nobody should have to quote it.
    if isinstance(node.value, int) and not isinstance(node.value, bool):
        return node.written
    return text_of(node, name)


def _alerts(top: Fields) -> Alerts:
    if "alerts" not in top:
        return Alerts()
    row = Fields(top.values["alerts"], '"alerts"', ("bell", "desktop", "command", "quiet"))
    bell, desktop = row.maybe_flag("bell"), row.maybe_flag("desktop")
    return Alerts(
        bell=bell is not False,
        desktop=desktop is not False,
        command=row.texts("command"),
        quiet=_quiet(row),
    )


def _quiet(row: Fields) -> tuple[int, int] | None:
    text = row.maybe_text("quiet")
    if text is None:
        return None
    match = _HOURS.fullmatch(text)
    if match is None:
        raise row.place("quiet").error(
            f"{row.place('quiet').shown} is not a span of hours", 'Write it like "23:00-07:00".'
        )
    first_hour, first_minute, last_hour, last_minute = map(int, match.groups())
    return first_hour * 60 + first_minute, last_hour * 60 + last_minute
