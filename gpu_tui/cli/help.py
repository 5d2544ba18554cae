"""`gpu-tui help TOPIC`: the manual, a page at a time."""

from __future__ import annotations

import argparse
import difflib
import pydoc
import sys
from pathlib import Path

from gpu_tui.core.speech import language, say

NAME = "help"
HELP = "the manual, a page at a time: fleet, keys, teardown, logs, replay, and more"
EXAMPLE = "gpu-tui help runners"
PAGES = Path(__file__).resolve().parent.parent / "help"
TOPICS = (
    "fleet",
    "runners",
    "clocks",
    "keys",
    "logs",
    "teardown",
    "journal",
    "safety",
    "config",
    "themes",
    "alerts",
    "metrics",
    "replay",
    "serve",
    "shell",
    "exits",
)
NEAR = 0.75  # how like a page's name a word must be to be taken for it
ALSO = {
    "queue": "runners",
    "slurm": "runners",
    "kubernetes": "runners",
    "prometheus": "metrics",
    "layout": "themes",
    "columns": "themes",
    "log": "logs",
    "record": "replay",
    "browser": "serve",
    "override": "teardown",
    "verify": "teardown",
    "volumes": "teardown",
    "completion": "shell",
}


class NoTopic(Exception):
    """There is no page of this name."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"there is no page {topic!r}")
        from gpu_tui.cli.main import COMMANDS  # which imports this module

        if topic in COMMANDS:
            self.next = f"See: gpu-tui {topic} --help"
            return
        close = difflib.get_close_matches(topic.lower(), [*TOPICS, *ALSO], n=1, cutoff=NEAR)
        self.next = f"Did you mean: gpu-tui help {close[0]}" if close else "See: gpu-tui help"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help=", ".join(TOPICS))


def run(args: argparse.Namespace) -> int:
    """Print a page, through a pager on a terminal; without a topic the list of them."""
    text = contents() if args.topic is None else page(args.topic)
    if args.topic is not None and sys.stdout.isatty():
        pydoc.pager(text)
    else:
        print(text, end="")
    return 0


def contents() -> str:
    """One line per page."""
    rows = "".join(f"  gpu-tui help {topic:9} {title(topic)}\n" for topic in TOPICS)
    return f"{rows}\n{say('Of one command: gpu-tui COMMAND --help')}\n"


def page(topic: str) -> str:
    """The text of one page. Raises NoTopic."""
    topic = ALSO.get(topic, topic)
    if topic not in TOPICS:
        raise NoTopic(topic)
    if topic == "keys":
        # Imported here: only this page needs the screen's table.
        from gpu_tui.ui.keys import keys_text

        return keys_text()
    places = (PAGES / language() / f"{topic}.md", PAGES / f"{topic}.md")
    return next(place for place in places if place.is_file()).read_text("utf-8")


def title(topic: str) -> str:
    """The first line of a page, without its mark."""
    return page(topic).partition("\n")[0].removeprefix("# ")
