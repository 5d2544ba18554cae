"""Throughput and start-up time of triage: `cd tests && python -m bench triage`.

Times are CPU seconds. The corpus has all labelled lines: nearly all differ, and many were chosen to be hard. The flood
has reports of one trainer. `ready` is the first line of a fresh process: the rules are read, the search for their
literals is built, and the patterns of the line are compiled. The slowest line is searched among lines of 4,096
characters that are full of rule literals.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

from judgement.report_lines import CARD, TUNED, rows_of

from gpu_tui.cli.triage import CHUNK
from gpu_tui.core.log_block import telling
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.parse.triage.classify import LONGEST, Classifier
from gpu_tui.parse.triage.rule_set import bundled

ROUNDS = 5
FLOOD = 200_000  # lines
ONE_LINE = "from gpu_tui.parse.triage.classify import triage; triage('step 1: RuntimeError: x')"
READY = (
    "import time; from gpu_tui.parse.triage.classify import cause; began = time.process_time(); "
    "cause('step 1: RuntimeError: x'); print(time.process_time() - began)"
)


def corpus() -> list[bytes]:
    """The segments of every labelled line, each as a line."""
    rows = (row for path in (*TUNED, CARD) for row in rows_of(path))
    return [part for row in rows for part in row.line.encode("utf-8", "surrogatepass").split(b"\r")]


def flood() -> bytes:
    """Reports of one trainer; they differ in their numbers only."""
    return b"".join(
        b"step %d/%d loss %.4f lr %.2e %d ms\n" % (n, FLOOD, 3 - n / FLOOD, 1e-4, 90 + n % 9)
        for n in range(FLOOD)
    )


def _cpu_seconds(work: Callable[[], object]) -> float:
    """CPU seconds of `work`: the median of some rounds."""
    found = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return median(found)


def _cpu_seconds_of_process(program: str) -> float:
    """CPU seconds of a Python process that runs `program`: the median of some rounds."""
    found = []
    for _ in range(ROUNDS):
        before = getrusage(RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", program], check=True)
        after = getrusage(RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(found)


def ready() -> float:
    """CPU seconds for the first line of a process that has imported triage."""
    run = [sys.executable, "-c", READY]
    return median(
        float(subprocess.run(run, check=True, capture_output=True).stdout) for _ in range(ROUNDS)
    )


def slowest_line(lines: Iterable[str]) -> float:
    """CPU seconds of the slowest line. Each is judged twice, and the faster time counts."""
    judge = Classifier(bundled())
    worst = 0.0
    for line in lines:
        taken = []
        for _ in range(2):
            began = time.process_time()
            judge.cause(line)
            taken.append(time.process_time() - began)
        worst = max(worst, min(taken))
    return worst


def hostile_lines() -> list[str]:
    """Lines of the maximum judged length, each filled with the literals of one rule."""
    return [
        (" ".join(rule.literals) + " ") * (LONGEST // (len(" ".join(rule.literals)) + 1))
        for rule in bundled().rules
        if rule.literals
    ]


def measure() -> dict[str, object]:
    """Name of each figure, with its goal -> value."""
    lines, reports = corpus(), flood()
    Classifier(bundled()).causes(lines)  # compiles every pattern

    def read(data: bytes) -> None:
        reader = LogReader()
        for at in range(0, len(data), CHUNK):
            list(telling(reader.feed(data[at : at + CHUNK])))

    judge = Classifier(bundled())
    candidates = sum(len(judge.rules.candidates(line.lower())) for line in lines)
    return {
        "rules": len(bundled().rules),
        "candidates per line of the corpus": round(candidates / len(lines), 2),
        "corpus, lines/s (goal 50,000)": round(
            len(lines) / _cpu_seconds(lambda: Classifier(bundled()).causes(lines))
        ),
        "corpus as a log, with progress, lines/s": round(
            len(lines) / _cpu_seconds(lambda: read(b"\n".join(lines) + b"\n"))
        ),
        "flood of reports, lines/s (goal 250,000)": round(
            FLOOD / _cpu_seconds(lambda: read(reports))
        ),
        "ready, ms of CPU (goal 50)": round(1e3 * ready(), 1),
        "a process that judges one line, ms of CPU more than an empty one": round(
            1e3 * (_cpu_seconds_of_process(ONE_LINE) - _cpu_seconds_of_process("pass")), 1
        ),
        "slowest line of 4,096 characters, ms (goal 20)": round(
            1e3 * slowest_line(hostile_lines()), 1
        ),
    }


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name:50} {value}")
