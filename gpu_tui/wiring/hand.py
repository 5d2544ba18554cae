"""What the cockpit takes from the user's own hand: keys, earlier filters, and the ssh of their own."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from gpu_tui.core.fleet import Instance
from gpu_tui.parse.config_file import UserConfig
from gpu_tui.settings import ConfigError, config_path, state_dir

if TYPE_CHECKING:  # `check` and `triage` must not pay for the screen
    from gpu_tui.ui.recall import Recall


class Hand(TypedDict):
    """What the cockpit is told of it."""

    keymap: Mapping[str, str]
    recall: Recall
    scratch: Path


class OwnSsh:
    """Shells by the user's own ssh program, with what the fleet file adds to their config."""

    def __init__(self, instance_of: Callable[[str], Instance]) -> None:
        self._instance_of = instance_of

    def command(self, instance: str) -> Sequence[str] | None:
        """The program and its arguments; None for a cluster that no box stands for, and without an ssh."""
        from gpu_tui.transport.openssh_words import shell_words  # not before the first paint

        box = self._instance_of(instance)
        program = shutil.which("ssh")
        if program is None or box.here or box.read_only:
            return None
        return (program, *shell_words(box.ssh))


def hand_of(config: UserConfig, env: Mapping[str, str], *, state: Path | None = None) -> Hand:
    """Raises ConfigError with file and line where a remapped key cannot be taken."""
    from gpu_tui.ui.recall import FILE, Recall

    directory = state or state_dir(env)
    return Hand(keymap=keys_of(config, env), recall=Recall(directory / FILE), scratch=directory)


def keys_of(config: UserConfig, env: Mapping[str, str]) -> Mapping[str, str]:
    """The remapped keys as textual takes them. Raises ConfigError with file and line."""
    from gpu_tui.ui.keymap import KeymapError, keymap_of

    try:
        return keymap_of(config.keys)
    except KeymapError as error:
        path = config_path(env)
        place = _place_of(path, error.id)
        raise ConfigError(error.text, str(path), *place, next=error.next) from None


def _place_of(path: Path, id: str) -> tuple[int | None, int | None]:
    """Line and column where the config file speaks of this key."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return None, None
    name = re.compile(rf"^[^#]*?(?<![\w.])({re.escape(id)})(?![\w.])")
    found = ((n, at.start(1) + 1) for n, text in enumerate(lines, 1) if (at := name.match(text)))
    return next(found, (None, None))
