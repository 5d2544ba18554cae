"""`gpu-tui` without a command: the cockpit on the fleet file."""

from __future__ import annotations

import argparse

from gpu_tui.cli.fleet_args import add_fleet_arguments, fleet_of, fleet_path
from gpu_tui.cli.look_args import add_look_arguments

EXAMPLE = "gpu-tui --fleet fleet.yaml"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_fleet_arguments(parser)
    add_look_arguments(parser)
    parser.add_argument("--read-only", action="store_true", help="nothing that changes anything")


def run(args: argparse.Namespace) -> int:
    """Open the cockpit, or print the fleet once where there is no terminal."""
    path = fleet_path(args)
    if path is None:
        from gpu_tui.cli.first_start import first_start

        return first_start(args)
    # Imported here: `--help` does not pay for them.
    from gpu_tui.cli.as_text import cockpit_or_text
    from gpu_tui.wiring import run_cockpit

    fleet = fleet_of(args)
    return cockpit_or_text(
        fleet,
        lambda: run_cockpit(
            fleet,
            read_only=args.read_only,
            theme=args.theme,
            layout=args.layout,
            reload_from=path,
        ),
    )
