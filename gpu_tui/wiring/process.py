"""Running one whole command in an event loop."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Coroutine
from typing import TypeVar

R = TypeVar("R")


def calm_collector() -> None:
    """Let Python's garbage collector stop the loop less often and for less.

    What is there after the imports is never garbage; the events that come and go have no cycles.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def run(work: Coroutine[object, object, R]) -> R:
    """Run a whole command; what went wrong in one of its tasks is raised as itself."""
    calm_collector()
    try:
        return asyncio.run(work)
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from group
