"""What is done while nobody types: the look through all of Python's objects for garbage.

It takes tens of milliseconds, and whenever it happens to come, a key that comes then waits for it.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

QUIET = 1.0  # seconds without a key
SETTLED = 20.0  # seconds from the start until the boxes are connected and the screens loaded
DUE = 3  # parts that were looked through since the last look at everything


class Quiet:
    """Told of each key, and asked several times a second."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._began = self._typed = now()
        self._settled = False

    def typed(self) -> None:
        """Somebody is at the keys."""
        self._typed = self._now()

    def look(self) -> None:
        """Look through everything where it is due and nobody types.

        What is there when the cockpit has settled mostly stays to the end: it is left out from then on.
        """
        if gc.get_count()[2] >= DUE and self._now() - self._typed > QUIET:
            gc.collect()
            give_back()
            if not self._settled and self._now() - self._began > SETTLED:
                self._settled = True
                gc.freeze()


def give_back() -> None:
    """Give the kernel back what the heap holds and nobody uses, where the C library is glibc's.

    It keeps the holes between what lives: some 4 MB of the cockpit's after its start. Takes about 1 ms.
    """
    import ctypes  # loaded long since, but by nobody before the first paint

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
