"""What the cockpit says where there is no terminal to draw on: the fleet once, as text, and no escapes."""

from __future__ import annotations

import sys
from collections.abc import Callable

from gpu_tui.cli.fleet_args import look
from gpu_tui.cli.journal import tell_what_is_open
from gpu_tui.core.clock import rfc3339
from gpu_tui.core.fleet import Fleet
from gpu_tui.core.speech import say, told

PATIENCE = 30.0  # seconds for one box


def cockpit_or_text(fleet: Fleet, cockpit: Callable[[], int]) -> int:
    """Open the cockpit; where it cannot be drawn, look once and print. Exits as `check` does."""
    from gpu_tui import wiring

    try:
        code = cockpit()
        tell_what_is_open(instance.name for instance in fleet.instances)
        return code
    except wiring.NoTerminal as why:
        words = say(
            "{why}. This is the fleet as text, once; for scripts and cron: gpu-tui check",
            why=told(str(why)),
        )
        print(f"gpu-tui: {words}", file=sys.stderr)
    from gpu_tui.state.contract import fleet_verdict
    from gpu_tui.state.patrol import patrol_report

    view = look(fleet, PATIENCE)
    first, *rest = patrol_report(view, {})
    print("\n".join([f"gpu-tui {rfc3339(view.taken_at)}: {first}", *rest]))
    verdict = fleet_verdict(view)
    if verdict != "cannot-tell":
        return 0 if verdict == "healthy" else 1
    return 1 if any(one.last_contact is not None for one in view.instances) else 2
