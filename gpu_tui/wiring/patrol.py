"""What the patrol before saw, kept between two runs of `check`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
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
    """The last ticks by instance; those of this view take their place. A box that is away keeps its last.

    `hosts`: the boxes were named on the command line. They have baselines of their own, because a fleet file knows
    queues and logs that such a look does not.
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
        return Tick(**json.loads(text)) if text else None
    except (ValueError, TypeError):
        return None
