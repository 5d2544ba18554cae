"""Since when every look at a box found it idle, by whomever: kept in the history, as cron's `check` looks but once."""

from __future__ import annotations

import json
import math

from gpu_tui.core.fleet import Instance
from gpu_tui.core.idle import LONGEST_STEP
from gpu_tui.state.history import CONTACT_EVERY, History
from gpu_tui.state.runs_before import box_of

COUNTER = "idle"
# Seconds between two looks: a patrol each hour is one, a look each day is none.
LONGEST_BLIND = 3_900.0
STAMP_SLACK = 5.0  # our clock and the box's, and what one look takes


class Rest:
    """Tell it of each look that found the box idle, or at work."""

    def __init__(self, instance: Instance, history: History) -> None:
        self._name, self._box, self._history = instance.name, box_of(instance), history
        self._since: float | None = None
        self._last = 0.0
        self._read = False
        self._written: float | None = None

    def idle(self, at: float, begun: float, moved: float | None) -> float:
        """Since when every look has found it so. `begun`: when the box did, `moved`: when a file that a run would
        write was written last; both by our clock. What lies between looks of two watches counts where none of
        them shows that anything ran there.
        """
        if self._since is not None and not 0 <= at - self._last <= LONGEST_STEP:
            self._since = at  # of what this watch itself did not see it says nothing
        self._last = at
        if self._since is None:
            before = None if self._read else self._kept()
            self._read, self._since = True, at
            if before is not None:
                since, last = before
                still = max(begun, -math.inf if moved is None else moved) <= last + STAMP_SLACK
                if still and 0 <= at - last <= LONGEST_BLIND:
                    self._since = since
        if self._written is None or not 0 <= at - self._written < CONTACT_EVERY:
            self._written = at
            row = [self._box, self._since, at]
            self._history.set_counter(self._name, COUNTER, json.dumps(row), at)
        return self._since

    def busy(self, at: float) -> None:
        """Something works."""
        if not self._read or self._written is not None:
            self._history.set_counter(self._name, COUNTER, "", at)
        self._read, self._since, self._written = True, None, None

    def _kept(self) -> tuple[float, float] | None:
        try:
            box, since, last = json.loads(self._history.counter(self._name, COUNTER) or "[]")
            since, last = float(since), float(last)
        except (ValueError, TypeError, OverflowError, RecursionError):
            return None
        whole = box == self._box and math.isfinite(since) and math.isfinite(last)
        return (since, last) if whole and since <= last else None
