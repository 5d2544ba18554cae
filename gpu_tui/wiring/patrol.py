"""What the patrol before saw, kept between two runs of `check`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from gpu_tui import settings
from gpu_tui.state.history import SqliteHistory
from gpu_tui.state.patrol import Tick, tick_of
from gpu_tui.state.views import FleetView

COUNTER = "patrol"
HOSTS = "patrol of hosts"


def turn_over(
    view: FleetView, *, hosts: bool = False, state: Path | None = None
) -> Mapping[str, Tick]:
    """Return the last ticks by instance and replace them by those of this view. An unreachable box keeps its last one.

    `hosts`: the boxes were named on the command line. They have baselines of their own, because a fleet file names
    queues and logs that such a look does not read.
    """
    counter = HOSTS if hosts else COUNTER
    last: dict[str, Tick] = {}
    directory = state or settings.state_dir(os.environ)
    with SqliteHistory(directory / "history.sqlite") as history:
        for instance in view.instances:
            old = _tick(history.counter(instance.name, counter))
            if old is not None:
                last[instance.name] = old
            tick = tick_of(instance)
            if tick is not None:
                history.set_counter(instance.name, counter, json.dumps(asdict(tick)), tick.at)
    return last


def _tick(text: str | None) -> Tick | None:
    """A kept tick; one of another version is none."""
    try:
        tick = Tick(**json.loads(text)) if text else None
    except (ValueError, TypeError):
        return None
    return tick if tick is None or isinstance(tick.rows, dict) else replace(tick, rows={})
