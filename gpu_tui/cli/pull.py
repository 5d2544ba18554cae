"""`gpu-tui pull NAME`: bring the results home and prove it; no teardown."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from gpu_tui.cli.fleet_args import add_fleet_arguments, fleet_of, seconds
from gpu_tui.core.ladder import GateView
from gpu_tui.core.plain import plain
from gpu_tui.core.redact import redact
from gpu_tui.core.speech import headed, joined, say, told
from gpu_tui.core.transfer import Transfer
from gpu_tui.settings import FleetError

if TYPE_CHECKING:
    from gpu_tui.state.views import InstanceView

EXAMPLE = "gpu-tui pull autodl-1; gpu-tui pull autodl-1 --cells base,wide"
CELLS_VERIFIED = 3  # exit code: every named cell is verified, and nothing is said of the others
WORDS = {"passed": "passed  ", "blocked": "blocked ", "working": "working "}  # of one width


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_fleet_arguments(parser)
    parser.add_argument("name", metavar="NAME", help="the instance")
    parser.add_argument(
        "--cells",
        type=_cells,
        default=(),
        metavar="NAMES",
        help="only these cells, with commas between their names; exit 3 when all of them are verified",
    )
    parser.add_argument(
        "--limit",
        type=seconds,
        default=30.0,
        metavar="SECONDS",
        help="how long to wait for the box",
    )


def run(args: argparse.Namespace) -> int:
    """Exit 0 only if everything was pulled, matched and loaded, 3 if the named cells were; 1 otherwise.

    Run again, it goes on.
    """
    from gpu_tui import wiring
    from gpu_tui.cli.main import UsageError
    from gpu_tui.teardown.chosen import UnknownCells

    fleet = fleet_of(args)
    if args.name not in fleet.names:
        raise FleetError(
            f"no instance is called {args.name!r}", next=f"the fleet has {', '.join(fleet.names)}"
        )

    async def act(room: wiring.Room) -> int:
        box = room.store.view(room.clock.now())[args.name]
        if not (box.link.live or box.instance.here):
            raise Unreached(box)
        screen = Lines(sys.stdout)
        last = None
        try:
            async for view in room.runner.pull_only(args.name, args.cells):
                screen.show(view)
                last = view
        finally:
            screen.clear()
        if last is not None and last.outcome == "verified":
            return 0
        if last is not None and last.outcome == "cells-verified":
            _tell_of_others(last, args.cells)
            return CELLS_VERIFIED
        if last is not None and not any(rung.next for rung in last.rungs):
            why = (
                told(last.closed_because)
                if last.closed_because
                else say("it did not come to its end")
            )
            print(redact(say("not verified: {why}", why=why)))
            print("         " + say("next: {step}", step=say("run it again: what is here is kept")))
        return 1

    try:
        return wiring.run(wiring.with_connection(fleet, args.name, args.limit, act))
    except UnknownCells as error:
        raise UsageError(str(error), error.next) from None
    except KeyboardInterrupt:
        print("\n" + say("run it again: what is here is kept"), file=sys.stderr)
        raise


def _cells(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise argparse.ArgumentTypeError(say("it names no cell"))
    return names


def _tell_of_others(view: GateView, cells: Sequence[str]) -> None:
    """The cells that are verified, and one line for each of the others."""
    print(say("verified: {cells}", cells=", ".join(map(plain, cells))))
    for name, left in view.others:
        print(redact(f"         {name}: {say(left)}"))
    print(say("This does not verify the box: pull it without --cells before it is ended."))


class Unreached(Exception):
    """The box did not answer in time: nothing was begun."""

    def __init__(self, box: InstanceView) -> None:
        super().__init__(f"{box.name}: {box.link.error or f'no connection ({box.link.state})'}")
        self.next = box.link.next


class Lines:
    """The ladder as lines: one per rung that is done, and how far the one under way is.

    On a terminal that is one line which is written over; elsewhere a line per tenth.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._live = out.isatty() and os.environ.get("TERM") != "dumb"
        self._done = 0
        self._tenth: tuple[str, int] | None = None
        self._drawn = False

    def show(self, view: GateView) -> None:
        """Print what is new in it."""
        passed = [rung for rung in view.rungs if rung.state in ("passed", "blocked")]
        for rung in passed[self._done :]:
            lines = joined(map(told, rung.lines))
            self._print(headed(f"{say(WORDS[rung.state])} {say(rung.title)}", lines))
            if rung.next:
                self._print("         " + say("next: {step}", step=told(rung.next)))
        self._done = len(passed)
        for rung in view.rungs:
            if rung.transfer is not None and rung.transfer.total:
                self._progress(rung.title, rung.transfer)

    def clear(self) -> None:
        """Take the line under way from the screen."""
        if self._drawn:
            self._out.write("\r\x1b[K")
            self._out.flush()
            self._drawn = False

    def _progress(self, title: str, transfer: Transfer) -> None:
        text = f"{say(WORDS['working'])} {say(title)}: {transfer.words()}"
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            room = width - len(text) - 3
            name = transfer.name(room - 1) if room > 12 else ""
            self._out.write(f"\r\x1b[K{(f'{text} · {name}' if name else text)[:width]}")
            self._out.flush()
            self._drawn = True
        elif (tenth := (title, int(transfer.share * 10))) != self._tenth and 0 < tenth[1] < 10:
            self._tenth = tenth
            self._print(text)

    def _print(self, text: str) -> None:
        self.clear()
        print(redact(text), file=self._out, flush=True)
