"""`gpu-tui watch HOST...`: the cockpit on hosts that no file describes."""

from __future__ import annotations

import argparse

from gpu_tui.cli.as_text import cockpit_or_text
from gpu_tui.cli.look_args import add_look_arguments
from gpu_tui.settings import fleet_of_hosts

EXAMPLE = "gpu-tui watch autodl-1 ssh://root@203.0.113.5:2222 --platform autodl"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.add_argument("hosts", nargs="+", metavar="HOST", help="ssh alias, user@host or ssh://…")
    parser.add_argument("--platform", metavar="NAME", help="which profile (generic-ssh)")
    add_look_arguments(parser)
    parser.add_argument("--read-only", action="store_true", help="nothing that changes anything")


def run(args: argparse.Namespace) -> int:
    """Open the cockpit, or print the hosts once where there is no terminal."""
    from gpu_tui.wiring import run_cockpit

    fleet = fleet_of_hosts(args.hosts, args.platform)
    return cockpit_or_text(
        fleet,
        lambda: run_cockpit(fleet, read_only=args.read_only, theme=args.theme, layout=args.layout),
    )
