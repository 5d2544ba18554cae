"""`gpu-tui help TOPIC`: the manual, a page at a time."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from pathlib import Path

from gpu_tui.core.speech import language, say

EXAMPLE = "gpu-tui help runners"
PAGES = Path(__file__).resolve().parent.parent / "help"
TOPICS = (
    "fleet",
    "runners",
    "slurm",
    "kubernetes",
    "findings",
    "clocks",
    "keys",
    "logs",
    "triage",
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
    "squeue": "slurm",
    "kubectl": "kubernetes",
    "prometheus": "metrics",
    "layout": "themes",
    "columns": "themes",
    "log": "logs",
    "kinds": "findings",
    "rules": "triage",
    "triage.d": "triage",
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
        close = difflib.get_close_matches(topic.lower(), [*TOPICS, *ALSO], n=1, cutoff=NEAR)
        self.next = f"Did you mean: gpu-tui help {close[0]}" if close else "See: gpu-tui help"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help=", ".join(TOPICS))


def run(args: argparse.Namespace) -> int:
    """Print a page, rendered and through a pager on a terminal; without a topic the list of them."""
    text = contents() if args.topic is None else page(args.topic)
    if args.topic is None or not sys.stdout.isatty():
        print(text, end="")
        return 0
    # Imported here: rich takes longer than the page itself.
    import pydoc
    import shutil

    from gpu_tui.cli.manual import rendered

    if _is_page(args.topic):
        text += f"\n## {say('See also')}\n\n" + _see_also(args.topic)
        text = rendered(text, shutil.get_terminal_size().columns)
    os.environ.setdefault("LESS", "FRX")  # as git does: without R less shows the codes of bold
    pydoc.pager(text)
    return 0


def _is_page(topic: str) -> bool:
    return ALSO.get(topic, topic) in TOPICS


def _see_also(topic: str) -> str:
    """Where to read on: the command of the same name, and the other pages."""
    from gpu_tui.cli.main import COMMANDS  # which imports this module

    own = f"`gpu-tui {topic} --help`, " if topic in COMMANDS else ""
    return f"{own}`gpu-tui help`\n"


def contents() -> str:
    """One line per page."""
    rows = "".join(f"  gpu-tui help {topic:10} {title(topic)}\n" for topic in TOPICS)
    return f"{rows}\n{say('Of one command: gpu-tui COMMAND --help')}\n"


def page(topic: str) -> str:
    """The text of one page, as Markdown; of a command without a page what its --help says. Raises NoTopic."""
    if not _is_page(topic):
        from gpu_tui.cli.main import COMMANDS, parser_of  # which imports this module

        if topic not in COMMANDS:
            raise NoTopic(topic)
        return parser_of(topic).format_help()
    topic = ALSO.get(topic, topic)
    if topic == "keys":
        # Imported here: only this page needs the screen's table.
        from gpu_tui.ui.keys import keys_text

        return keys_text()
    places = (PAGES / language() / f"{topic}.md", PAGES / f"{topic}.md")
    return next(place for place in places if place.is_file()).read_text("utf-8")


def title(topic: str) -> str:
    """The first line of a page, without its mark."""
    return page(topic).partition("\n")[0].removeprefix("# ")
