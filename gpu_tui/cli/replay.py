"""`gpu-tui replay FILE`: the cockpit on a recording, with pause, speed and seek."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpu_tui.cli.look_args import add_look_arguments

EXAMPLE = "gpu-tui replay monday.tape --at 10m --speed 10"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.add_argument("file", type=Path, metavar="FILE", help="what `gpu-tui record` wrote")
    parser.add_argument(
        "--at",
        type=_place,
        default="start",
        metavar="PLACE",
        help="begin there: 90s, 10m, 1:05:00, 50%%, end",
    )
    parser.add_argument(
        "--speed", type=_speed, default=1.0, metavar="X", help="how fast it runs: 0.25 to 300 (1)"
    )
    add_look_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Play it."""
    from gpu_tui.wiring import run_replay

    return run_replay(args.file, theme=args.theme, layout=args.layout, at=args.at, speed=args.speed)


def _place(text: str) -> str:
    from gpu_tui.recording.player import PLACES, place_of

    try:
        place_of(text, 0.0, 0.0)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no place in a recording; write one of {PLACES}"
        ) from None
    return text


def _speed(text: str) -> float:
    try:
        speed = float(text.removesuffix("x"))
    except ValueError:
        speed = 0.0
    if not 0.25 <= speed <= 300:
        raise argparse.ArgumentTypeError(f"{text!r} is no speed from 0.25 to 300")
    return speed
