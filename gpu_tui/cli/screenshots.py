"""`gpu-tui screenshots`: the pictures of the README, rendered again from the scenes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

NAME = "screenshots"
HELP = "render the screenshots again (SVG; PNG too where rsvg-convert is installed)"
EXAMPLE = "gpu-tui screenshots --out screenshots/"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="which ones (all): a picture, or a view at every size",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("screenshots"), metavar="DIR", help="where (screenshots/)"
    )


def run(args: argparse.Namespace) -> int:
    """Render and say what was written."""
    from gpu_tui.resources import themes_dir
    from gpu_tui.ui.shots import SHOTS, VIEWS, names_of, render
    from gpu_tui.ui.theme_file import load_themes

    unknown = [name for name in args.names if not names_of(name)]
    if unknown:
        print(
            f"gpu-tui screenshots: no picture is called {', '.join(unknown)}. "
            f"Next: choose from {', '.join([*VIEWS, *SHOTS])}",
            file=sys.stderr,
        )
        return 2
    names = [shot for name in args.names for shot in names_of(name)] or list(SHOTS)
    try:
        for path in render(names, args.out, load_themes(themes_dir())):
            print(path)
    except OSError as error:
        print(
            f"gpu-tui screenshots: cannot write to {args.out}: {error.strerror}. "
            "Next: --out DIR with a directory of yours",
            file=sys.stderr,
        )
        return 2
    return 0
