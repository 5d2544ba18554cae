"""The ledger off the event loop, one call at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from gpu_tui.alerts.ledger import Ledger

R = TypeVar("R")


class Keeper:
    """Asks the ledger in a thread; trouble with its file is said once, through `note`."""

    def __init__(self, ledger: Ledger, note: Callable[[str], None]) -> None:
        self._ledger = ledger
        self._note = note
        self._said = False
        self._turn = asyncio.Lock()

    async def ask(self, call: Callable[[Ledger], R]) -> R:
        """The result of `call`."""
        async with self._turn:
            # A cancelled caller must not let the next one in while the thread still works.
            work = asyncio.ensure_future(asyncio.to_thread(call, self._ledger))
            try:
                answer = await asyncio.shield(work)
            except asyncio.CancelledError:
                await asyncio.wait({work})
                raise
        if self._ledger.trouble is not None and not self._said:
            self._said = True
            self._note(
                f"what was told cannot be kept ({self._ledger.trouble}): until {self._ledger.path} can be"
                " written and gpu-tui is started again, an alert may come twice"
            )
        return answer
