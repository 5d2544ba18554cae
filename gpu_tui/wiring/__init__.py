"""The composition root: the one place that names concrete classes of more than one room.

`open_fleet` opens clock, transport, store, collectors, providers and the teardown port in one
`async with`, and owns every task; the screen and the commands only read and ask. What is named here is loaded
when it is first asked for: a command pays for what it does.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpu_tui.wiring.alerts import tell, try_ways
    from gpu_tui.wiring.clock import SystemClock
    from gpu_tui.wiring.cockpit import (
        NoTerminal,
        need_terminal,
        run_cockpit,
        run_record,
        run_replay,
    )
    from gpu_tui.wiring.exporter import run_exporter
    from gpu_tui.wiring.fitting import misfits
    from gpu_tui.wiring.fleet import Control, Room, Tap, open_fleet
    from gpu_tui.wiring.once import CHECK_LIMIT, Deadline, collect_once, with_connection
    from gpu_tui.wiring.patrol import turn_over
    from gpu_tui.wiring.process import run

PLACES = {
    "alerts": ("tell", "try_ways"),
    "clock": ("SystemClock",),
    "cockpit": ("NoTerminal", "need_terminal", "run_cockpit", "run_record", "run_replay"),
    "exporter": ("run_exporter",),
    "fleet": ("Control", "Room", "Tap", "open_fleet"),
    "fitting": ("misfits",),
    "once": ("CHECK_LIMIT", "Deadline", "collect_once", "with_connection"),
    "patrol": ("turn_over",),
    "process": ("run",),
}

__all__ = [
    "CHECK_LIMIT",
    "Control",
    "Deadline",
    "NoTerminal",
    "Room",
    "SystemClock",
    "Tap",
    "collect_once",
    "misfits",
    "need_terminal",
    "open_fleet",
    "run",
    "run_cockpit",
    "run_exporter",
    "run_record",
    "run_replay",
    "tell",
    "try_ways",
    "turn_over",
    "with_connection",
]


def __getattr__(name: str) -> object:
    for module, names in PLACES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
