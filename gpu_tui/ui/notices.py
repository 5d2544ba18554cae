"""Notes of the fleet that nobody was told yet: each has its turn, however many came together."""

from __future__ import annotations

from collections import deque

MOST = 8  # that wait; of more the oldest are news no longer


class Notices:
    """`take` what the fleet has now; `next` is the oldest one that was not told."""

    def __init__(self) -> None:
        self._seen: tuple[str, ...] = ()
        self._waiting: deque[str] = deque(maxlen=MOST)

    def take(self, notes: tuple[str, ...]) -> None:
        """All notes that are kept, the newest last; those seen before are passed over."""
        if notes != self._seen:
            self._waiting.extend(one for one in self._new(notes) if one not in self._waiting)
            self._seen = notes

    def next(self) -> str | None:
        """One note, once."""
        return self._waiting.popleft() if self._waiting else None

    def _new(self, notes: tuple[str, ...]) -> tuple[str, ...]:
        seen = self._seen
        if seen[: len(notes)] == notes:
            return ()  # a recording went back
        for kept in range(min(len(seen), len(notes)), 0, -1):
            if seen[-kept:] == notes[:kept]:
                return notes[kept:]
        return notes
