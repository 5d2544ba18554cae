"""What textual does not offer about the terminal itself. The one room that touches its private parts."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from queue import Queue
from typing import Any

from textual.app import App

CHOKED = 6  # frames waiting to be written: the terminal does not read
ENDINGS = (signal.SIGTERM, signal.SIGHUP)


def choked(app: App[Any]) -> bool:
    """True while the terminal does not read: drawing more would freeze the whole event loop."""
    queue = _writes(app)
    return queue is not None and queue.qsize() > CHOKED


def release(app: App[Any]) -> None:
    """Let the last writes never block: the terminal may be gone, and leaving must not wait for it."""
    queue = _writes(app)
    if queue is not None:
        queue.maxsize = 0


def _writes(app: App[Any]) -> Queue[str | None] | None:
    writer = getattr(app._driver, "_writer_thread", None)
    queue = getattr(writer, "_queue", None)
    return queue if isinstance(queue, Queue) else None


def on_endings(leave: Callable[[int], None]) -> Callable[[], None]:
    """Call `leave` with 128+n on SIGTERM and SIGHUP, which textual leaves to break the terminal.

    Returns what takes the handlers away again. Where a loop takes no handlers nothing happens.
    """
    loop = asyncio.get_running_loop()
    taken = []
    for number in ENDINGS:
        try:
            loop.add_signal_handler(number, leave, 128 + number)
        except (NotImplementedError, RuntimeError, ValueError):
            continue
        taken.append(number)

    def give_back() -> None:
        for number in taken:
            loop.remove_signal_handler(number)

    return give_back
