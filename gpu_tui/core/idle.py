"""How long a box has been seen idle. Time that nobody looked at is not counted; pure."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_tui.core.readings import Gpu, GpuTable

BUSY_SHARE = 0.05
# A card that holds less and lists nobody has nobody: the part reserved for itself counted as used before 525.
HELD_BYTES = 1 << 30
LONGEST_STEP = 30.0  # seconds between two looks; what lies between looks further apart is unknown
NO_CARD = frozenset({"no-nvidia-smi", "no-device"})


@dataclass(slots=True)
class IdleClock:
    """Adds up the time between looks that both found the box idle."""

    seconds: float | None = None  # None = not idle, or never seen so
    gaps: bool = False  # some of the time since it began was not seen
    _last: float | None = None

    def tick(self, at: float, idle: bool | None) -> float | None:
        """One look at `at`; `idle` None = nobody can tell. Returns the seconds seen idle."""
        if idle is False:
            self.seconds, self.gaps, self._last = None, False, None
        elif idle is None and self.seconds is not None and self.seconds < LONGEST_STEP:
            # While a box is read for the first time its state may be known, unknown and known again.
            self.seconds, self.gaps, self._last = None, False, None
        elif idle is None:
            self._last = None
            self.gaps = self.gaps or self.seconds is not None
        else:
            self._add(at)
        return self.seconds if idle else None

    def _add(self, at: float) -> None:
        if self.seconds is None:
            self.seconds = 0.0
        elif self._last is not None and 0 <= at - self._last <= LONGEST_STEP:
            self.seconds += at - self._last
        elif self._last is None or at != self._last:
            self.gaps = True
        self._last = at


def gpus_idle(table: GpuTable | None) -> bool | None:
    """True where every card rests (or there is none), None where nobody can tell."""
    if table is None:
        return None
    if table.error is not None and not table.gpus:
        return True if table.error.kind in NO_CARD and not table.unread else None
    cards = [_idle(gpu, hidden=table.processes_hidden) for gpu in table.gpus]
    if False in cards:
        return False
    return None if None in cards or table.error is not None or table.unread else True


def unknown_cards(table: GpuTable | None) -> str | None:
    """Why it is not known whether the cards rest; None where it is known, or no reading came yet."""
    if table is None or gpus_idle(table) is not None:
        return None
    if table.error is not None:
        return table.error.text
    return "a card does not say whether it is in use"


def _idle(gpu: Gpu, *, hidden: bool) -> bool | None:
    if gpu.utilization is not None:
        return gpu.utilization <= BUSY_SHARE
    # A card in slices gives no share: nobody on it and nothing held is rest, all else unknown.
    empty = not hidden and not gpu.processes
    return True if empty and gpu.memory_used is not None and gpu.memory_used < HELD_BYTES else None
