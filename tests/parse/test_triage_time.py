"""The rules' time is linear in the line: ten times the line costs about ten times the time.

A line of a megabyte is read in pieces of bounded size, so that what is left to prove of it is that
each piece is looked at a bounded number of times, whatever stands in it: that is counted, not timed.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from itertools import repeat

import pytest

from gpu_tui.parse import log_reader
from gpu_tui.parse.line_kinds import kind_of_skeleton, skeletons
from gpu_tui.parse.lines import unescape
from gpu_tui.parse.progress import parse_progress
from gpu_tui.parse.queue_log import parse_queue_line
from gpu_tui.parse.triage.classify import cause
from gpu_tui.parse.triage.digits import number_key

SEEDS = [
    "a", "1", " ", "-", "loss ", "nan ", "x=nan ", "error: ", "Error", "failed to load ", "out of memory ",
    "0/", "1,234", "epoch ", "step 1/", "[ ", "A_", "a.", "connection ", "killed ", "[a] ", "a.b: ", "a - ", "not able to ", "=== Queue x", "%|", "━", "━ ", "━━━ ", "━╸", "╸",
    "10", "01", "1000", "% ", "Error ", "cuda out of memory ", "~", "^", "\x1b[", "\x9d", "\x1b]0;", "\x1b[31m",
]  # fmt: skip
SMALL, LARGE = 1_500, 15_000  # characters; the larger is still judged whole
ROOM = 4.0  # how much worse than linear the ratio may look on a busy machine


def _cost(work: Callable[[str], object], text: str) -> float:
    """The least of several runs: processor time of this thread, so that neighbours do not count."""
    best = float("inf")
    for _ in range(4):
        start = time.thread_time()
        work(text)
        best = min(best, time.thread_time() - start)
    return best


def scan(text: str) -> object:
    """The work that every line of a flood causes."""
    raw = text.encode("utf-8", "replace")
    return number_key(raw), [kind_of_skeleton(skeleton) for skeleton in skeletons(raw)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "work",
    [
        lambda text: cause(text, LARGE),
        parse_progress,
        parse_queue_line,
        lambda text: unescape(text.encode()),
        scan,
    ],
    ids=["triage", "progress", "queue", "unescape", "scan"],
)
def test_time_is_linear(work: Callable[[str], object], seed: str) -> None:
    small = _cost(work, (seed * SMALL)[: SMALL - 1] + "!")
    large = _cost(work, (seed * LARGE)[: LARGE - 1] + "!")
    assert large <= ROOM * (LARGE / SMALL) * small + 0.002


WORK = ("unescape", "kind_of", "cause", "parse_progress", "parse_queue_line")


def _looked_at(raw: bytes, sizes: Iterator[int], monkeypatch: pytest.MonkeyPatch) -> int:
    """How many characters or bytes all readers of a line were given until it was read."""
    seen = 0

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def call(text: str, *bounds: int) -> object:
            nonlocal seen
            seen += len(text)
            return real(text, *bounds)

        return call

    with monkeypatch.context() as patch:
        for name in WORK:
            patch.setattr(log_reader, name, counted(getattr(log_reader, name)))
        reader, at = log_reader.LogReader(), 0
        while at < len(raw):
            size = next(sizes)
            reader.feed(raw[at : at + size])
            at += size
        reader.close()
    return seen


@pytest.mark.nightly
def test_a_hostile_megabyte_is_looked_at_as_often_as_a_quarter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    full = "GPU_TUI_NIGHTLY" in os.environ
    fuzz = random.Random(5)
    large = 1 << 20
    for _ in range(100 if full else 1):
        seeds = fuzz.sample([*SEEDS, "\r", "nan\r", "50%|## | 1/2 [00:01<00:02]\r"], 4)
        unit = "".join(fuzz.choices(seeds, k=64))
        raw = (unit.encode() * (large // len(unit.encode()) + 1))[:large]
        sizes = fuzz.choice([4_096, 16_384, 262_144])
        small = _looked_at(raw[: large // 4], repeat(sizes), monkeypatch)
        whole = _looked_at(raw, repeat(sizes), monkeypatch)
        assert whole <= 4.5 * small + 4 * log_reader.PIECE_CAP * len(WORK), (seeds, sizes)
        assert whole <= large * 2 * len(WORK) * (1 + log_reader.PIECE_CAP / sizes), (seeds, sizes)
