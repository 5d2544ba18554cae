"""Plays a recording into stores: pause, speed, seek both ways, and on to the next finding.

It is a store for the screen, a clock for the screen, and the task that moves both. Going back means
starting again: a store can only be told what happened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gpu_tui.core.clock import Clock
from gpu_tui.core.events import Noted
from gpu_tui.core.logs import LogSource
from gpu_tui.core.profile import Profile
from gpu_tui.recording.codec import CodecError
from gpu_tui.recording.tape import Record, TapeReader
from gpu_tui.state.bookmarks import Bookmark
from gpu_tui.state.logbuffer import LogBuffer
from gpu_tui.state.store import Store
from gpu_tui.state.views import FleetView

SPEEDS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)
MOUTHFUL = 200  # records that are applied before others get their turn
LOOK_SECONDS = 1.0  # of recorded time between two looks for a new finding


class Player:
    """One recording, being watched. `now` is the recorded time."""

    def __init__(self, path: Path, profiles: Mapping[str, Profile], clock: Clock) -> None:
        self._tape = TapeReader(path)
        self._length = self._tape.length()
        self._profiles = profiles
        self._clock = clock
        self._acknowledged: set[str] = set()
        self._bookmarks: dict[tuple[str, LogSource], tuple[Bookmark, ...]] = {}
        self._woken = asyncio.Event()
        self._at = 0.0  # seconds since the start, when the clock was `_since`
        self._since = clock.boot()
        self.speed = 1.0
        self.paused = False
        self._seeking_finding = False
        self._applied = 0.0  # how far the store has been told
        self._next: Record | None = None
        self._rewind()

    # --- the clock ------------------------------------------------------------------------------

    @property
    def position(self) -> float:
        """Seconds since the start of the recording."""
        if self.paused or self._seeking_finding:
            return self._at
        return min(self._length, self._at + (self._clock.boot() - self._since) * self.speed)

    def now(self) -> float:
        """Recorded epoch seconds."""
        return self._tape.began + self.position

    def boot(self) -> float:
        """Real seconds: how long a person looks."""
        return self._clock.boot()

    def badge(self) -> str:
        """One or two words for the header."""
        if self._seeking_finding:
            return "replay ▸▸"
        if self.position >= self._length:
            return "replay end"
        return "replay ‖" if self.paused else f"replay ×{self.speed:g}"

    @property
    def settled(self) -> bool:
        """The store stands where the clock does."""
        if self._seeking_finding or self._applied > self.position:
            return False
        return self._next is None or self._next.t > self.position

    # --- the store ------------------------------------------------------------------------------

    def view(self, now: float) -> FleetView:
        """Everything known at `now`."""
        return self._store.view(now)

    def log(self, instance: str, source: LogSource) -> LogBuffer | None:
        """The kept lines of one followed log."""
        return self._store.log(instance, source)

    def bookmarks(self, instance: str, source: LogSource) -> Sequence[Bookmark]:
        """The bookmarks of this look at the recording."""
        return self._bookmarks.get((instance, source), ())

    def keep_bookmarks(self, instance: str, source: LogSource, marks: Sequence[Bookmark]) -> None:
        """Keep them for as long as the recording is watched."""
        self._bookmarks[instance, source] = tuple(marks)

    def drain(self) -> frozenset[str]:
        """What changed since the last drain."""
        return self._store.drain()

    def acknowledge(self, finding_id: str) -> None:
        """Hide one finding, also after going back."""
        self._acknowledged.add(finding_id)
        self._store.acknowledge(finding_id)

    def meet(self, platform: str) -> None:
        """A recording introduces nobody."""

    # --- what a person may do -------------------------------------------------------------------

    def play(self) -> None:
        """Pause, or go on."""
        self._anchor(self.position)
        self.paused = not self.paused
        self._woken.set()

    def faster(self, by: int) -> None:
        """Another speed: 1 the next faster one, -1 the next slower one."""
        self._anchor(self.position)
        self.speed = SPEEDS[max(0, min(len(SPEEDS) - 1, SPEEDS.index(self.speed) + by))]
        self._woken.set()

    def skip(self, seconds: float) -> None:
        """Go forward or back in recorded time."""
        self._seeking_finding = False
        self._anchor(max(0.0, min(self._length, self.position + seconds)))
        self._woken.set()

    def next_finding(self) -> None:
        """Go on to where a finding appears that is not there now; there it pauses."""
        self._anchor(self.position)
        self._seeking_finding = True
        self._woken.set()

    def _anchor(self, position: float) -> None:
        self._at, self._since = position, self._clock.boot()

    # --- the task -------------------------------------------------------------------------------

    async def run(self) -> None:
        """Keep the store where the clock is, until cancelled."""
        while True:
            self._woken.clear()
            if self._seeking_finding:
                await self._to_next_finding()
            await self._reach(self.position)
            await self._until(self._next.t if self._next else None)

    async def _until(self, due: float | None) -> None:
        moving = due is not None and not self.paused and due <= self._length
        wait = max(0.0, due - self.position) / self.speed if moving and due is not None else None
        try:
            async with asyncio.timeout(wait):
                await self._woken.wait()
        except TimeoutError:
            return

    async def _reach(self, position: float) -> None:
        """Apply everything up to `position`; from the start where we are beyond it."""
        if position < self._applied:
            self._rewind()
        count = 0
        while self._next is not None and self._next.t <= position:
            self._apply(self._next)
            self._next = next(self._records, None)
            count += 1
            if count % MOUTHFUL == 0:
                await asyncio.sleep(0)
        self._applied = position

    async def _to_next_finding(self) -> None:
        known = self._finding_ids()
        while self._seeking_finding:
            self._at = min(self._length, self._at + LOOK_SECONDS)
            await self._reach(self._at)
            await asyncio.sleep(0)
            if self._finding_ids() - known or self._at >= self._length:
                break
        self._seeking_finding, self.paused = False, True
        self._anchor(self._at)

    def _finding_ids(self) -> set[str]:
        return {found.id for found in self._store.view(self.now()).findings}

    def _rewind(self) -> None:
        self._store = Store(self._tape.fleet, self._profiles)
        for finding_id in self._acknowledged:
            self._store.acknowledge(finding_id)
        self._records: Iterator[Record] = self._tape.records()
        self._next = next(self._records, None)
        self._applied = 0.0

    def _apply(self, record: Record) -> None:
        try:
            if (event := record.event) is not None:
                self._store.apply(event)
            elif (fleet := record.fleet) is not None:
                self._store.replace_fleet(fleet)
            elif lost := record.body.get("lost"):
                text = f"{lost} records are missing here: the disk was slower than the fleet"
                self._store.apply(Noted(None, self._tape.began + record.t, text))
        except CodecError as error:
            text = f"a record at {record.t:.1f} s is not understood: {error}"
            self._store.apply(Noted(None, self._tape.began + record.t, text))
