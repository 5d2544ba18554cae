"""Runs one whole command in an event loop."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Coroutine
from typing import TypeVar

R = TypeVar("R")


def run(work: Coroutine[object, object, R]) -> R:
    """Run a command to its end. An error in one of its tasks is raised as itself, not as a group."""
    gc.freeze()
    try:
        return asyncio.run(work)
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from group
