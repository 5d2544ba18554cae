"""How fast a log is taken in: bytes -> marks, and bytes -> the store, without a network.

`cd tests && python -m bench.ingest`. All ways read the same file (`bench.log_mix`) in the same run,
in interleaved rounds; the figures are medians, per second of the processor. Marks are compared with what one compiled regex costs
per line: the short one that people grep for a crash, one of twelve whole words in any case as somebody writes it who wants no
false alarms, and one of all words that the rules of triage know. The reader does more in that time: it splits, judges, and reads
progress and queue events. What that takes depends on how much of a log is news: there are two, a mix of nine trainers
with loaders, text that never comes again and alarms, as no single log is, and one trainer's reports.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

from bench import log_mix

from gpu_tui.cli.triage import CHUNK
from gpu_tui.core.events import LogArrived
from gpu_tui.core.fleet import Fleet, Instance, SshAccess
from gpu_tui.core.log_block import telling
from gpu_tui.core.logs import LogSource
from gpu_tui.parse.log_flood import Appetite
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.parse.triage.classify import triage
from gpu_tui.parse.triage.rule_set import bundled
from gpu_tui.state.logbuffer import BUDGET
from gpu_tui.state.store import Store

CRASH = "Traceback|Error|CUDA out of memory|OutOfMemory|Killed"
WORDS = (
    r"(?i)\b(?:nan|out of memory|traceback|error|killed|no space left|disk quota|nccl|xid"
    r"|segmentation fault|timed out|overflow)\b"
)
ARRIVAL = 1_048_576  # bytes that lie ready at once when a log floods
LINE = 200  # bytes, of the second file: its lines are cut or filled to this length


def _all_needs() -> re.Pattern[str]:
    """One regex of the very literals that our rules ask for."""
    needs = {literal for rule in bundled().rules for literal in rule.literals}
    return re.compile("|".join(sorted(map(re.escape, needs), key=len)), re.IGNORECASE)


def by_line(data: bytes, judge: Callable[[str], object]) -> float:
    """Seconds to decode and judge every line by itself."""
    began = time.process_time()
    for line in data.decode("utf-8", "replace").split("\n"):
        judge(line)
    return time.process_time() - began


def feed(data: bytes, take: Callable[[LogArrived], object] | None = None) -> tuple[float, float]:
    """Seconds to read all of it as a follower does, and the longest that others had to wait."""
    reader, source, longest = LogReader(), LogSource("/train.log", "cell"), 0.0
    appetite = Appetite()
    began, last = time.process_time(), time.perf_counter()
    for start in range(0, len(data), ARRIVAL):
        ready, at = data[start : start + ARRIVAL], 0
        while at < len(ready):
            busy = time.thread_time()
            size = appetite.mouthful(ready[at:])
            lines = reader.feed(ready[at : at + size])
            at += size
            if take is not None:
                take(LogArrived("box", 0.0, source, lines))
            now = time.perf_counter()
            appetite.took(time.thread_time() - busy, size)
            last, longest = now, max(longest, now - last)
    return time.process_time() - began, longest


def mark(data: bytes) -> float:
    """Seconds to judge all of it as `gpu-tui triage FILE` does."""
    reader, alarms = LogReader(), 0
    began = time.process_time()
    for start in range(0, len(data), CHUNK):
        for _, line in telling(reader.feed(data[start : start + CHUNK])):
            alarms += line.mark.alarm
    return time.process_time() - began


def to_store(data: bytes) -> tuple[float, float, Store]:
    """The same, with the store behind it."""
    store = Store(Fleet("sweep", (Instance("box", SshAccess("box")),)), {})
    return *feed(data, store.apply), store


def growth(data: bytes) -> int:
    """Bytes more in memory after a flood on a log that already keeps as much as one may."""
    store = Store(Fleet("sweep", (Instance("box", SshAccess("box")),)), {})
    for _ in range(2 * BUDGET // len(data)):
        feed(data, store.apply)
    before = _resident()
    for _ in range(2 * BUDGET // len(data)):
        feed(data, store.apply)
    return _resident() - before


def grep(path: Path) -> float:
    """Seconds of `grep -cE` with the short regex; into a pipe, for grep stops early at /dev/null."""
    began = _children()
    subprocess.run(["grep", "-cE", CRASH, str(path)], check=False, stdout=subprocess.PIPE)
    return _children() - began


def _children() -> float:
    """Seconds that ended children took of the processor."""
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(megabytes: int = 40, rounds: int = 2) -> dict[str, float]:
    """Medians of `rounds` interleaved rounds. The slowest ways read a part of the file only."""
    piece = log_mix.megabytes(min(megabytes, 20))
    times = max(1, megabytes // 20)
    data = piece * times
    even = b"".join(line[: LINE - 1].ljust(LINE - 1, b".") + b"\n" for line in piece.splitlines())
    one = log_mix.one_trainer(len(even) / 1e6, LINE)
    lines, part = data.count(b"\n"), piece[: piece.find(b"\n", len(piece) // 20) + 1]
    crash, words, needs = re.compile(CRASH), re.compile(WORDS), _all_needs()
    feed(part), to_store(part), to_store(one[: len(part)])
    taken: dict[str, list[float]] = {}

    def note(way: str, seconds: float, size: int) -> None:
        taken.setdefault(way, []).append(seconds / size)

    waits: list[float] = []
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "train.log"
        path.write_bytes(data)
        for _ in range(rounds):
            note("marks", mark(data), lines)
            note("crash", by_line(piece, crash.search), lines // times)
            note("words", by_line(piece, words.search), lines // times)
            note("marks, one", mark(one), one.count(b"\n"))
            note("crash, one", by_line(one, crash.search), one.count(b"\n"))
            note("words, one", by_line(one, words.search), one.count(b"\n"))
            note("needs", by_line(part, needs.search), part.count(b"\n"))
            note("triage", by_line(part, triage), part.count(b"\n"))
            note("grep", grep(path), lines)
            for way, log in (("store", even), ("store, one", one)):
                seconds, wait, _ = to_store(log * times)
                note(way, seconds, len(log) * times)
                waits.append(wait)
    grown = growth(even)
    cost = {way: median(seconds) for way, seconds in taken.items()}
    return {
        "lines": lines,
        "bytes per line": round(len(data) / lines, 1),
        "ours lines/s": round(1 / cost["marks"]),
        "ours MB/s": round(len(data) / lines / cost["marks"] / 1e6, 1),
        "crash regex per line, lines/s": round(1 / cost["crash"]),
        "ours / crash regex per line": round(cost["crash"] / cost["marks"], 2),
        "one regex of twelve words per line, lines/s": round(1 / cost["words"]),
        "ours / one regex of twelve words per line": round(cost["words"] / cost["marks"], 2),
        "one trainer's lines: ours lines/s": round(1 / cost["marks, one"]),
        "one trainer's lines: ours / crash regex per line": round(
            cost["crash, one"] / cost["marks, one"], 2
        ),
        "one trainer's lines: ours / one regex of twelve words per line": round(
            cost["words, one"] / cost["marks, one"], 2
        ),
        "one regex of all words per line, lines/s": round(1 / cost["needs"]),
        "ours / one regex of all words per line": round(cost["needs"] / cost["marks"], 2),
        "triage of every line by itself, lines/s": round(1 / cost["triage"]),
        "grep -cE lines/s": round(1 / cost["grep"]),
        "ours / grep -cE": round(cost["grep"] / cost["marks"], 3),
        "to the store MB/s, the mix in lines of 200 bytes": round(1 / cost["store"] / 1e6, 1),
        "to the store MB/s, one trainer's lines of 200 bytes": round(
            1 / cost["store, one"] / 1e6, 1
        ),
        "longest wait of others, ms": round(1e3 * max(waits), 1),
        "MB more in memory after 256 MB on a log that is full": round(grown / 1e6, 1),
        "load of the machine meanwhile": round(os.getloadavg()[0], 1),
    }


def _resident() -> int:
    """Bytes of this process in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
