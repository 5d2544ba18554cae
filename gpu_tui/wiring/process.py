"""Running one whole command in an event loop."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Coroutine
from typing import TypeVar

from gpu_tui.wiring.turns import new_loop

R = TypeVar("R")

THRESHOLDS = (2_000, 5, 20)  # of the collector: new objects, parts of them, parts of those
HANDOVER = 0.0005  # seconds until the loop lets the thread go on that writes a frame or reads a key


def calm_collector() -> None:
    """Let Python's garbage collector stop the loop less often and for less.

    What is there after the imports is never garbage. What comes and goes is looked through in small parts:
    2,000 objects take some 1 ms, what stayed of five such parts some 5. A key waits for no more, for the
    cockpit looks through everything while nobody types (see `ui.quiet`).
    """
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


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
