"""`gpu-tui check`: one patrol tick for cron."""

from __future__ import annotations

import argparse
import json

from gpu_tui.cli.fleet_args import add_fleet_arguments, fleet_of
from gpu_tui.core.clock import rfc3339
from gpu_tui.state.contract import check_json, fleet_verdict
from gpu_tui.state.patrol import patrol_lines
from gpu_tui.state.views import FleetView

NAME = "check"
HELP = "one patrol tick over the whole fleet, for cron"
EXAMPLE = "gpu-tui check --json --fleet fleet.yaml"
EXITS = {"healthy": 0, "escalate": 1, "cannot-tell": 2}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_fleet_arguments(parser)
    parser.add_argument("hosts", nargs="*", metavar="HOST", help="check these hosts instead")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--limit", type=float, default=30.0, metavar="SECONDS", help="give up on a box after this"
    )


def run(args: argparse.Namespace) -> int:
    """Exit 0 healthy, 1 escalate (also unreachable), 2 nothing could be read."""
    from gpu_tui import wiring

    fleet = fleet_of(args)
    view = wiring.run(wiring.collect_once(fleet, args.limit))
    if args.json:
        print(json.dumps(check_json(view), ensure_ascii=False, allow_nan=False))
    else:
        print(_text(view))
    return EXITS[fleet_verdict(view)]


def _text(view: FleetView) -> str:
    lines = [f"gpu-tui check {rfc3339(view.taken_at)}: {fleet_verdict(view)}"]
    for instance in view.instances:
        lines += patrol_lines(instance, view.taken_at)
    return "\n".join(lines)
