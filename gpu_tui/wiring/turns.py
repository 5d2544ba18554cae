"""An event loop whose turns are short, however many boxes speak in the same moment.

asyncio serves every socket that is ready before it looks at a timer or a key: of 256 boxes that all
print at the full second, that is one turn of a tenth of a second. Here a turn serves a few of them;
the others are ready in the next one, those that waited longest first.
"""

from __future__ import annotations

import asyncio
import select
import selectors
from typing import Any

FEW = 8  # sockets a turn, each of which takes up to a millisecond


def new_loop() -> asyncio.AbstractEventLoop:
    """A loop with short turns, where the system has epoll; else an ordinary one."""
    if not hasattr(select, "epoll"):
        return asyncio.new_event_loop()
    return asyncio.SelectorEventLoop(FewAtOnce())


if hasattr(select, "epoll"):

    class FewAtOnce(selectors.EpollSelector):
        """Returns a few of what is ready. The kernel puts what was returned behind what was not."""

        def __init__(self) -> None:
            super().__init__()
            self._selector: Any = _Few(self._selector)


class _Few:
    """An epoll that is asked for a few events."""

    def __init__(self, epoll: Any) -> None:
        self._epoll = epoll

    def poll(self, timeout: float, most: int) -> Any:
        """At most `FEW` of them."""
        return self._epoll.poll(timeout, min(most, FEW))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._epoll, name)
