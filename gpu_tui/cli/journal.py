"""`gpu-tui journal [NAME]`: what was torn down, when, by whom, on what evidence, and what has no end yet."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from gpu_tui.core.speech import say, told

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gpu_tui.core.ending import OpenEnd
    from gpu_tui.teardown.journal import Journal, Record

RECORDS_TOLD = 60  # at the end of a demo: three whole ladders
EXAMPLE = "gpu-tui journal autodl-1 --check"
BROKEN = 1


class NotSettled(Exception):
    """Nothing was stated. `next` is what to do."""

    def __init__(self, text: str, next: str) -> None:
        super().__init__(text)
        self.next = next


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="only this instance")
    parser.add_argument("--check", action="store_true", help="check the chain of the records")
    parser.add_argument("--json", action="store_true", help="print the records as JSON lines")
    parser.add_argument(
        "--settle",
        action="store_true",
        help="state, in typed words, how the open teardown of NAME ended in the provider's console",
    )


def run(args: argparse.Namespace) -> int:
    """Exit 0, 1 where a record before the last was damaged, 2 where the journal cannot be read."""
    from gpu_tui.core.plain import plain
    from gpu_tui.teardown.journal import line_of, open_ends, read_journal
    from gpu_tui.teardown.journal_words import record_line

    path = _path()
    if args.settle:
        return _settle(path.parent, args.name)
    try:
        found = read_journal(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    wanted = [r for r in found.records if args.name in (None, r.instance)]
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = max((len(record.instance) for record in wanted), default=0)
    notes = sys.stderr if args.json else sys.stdout
    for record in wanted:
        print(line_of(record).decode() if args.json else record_line(record, width, colour=colour))
    for end in open_ends(wanted).values():
        _tell(end, notes)
    number = len(found.records)
    if found.damage:
        damage = told(found.damage)
        words = say("{damage}; what stands behind it is not shown", damage=damage)
        print(f"{path}: {words}", file=notes)
        next = say("nothing is torn down while it is so: keep the file, then move it away")
        print(f"  {next}", file=notes)
        return BROKEN
    if args.check:
        words = say("{number} records, every one follows the one before", number=number)
        if found.torn:
            words += say(", and a torn last line (a write that never ended)")
        print(f"{path}: {words}", file=notes)
    elif not found.records:
        print(f"{path}: {say('nothing was torn down yet')}", file=notes)
    elif not wanted:
        name = plain(args.name)
        words = say("none of {number} records is about {name}", number=number, name=name)
        print(f"{path}: {words}", file=notes)
    return 0


def _path() -> Path:
    """FleetError where there is no place for state."""
    from gpu_tui import settings
    from gpu_tui.teardown.journal import FILE_NAME

    return settings.state_dir(os.environ) / "journal" / FILE_NAME


def tell_of_a_place_that_goes(state: Path) -> None:
    """Print the journal of a state directory that nobody can look into later: a demo's. Trouble is no matter."""
    from gpu_tui.teardown.journal import FILE_NAME, read_journal
    from gpu_tui.teardown.journal_words import record_line

    try:
        records = read_journal(state / "journal" / FILE_NAME).records
    except OSError:
        return
    if not records:
        return
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = max(len(record.instance) for record in records)
    print(say("The journal of this demo's teardowns, which goes with it:"))
    if (more := len(records) - RECORDS_TOLD) > 0:
        print("  " + say("… {more} records before these", more=more))
    for record in records[-RECORDS_TOLD:]:
        print(f"  {record_line(record, width, colour=colour)}")


def tell_what_is_open(names: Iterable[str]) -> None:
    """Say, to whoever leaves the cockpit, which of these teardowns has no proven end. Trouble is no matter."""
    from gpu_tui import settings
    from gpu_tui.teardown.journal import open_ends, read_journal

    with suppress(OSError, settings.FleetError):
        records = read_journal(_path()).records
        ends = open_ends(records)
        for name in names:
            if name in ends:
                _tell(ends[name], sys.stderr)


def _tell(end: OpenEnd, out: TextIO) -> None:
    from gpu_tui.core.clock import rfc3339
    from gpu_tui.core.plain import plain

    state = say("STILL THERE") if end.outcome == "still-there" else say("UNKNOWN")
    asked = say("steps given") if end.console else say("sent")
    name, verb, at = plain(end.instance, 60), plain(end.verb, 60), rfc3339(end.at)
    words = say(
        "“{verb}”, {asked} {at}, has no proven end: {state}",
        verb=verb,
        asked=asked,
        at=at,
        state=state,
    )
    next = say("look at the provider's console, then: gpu-tui journal {name} --settle", name=name)
    print(f"! {name}: {words}\n  {next}", file=out)


def _settle(directory: Path, name: str | None) -> int:
    """Ask for one typed sentence and keep it. Only at a terminal: a script saw no console."""
    from gpu_tui.core.plain import plain
    from gpu_tui.settings import must_not_act
    from gpu_tui.teardown.journal import Journal, open_ends
    from gpu_tui.teardown.journal_words import statements
    from gpu_tui.wiring.clock import SystemClock

    if must_not_act(os.environ):
        raise NotSettled(
            "GPU_TUI_READONLY is set: nothing is settled from here",
            "whoever may act settles it, in a shell without that variable",
        )
    if name is None:
        raise NotSettled("--settle needs a NAME", "gpu-tui journal shows what has no end yet")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise NotSettled("only a person can state this", "run it in a terminal and type it")
    journal = Journal(directory, SystemClock())
    found = journal.read()
    end = open_ends(found.records).get(name)
    if found.damage or end is None:
        why = found.damage or f"no teardown of {plain(name, 60)} is without an end"
        raise NotSettled(why, f"gpu-tui journal {plain(name, 60)} --check")
    _tell(end, sys.stdout)
    over, not_over, kept = statements(end)
    print(say("Look at the console now. Then type what it shows, one of:"))
    print(f"  {over}\n  {not_over}   {say('(it stays red; another teardown may be begun)')}")
    print(f"  {kept}   {say('(nobody is reminded of it any more)')}")
    try:
        typed = input("> ").strip()
    except (EOFError, KeyboardInterrupt):
        typed = ""
    if typed not in (over, not_over, kept):
        raise NotSettled("that is none; nothing was stated", "look again, then type one of them")
    return _state(journal, end, typed, {"outcome": "still-there"} if typed == not_over else {})


def _state(journal: Journal, end: OpenEnd, typed: str, more: Mapping[str, str]) -> int:
    from gpu_tui.teardown.journal import Held, open_ends

    try:
        hold = journal.hold(end.instance)
    except Held as error:
        raise NotSettled(str(error), "close that ladder first") from None
    try:
        if open_ends(journal.read().records).get(end.instance) != end:
            raise NotSettled("it changed meanwhile", "look at gpu-tui journal again")
        written: Record = journal.write(
            end.instance, "stated", typed=typed, settles=end.seq, **more
        )
    finally:
        hold.close()
    print(say("kept as record {number}: by your word, not by the provider's", number=written.seq))
    return 0
