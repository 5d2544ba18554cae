"""What is known of a fleet without asking anybody: its store, what was kept of it, and the user's settings.

Light to import: the screen is painted from it before the programs that ask the boxes are even loaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gpu_tui import settings
from gpu_tui.core.clock import Clock
from gpu_tui.core.events import Noted
from gpu_tui.core.fleet import Fleet
from gpu_tui.parse.config_file import UserConfig
from gpu_tui.places import make_private
from gpu_tui.resources import Library, library
from gpu_tui.state.history import SqliteHistory
from gpu_tui.state.logbuffer import POOL
from gpu_tui.state.store import Store
from gpu_tui.wiring.clock import SystemClock

NOT_KEPT = "nothing of this watch is kept for the next one"


@dataclass(frozen=True, slots=True)
class Kept:
    """Open for as long as a fleet is watched; `directory` is the state directory."""

    clock: Clock
    shelf: Library
    directory: Path
    config: UserConfig
    store: Store


@contextmanager
def open_kept(fleet: Fleet, state: Path | None = None) -> Iterator[Kept]:
    """The store of a fleet over its history in the state directory."""
    shelf = library()
    directory = state or settings.state_dir(os.environ)
    why = _unusable(directory)
    config = settings.load_config(os.environ)
    with SqliteHistory(directory / "history.sqlite") as history:
        memory = config.log_memory or POOL
        store = Store(fleet, shelf.profiles, history, config.thresholds, memory)
        clock = SystemClock()
        if trouble := why or history.trouble:
            store.apply(Noted(None, clock.now(), f"{NOT_KEPT}: {trouble}"))
        try:
            yield Kept(clock, shelf, directory, config, store)
        finally:
            store.keep(clock.now())


def _unusable(directory: Path) -> str | None:
    """Why nothing can be kept in the state directory; None where it is there."""
    try:
        make_private(directory)
    except OSError as error:
        return f"{directory}: {error.strerror}: set XDG_STATE_HOME to a directory of yours"
    return None
