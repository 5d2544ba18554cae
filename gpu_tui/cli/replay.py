"""`gpu-tui replay FILE`: the cockpit on a recording, with pause, speed and seek."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpu_tui.cli.look_args import add_look_arguments
from gpu_tui.cli.record import duration

NAME = "replay"
HELP = "open the cockpit on a recording: pause, speed, seek, next finding"
EXAMPLE = "gpu-tui replay monday.tape --start 10m"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.add_argument("file", type=Path, metavar="FILE", help="what `gpu-tui record` wrote")
    parser.add_argument(
        "--start",
        type=duration,
        default=0.0,
        metavar="TIME",
        help="begin this far into it: 90s, 10m",
    )
    add_look_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Play it."""
    from gpu_tui.wiring import run_replay

    return run_replay(args.file, theme=args.theme, layout=args.layout, start=args.start)
