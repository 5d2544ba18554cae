"""The machine's own clocks."""

from __future__ import annotations

import time


class SystemClock:
    """The machine's own clocks; the only ones that read real time."""

    def now(self) -> float:
        """Epoch seconds."""
        return time.clock_gettime(time.CLOCK_REALTIME)

    def boot(self) -> float:
        """Seconds since boot, suspend included where the kernel counts it."""
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
