"""`gpu-tui serve`: the cockpit in a browser, on loopback and read-only unless asked otherwise."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Mapping, Sequence

from gpu_tui.cli.fleet_args import add_fleet_arguments, fleet_of, fleet_path
from gpu_tui.cli.look_args import add_look_arguments
from gpu_tui.core.loopback import is_loopback
from gpu_tui.core.speech import language, say

EXAMPLE = "gpu-tui serve --demo"
PORT = 8000
INSTALL = "pip install 'textual-serve>=1.1.3,<2'"


class ServeRefused(Exception):
    """It would be served to people who should not have it, or cannot be served."""

    def __init__(self, text: str, next: str) -> None:
        super().__init__(text)
        self.next = next


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_fleet_arguments(parser)
    parser.add_argument("--demo", action="store_true", help="on simulated boxes")
    parser.add_argument("--port", type=_port, default=PORT, metavar="N", help=f"({PORT}; 0: any)")
    parser.add_argument(
        "--bind", default="127.0.0.1", metavar="ADDRESS", help="where to listen (127.0.0.1)"
    )
    parser.add_argument(
        "--anyone-may-watch",
        action="store_true",
        help="needed with another --bind: nothing is encrypted, the token in the address neither",
    )
    parser.add_argument(
        "--anyone-may-act",
        action="store_true",
        help="not read-only: whoever opens the page has a shell on every box and the teardown",
    )
    add_look_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until a signal comes."""
    if importlib.util.find_spec("textual_serve") is None:
        raise ServeRefused(
            "serving needs textual-serve, which is not installed", next=f"Install it: {INSTALL}"
        )
    if not is_loopback(args.bind) and not args.anyone_may_watch:
        raise ServeRefused(
            f"--bind {args.bind} would show your fleet, its logs and its addresses to anyone who can read "
            "this network: there is no password but the token in the address, and nothing is encrypted",
            next="Leave it on 127.0.0.1 and bring it to you: ssh -L 8000:127.0.0.1:8000 THIS-MACHINE. "
            "Or, if that is what you want, add --anyone-may-watch",
        )
    if not args.demo:
        fleet_of(args)  # what is wrong with the file is said here and not in every tab
        return _serve(args, ["--fleet", str(fleet_path(args))], {})
    from gpu_tui.demo.fleet import DemoFailed, running_fleet

    try:
        with running_fleet() as demo:
            return _serve(args, ["--fleet", str(demo.fleet_path)], demo.environment)
    except DemoFailed as error:
        raise ServeRefused(str(error), next="Start it again.") from None


def _serve(args: argparse.Namespace, fleet: Sequence[str], environment: Mapping[str, str]) -> int:
    from gpu_tui.wiring.browser import TABS, run_server

    # -P: a module of the directory that we stand in, a project's own signal.py, is none of ours.
    words = [sys.executable, "-P", "-m", "gpu_tui.browser.tab", *fleet]
    words += [] if args.anyone_may_act else ["--read-only"]
    for flag, value in (
        ("--theme", args.theme),
        ("--layout", args.layout),
        ("--language", language()),  # its own locale is that of the page, which says nothing
    ):
        words += [flag, value] if value else []

    def started(address: str) -> None:
        acts = (
            say("whoever opens it can ACT on your boxes")
            if args.anyone_may_act
            else say("read-only")
        )
        who = say(", and so does who reads this network") if args.anyone_may_watch else ""
        print(say("{address}   {acts}; Ctrl-C ends it", address=address, acts=acts))
        print(
            say(
                "Each tab is a cockpit of its own, with its own connections to every box ({tabs} at most).\n"
                "Whoever has this address with its token can open it{who}.",
                tabs=TABS,
                who=who,
            ),
            flush=True,
        )

    run_server(words, args.bind, args.port, started, environment)
    return 0


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 65_536):
        raise argparse.ArgumentTypeError(f"{text!r} is no port; write a number up to 65535")
    return int(text)
