"""The cockpit for a long while, with somebody at the keys: what grows.

`python -m bench.soak --minutes 60`. Memory may still fill its caches and histories at first, so growth is
told for the second half alone, where the slope is what an hour more would cost.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from bench.pty_harness import Program
from bench.screen import fleet_of, opened, tape_of

MINUTES = float(os.environ.get("BENCH_SOAK_MINUTES", "3"))
SETTLE = 30.0  # seconds before the first look
BOXES, LINES = 8, 20 / 16  # lines a second of each log, two logs a box
# Panes, cards, zoom, layout, a filter: through every screen and back. By escape, which never ends the cockpit,
# however late a machine that is busy with other things lets it read the key before.
KEYS = "c\x1bf\x1bzzjkp\x1bS\x1bt\x1b/x\x1b"
PAUSE = 0.5  # seconds between two keys
LOOKS = 40

SPY = """
import asyncio, os, sys
from gpu_tui.state.logbuffer import LogPool
from gpu_tui.wiring import process
real, join, pools = process.run, LogPool.join, set()
def joined(pool, buffer):
    pools.add(pool)
    join(pool, buffer)
LogPool.join = joined
async def watched(work):
    async def count():
        while True:
            await asyncio.sleep(2)
            with open(os.environ["BENCH_TASKS"], "w") as file:
                file.write(f"{len(asyncio.all_tasks())} {sum(pool.held for pool in pools)}")
    counting = asyncio.create_task(count())
    try:
        return await work
    finally:
        counting.cancel()
process.run = lambda work: real(watched(work))
from gpu_tui.cli.main import main
sys.exit(main())
"""


@dataclass(frozen=True)
class Look:
    """One look at the process: seconds since the start, MB, descriptors, tasks, threads, MB of kept log lines."""

    at: float
    memory: float
    files: int
    tasks: int
    threads: int
    kept: float


def measure(minutes: float = MINUTES) -> dict[str, object]:
    """What there is at the end, and what grew in the second half."""
    looks = _soak(minutes * 60)
    half = looks[len(looks) // 2 :]
    row: dict[str, object] = {"minutes": round(minutes, 1)}
    row["keys pressed"] = round((minutes * 60) / PAUSE)
    row["RSS MB at the start, half way, at the end"] = " ".join(
        f"{look.memory:.1f}" for look in (looks[0], half[0], looks[-1])
    )
    row["second half: memory MB an hour more"] = round(_slope(half, "memory") * 3600, 1)
    row["second half: of it log lines, which are kept up to 256 MB"] = round(
        _slope(half, "kept") * 3600, 1
    )
    for name in ("files", "tasks", "threads"):
        seen = [getattr(look, name) for look in looks]
        row[f"{name}: at the start, most, at the end"] = f"{seen[0]} {max(seen)} {seen[-1]}"
    return row


def _soak(seconds: float) -> list[Look]:
    looks: list[Look] = []
    with tempfile.TemporaryDirectory() as kept:
        place = Path(kept)
        counted = place / "tasks"
        counted.write_text("0 0")
        with (
            fleet_of(place, tape_of(place), BOXES, LINES) as env,
            opened(place, env | {"BENCH_TASKS": str(counted)}, spy=SPY) as program,
        ):
            program.until(f"{BOXES} live")
            time.sleep(SETTLE)
            began = time.monotonic()
            at, key = 0.0, 0
            while at < seconds:
                if at >= seconds * len(looks) / LOOKS:
                    looks.append(_look(program, counted, at))
                program.press(KEYS[key % len(KEYS)])
                key += 1
                time.sleep(PAUSE)
                at = time.monotonic() - began
            looks.append(_look(program, counted, at))
            assert program.process.poll() is None, f"the cockpit ended: {program.text()[-400:]!r}"
    return looks


def _look(program: Program, counted: Path, at: float) -> Look:
    tasks, kept = (int(word) for word in (counted.read_text() or "0 0").split())
    threads = len(os.listdir(f"/proc/{program.process.pid}/task"))
    return Look(at, program.rss(), program.descriptors(), tasks, threads, kept / 1e6)


def _slope(looks: Sequence[Look], name: str) -> float:
    """MB a second, by least squares."""
    values = [getattr(look, name) for look in looks]
    mid, mean = fmean(look.at for look in looks), fmean(values)
    spread = sum((look.at - mid) ** 2 for look in looks)
    return (
        sum((look.at - mid) * (value - mean) for look, value in zip(looks, values, strict=True))
        / spread
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=MINUTES)
    for name, value in measure(parser.parse_args().minutes).items():
        print(f"{name:50} {value}")
