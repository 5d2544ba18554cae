"""The TSV that a memory monitor on the box appends to -> a MemoryLog.

Its columns are named by a header line, in any order: `timestamp cgroup_gb cpu_pct main_pid main_rss_gb
main_threads main_fds n_python total_python_rss_gb wandb_pid wandb_rss_gb gpu_util_pct gpu_mem_mb`. Only
`timestamp` and one of `cgroup_gb`, `gpu_util_pct` are needed. GB are 1024^3 bytes, as the cgroup counts.
A monitor that was started again writes its header again, maybe another one.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from gpu_tui.core.readings import MemoryLog, MemoryPoint

GIB = 1 << 30
LINE_CHARS = 4_096
POINTS_KEPT = 450
LEGEND = [
    "timestamp",
    "cgroup_gb",
    "cpu_pct",
    "main_pid",
    "main_rss_gb",
    "main_threads",
    "main_fds",
    "n_python",
    "total_python_rss_gb",
    "wandb_pid",
    "wandb_rss_gb",
    "gpu_util_pct",
    "gpu_mem_mb",
]
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?", re.ASCII)
_Row = tuple[float, bool, int | None, float | None]


def parse_mem_monitor(path: str, head: bytes, tail: bytes) -> MemoryLog:
    """`head` is the beginning of the file (its header), `tail` its end, which may begin in mid-line and end
    in one. Rows that cannot be read are left out; times that run backwards begin the log anew.
    """
    columns = _columns(head.split(b"\n", 1)[0]) or {name: n for n, name in enumerate(LEGEND)}
    rows: list[_Row] = []
    whole = tail.split(b"\n")[:-1]  # what has no newline yet is half a row
    for number, raw in enumerate(whole):
        if (named := _columns(raw)) is not None:
            columns = named
            continue
        row = _row(raw, columns)
        if row is None or (number == 0 and not head.startswith(raw[:64])):
            continue  # we may have come into the middle of the first line
        if rows and (row[1] is not rows[-1][1] or row[0] < rows[-1][0]):
            rows = []
        rows.append(row)
    step = max(1, math.ceil(len(rows) / POINTS_KEPT))
    kept = rows[::-step][::-1]  # the newest one stays
    points = tuple(MemoryPoint(at, memory, gpu) for at, _, memory, gpu in kept)
    return MemoryLog(path, points, bool(rows) and rows[-1][1])


def _columns(raw: bytes) -> dict[str, int] | None:
    """The places of the columns, if this is a header."""
    words = _words(raw)
    if "timestamp" not in words or not {"cgroup_gb", "gpu_util_pct"} & set(words):
        return None
    return {name: place for place, name in enumerate(words)}


def _words(raw: bytes) -> list[str]:
    text = raw[:LINE_CHARS].decode("utf-8", "replace").lstrip("\ufeff#").strip("\r")
    return [word.strip() for word in text.split("\t")]


def _row(raw: bytes, columns: dict[str, int]) -> _Row | None:
    words = _words(raw)
    if len(words) != max(columns.values()) + 1:  # of two columns with one name the last one counts
        return None  # torn
    time = _time(words[columns["timestamp"]])
    memory = _number(words, columns, "cgroup_gb")
    gpu = _number(words, columns, "gpu_util_pct")
    if time is None or (memory is None and gpu is None):
        return None
    share = gpu / 100 if gpu is not None and 0 <= gpu <= 100 else None
    return *time, round(memory * GIB) if memory is not None and memory >= 0 else None, share


def _number(words: list[str], columns: dict[str, int], name: str) -> float | None:
    word = words[columns[name]] if name in columns else ""
    return float(word) if _NUMBER.fullmatch(word) else None


def _time(word: str) -> tuple[float, bool] | None:
    """Seconds, and whether they are epoch seconds (else wall time as if it were UTC)."""
    if _NUMBER.fullmatch(word):
        seconds = float(word)
        return (seconds, True) if 1e9 <= seconds < 1e11 else None
    try:
        at = datetime.fromisoformat(word.replace("/", "-"))
    except ValueError:
        return None
    zoned = at.tzinfo is not None
    return (at if zoned else at.replace(tzinfo=UTC)).timestamp(), zoned
