"""`python -m screenshots` (in tools/): draws screenshots/ again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gpu_tui.resources import themes_dir
from gpu_tui.ui.theme_file import load_themes
from screenshots import cast
from screenshots.render import SHOTS, VIEWS, names_of, render

OUT = Path(__file__).parents[2] / "screenshots"


def main(argv: Sequence[str]) -> int:
    """Draw what `argv` names, all if it names nothing; exit 2 for an unknown name."""
    parser = argparse.ArgumentParser(
        prog="python -m screenshots",
        description="Draw the pictures: SVG, PNG where rsvg-convert is installed, and the recording.",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME",
        help=f"a picture, a view at every size, a size such as 80x24, or {cast.NAME}: the recording",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, default=OUT, metavar="DIR", help="default: screenshots/"
    )
    args = parser.parse_args(argv)
    named = [name for name in args.names if name != cast.NAME]
    if unknown := [name for name in named if not names_of(name)]:
        known = ", ".join([*VIEWS, *SHOTS, cast.NAME])
        parser.error(f"no picture is called {', '.join(unknown)}. There are: {known}.")
    names = [shot for name in named for shot in names_of(name)] if args.names else list(SHOTS)
    for path in render(names, args.out, themes_dir()):
        print(path, flush=True)
    if not args.names or cast.NAME in args.names:
        print(cast.write_cast(args.out, load_themes(themes_dir())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
