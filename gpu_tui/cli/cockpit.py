"""`gpu-tui` without a command: the cockpit on the fleet file."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from gpu_tui.cli.fleet_args import add_fleet_arguments, fleet_of, fleet_path
from gpu_tui.cli.look_args import add_look_arguments
from gpu_tui.first_sight import FirstSight
from gpu_tui.wiring.clock import SystemClock

NAME = "cockpit"
HELP = "open the cockpit (what `gpu-tui` alone does)"
EXAMPLE = "gpu-tui --fleet fleet.yaml"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_fleet_arguments(parser)
    add_look_arguments(parser)
    parser.add_argument("--read-only", action="store_true", help="nothing that changes anything")


def run(args: argparse.Namespace) -> int:
    """Open the cockpit, or print the fleet once where there is no terminal."""
    asked = [f"{name}={value}" for name, value in sorted(vars(args).items())]
    sight = FirstSight(asked, os.environ, Path.cwd(), SystemClock())
    sight.show()
    try:
        return _open(args, sight)
    finally:
        sight.away()


def _open(args: argparse.Namespace, sight: FirstSight) -> int:
    # Imported here: whoever looks at the picture of the last time, or a sketch, waits for nothing of this.
    from gpu_tui import user_rules
    from gpu_tui.cli.as_text import cockpit_or_text
    from gpu_tui.resources import library

    path = fleet_path(args)
    complaints = (*library().complaints, *user_rules.complaints())
    if path is None or complaints:
        sight.away()
    if path is None:
        from gpu_tui.cli.first_start import first_start

        return first_start(args)
    fleet = fleet_of(args)
    if not complaints:
        from gpu_tui.wiring import outline_of

        sight.sketch(outline_of(fleet, os.environ, theme=args.theme, layout=args.layout))
    from gpu_tui.wiring import run_cockpit

    return cockpit_or_text(
        fleet,
        lambda: run_cockpit(
            fleet,
            read_only=args.read_only,
            theme=args.theme,
            layout=args.layout,
            reload_from=path,
            sight=sight,
        ),
    )
