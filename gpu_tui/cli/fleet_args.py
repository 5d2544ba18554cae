"""The flags that name a fleet, the same in every command that looks at one."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_tui.core.plain import plain
from gpu_tui.core.speech import say, told

if TYPE_CHECKING:  # a parser must not wait for them
    from collections.abc import Iterator

    from gpu_tui.core.fleet import Fleet
    from gpu_tui.state.views import FleetView


def add_fleet_arguments(parser: argparse.ArgumentParser) -> None:
    """`--fleet FILE` and `--platform NAME`."""
    parser.add_argument("--fleet", metavar="FILE", help="the fleet file (default: ./fleet.yaml)")
    parser.add_argument(
        "--platform", metavar="NAME", help="profile of hosts given by name (generic-ssh)"
    )


def seconds(text: str) -> float:
    """How long to wait, in seconds or as 90s or 2m: more than nothing, and no more than a day."""
    try:
        limit = float(text)
    except ValueError:
        limit = _duration(text)
    if not 0 < limit <= 86_400:  # which nan is not, either
        raise argparse.ArgumentTypeError(
            say("{text} is no time to wait: write it like 30 or 2m", text=repr(text))
        )
    return limit


def _duration(text: str) -> float:
    from gpu_tui.parse.duration import DurationError, parse_duration

    try:
        return parse_duration(text)
    except DurationError:
        return 0.0


def fleet_path(args: argparse.Namespace) -> Path | None:
    """The fleet file that would be read, or None where there is none."""
    from gpu_tui.settings import find_fleet

    return find_fleet(args.fleet, os.environ, Path.cwd())


def _complaints() -> Iterator[str]:
    """The faults in the user's own profiles and triage rules. The modules of rules are loaded only where there are some."""
    from gpu_tui.places import NoHome, rules_dir
    from gpu_tui.resources import library

    yield from library().complaints
    with suppress(NoHome, OSError):
        if rules_dir(os.environ).exists():
            from gpu_tui import user_rules

            yield from user_rules.complaints()


def fleet_of(args: argparse.Namespace) -> Fleet:
    """The fleet that the flags name; FleetError with file, line and next step if it cannot be had."""
    from gpu_tui.resources import load_profiles
    from gpu_tui.settings import FleetError, fleet_of_hosts, load_fleet

    for complaint in _complaints():
        print(f"gpu-tui: {plain(told(complaint), 400)}", file=sys.stderr)
    profiles = load_profiles()
    hosts = getattr(args, "hosts", None)
    if hosts and args.fleet is not None:
        raise FleetError(
            "--fleet and HOST do not go together: a host is looked at without any fleet file",
            next="leave HOST out to look at the whole fleet, or leave out --fleet",
        )
    if hosts:
        return fleet_of_hosts(hosts, args.platform)
    path = fleet_path(args)
    if path is None:
        raise FleetError(
            "there is no fleet file",
            next="write one with `gpu-tui init`, name one with --fleet FILE, "
            "or watch a host right away: gpu-tui watch HOST",
        )
    return load_fleet(path, profiles)


def look(fleet: Fleet, limit: float) -> FleetView:
    """The fleet as one look sees it, without secrets: what a command prints is mailed, scraped and shared.

    What cannot be kept of it is printed on stderr, which cron mails.
    """
    from gpu_tui import wiring
    from gpu_tui.core.mask import masked
    from gpu_tui.wiring.kept import NOT_KEPT
    from gpu_tui.wiring.secret import hiding

    view = wiring.run(wiring.collect_once(fleet, limit))
    for note in view.notes:
        if note.startswith(NOT_KEPT):
            print(f"gpu-tui: {plain(told(note), 1_000)}", file=sys.stderr)
    return masked(view, hiding(fleet))
