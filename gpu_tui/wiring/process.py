"""Running one whole command in an event loop."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Coroutine
from contextlib import suppress
from typing import TypeVar

from gpu_tui.wiring.turns import new_loop

R = TypeVar("R")

THRESHOLDS = (2_000, 5, 20)  # of the collector: new objects, parts of them, parts of those
HANDOVER = 0.0005  # seconds until the loop lets the thread go on that writes a frame or reads a key

M_ARENA_MAX = -8  # of glibc's mallopt


def calm_collector() -> None:
    """Let Python's garbage collector stop the loop less often and for less.

    What is there after the imports is never garbage. What comes and goes is looked through in small parts:
    2,000 objects take some 1 ms, what stayed of five such parts some 5. A key waits for no more, for the
    cockpit looks through everything while nobody types (see `ui.quiet`).
    """
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


def one_heap() -> None:
    """Let all threads share one heap, where the C library is glibc's.

    Else each thread has one of its own, and what a thread loaded keeps it from shrinking for good.
    """
    import ctypes  # not before the first paint: asyncssh loads it later anyway

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def run(work: Coroutine[object, object, R]) -> R:
    """Run a whole command; what went wrong in one of its tasks is raised as itself."""
    calm_collector()
    sys.setswitchinterval(HANDOVER)
    try:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            return runner.run(work)
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from group
