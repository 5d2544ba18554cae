"""Kills a whole ladder with SIGKILL at each of its I/O points, starts again on what is left, and reports.

A program of its own: `python crash_driver.py DIRECTORY [all]`. Without `all` the calls that leave the same
files behind as the next point are left out. It forks one child per point before it has any
thread, so each child is a fresh process over real files. One JSON line per point.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from quick import BOX, Points, Quick

from gpu_tui.core.events import Event, TeardownEnd
from gpu_tui.teardown import journal_file
from gpu_tui.teardown.ends import EndWatch
from gpu_tui.teardown.journal import open_ends

ALL = ("open", "write", "pwrite", "fsync", "ftruncate", "close")
TELLING = ("write",)


class WatchedOs:
    """Stands for `os` in the room of the journal's file: a point before and after every call."""

    def __init__(self, hit: Callable[[str], object], calls: tuple[str, ...]) -> None:
        self._hit = hit
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in self._calls:
            return real

        def watched(*words: Any, **options: Any) -> Any:
            self._hit(f"before {name}")
            done = real(*words, **options)
            self._hit(f"after {name}")
            return done

        return watched


def climb(state: Path, die_at: int, calls: tuple[str, ...]) -> None:
    """One ladder to its end, or to the point at which this process is killed."""

    def act(number: int, name: str) -> None:
        if number == die_at:
            (state / "died").write_text(name)
            os.kill(os.getpid(), signal.SIGKILL)

    points = Points(act)
    journal_file.os = WatchedOs(points.hit, calls)  # type: ignore[assignment]
    quick = Quick(state, points)
    asyncio.run(quick.to_the_end(quick.climb()))


def restart(state: Path) -> dict[str, object]:
    """What a new start finds: with an API that is silent, then with one that answers."""
    silent = Quick(state, silent=True)
    told: list[Event] = []
    first = asyncio.run(_look(silent, told))
    found = silent.journal.read()
    events = [record.event for record in found.records]
    before = silent.provider.done
    views = asyncio.run(silent.to_the_end(silent.climb()))
    report: dict[str, object] = {
        "events": events,
        "damage": found.damage,
        "done": before,
        "open": sorted(open_ends(found.records)),
        "red": [event.instance for event in told if isinstance(event, TeardownEnd) and event.end],
        "first": first,
        "silent": views[-1].outcome or views[-1].closed_because,
        "silent_done": silent.provider.done,
    }
    answering = Quick(state)
    views = asyncio.run(answering.to_the_end(answering.climb()))
    report["last"] = views[-1].outcome or views[-1].closed_because
    report["last_done"] = answering.provider.done
    report["last_damage"] = answering.journal.read().damage
    report["last_open"] = sorted(open_ends(answering.journal.read().records))
    return report


async def _look(quick: Quick, told: list[Event]) -> list[str]:
    """The watch of a new start; and the states that a ladder shows before anybody types anything."""
    watch = EndWatch(
        quick.journal, lambda: (BOX,), lambda one: quick.provider, told.append, quick.clock
    )
    await watch.look()
    views = quick.climb().views()
    shown = [(await anext(views)).state]
    await views.aclose()
    return shown


def forked(work: Callable[[], None]) -> int:
    """Run it in a child; its exit status."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(json.dumps({"failed": repr(error)}), flush=True)
            os._exit(1)
    return os.waitpid(child, 0)[1]


def report(state: Path, number: int) -> None:
    """What a new start finds after the child that died at this point."""
    place = (state / "died").read_text()
    print(json.dumps({"point": number, "at": place, **restart(state)}), flush=True)


def main(directory: Path, calls: tuple[str, ...]) -> None:
    """Every point, until a child lives to the end."""
    for number in itertools.count(1):
        state = directory / str(number)
        state.mkdir(mode=0o700)
        status = forked(partial(climb, state, number, calls))
        if not os.WIFSIGNALED(status):
            print(json.dumps({"points": number - 1, "status": status}), flush=True)
            return
        forked(partial(report, state, number))


if __name__ == "__main__":
    main(Path(sys.argv[1]), ALL if "all" in sys.argv[2:] else TELLING)
