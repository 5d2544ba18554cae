"""`gpu-tui screenshots`: the pictures and the film of the README, drawn again from the scenes."""

from __future__ import annotations

import argparse
from pathlib import Path

NAME = "screenshots"
HELP = "draw the pictures again: SVG, PNG where rsvg-convert is installed, and the film (a cast)"
EXAMPLE = "gpu-tui screenshots --out screenshots/"


class NotDrawn(Exception):
    """No picture was drawn. `next` says what to do."""

    def __init__(self, text: str, next: str) -> None:
        super().__init__(text)
        self.next = next


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="which ones (all): a picture, a view at every size, a size such as 80x24, or demo: the film",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("screenshots"), metavar="DIR", help="where (screenshots/)"
    )


def run(args: argparse.Namespace) -> int:
    """Render and say what was written."""
    from gpu_tui.resources import themes_dir
    from gpu_tui.ui import film
    from gpu_tui.ui.shots import SHOTS, VIEWS, names_of, render
    from gpu_tui.ui.theme_file import load_themes

    named = [name for name in args.names if name != film.NAME]
    unknown = [name for name in named if not names_of(name)]
    if unknown:
        known = ", ".join([*VIEWS, *SHOTS, film.NAME])
        raise NotDrawn(f"no picture is called {', '.join(unknown)}", f"There are: {known}.")
    names = [shot for name in named for shot in names_of(name)]
    if not args.names:
        names = list(SHOTS)
    try:
        for path in render(names, args.out, themes_dir()):
            print(path, flush=True)
        if not args.names or film.NAME in args.names:
            print(film.write_film(args.out, load_themes(themes_dir())))
    except OSError as error:
        raise NotDrawn(
            f"{args.out} cannot be written: {error.strerror}",
            "name a directory of yours with --out DIR",
        ) from None
    return 0
