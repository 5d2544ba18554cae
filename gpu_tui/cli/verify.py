"""`gpu-tui verify DIR`: the match and load rungs on a directory that is here already."""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from pathlib import Path

NAME = "verify"
HELP = "check a local directory of results: roster, sizes, hashes, and every checkpoint loads"
EXAMPLE = "gpu-tui verify ./results --roster queue_1.txt"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.add_argument("directory", metavar="DIR", type=Path, help="the result directory")
    parser.add_argument(
        "--manifest",
        metavar="F",
        type=Path,
        help="what should be in it (default: a manifest found in DIR)",
    )
    parser.add_argument(
        "--roster", metavar="QUEUE", type=Path, help="the queue file that names the cells"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Exit 0 verified, 1 failed, 2 incomplete (no torch, no roster)."""
    from gpu_tui.parse.queue_file import parse_roster
    from gpu_tui.teardown.audit import EXITS, audit
    from gpu_tui.teardown.manifest_file import NAMES, read_manifest

    directory: Path = args.directory
    if not directory.is_dir():
        raise NotADirectoryError(20, "not a directory", str(directory))
    began = time.monotonic()
    source = args.manifest or next(
        (directory / name for name in NAMES if (directory / name).is_file()), None
    )
    manifest = read_manifest(source).manifest if source else None
    cells = None
    if args.roster is not None:
        roster = parse_roster(args.roster.read_bytes().decode("utf-8", "replace"))
        cells = tuple(dict.fromkeys(cell.name for cell in roster.cells))
    report = asyncio.run(audit(directory, manifest, cells))
    seconds = time.monotonic() - began
    if args.json:
        body = {
            "verdict": report.verdict,
            "roster": {
                "expected": len(report.expected) if report.expected is not None else None,
                "present": report.present if report.expected is not None else None,
                "missing": list(report.missing),
                "unexpected": list(report.unexpected),
            },
            "files": [
                {
                    "path": file.path,
                    "bytes": file.bytes,
                    "sha256": file.sha256,
                    "match": file.match,
                    "load": file.load,
                    "detail": file.detail,
                }
                for file in report.files
            ],
            "why": list(report.why),
            "seconds": round(seconds, 3),
            "bytes": report.total_bytes,
        }
        print(json.dumps(body, ensure_ascii=True))
    else:
        for file in report.files:
            match = {True: "equal", False: "DIFFERS", None: "-"}[file.match]
            print(
                f"{file.load:8} {match:8} {_visible(file.path)}  {_visible(file.detail)}".rstrip()
            )
        for reason in report.why:
            print(f"! {_visible(reason)}")
        print(f"{report.verdict}: {len(report.files)} files, {report.total_bytes} bytes")
    return EXITS[report.verdict]


def _visible(text: str) -> str:
    from gpu_tui.core.plain import plain

    return plain(text, 1_024)
