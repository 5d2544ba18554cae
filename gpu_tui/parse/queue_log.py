"""One line of a queue's log -> what it says of the queue.

The lines are those of `run_queue.sh` and `run_one.sh`. A line may be glued to the end of somebody's
progress bar or of another line that was torn, so a pattern may start anywhere, but it must reach the end
of the line. Stamps have no zone: they become seconds as if the box's wall time were UTC, to be compared
only with the box's clock; a log may have none, and then it tells what happened but not when.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime

from gpu_tui.core.queue_history import (
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

_STAMP = re.compile(r"\[([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2})\] $")
_PLACE = r"\[(?P<index>[0-9]{1,9})/(?P<total>[0-9]{1,9})\] "

_OPENED = re.compile(
    r"=== Queue (?P<file>\S.*): (?P<total>[0-9]{1,9}) ablations,"
    r" starting from (?P<start>[0-9]{1,9}) on (?P<host>\S+) ===\s*$"
)
# The end may be lost: a carriage return of the queue file stands before it, and parts the line there.
_STARTED = re.compile(
    _PLACE + r"STARTING (?P<name>\S.*?) \((?P<task>[^()]*?)(?:, (?P<epochs>[^()]*?)(?:ep\))?)?\s*$"
)
_FINISHED = re.compile(_PLACE + r"FINISHED (?P<name>\S.*) \(exit=(?P<code>-?[0-9]{1,9})\)\s*$")
_DONE = re.compile(
    r"=== QUEUE DONE on (?P<host>\S+) -- (?:all )?(?P<count>[0-9]{1,9}) cell\(s\) "
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


def parse_queue_line(line: str) -> QueueEvent | None:
    """The event of one line, or None where it is no line of the wrapper. Of several that were glued into
    one line, the last one, which alone reaches its end.
    """
    if len(line) > LONGEST:
        line = line[-LONGEST:]
    for sign, read in _READERS:
        if sign in line and (event := read(line)) is not None:
            return event
    if match := _REFUSED.search(line):
        return WrapperRefused(match["reason"].strip())
    return None


def _opened(line: str) -> QueueOpened | None:
    match = _OPENED.match(line, line.rfind("=== Queue "))
    if match is None:
        return None
    return QueueOpened(match["file"], int(match["total"]), int(match["start"]), match["host"])


def _started(line: str) -> CellStarted | None:
    at = line.rfind("[", 0, line.rfind("] STARTING "))
    match = _STARTED.match(line, at) if at >= 0 else None
    stamp, good = _stamp(line, at)
    if match is None or not good:
        return None
    words = (match["epochs"] or "").split()
    return CellStarted(
        stamp,
        int(match["index"]),
        int(match["total"]),
        match["name"],
        match["task"],
        int(words[0]) if words and re.fullmatch("[0-9]{1,9}", words[0]) else None,
    )


def _finished(line: str) -> CellFinished | None:
    at = line.rfind("[", 0, line.rfind("] FINISHED "))
    match = _FINISHED.match(line, at) if at >= 0 else None
    stamp, good = _stamp(line, at)
    if match is None or not good:
        return None
    return CellFinished(
        stamp, int(match["index"]), int(match["total"]), match["name"], int(match["code"])
    )


def _done(line: str) -> QueueDone | None:
    at = line.rfind("=== QUEUE DONE ")
    match = _DONE.match(line, at)
    stamp, good = _stamp(line, at)
    if match is None or not good:
        return None
    failed = match["failed"]
    return QueueDone(
        stamp, match["host"], int(match["count"]), None if failed is None else failed.strip()
    )


def _synced(line: str) -> CellSynced | None:
    match = _SYNCED.search(line)
    return CellSynced(match["name"], match["directory"]) if match else None


def _sync_failed(line: str) -> SyncFailed | None:
    match = _SYNC_FAILED.search(line)
    return (
        SyncFailed(match["name"], (match["why"] or match["how"].lower()).strip()) if match else None
    )


# The line of each event contains one of these.
SIGNS = (
    "=== Queue ", "=== QUEUE DONE ", "] FINISHED ", "] STARTING ", "synced ", "!! DURABLE SYNC ", "Usage: ",
    "PROFILE SETUP FAILED: ", "PY interpreter is unavailable: ", "PROJECT_REPO_DIR not found: ",
)  # fmt: skip
_READERS: tuple[tuple[str, Callable[[str], QueueEvent | None]], ...] = (
    ("=== Queue ", _opened),
    ("=== QUEUE DONE ", _done),
    ("] FINISHED ", _finished),
    ("] STARTING ", _started),
    ("synced ", _synced),
    ("!! DURABLE SYNC ", _sync_failed),
)


def _stamp(line: str, at: int) -> tuple[float | None, bool]:
    """What stands before place `at`: box wall time as if it were UTC, in epoch seconds, or None where
    no stamp does; False where it is a stamp that is no time.
    """
    match = _STAMP.search(line[:at]) if at > 0 else None
    if match is None:
        return None, True
    try:
        stamp = datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None, False
    return stamp.timestamp(), True
