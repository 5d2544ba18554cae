"""`gpu-tui record FILE`: everything that a fleet says, with its times, into one file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gpu_tui.cli.fleet_args import add_fleet_arguments, fleet_of, fleet_path
from gpu_tui.cli.look_args import add_look_arguments
from gpu_tui.core import units
from gpu_tui.core.speech import say
from gpu_tui.parse.duration import DurationError, parse_duration

EXAMPLE = "gpu-tui record monday.tape --fleet fleet.yaml"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.add_argument("file", type=Path, metavar="FILE", help="a new file")
    add_fleet_arguments(parser)
    parser.add_argument(
        "--no-screen", action="store_true", help="record without opening the cockpit"
    )
    parser.add_argument(
        "--for", dest="seconds", type=duration, metavar="TIME", help="without a screen: 10m, 2h"
    )
    add_look_arguments(parser)
    parser.add_argument("--read-only", action="store_true", help="nothing that changes anything")


def run(args: argparse.Namespace) -> int:
    """Record with the cockpit open, or without a screen where there is no terminal."""
    from gpu_tui.recording.tape import MOST
    from gpu_tui.wiring import run_cockpit, run_record

    fleet = fleet_of(args)
    if args.no_screen or args.seconds or not (sys.stdin.isatty() and sys.stdout.isatty()):
        run_record(fleet, args.file, seconds=args.seconds, reload_from=fleet_path(args))
        code = 0
    else:
        code = run_cockpit(
            fleet,
            read_only=args.read_only,
            theme=args.theme,
            layout=args.layout,
            badge="rec",
            reload_from=fleet_path(args),
            record_to=args.file,
        )
    size = args.file.stat().st_size
    if size >= MOST:
        print(
            say(
                "The recording ends early: {most} is the most that one takes.",
                most=units.size(MOST),
            )
        )
    watch = say("Watch it with: {command}", command=f"gpu-tui replay {args.file}")
    print(f"{args.file}: {units.size(size)}. {watch}")
    print(say("What looks like a key or a password is hidden in it; the logs of the run are not."))
    return code


def duration(text: str) -> float:
    """A flag's duration, `10m` or `2h`, in seconds."""
    try:
        seconds = parse_duration(text)
    except DurationError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not seconds:
        raise argparse.ArgumentTypeError(f"{text!r} is no time to record for")
    return seconds
