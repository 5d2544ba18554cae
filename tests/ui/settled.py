"""When a running app has nothing more to do: asked of its loop, not of the processor.

Textual's pilot takes a process for idle that used less than 1 ms of the processor in 20: on a busy machine also
one that was given none. What it waits for after each key is twice that long, and it is most of what these tests take.
"""

from __future__ import annotations

import asyncio

from gpu_tui.ui.widgets.phrase import TOO_FAST

SOON = 0.02  # seconds: a timer that is due so soon belongs to what is under way


async def after_a_key(least: float = 0.0, most: float = 30.0) -> None:
    """What the pilot awaits twice for each key, which then came no faster than from a hand."""
    await asyncio.sleep(TOO_FAST)
    await settled(least, most)


async def settled(least: float = 0.0, most: float = 30.0) -> None:
    """Until nothing is ready to run, in the loop or in its threads, nor will be soon."""
    loop = asyncio.get_running_loop()
    now = loop.time()
    earliest, latest = now + least, now + most
    while (now := loop.time()) < latest:
        await asyncio.sleep(0)  # all that is ready runs before us
        if loop._ready:
            continue
        if _threads_work(loop):
            await asyncio.sleep(0.001)
            continue
        due = min((one._when for one in loop._scheduled if not one._cancelled), default=latest)
        if now >= earliest and due > now + SOON:
            return
        await asyncio.sleep(max(min(due, latest), earliest) - now)


def _threads_work(loop: asyncio.AbstractEventLoop) -> bool:
    pool = loop._default_executor
    return pool is not None and (
        pool._work_queue.qsize() > 0 or pool._idle_semaphore._value < len(pool._threads)
    )
