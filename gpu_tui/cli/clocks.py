"""`gpu-tui clocks`: every deadline of the fleet, and a manual anchor where nothing else knows it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_tui.cli.fleet_args import add_fleet_arguments, fleet_of, look, seconds
from gpu_tui.cli.streams import only_one
from gpu_tui.core import units
from gpu_tui.core.clock import rfc3339
from gpu_tui.core.clocks import BOUND_WORDS, DangerClock
from gpu_tui.core.marks import WORDS, anchor_of, refuse
from gpu_tui.core.plain import plain
from gpu_tui.core.speech import headed, listed, say, told
from gpu_tui.parse.moment import FORMS, parse_moment
from gpu_tui.settings import FleetError, state_dir
from gpu_tui.state.history import SqliteHistory

if TYPE_CHECKING:
    from gpu_tui.core.fleet import Instance
    from gpu_tui.state.views import FleetView

EXAMPLE = "gpu-tui clocks --ics deadlines.ics; gpu-tui clocks mark autodl-2 stopped 3h ago"
WIDTH = 300
STDOUT = "-"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_fleet_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--all", action="store_true", help="also those that do not count now")
    parser.add_argument(
        "--ics",
        metavar="FILE",
        help="write all deadlines as a calendar, again to bring it up to date; - prints it",
    )
    parser.add_argument("--limit", type=seconds, default=30.0, metavar="SECONDS")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    mark = actions.add_parser(
        "mark",
        help="say when an instance was stopped or created, when something fires, or since when it counts",
        epilog=f"TIME is {FORMS}; a time without a zone is this machine's own",
    )
    mark.add_argument("name", metavar="NAME")
    mark.add_argument("what", choices=WORDS, metavar="WHAT", help=", ".join(WORDS))
    mark.add_argument("time", nargs="+", metavar="TIME")
    unmark = actions.add_parser("unmark", help="forget what was marked")
    unmark.add_argument("name", metavar="NAME")
    unmark.add_argument("what", nargs="?", choices=WORDS, metavar="WHAT", help=", ".join(WORDS))
    for action in (mark, unmark):
        # Flags may also stand behind the action, where a person types them.
        action.add_argument("--fleet", metavar="FILE", default=argparse.SUPPRESS)
        action.add_argument("--clock", metavar="ID", help="the clock that a deadline belongs to")


def run(args: argparse.Namespace) -> int:
    """List the clocks, write the calendar, or keep a mark."""
    from gpu_tui.state.calendar import calendar
    from gpu_tui.state.contract import clock_json

    only_one(args.json, args.ics == STDOUT)
    fleet = fleet_of(args)
    if args.action is not None:
        if args.name not in fleet.names:
            known = ", ".join(fleet.names)
            raise FleetError(f"no instance is called {args.name!r}", next=f"the fleet has {known}")
        instance = fleet[args.name]
        return _mark(args, instance) if args.action == "mark" else _unmark(args, instance)

    view = look(fleet, args.limit)
    if args.ics == STDOUT:
        sys.stdout.write(calendar(view))
    elif args.ics:
        _calendar(Path(args.ics), view)
    if args.json:
        clocks = [clock_json(clock) for clock in view.clocks]
        print(json.dumps({"version": 1, "clocks": clocks}, ensure_ascii=False))
    elif not args.ics:
        for line in clock_lines(view.clocks, view.taken_at, armed=args.all):
            print(line)
    return 0


def clock_lines(clocks: Sequence[DangerClock], now: float, *, armed: bool = False) -> Iterable[str]:
    """What ticks, soonest first, each with what to do; how many do not count now, or those as well with `armed`."""
    # Imported here: only the list needs what the screen is drawn with.
    from gpu_tui.ui.text.deadlines import rows_of

    rows = rows_of(clock for clock in clocks if armed or clock.ticks)
    for row in rows:
        clock = row.clock
        what = told(clock.what).rstrip(".。")
        yield plain(headed(f"{_when(clock, now)}  {listed(row.instances)}", what), WIDTH)
        only = say(" only if it is {states};", states=" / ".join(clock.only)) if clock.only else ""
        yield plain(f"    ->{only} {told(clock.avoid)}", WIDTH)
        proof = say(
            "{key}, {confidence} confidence, {verified}",
            key=clock.key, confidence=say(clock.confidence), verified=clock.verified,
        )  # fmt: skip
        stale = say(", re-check it") if clock.stale_fact else ""
        yield plain(f"    {proof}{stale}", WIDTH)
    silent = 0 if armed else sum(not clock.ticks for clock in clocks)
    if not rows:
        yield say("no clock is ticking")
    if silent:
        one = say("1 more does not count now: --all")
        many = say("{number} more do not count now: --all", number=silent)
        yield one if silent == 1 else many


def _when(clock: DangerClock, now: float) -> str:
    if clock.deadline is None:
        words = {
            "running": "ticking" if not clock.bills else "billing",
            "unknown-start": "unknown",
            "armed": "not counting",
        }
        return say(words.get(clock.state, clock.state))
    bound = f" {say(BOUND_WORDS[clock.bound])}" if clock.bound in BOUND_WORDS else ""
    left = clock.deadline - now
    how = (
        say("in {span}", span=units.spoken(left))
        if left > 0
        else say("{age} ago", age=units.spoken(-left))
    )
    return f"{rfc3339(clock.deadline)} ({how}{bound})"


def _calendar(path: Path, view: FleetView) -> None:
    """Write it; what could not be asked is said, for its deadlines are not in there."""
    from gpu_tui.state.calendar import deadlines, save

    count = save(path, view)
    one = say("1 deadline in {path}", path=path)
    many = say("{number} deadlines in {path}", number=count, path=path)
    print(one if count == 1 else many, file=sys.stderr)
    timed = {clock.instance for clock in deadlines(view.clocks, view.taken_at)}
    blind = [
        one.name
        for one in view.instances
        if one.name not in timed and not one.link.live and one.provider.read_at is None
    ]
    if blind:
        print(say("nothing is known now of {names}", names=listed(blind)), file=sys.stderr)


@contextmanager
def _history() -> Iterator[SqliteHistory]:
    """The history in its file: a mark in memory alone would be lost at once."""
    with SqliteHistory(state_dir(os.environ) / "history.sqlite") as history:
        if history.trouble is not None:
            raise FleetError(
                f"the marks cannot be kept: {history.trouble}",
                next="Is the disk full, or is that no file of gpu-tui? Move it away, and try it again.",
            )
        yield history


def _mark(args: argparse.Namespace, instance: Instance) -> int:
    from gpu_tui.resources import load_profiles
    from gpu_tui.wiring.clock import SystemClock

    now = SystemClock().now()
    profile = load_profiles().get(instance.platform)
    kind = anchor_of(profile, instance.provider.variant, args.what, args.clock)
    at = parse_moment(" ".join(args.time), now)
    with _history() as history:
        contact = history.anchor(args.name, "last_contact")
        refuse(args.what, at, now, contact[0] if contact else None)
        history.set_anchor(args.name, kind, at, "manual")
        if history.anchor(args.name, kind) != (at, "manual"):
            raise FleetError("the mark could not be kept", next="Is the disk full? Try it again.")
    print(f"{args.name}: {kind.replace('_', ' ').replace(':', ' ')} {rfc3339(at)}")
    return 0


def _unmark(args: argparse.Namespace, instance: Instance) -> int:
    from gpu_tui.resources import load_profiles

    profile = load_profiles().get(instance.platform)
    with _history() as history:
        marked = [
            kind for kind, (_, basis) in history.anchors(args.name).items() if basis == "manual"
        ]
        wanted = marked
        if args.clock is not None:
            wanted = [kind for kind in marked if kind.endswith(f":{args.clock}")]
        elif args.what is not None:
            kind = anchor_of(profile, instance.provider.variant, args.what, None)
            wanted = [one for one in marked if one == kind]
        if not wanted:
            names = ", ".join(kind.replace("_", " ").replace(":", " ") for kind in marked)
            raise FleetError(
                f"nothing like that is marked on {args.name}",
                next=f"Marked: {names}." if names else "There is no mark at all.",
            )
        for kind in wanted:
            history.forget_anchor(args.name, kind)
    one, many = say("1 mark forgotten"), say("{number} marks forgotten", number=len(wanted))
    print(f"{args.name}: {one if len(wanted) == 1 else many}")
    return 0
