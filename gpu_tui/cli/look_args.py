"""Flags of how the cockpit looks."""

from __future__ import annotations

import argparse

from gpu_tui.core.layouts import LAYOUTS


def add_look_arguments(parser: argparse.ArgumentParser) -> None:
    """Add --theme and --layout."""
    parser.add_argument(
        "--theme",
        metavar="NAME",
        help="night, day, contrast, blue-orange, amber, or one of your own",
    )
    parser.add_argument("--layout", choices=LAYOUTS, help="which pane gets the room")
