"""`gpu-tui journal [NAME]`: what was torn down, when, by whom, and on what evidence."""

from __future__ import annotations

import argparse
import json
import os

NAME = "journal"
HELP = "show the teardown journal, or check that nobody changed it"
EXAMPLE = "gpu-tui journal autodl-1 --check"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="only this instance")
    parser.add_argument("--check", action="store_true", help="check the chain of the records")
    parser.add_argument("--json", action="store_true", help="print the records as JSON lines")


def run(args: argparse.Namespace) -> int:
    """Exit 0, or 1 where a record before the last was damaged."""
    from gpu_tui import settings
    from gpu_tui.core.plain import plain
    from gpu_tui.teardown.journal import FILE_NAME, line_of, read_journal

    path = settings.state_dir(os.environ) / "journal" / FILE_NAME
    found = read_journal(path)
    wanted = [r for r in found.records if args.name in (None, r.instance)]
    for record in wanted:
        if args.json:
            print(line_of(record).decode())
            continue
        detail = json.dumps(record.detail, ensure_ascii=False) if record.detail else ""
        words = (record.at, record.actor, record.instance, record.event, detail)
        print("  ".join(plain(word, 4_096) for word in words).rstrip())
    if found.damage:
        print(f"{path}: {found.damage}; what stands behind it is not shown")
        return 1
    if args.check:
        torn = ", and a torn last line (a write that never ended)" if found.torn else ""
        print(f"{path}: {len(found.records)} records, every one follows the one before{torn}")
    elif not found.records:
        print(f"{path}: nothing was torn down yet")
    elif not wanted:
        print(f"{path}: none of {len(found.records)} records is about {plain(args.name)}")
    return 0
