"""What the cockpit takes from the user's own hand: keys, earlier filters, and the ssh of their own."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from gpu_tui.core.metrics import KUBERNETES
from gpu_tui.parse.config_file import UserConfig
from gpu_tui.settings import ConfigError, config_path, state_dir
from gpu_tui.state.views import InstanceView

if TYPE_CHECKING:  # `check` and `triage` must not pay for the screen
    from gpu_tui.ui.recall import Recall


class Hand(TypedDict):
    """What the cockpit is told of it."""

    keymap: Mapping[str, str]
    recall: Recall
    scratch: Path


class OwnPrograms:
    """Shells by the user's own ssh, with what the fleet file adds to their config, or by their own kubectl."""

    def __init__(self, view_of: Callable[[str], InstanceView]) -> None:
        self._view_of = view_of

    def command(self, instance: str, cell: str | None = None) -> Sequence[str] | None:
        """The program and its arguments. Of a cluster without a box it leads into the pod of `cell`, or of the cell that
        runs; None where no pod runs, and without the program.
        """
        view = self._view_of(instance)
        box = view.instance
        program = shutil.which("kubectl" if box.here else "ssh")
        if program is None or box.read_only:
            return None
        if box.here:
            words = exec_words(view, cell)
            return (program, *words) if words else None
        from gpu_tui.transport.openssh_words import shell_words  # not before the first paint

        return (program, *shell_words(box.ssh))


def exec_words(view: InstanceView, cell: str | None) -> Sequence[str]:
    """The arguments of kubectl for a shell in a pod; none where it does not run."""
    table = view.track(KUBERNETES).value
    running = view.queue.running
    name = cell or (running.name if running is not None else None)
    jobs = table.jobs if table is not None else ()
    job = next((job for job in jobs if job.name == name and job.live and job.shell), None)
    if job is None:
        return ()
    from gpu_tui.parse import kubectl  # not before the first frame

    pod, container = job.shell
    return kubectl.shell(view.instance.scheduler_scope, pod, container)[1:]


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
