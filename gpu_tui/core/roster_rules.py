"""What the queue files of one sweep say of each other: cells that are missing, doubled or moved. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpu_tui.core.rules import Condition

if TYPE_CHECKING:
    from gpu_tui.core.fleet_rules import FleetNow


def roster_conditions(seen: FleetNow) -> Iterator[tuple[str, Condition]]:
    """Instance name and condition."""
    yield from ()
