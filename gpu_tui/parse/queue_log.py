"""One line of a queue's log -> what it says of the queue.

The lines are those of `run_queue.sh` and `run_one.sh`. A line may be glued to the end of somebody's
progress bar, so a pattern may start anywhere, but it must reach the end of the line. Stamps have no
zone: they become seconds as if the box's wall time were UTC, to be compared only with the box's clock.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from gpu_tui.core.sweep import (
    CellFinished,
    CellStarted,
    CellSynced,
    QueueDone,
    QueueEvent,
    QueueOpened,
    SyncFailed,
    WrapperRefused,
)

LONGEST = 4096  # characters; no line of the wrapper is longer

_STAMP = r"\[(?P<stamp>[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2})\] "
_PLACE = r"\[(?P<index>[0-9]{1,9})/(?P<total>[0-9]{1,9})\] "

_OPENED = re.compile(
    r"=== Queue (?P<file>\S.*): (?P<total>[0-9]{1,9}) ablations,"
    r" starting from (?P<start>[0-9]{1,9}) on (?P<host>\S+) ===\s*$"
)
_STARTED = re.compile(
    _STAMP + _PLACE + r"STARTING (?P<name>\S.*) \((?P<task>[^\s()]+), (?P<epochs>[^\s()]*)ep\)\s*$"
)
_FINISHED = re.compile(
    _STAMP + _PLACE + r"FINISHED (?P<name>\S.*) \(exit=(?P<code>-?[0-9]{1,9})\)\s*$"
)
_DONE = re.compile(
    _STAMP + r"=== QUEUE DONE on (?P<host>\S+) -- (?:all )?(?P<count>[0-9]{1,9}) cell\(s\) "
    r"(?:exited 0|FAILED: (?P<failed>.*?)) ===\s*$"
)
_SYNCED = re.compile(r"\bsynced (?P<name>\S.*) to durable storage \((?P<directory>[^()]*)\)\s*$")
_SYNC_FAILED = re.compile(
    r"!! DURABLE SYNC (?P<how>BLOCKED|FAILED) for (?P<name>\S.*?)(?: (?:—|--?) (?P<why>.*))?$"
)
_REFUSED = re.compile(
    r"(?:^|\] )(?P<reason>Usage: .*(?:queue|run_one|config|cfg).*"
    r"|PROFILE SETUP FAILED: .*|PY interpreter is unavailable: .*|PROJECT_REPO_DIR not found: .*)$"
)

FORMS = (_OPENED, _STARTED, _FINISHED, _DONE, _SYNCED, _SYNC_FAILED, _REFUSED)


def parse_queue_line(line: str) -> QueueEvent | None:
    """The event of one line, or None where it is no line of the wrapper."""
    if len(line) > LONGEST:
        line = line[-LONGEST:]
    if "===" in line:
        return _opened(line) or _done(line)
    if "] STARTING " in line:
        return _started(line)
    if "] FINISHED " in line:
        return _finished(line)
    if "synced " in line and (match := _SYNCED.search(line)):
        return CellSynced(match["name"], match["directory"])
    if "!! DURABLE SYNC " in line and (match := _SYNC_FAILED.search(line)):
        return SyncFailed(match["name"], (match["why"] or match["how"].lower()).strip())
    if match := _REFUSED.search(line):
        return WrapperRefused(match["reason"].strip())
    return None


def _opened(line: str) -> QueueOpened | None:
    match = _OPENED.search(line)
    if match is None:
        return None
    return QueueOpened(match["file"], int(match["total"]), int(match["start"]), match["host"])


def _started(line: str) -> CellStarted | None:
    match = _STARTED.search(line)
    stamp = _seconds(match["stamp"]) if match else None
    if match is None or stamp is None:
        return None
    epochs = match["epochs"]
    return CellStarted(
        stamp,
        int(match["index"]),
        int(match["total"]),
        match["name"],
        match["task"],
        int(epochs) if re.fullmatch("[0-9]{1,9}", epochs) else None,
    )


def _finished(line: str) -> CellFinished | None:
    match = _FINISHED.search(line)
    stamp = _seconds(match["stamp"]) if match else None
    if match is None or stamp is None:
        return None
    return CellFinished(
        stamp, int(match["index"]), int(match["total"]), match["name"], int(match["code"])
    )


def _done(line: str) -> QueueDone | None:
    match = _DONE.search(line)
    stamp = _seconds(match["stamp"]) if match else None
    if match is None or stamp is None:
        return None
    failed = match["failed"]
    return QueueDone(
        stamp, match["host"], int(match["count"]), None if failed is None else failed.strip()
    )


def _seconds(stamp: str) -> float | None:
    """Box wall time as if it were UTC, in epoch seconds; None where it is no date."""
    try:
        return datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
