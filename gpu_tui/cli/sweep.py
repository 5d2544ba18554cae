"""`gpu-tui sweep`: the whole sweep as a table, for people, spreadsheets and scripts."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_tui.cli.fleet_args import add_fleet_arguments, fleet_of, look, seconds
from gpu_tui.cli.streams import only_one
from gpu_tui.core.speech import say
from gpu_tui.settings import FleetError

if TYPE_CHECKING:
    from gpu_tui.core.campaign import Outlook
    from gpu_tui.core.cell_table import Row
    from gpu_tui.core.rebalance import Plan
    from gpu_tui.state.views import FleetView

EXAMPLE = "gpu-tui sweep --csv cells.csv --sort psnr"
WIDTH = 160  # columns where nothing says how many there are
STDOUT = "-"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_fleet_arguments(parser)
    parser.add_argument("hosts", nargs="*", metavar="HOST", help="look at these hosts instead")
    parser.add_argument(
        "--csv", metavar="FILE", help="write every cell as CSV to a new file; - prints it"
    )
    parser.add_argument(
        "--markdown", metavar="FILE", help="write every cell as Markdown to a new file; - prints it"
    )
    parser.add_argument("--force", action="store_true", help="write over a file that is there")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--sort", metavar="COLUMN", help="cell, task, state, loss, psnr, took, ...")
    parser.add_argument("--reverse", action="store_true", help="largest first")
    parser.add_argument(
        "--limit", type=seconds, default=30.0, metavar="SECONDS", help="give up on a box after this"
    )


def run(args: argparse.Namespace) -> int:
    """Exit 0; 2 where not one queue could be read."""
    from gpu_tui.core.campaign import Trust
    from gpu_tui.core.cell_export import to_csv, to_markdown
    from gpu_tui.core.cell_table import as_listed, rows_of
    from gpu_tui.core.rebalance import suggest
    from gpu_tui.state.sweep_contract import sweep_json
    from gpu_tui.state.sweep_outlook import sweep_outlook

    only_one(args.json, args.csv == STDOUT, args.markdown == STDOUT)
    fleet = fleet_of(args)
    for name in (args.csv, args.markdown):  # before boxes are asked for half a minute
        if name not in (None, STDOUT) and not args.force and Path(name).exists():
            raise _taken(name)
    view = look(fleet, args.limit)
    outlook = sweep_outlook(view)
    every = rows_of(one.lane for one in outlook.lanes)
    rows = _sorted(every, args.sort, falling=args.reverse)
    plan = suggest(outlook)
    for name, text in ((args.csv, to_csv), (args.markdown, to_markdown)):
        if name is not None:
            _write(name, text(rows), force=args.force)
    if args.json:
        body = sweep_json(view.sweep, view.taken_at, outlook, plan, rows)
        print(json.dumps(body, ensure_ascii=False, allow_nan=False))
    elif args.csv is None and args.markdown is None:
        shown = _sorted(as_listed(every), args.sort, falling=args.reverse)
        print(_text(view, outlook, plan, shown))
    read = any(one.lane.trust is not Trust.UNREAD for one in outlook.lanes)
    return 0 if read else 2


def _sorted(rows: Sequence[Row], wanted: str | None, *, falling: bool) -> list[Row]:
    """By the column of that name: one of the table's own, else a metric."""
    from gpu_tui.core.cell_table import Order, columns_of, in_order

    if wanted is None:
        return list(rows)
    columns = columns_of(rows)
    own = {"queue": "box", "instance": "box", "name": "cell", "duration": "took"}
    for column in (own.get(wanted, wanted), f"metric:{wanted}"):
        if column in columns:
            return in_order(rows, Order(column, falling))
    known = ", ".join(column.removeprefix("metric:") for column in columns)
    raise FleetError(f"there is no column {wanted!r}", next=f"sort by one of: {known}")


def _write(name: str, text: str, *, force: bool) -> None:
    from gpu_tui.new_file import write_new

    if name == STDOUT:
        sys.stdout.write(text)
        return
    try:
        write_new(Path(name), text, replace=force)
    except FileExistsError:
        raise _taken(name) from None
    print(say("{name}: written", name=name), file=sys.stderr)


def _taken(name: str) -> FleetError:
    return FleetError(f"{name} is there already", next="name another file, or add --force")


def _text(view: FleetView, outlook: Outlook, plan: Plan | None, rows: list[Row]) -> str:
    """The card as plain lines."""
    from rich.text import Text

    from gpu_tui.core.cell_table import Order
    from gpu_tui.ui.text.outlook import lane_head, lane_row, lane_why, outlook_lines
    from gpu_tui.ui.text.sweep_table import sheet_of, table_head, table_row

    width = shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else WIDTH
    width = max(40, width)
    now = view.taken_at
    blank = Text()
    lines = [*outlook_lines(outlook, plan, now, None, width)]
    if outlook.lanes:
        queues = [lane_row(one, outlook, now, None, width) for one in outlook.lanes]
        lines += [blank, lane_head(width), *queues]
        lines += lane_why(outlook, width) if width < WIDTH else []
        sheet = sheet_of(rows, Order(), width, {})
        courses = {one.name: one.courses for one in view.instances}
        lines += [blank, table_head(sheet)]
        lines += [
            table_row(row, sheet, courses.get(row.box, {}).get(row.cell.name, ())) for row in rows
        ]
    return "\n".join(
        [
            f"{say('sweep')} {view.sweep or say('(no name)')}",
            *(line.plain.rstrip() for line in lines),
        ]
    )
