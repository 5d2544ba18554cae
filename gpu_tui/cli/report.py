"""`gpu-tui report`: the hand-over to the next person, as text and as a picture."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from gpu_tui import __version__
from gpu_tui.cli.fleet_args import add_fleet_arguments, fleet_of, fleet_path, look, seconds
from gpu_tui.new_file import write_new
from gpu_tui.places import make_private, own_command
from gpu_tui.settings import FleetError

EXAMPLE = "gpu-tui report --out handover/"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_fleet_arguments(parser)
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="write it there, with a picture of the cockpit"
    )
    parser.add_argument(
        "--hosts",
        action="store_true",
        help="keep host names and addresses, which are left out else",
    )
    parser.add_argument(
        "--limit", type=seconds, default=30.0, metavar="SECONDS", help="give up on a box after this"
    )


def run(args: argparse.Namespace) -> int:
    """Exit 0 once it is written; what it says of the fleet is no exit code."""
    from gpu_tui.state.report import handover
    from gpu_tui.wiring.report import mask_of, proofs_of

    fleet = fleet_of(args)
    if args.out is not None:
        _prepare(args.out)
    view = look(fleet, args.limit)
    mask = mask_of(fleet, view, show_hosts=args.hosts)
    file = fleet_path(args)  # whole, for cron and the next person stand in other directories
    where = None if file is None else str(file.absolute())
    text = handover(
        view, proofs_of(fleet), mask, version=__version__, fleet=where, program=own_command()
    )
    if args.out is None:
        print(text, end="")
        return 0
    import asyncio

    from gpu_tui.report.picture import masked_svg, masked_view
    from gpu_tui.resources import load_profiles, themes_dir
    from gpu_tui.ui.picture import draw_cockpit
    from gpu_tui.ui.theme_file import load_themes

    stamp = datetime.fromtimestamp(view.taken_at, UTC).strftime("%Y%m%dT%H%M%SZ")
    profiles, themes = load_profiles(), load_themes(themes_dir())
    picture = asyncio.run(draw_cockpit(masked_view(view, mask), profiles, themes))
    _write(
        args.out,
        {f"handover-{stamp}.md": text, f"cockpit-{stamp}.svg": masked_svg(picture, mask)},
    )
    return 0


def _prepare(out: Path) -> None:
    """Before the fleet is looked at: can anything be written there?"""
    try:
        make_private(out)
    except (FileExistsError, NotADirectoryError):
        raise FleetError(
            f"{out} is no directory", next="name a directory of yours with --out DIR"
        ) from None
    if not os.access(out, os.W_OK | os.X_OK):
        raise FleetError(
            f"{out} cannot be written", next="name a directory of yours with --out DIR"
        )


def _write(out: Path, files: Mapping[str, str]) -> None:
    """New files only: an older hand-over is never written over."""
    for name, text in files.items():
        path = out / name
        try:
            # The path of a fleet file may be bytes that are no text: they stand there as they are.
            write_new(path, text.encode("utf-8", "surrogateescape"), mode=0o600)
        except FileExistsError:
            raise FleetError(
                f"{path} is there already, and is not written over",
                next="name another directory with --out DIR, or wait a second",
            ) from None
        print(path)
