"""`make bench`: every benchmark in one run, written to tests/bench/RESULTS.md.

With names (`python -m bench latency flood`) only those, and nothing is written.
"""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path

from bench.machine import describe

RESULTS = Path(__file__).with_name("RESULTS.md")
HEAD = """# What it costs, measured

Written by `make bench` on the machine below; every ratio is of two things measured side by side in the
same run. A goal is what we hold ourselves to, not what a test asserts. Each benchmark's own file says
how it measures.
"""
# Module, what it shows, and the goals.
SECTIONS = (
    (
        "latency",
        "A line appended on the box until it is in the store",
        "p50 at most 1.1 x, p95 at most 1.2 x `ssh host tail -F` read by a pipe",
    ),
    (
        "flood",
        "A flood through one channel and line splitting, without triage",
        "at least 0.7 x `ssh host cat >/dev/null` and 2 x `ssh host cat` read line by line",
    ),
    (
        "ingest",
        "Log bytes until they are judged and in the store",
        "triage at least 5 x one compiled regex per line; with the store 50 MB/s and flat memory",
    ),
    (
        "triage",
        "Throughput of triage, and its start-up time",
        "50,000 lines/s of the corpus, 250,000 of a flood, ready within 50 ms of CPU, at most 20 ms a line",
    ),
    (
        "unfinished",
        "A log without newlines in small chunks, against the same bytes with newlines",
        "at most 2 x the time",
    ),
    (
        "logpane",
        "The log pane beside lnav, RichLog and tail",
        "last of a million lines within 2 x of lnav, 200 x RichLog, memory at most 1.2 x the bytes, the end "
        "of 444 MB within 200 ms",
    ),
    (
        "scale",
        "Boxes at 1 Hz with two tails of one line a second each, without the screen",
        "256 boxes: at most 20 % of a core, 150 MB, loop lag p99 15 ms, all live within 60 s",
    ),
    (
        "onbox",
        "What the box pays for being watched at 1 Hz, apart from nvidia-smi itself",
        "python or bash: at most 0.1 % of a core and 0.3 spawns/s; plain sh: 0.25 % and 2; nothing written",
    ),
    (
        "links",
        "Dead, flapping and slow links",
        "black hole noticed within 20 s, reset within 0.1 s, streaming again within 2 s of the attempt, "
        "at most 6 connects a minute, first readings within 4 s at 300 ms and 64 kbit/s",
    ),
    (
        "pull",
        "Results brought home, hashed and synced, beside rsync and sftp over the same sshd",
        "at least 0.9 x `rsync -a`, never below 0.8 x `sftp`; at most 64 MB more memory",
    ),
    (
        "screen",
        "The cockpit in a terminal of 160x48, beside others that redraw each second",
        "8 boxes at most 0.5 x the bytes of nvitop, the whole cockpit 0.35 x btop's, 300 B/s at rest; key to "
        "repaint p99 16 ms at 1,000 log lines/s and 50 ms in a flood; 8 boxes 3 % of a core and 60 MB, 64 boxes 15 %; a terminal that does "
        "not read stalls the loop for at most 50 ms",
    ),
    (
        "start",
        "The cockpit on the demo's eight boxes in a terminal of 160x45: its start and a minute of watching",
        "first frame with all panes at most 1.6 x the CPU of a bare textual app; 75 MB after a minute",
    ),
    (
        "tab",
        "A TAB in a shell, until the completions are there",
        "150 ms on an idle machine, 13 x `python -c pass`",
    ),
    (
        "soak",
        "The cockpit for a while, with somebody at the keys",
        "an hour without growth of memory, tasks and descriptors: `python -m bench.soak --minutes 60`",
    ),
    (
        "verify",
        "Verifying one large checkpoint: hash, checksums, load, every byte touched",
        "at most 1.0 x `sha256sum` of the same file",
    ),
)


def main(names: list[str]) -> None:
    """Run the benchmarks and print or write what they say."""
    known = [name for name, _, _ in SECTIONS]
    if unknown := set(names) - set(known):
        sys.exit(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    text = [HEAD, _table(describe())]
    for name, title, goal in SECTIONS:
        if names and name not in names:
            continue
        print(f"{name} ...", file=sys.stderr, flush=True)
        began = time.monotonic()
        row = importlib.import_module(f"bench.{name}").measure()
        part = f"## {title}\n\nGoal: {goal}. `cd tests && python -m bench {name}`\n\n{_table(row)}"
        print(f"{part}\n({time.monotonic() - began:.0f} s)\n", flush=True)
        text.append(part)
    if not names:
        RESULTS.write_text("\n".join(text))


def _table(row: dict[str, object] | dict[str, str]) -> str:
    lines = [f"| {key} | {value} |" for key, value in row.items()]
    return "\n".join(["| | |", "|---|---:|", *lines, ""])


if __name__ == "__main__":
    main(sys.argv[1:])
