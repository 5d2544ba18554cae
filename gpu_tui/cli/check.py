"""`gpu-tui check`: one patrol tick for cron."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_tui import __version__
from gpu_tui.cli.fitted import on_terminal
from gpu_tui.cli.fleet_args import add_fleet_arguments, fleet_of, look, seconds
from gpu_tui.cli.trouble import shown
from gpu_tui.core.clock import rfc3339
from gpu_tui.core.plain import plain
from gpu_tui.core.speech import say, told
from gpu_tui.parse.config_file import Alerts
from gpu_tui.settings import ConfigError, load_config

if TYPE_CHECKING:
    from gpu_tui.state.patrol import Tick
    from gpu_tui.state.views import FleetView

EXAMPLE = "gpu-tui check --json --fleet fleet.yaml"
ALERT_SECONDS = 30.0
STDOUT = "-"


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
        "--out", type=Path, metavar="FILE", help="into this file, replaced at once; - is stdout"
    )
    parser.add_argument(
        "--alert", action="store_true",
        help="tell what is new by the command and the webhook of your settings, once",
    )  # fmt: skip
    parser.add_argument(
        "--test-alert", action="store_true",
        help="send one test message by the command and the webhook of your settings, and look at nothing",
    )  # fmt: skip
    parser.add_argument(
        "--limit", type=seconds, default=30.0, metavar="SECONDS", help="give up on a box after this"
    )


def run(args: argparse.Namespace) -> int:
    """Exit 0 healthy, 1 escalate (also unreachable), 2 nothing could be read."""
    from gpu_tui import wiring

    if args.test_alert:
        return _test(_alerts(), as_json=_format(args) == "json")
    fleet = fleet_of(args)
    alerts = _alerts() if args.alert else None
    for wrong in wiring.misfits(os.environ):  # the patrol can do without: it goes on
        print("gpu-tui check: " + "\n".join(shown(wrong)), file=sys.stderr)
    view = look(fleet, args.limit)
    last = wiring.turn_over(view, hosts=bool(args.hosts))
    text = FORMATS[_format(args)](view, last)
    if _format(args) == "text" and args.out is None:
        text = "\n".join(on_terminal(text.split("\n"), sys.stdout))
    try:
        if args.out is None or str(args.out) == STDOUT:
            print(text, flush=True)
        else:
            from gpu_tui.new_file import write_new

            write_new(args.out, text + "\n", replace=True)
    finally:  # an alert goes out also where nobody can have the report: a full disk, a reader that left
        if alerts is not None:
            # What could not be told stands on stderr, which cron mails.
            for trouble in wiring.run(wiring.tell(fleet, view, alerts, limit=ALERT_SECONDS)):
                print(f"gpu-tui check: {plain(told(trouble), 1_000)}", file=sys.stderr)
    return _exit_code(view)


def _exit_code(view: FleetView) -> int:
    """0 healthy, 1 somebody must look, 2 nothing could be read. Where only a part cannot be told, 1."""
    from gpu_tui.core.verdict import Verdict
    from gpu_tui.state.contract import fleet_verdict

    verdict = fleet_verdict(view)
    if verdict != "cannot-tell":
        return 0 if verdict == "healthy" else 1
    told = any(one.last_contact is not None or one.verdict is Verdict.OFF for one in view.instances)
    return 1 if told else 2


def _format(args: argparse.Namespace) -> str:
    return str(args.format or ("json" if args.json else "text"))


def _test(alerts: Alerts, *, as_json: bool) -> int:
    """Exit 0 only if it arrived by every way out."""
    from gpu_tui import wiring

    came = wiring.run(wiring.try_ways(alerts))
    if as_json:
        ways = [{"way": name, "error": trouble} for name, trouble in came.items()]
        print(json.dumps({"version": 1, "ways": ways}, ensure_ascii=False))
    for name, trouble in came.items() if not as_json else ():
        print(f"{name}: {say('it arrived') if trouble is None else plain(told(trouble), 1_000)}")
    return 0 if not any(came.values()) else 1


def _alerts() -> Alerts:
    """The user's alert settings. Called before the fleet is read, so that unusable ones end the program early."""
    from gpu_tui.alerts.channel import Unready
    from gpu_tui.alerts.ways import ways_out
    from gpu_tui.wiring.clock import SystemClock

    alerts = load_config(os.environ).alerts
    ways = ways_out(alerts, os.environ, SystemClock().now)
    if not ways:
        raise ConfigError(
            "an alert needs a way out, and your settings name none",
            next="add alerts: {command: [...]} or alerts: {webhook: {url_env: NAME}} to config.yaml",
        )
    if all(isinstance(one, Unready) for one in ways):  # otherwise the usable ones send
        ways[0].ready()
    return alerts


def _json(view: FleetView, last: Mapping[str, Tick]) -> str:
    from gpu_tui.state.contract import check_json, instance_json
    from gpu_tui.state.patrol import since_json

    made = check_json(view)
    rows = [
        {**instance_json(one), "since_last": since_json(one, last.get(one.name))}
        for one in view.instances
    ]
    return json.dumps({**made, "instances": rows}, ensure_ascii=False, allow_nan=False)


def _prometheus(view: FleetView, last: Mapping[str, Tick]) -> str:
    from gpu_tui.state.prometheus import exposition

    return exposition(view, __version__).rstrip("\n")


def _text(view: FleetView, last: Mapping[str, Tick]) -> str:
    from gpu_tui.state.patrol import patrol_report

    first, *rest = patrol_report(view, last)
    return "\n".join([f"gpu-tui check {rfc3339(view.taken_at)}: {first}", *rest])


FORMATS = {"text": _text, "json": _json, "prometheus": _prometheus}
