"""`gpu-tui check`: one patrol tick for cron."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from gpu_tui import __version__
from gpu_tui.cli.files import replace_text
from gpu_tui.cli.fleet_args import add_fleet_arguments, fleet_of
from gpu_tui.core.clock import rfc3339
from gpu_tui.core.fleet import Fleet
from gpu_tui.settings import ConfigError, load_config
from gpu_tui.state.contract import check_json, fleet_verdict
from gpu_tui.state.patrol import patrol_lines
from gpu_tui.state.prometheus import exposition
from gpu_tui.state.views import FleetView

NAME = "check"
HELP = "one patrol tick over the whole fleet, for cron"
EXAMPLE = "gpu-tui check --json --fleet fleet.yaml"
ALERT_SECONDS = 30.0
EXITS = {"healthy": 0, "escalate": 1, "cannot-tell": 2}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_fleet_arguments(parser)
    parser.add_argument("hosts", nargs="*", metavar="HOST", help="check these hosts instead")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--format",
        choices=("text", "json", "prometheus"),
        help="text (the default), json, or prometheus for a textfile collector",
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="into this file, replaced at once, not to stdout"
    )
    parser.add_argument(
        "--alert", action="store_true",
        help="tell what is new by the command and the webhook of your settings, once",
    )  # fmt: skip
    parser.add_argument(
        "--limit", type=float, default=30.0, metavar="SECONDS", help="give up on a box after this"
    )


def run(args: argparse.Namespace) -> int:
    """Exit 0 healthy, 1 escalate (also unreachable), 2 nothing could be read."""
    from gpu_tui import wiring

    fleet = fleet_of(args)
    view = wiring.run(wiring.collect_once(fleet, args.limit))
    text = FORMATS[args.format or ("json" if args.json else "text")](view)
    if args.out is None:
        print(text)
    else:
        replace_text(args.out, text + "\n")
    if args.alert:
        _alert(fleet, view)
    return EXITS[fleet_verdict(view)]


def _alert(fleet: Fleet, view: FleetView) -> None:
    """Tell what is new; what could not be told stands on stderr, which cron mails."""
    from gpu_tui import wiring

    alerts = load_config(os.environ).alerts
    if not alerts.command and alerts.webhook is None:
        raise ConfigError(
            "--alert needs a way out, and your settings name none",
            next="add alerts: {command: [...]} or alerts: {webhook: {url_env: NAME}} to config.yaml",
        )
    for trouble in wiring.run(wiring.tell(fleet, view, alerts, limit=ALERT_SECONDS)):
        print(f"gpu-tui check: {trouble}", file=sys.stderr)


def _json(view: FleetView) -> str:
    return json.dumps(check_json(view), ensure_ascii=False, allow_nan=False)


def _prometheus(view: FleetView) -> str:
    return exposition(view, __version__).rstrip("\n")


def _text(view: FleetView) -> str:
    lines = [f"gpu-tui check {rfc3339(view.taken_at)}: {fleet_verdict(view)}"]
    for instance in view.instances:
        lines += patrol_lines(instance, view.taken_at)
    return "\n".join(lines)


FORMATS = {"text": _text, "json": _json, "prometheus": _prometheus}
