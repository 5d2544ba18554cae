"""The rules' time is linear in the line: ten times the line costs about ten times the time."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from gpu_tui.parse.lines import unescape
from gpu_tui.parse.progress import parse_progress
from gpu_tui.parse.queue_log import parse_queue_line
from gpu_tui.parse.triage import triage

SEEDS = [
    "a", "1", " ", "-", "loss ", "nan ", "x=nan ", "error: ", "Error", "failed to load ", "out of memory ",
    "0/", "1,234", "epoch ", "step 1/", "[ ", "A_", "a.", "connection ", "killed ", "=== Queue x", "%|", "━", "━ ", "━━━ ", "━╸", "╸",
    "\x1b[", "\x9d", "\x1b]0;", "\x1b[31m",
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


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "work",
    [triage, parse_progress, parse_queue_line, lambda text: unescape(text.encode())],
    ids=["triage", "progress", "queue", "unescape"],
)
def test_time_is_linear(work: Callable[[str], object], seed: str) -> None:
    small = _cost(work, (seed * SMALL)[:SMALL])
    large = _cost(work, (seed * LARGE)[:LARGE])
    assert large <= ROOM * (LARGE / SMALL) * small + 0.002
