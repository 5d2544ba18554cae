"""How far a long look or a pull is: bytes, rate, time left. Pure; whoever counts brings the time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from gpu_tui.core import units
from gpu_tui.core.plain import plain

WINDOW = 10.0  # seconds that the rate looks back
NAME_CAP = 200
SETTLED = 1.0  # seconds of bytes before there is a rate at all


@dataclass(frozen=True, slots=True)
class Transfer:
    """Bytes done of `total`; `rate` in bytes/s and `eta` in seconds, None while nobody can know them.

    `file` is what is read now, made harmless for one line.
    """

    done: int
    total: int
    rate: float | None = None
    eta: float | None = None
    file: str | None = None

    @property
    def share(self) -> float:
        """0–1; nothing to do counts as done."""
        return min(1.0, self.done / self.total) if self.total else 1.0

    def words(self) -> str:
        """`1.2 / 5.1 GiB · 83.1 MiB/s · ETA 47 s`, as far as it is known."""
        parts = [units.used_of(self.done, self.total)]
        if self.rate is not None:
            parts.append(units.rate(self.rate))
        if self.eta is not None:
            parts.append(f"ETA {units.spoken(self.eta)}")
        return " · ".join(parts)

    def name(self, cap: int = 80) -> str:
        """The file, at most `cap` characters of it."""
        return plain(self.file, cap) if self.file else ""


class Count(Protocol):
    """Told of bytes as they are done."""

    def __call__(self, count: int, file: str | None = None, *, moved: bool = True) -> None:
        """`count` bytes more, or fewer where it is negative. `moved` False: they were there already, and
        say nothing of the rate.
        """
        ...


class Meter:
    """Counts bytes as they come; `tell` hears of each count. `clock` gives seconds that never jump back."""

    def __init__(
        self, total: int, clock: Callable[[], float], tell: Callable[[Transfer], None]
    ) -> None:
        self._now = Transfer(0, total)
        self._clock, self._tell = clock, tell
        self._file: str | None = None
        self._shown: str | None = None
        self._marks: deque[tuple[float, int]] = deque([(clock(), 0)])
        tell(self._now)

    def __call__(self, count: int, file: str | None = None, *, moved: bool = True) -> None:
        """See Count."""
        now = self._clock()
        done = self._now.done + count
        if not moved:
            self._marks = deque((at, was + count) for at, was in self._marks)
        elif now - self._marks[-1][0] >= WINDOW / 50:
            self._marks.append((now, done))
        while len(self._marks) > 2 and now - self._marks[1][0] > WINDOW:
            self._marks.popleft()
        began, was = self._marks[0]
        rate = (done - was) / (now - began) if now - began >= SETTLED and done > was else None
        left = max(0, self._now.total - done)
        self._now = replace(
            self._now,
            done=done,
            rate=rate,
            eta=left / rate if rate else None,
            file=self._named(file),
        )
        self._tell(self._now)

    def _named(self, file: str | None) -> str | None:
        """What to show of it; the same file comes block by block."""
        if file is not None and file != self._file:
            self._file, self._shown = file, plain(file, NAME_CAP)
        return self._shown
