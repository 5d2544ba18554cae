"""`gpu-tui pull NAME`: bring the results home and prove it; no teardown."""

from __future__ import annotations

import argparse

from gpu_tui.cli.fleet_args import add_fleet_arguments, fleet_of
from gpu_tui.settings import FleetError

NAME = "pull"
HELP = "pull, match and load the results of one instance, without teardown"
EXAMPLE = "gpu-tui pull autodl-1"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_fleet_arguments(parser)
    parser.add_argument("name", metavar="NAME", help="the instance")
    parser.add_argument(
        "--limit", type=float, default=30.0, metavar="SECONDS", help="how long to wait for the box"
    )


def run(args: argparse.Namespace) -> int:
    """Exit 0 only if everything was pulled, matched and loaded."""
    from gpu_tui import wiring

    fleet = fleet_of(args)
    if args.name not in fleet.names:
        raise FleetError(
            f"no instance is called {args.name!r}", next=f"the fleet has {', '.join(fleet.names)}"
        )

    async def act(room: wiring.Room) -> int:
        shown = 0
        verified = False
        async for view in room.runner.pull_only(args.name):
            passed = [rung for rung in view.rungs if rung.state in ("passed", "blocked")]
            for rung in passed[shown:]:
                print(f"{rung.state:8} {rung.title}: {'; '.join(rung.lines)}", flush=True)
                if rung.next:
                    print(f"         next: {rung.next}", flush=True)
            shown = len(passed)
            verified = view.outcome == "verified"
        return 0 if verified else 1

    return wiring.run(wiring.with_connection(fleet, args.name, args.limit, act))
