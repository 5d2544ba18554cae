"""`gpu-tui demo`: the cockpit on a simulated fleet; no GPU, no config and no network needed."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_tui.cli.journal import tell_of_a_place_that_goes
from gpu_tui.cli.look_args import add_look_arguments
from gpu_tui.core.speech import say
from gpu_tui.demo.cast import SEATS, STARS
from gpu_tui.settings import state_dir

if TYPE_CHECKING:
    from gpu_tui.demo.fleet import Demo

EXAMPLE = "gpu-tui demo --tour"


class DemoRefused(Exception):
    """There is no demo, or none any more. `next` says what to do."""

    def __init__(self, text: str, next: str) -> None:
        super().__init__(text)
        self.next = next


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.add_argument("--tour", action="store_true", help="start with the guided tour")
    parser.add_argument(
        "--boxes", type=_seats, default=8, metavar="N", help=f"how many boxes, 1 to {SEATS} (8)"
    )
    parser.add_argument(
        "--speed", type=_speed, default=1.0, metavar="X", help="how fast the story runs (1)"
    )
    parser.add_argument("--seed", type=int, default=7, metavar="N", help="another run of the story")
    parser.add_argument(
        "--boxes-only", action="store_true", help="only boxes and providers, until interrupted"
    )
    parser.add_argument(
        "--fleet-out", type=Path, metavar="FILE", help="also write the fleet file here"
    )
    add_look_arguments(parser)
    parser.add_argument("--read-only", action="store_true", help="nothing that changes anything")


def run(args: argparse.Namespace) -> int:
    """Raise the boxes, then open the cockpit on them or wait."""
    from gpu_tui.demo.fleet import DemoFailed, running_fleet

    if not args.boxes_only:
        from gpu_tui.wiring import need_terminal  # --boxes-only must not pay for the screen

        need_terminal(
            "Run it in one, or only its boxes, for every other command: "
            "gpu-tui demo --boxes-only --fleet-out FILE"
        )
    try:
        with running_fleet(args.boxes, args.speed, args.seed) as demo:
            try:
                return _play(args, demo)
            finally:
                if args.fleet_out:
                    # Its boxes are gone with the demo: a file that names them would only mislead.
                    args.fleet_out.unlink(missing_ok=True)
    except DemoFailed as error:
        raise DemoRefused(
            str(error), "Start it again, with fewer boxes: gpu-tui demo --boxes 2"
        ) from None


def _play(args: argparse.Namespace, demo: Demo) -> int:
    if args.fleet_out:
        try:
            with args.fleet_out.open("x", encoding="utf-8") as file:
                file.write(demo.fleet_path.read_text(encoding="utf-8"))
        except OSError as error:
            out, args.fleet_out = args.fleet_out, None
            raise DemoRefused(
                f"{out} cannot be written: {error.strerror}", "Name a new file."
            ) from None
    os.environ.update(demo.environment)
    if args.boxes_only:
        return _wait(demo, args.fleet_out or demo.fleet_path)
    # Imported here, as above.
    from gpu_tui.resources import load_profiles
    from gpu_tui.settings import load_fleet
    from gpu_tui.wiring import run_cockpit

    fleet, state = load_fleet(demo.fleet_path, load_profiles()), demo.directory / "state"
    code = run_cockpit(
        fleet,
        read_only=args.read_only,
        theme=args.theme,
        layout=args.layout,
        badge="demo",
        tour=args.tour or _first_time(),
        state=state,
    )
    tell_of_a_place_that_goes(state)
    return code


def _first_time() -> bool:
    """True once per user: the first demo explains itself."""
    marker = state_dir(os.environ) / "toured"
    first = not marker.exists()
    with suppress(OSError):  # then the next one explains itself as well
        marker.touch(mode=0o600)
    return first


def _wait(demo: Demo, fleet: Path) -> int:
    """Say how to use the boxes, and keep them until a signal comes or the process ends."""
    path = shlex.quote(str(fleet))
    done = [part.name for part in STARS if part.scene == "finished" and part.name in demo.boxes]
    name = (*done, demo.boxes[0])[0]
    signals = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD}
    # Blocked before anything is said: whoever reads the first line may already send one.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        boxes = say(
            "{number} boxes are up: {names}", number=len(demo.boxes), names=" ".join(demo.boxes)
        )
        print(
            f"{boxes}\n{say('In another terminal:')}\n"
            f"  export {demo.key_env}={shlex.quote(demo.key)}   # {say('what the simulated providers take')}\n"
            f"  gpu-tui --fleet {path}\n"
            f"  gpu-tui check --fleet {path}\n"
            f"  gpu-tui pull {name} --fleet {path}\n"
            f"{say('Ctrl-C ends them and leaves nothing behind.')}",
            flush=True,
        )
        came = signal.sigwait(signals) if demo.process.poll() is None else signal.SIGCHLD
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if came == signal.SIGCHLD:
        raise DemoRefused("the simulated fleet ended by itself", "Start it again: gpu-tui demo")
    return 0


def _seats(text: str) -> int:
    try:
        boxes = int(text)
    except ValueError:
        boxes = 0
    if not 1 <= boxes <= SEATS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {SEATS}")
    return boxes


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0.01 <= speed <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a speed; 1 is natural, 5 is fast")
    return speed
