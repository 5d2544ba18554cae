"""`gpu-tui verify DIR`: the match and load rungs on a directory that is here already. It writes nothing."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_tui.core.speech import counted, listed, say, told

if TYPE_CHECKING:
    from gpu_tui.teardown.audit import Audit

EXAMPLE = "gpu-tui verify ./results --roster queue_1.txt"
MATCH = {True: "equal", False: "DIFFERS", None: "-"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.add_argument("directory", metavar="DIR", type=Path, help="the result directory")
    parser.add_argument(
        "--manifest",
        metavar="F",
        type=Path,
        help="what should be in it (default: the one of the last pull, or PULL_MANIFEST.json, in DIR)",
    )
    parser.add_argument(
        "--roster",
        metavar="QUEUE",
        type=Path,
        help="the queue file that names the cells (default: as at the last pull)",
    )
    parser.add_argument(
        "--expect",
        metavar="N",
        type=_cells,
        help="how many cells there must be, no more and no fewer",
    )
    parser.add_argument(
        "--artifact",
        metavar="FILE",
        action="append",
        help="a file that every cell must have, below its directory; may be given several times "
        "(default: as at the last pull, else best.pth and best_metrics.json)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


class NoDirectory(Exception):
    """What was named is no directory."""

    next = "Name the directory that holds the results, one directory for each cell."


class NoRoster(Exception):
    """The queue file cannot be read."""

    next = "Name the queue file whose cells should be here, or leave --roster out for a manifest's word."


def _cells(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(say("{text} is no number of cells", text=repr(text)))
    return number


def run(args: argparse.Namespace) -> int:
    """Exit 0 verified, 1 failed, 2 incomplete (no reader, no roster, a part of a set is not here)."""
    from gpu_tui.teardown.audit import EXITS

    directory: Path = args.directory
    if not directory.is_dir():
        raise NoDirectory(f"there is no directory {directory}")
    began = time.monotonic()
    report = _report(args, directory)
    seconds = time.monotonic() - began
    if args.json:
        print(json.dumps(_body(report, seconds), ensure_ascii=True))
    else:
        print("\n".join(_lines(report)))
    return EXITS[report.verdict]


def _report(args: argparse.Namespace, directory: Path) -> Audit:
    from gpu_tui.core.required import COPIED
    from gpu_tui.core.sweep import Roster, RosterCell
    from gpu_tui.parse.artifacts import artifact_of, check_artifacts
    from gpu_tui.parse.queue_file import decode_roster
    from gpu_tui.teardown.audit import audit, unreadable
    from gpu_tui.teardown.manifest_file import KEPT, NAMES, ManifestUnreadable, read_manifest

    found = (directory / name for name in NAMES)
    source = args.manifest or next((path for path in found if path.is_file()), None)
    try:
        kept = read_manifest(source) if source else None
        # What a box wrote among its results has no say in what must be there.
        mine = args.manifest or directory / KEPT
        own = kept if source == mine else read_manifest(mine) if mine.is_file() else None
    except ManifestUnreadable as error:
        return unreadable(f"{error}: {error.next}")
    roster = decode_roster(_bytes_of(args.roster)) if args.roster is not None else None
    if roster is None and own is not None and own.cells is not None:
        roster = Roster(tuple(RosterCell(n, c, c, "", 0) for n, c in enumerate(own.cells, 1)))
    is_ours = source is not None and source.resolve() == (directory / KEPT).resolve()
    besides = _below(directory, source, args.roster)
    required = own.required if own else COPIED
    if args.artifact:
        files = check_artifacts([artifact_of(file) for file in args.artifact])
        required = replace(required, files=files)
    manifest = kept.manifest if kept else None
    judged = audit(
        directory, manifest, roster, required=required, besides=besides, expect=args.expect,
        whole=not is_ours,
    )  # fmt: skip
    import asyncio

    return asyncio.run(judged)


def _bytes_of(roster: Path) -> bytes:
    try:
        return roster.read_bytes()
    except OSError as error:
        raise NoRoster(f"the queue file {roster} cannot be read: {error.strerror}") from None


def _below(directory: Path, *files: Path | None) -> frozenset[str]:
    """What was named on the command line is no result, also where it lies among them."""
    root = directory.resolve()
    inside = (path.resolve() for path in files if path is not None)
    return frozenset(p.relative_to(root).as_posix() for p in inside if p.is_relative_to(root))


def _body(report: Audit, seconds: float) -> dict[str, object]:
    return {
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
                "warnings": list(file.warnings),
                "nonfinite": file.nonfinite,
                "needs": list(file.needs),
            }
            for file in report.files
        ],
        "why": list(report.why),
        "how": report.how or None,
        "seconds": round(seconds, 3),
        "bytes": report.total_bytes,
    }


def _lines(report: Audit) -> list[str]:
    """One line per file, what is to be read, what is wrong, and the verdict last."""
    # What is not the manifest's file is no good one, however well it loads.
    loads = ["failed" if file.match is False else file.load for file in report.files]
    lines = [
        f"{load:10} {MATCH[file.match]:8} {_visible(file.path)}  {_visible(file.detail)}".rstrip()
        for file, load in zip(report.files, loads, strict=True)
    ]
    lines += [
        f"? {_visible(file.path)}: {_visible(warning)}"
        for file in report.files
        for warning in file.warnings
    ]
    lines += [f"! {_visible(told(reason))}" for reason in report.why]
    counts = [f"{loads.count(load)} {load}" for load in dict.fromkeys(loads)]
    how = f" ({_visible(told(report.how))})" if report.how else ""
    files = counted(len(report.files), "file")
    total = say("{files}, {bytes} bytes", files=files, bytes=report.total_bytes)
    if loads and all(file.match for file in report.files):
        total += say(", equal to the manifest")
    elif all(file.match is None for file in report.files):
        total += say(", compared with no manifest")
    read = listed(counts) or say("nothing was read")
    return [*lines, f"{say(report.verdict)}: {total}; {read}{how}"]


def _visible(text: str) -> str:
    from gpu_tui.core.plain import plain

    return plain(text, 1_024)
