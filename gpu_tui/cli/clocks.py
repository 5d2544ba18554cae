"""`gpu-tui clocks`: every deadline of the fleet, and a manual anchor where nothing else knows it."""

from __future__ import annotations

import argparse
import json
import os
from datetime import UTC, datetime

from gpu_tui.cli.fleet_args import add_fleet_arguments, fleet_of
from gpu_tui.core.clock import rfc3339
from gpu_tui.core.clocks import DangerClock
from gpu_tui.settings import FleetError, state_dir
from gpu_tui.state.contract import clock_json
from gpu_tui.state.history import SqliteHistory

NAME = "clocks"
HELP = "all danger clocks; `clocks mark NAME stopped TIME` sets one by hand"
EXAMPLE = "gpu-tui clocks mark autodl-2 stopped 2026-11-08T21:30:00+08:00"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_fleet_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--limit", type=float, default=30.0, metavar="SECONDS")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    mark = actions.add_parser("mark", help="set when an instance was stopped, or a deadline")
    # Flags may also stand behind the action, where a person types them.
    mark.add_argument("--fleet", metavar="FILE", default=argparse.SUPPRESS)
    mark.add_argument("name", metavar="NAME")
    mark.add_argument("what", choices=["stopped", "started", "deadline"])
    mark.add_argument("time", nargs="?", metavar="TIME", help="ISO time with a zone")
    mark.add_argument("--clock", metavar="ID", help="which clock a deadline belongs to")


def run(args: argparse.Namespace) -> int:
    """List the clocks, or keep a mark."""
    fleet = fleet_of(args)
    if args.action == "mark":
        if args.name not in fleet.names:
            known = ", ".join(fleet.names)
            raise FleetError(f"no instance is called {args.name!r}", next=f"the fleet has {known}")
        return _mark(args)
    from gpu_tui import wiring

    view = wiring.run(wiring.collect_once(fleet, args.limit))
    if args.json:
        clocks = [clock_json(clock) for clock in view.clocks]
        print(json.dumps({"version": 1, "clocks": clocks}, ensure_ascii=False))
        return 0
    for clock in view.clocks:
        print(_line(clock))
    return 0


def _line(clock: DangerClock) -> str:
    when = rfc3339(clock.earliest_fires_at) or clock.state
    bound = "" if clock.fires_at or clock.earliest_fires_at is None else " at the earliest"
    what = clock.loses or clock.bills or clock.avoid
    return f"{when}{bound}  {clock.instance}  {clock.id}: {what} ({clock.confidence}, {clock.verified})"


def _mark(args: argparse.Namespace) -> int:
    kind = "stopped_at" if args.what != "deadline" else f"deadline:{args.clock or 'manual'}"
    with SqliteHistory(state_dir(os.environ) / "history.sqlite") as history:
        if args.what == "started":
            history.forget_anchor(args.name, "stopped_at")
            return 0
        at = _parse_time(args.time)
        history.set_anchor(args.name, kind, at, "manual")
    print(f"{args.name}: {args.what} {rfc3339(at)}")
    return 0


def _parse_time(text: str | None) -> float:
    try:
        at = datetime.fromisoformat(text or "")
    except ValueError:
        raise FleetError(
            f"{text!r} is no time", next="write it as 2026-11-08T21:30:00+08:00"
        ) from None
    if at.tzinfo is None:
        raise FleetError(f"{text!r} has no zone", next="add one: Z, or +08:00")
    return at.astimezone(UTC).timestamp()
