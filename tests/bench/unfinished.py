"""What a log without newlines costs, against the same bytes with newlines.

`cd tests && python -m bench unfinished`. Both are followed by a real `Tail` into a store, in chunks of 16 to
4,096 bytes at 100 kB/s by a manual clock, in interleaved rounds of one run: seconds of the processor.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from statistics import median

from gpu_tui.collect.follow_program import sign
from gpu_tui.collect.tail import Tail
from gpu_tui.collect.tail_memory import TailMemory
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.fleet import Fleet, Instance, SshAccess
from gpu_tui.core.logs import LogSource
from gpu_tui.parse.log_reader import warm_up
from gpu_tui.state.store import Store

RATE = 100_000  # bytes per second
UNITS = ("loss={n}.5 ", "epoch 1/20 loss: 0.{n} ", "\x1b[31m{n}\x1b[0m. ", "no number here, ")
CHUNKS = (16, 128, 1_024, 4_096)


def made(unit: str, size: int, end: str) -> bytes:
    """About `size` bytes of it, numbered."""
    text = "".join(unit.format(n=n) + end for n in range(size // len(unit) + 1))
    return text.encode()


async def follow(data: bytes, chunk: int) -> float:
    """Seconds of the processor to follow it."""
    store, clock = Store(Fleet("s", (Instance("a", SshAccess("a")),)), {}), ManualClock()

    async def said() -> AsyncIterator[bytes]:
        yield sign("00") + b" open new 7 1-a 5 0 0\n"
        for at in range(0, len(data), chunk):
            clock.advance(chunk / RATE)
            yield data[at : at + chunk]

    tail = Tail("a", LogSource("/x.log", "cell"), store.apply, clock, TailMemory(), "00")
    began = time.process_time()
    await tail.take(said())
    return time.process_time() - began


def measure(size: int = 200_000, rounds: int = 3) -> dict[str, float]:
    """Medians, and the ratio of the sums."""
    warm_up()
    without: dict[int, list[float]] = {chunk: [] for chunk in CHUNKS}
    ended: dict[int, list[float]] = {chunk: [] for chunk in CHUNKS}
    for _ in range(rounds):
        for chunk in CHUNKS:
            for found, end in ((without, ""), (ended, "\n")):
                taken = [asyncio.run(follow(made(unit, size, end), chunk)) for unit in UNITS]
                found[chunk].append(sum(taken))
    shown: dict[str, float] = {}
    for chunk in CHUNKS:
        shown[f"s, {chunk} bytes a chunk, no newline"] = round(median(without[chunk]), 3)
        shown[f"s, {chunk} bytes a chunk, newlines"] = round(median(ended[chunk]), 3)
    sums = (sum(map(median, found.values())) for found in (without, ended))
    shown["ratio no newline to newlines"] = round(next(sums) / next(sums), 2)
    return shown
