"""Plays a recording into stores: pause, speed, seek both ways, and on to the next finding or the one before.

It is a store for the screen, a clock for the screen, and the task that moves both. Going back means a store
that was kept on the way (see scout), and being told the rest again.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpu_tui.core import units
from gpu_tui.core.clock import Clock
from gpu_tui.core.events import Noted
from gpu_tui.core.logs import LogSource
from gpu_tui.core.playhead import Playhead, TapeMark
from gpu_tui.core.profile import Profile
from gpu_tui.parse.duration import parse_duration
from gpu_tui.recording.scout import EVERY, SLICE, Scout, tell
from gpu_tui.recording.tape import Record, Records, TapeError, TapeReader
from gpu_tui.state.bookmarks import Bookmark
from gpu_tui.state.logbuffer import LogBuffer
from gpu_tui.state.store import Store
from gpu_tui.state.views import FleetView

SPEEDS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)
REACTION = 2.0  # real seconds: who asks for the finding before while one has just gone by means an earlier one
FAR = 120.0  # recorded seconds ahead of the scout beyond which it goes first
PLACES = "12:30 · 1:05:00 · 90s · 10m · +30s · -5m · 50% · start · end"


class Player:
    """One recording, being watched. `now` is the recorded time."""

    def __init__(self, path: Path, profiles: Mapping[str, Profile], clock: Clock) -> None:
        self._tape = TapeReader(path)
        self._length = self._tape.length()
        self._profiles = profiles
        self._clock = clock
        self._scout = Scout(self._tape, profiles, clock, self._length)
        self._acknowledged: set[str] = set()
        self._bookmarks: dict[tuple[str, LogSource], tuple[Bookmark, ...]] = {}
        self._woken = asyncio.Event()
        self._at = 0.0  # seconds since the start, when the clock was `_since`
        self._since = clock.boot()
        self.speed = 1.0
        self.paused = False
        self._seeking_finding = False
        self._without = False  # where a finding was looked for there was none
        self._damage: str | None = None
        self._told = False  # of the damage, in this store
        self._swapped = True  # the screen does not know yet that this is another store
        self._applied = 0.0  # how far the store has been told
        self._store = Store(self._tape.fleet, profiles)
        self._records: Records = self._tape.records()
        self._next: Record | None = None
        self._turn_page()

    # --- the clock ------------------------------------------------------------------------------

    @property
    def position(self) -> float:
        """Seconds since the start of the recording."""
        if self.paused or self._seeking_finding:
            return self._at
        return min(self._length, self._at + (self._clock.boot() - self._since) * self.speed)

    @property
    def shown(self) -> float:
        """As `position`, but not before the store is there: what is seen was so at this moment."""
        return self.position if self.settled else min(self._applied, self._length)

    def now(self) -> float:
        """Recorded epoch seconds of what is shown."""
        return self._tape.began + self.shown

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

    def head(self) -> Playhead:
        """Where it stands."""
        return Playhead(
            self.shown,
            self._length,
            self.speed,
            self.paused,
            self._seeking_finding or abs(self.shown - self.position) > self.speed,
            self._length if self._scout.done else self._scout.reached,
            tuple(self._scout.marks),
            self._damage or self._scout.damage,
            self._without,
        )

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
        """What changed since the last drain; everything, where we went back."""
        changed = self._store.drain()
        if self._swapped:
            self._swapped = False
            changed |= {"", *self._store.fleet.names}
        return changed

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
        near = min(range(len(SPEEDS)), key=lambda at: abs(SPEEDS[at] - self.speed))
        self.speed = SPEEDS[max(0, min(len(SPEEDS) - 1, near + by))]
        self._woken.set()

    def skip(self, seconds: float) -> None:
        """Go forward or back in recorded time."""
        self._go(self.position + seconds)

    def seek(self, place: str) -> str | None:
        """Go to a place as a person writes it; where it is none, how to write one."""
        try:
            self._go(place_of(place, self.position, self._length))
        except ValueError:
            return PLACES
        return None

    def next_finding(self) -> None:
        """Go on to where a finding appears that is not there now; there it pauses."""
        self._anchor(self.position)
        self._seeking_finding, self._without = True, False
        self._woken.set()

    def finding_before(self) -> None:
        """Back to where the last finding appeared; there it pauses. To the start where there is none."""
        self._seeking_finding = False
        at = self.position - (0.0 if self.paused else REACTION * self.speed)
        before = [mark.t for mark in self._scout.marks if mark.t < at and self._is_news(mark)]
        self._go(before[-1] if before else 0.0)
        self.paused, self._without = True, not before

    def _go(self, position: float) -> None:
        self._seeking_finding = self._without = False
        self._anchor(max(0.0, min(self._length, position)))
        self._woken.set()

    def _anchor(self, position: float) -> None:
        self._at, self._since = position, self._clock.boot()

    # --- the task -------------------------------------------------------------------------------

    async def run(self) -> None:
        """Keep the store where the clock is, until cancelled; between that, look ahead."""
        while True:
            self._woken.clear()
            if self._seeking_finding:
                self._find()
            if not self._scout.done and self.position > self._scout.reached + FAR:
                self._scout.go()  # it leaves a store on its way, from which the rest is short
                await asyncio.sleep(0)
                continue
            await self._reach(self.position)
            if self._scout.done:
                self._say_damage()
                await self._until(self._next.t if self._next else None)
            else:
                self._scout.go()
                await asyncio.sleep(0)

    async def _until(self, due: float | None) -> None:
        moving = due is not None and not self.paused and due <= self._length
        wait = max(0.0, due - self.position) / self.speed if moving and due is not None else None
        try:
            async with asyncio.timeout(wait):
                await self._woken.wait()
        except TimeoutError:
            return

    async def _reach(self, position: float) -> None:
        """Apply everything up to `position`, or until somebody wants to be elsewhere."""
        self._start_near(position)
        ends, count = self._clock.boot() + SLICE, 0
        while self._next is not None and self._next.t <= position:
            tell(self._store, self._tape, self._next)
            self._applied = self._next.t
            self._turn_page()
            count += 1
            if self._clock.boot() >= ends or count % EVERY == 0:
                await asyncio.sleep(0)
                if self._woken.is_set():
                    return
                ends = self._clock.boot() + SLICE
        self._applied = max(self._applied, position)
        self._say_damage()

    def _start_near(self, position: float) -> None:
        """Another store, where that is nearer than what we have."""
        stop = self._scout.before(position)
        back = position < self._applied
        if not back and (stop is None or stop.t <= self._applied):
            return
        if stop is None:
            self._store = Store(self._tape.fleet, self._profiles)
            self._records = self._tape.records()
            self._applied = 0.0
            self._turn_page()
        else:
            self._store = self._scout.unpacked(stop)
            self._records = self._tape.records(stop.place, stop.ahead.t)
            self._applied, self._next = stop.t, stop.ahead
        for finding_id in self._acknowledged:
            self._store.acknowledge(finding_id)
        self._swapped, self._told = True, False

    def _turn_page(self) -> None:
        """The next record; none where the recording ends or breaks off."""
        try:
            self._next = next(self._records, None)
        except TapeError as error:
            self._next, self._damage = None, str(error)

    def _say_damage(self) -> None:
        """The cockpit says once that a recording is not whole, and where it ends."""
        why = self._damage or self._scout.damage
        if why is not None and not self._told:
            self._told = True
            text = f"the recording is not whole, it plays to {units.position(self._length)}: {why}"
            self._store.apply(Noted(None, self._tape.began + self._applied, text))

    def _find(self) -> None:
        """Go to the next mark, as soon as it is known."""
        for mark in self._scout.marks:
            if mark.t > self._at and self._is_news(mark):
                self._stand(mark.t)
                return
        if self._scout.done:
            self._stand(self._length)
            self._without = True

    def _stand(self, position: float) -> None:
        self._seeking_finding, self.paused = False, True
        self._anchor(position)

    def _is_news(self, mark: TapeMark) -> bool:
        return bool(mark.ids - self._acknowledged)


def place_of(text: str, position: float, length: float) -> float:
    """Seconds since the start: `12:30`, `1:05:00`, `10m`, `+30s`, `-5m`, `50%`, `start`, `end`. ValueError else."""
    text = text.strip().lower()
    if text in ("start", "end"):
        return length if text == "end" else 0.0
    if found := re.fullmatch(r"(\d{1,3}(?:\.\d{1,3})?)%", text, re.ASCII):
        return length * min(100.0, float(found[1])) / 100
    sign = {"+": 1.0, "-": -1.0}.get(text[:1])
    body = text[1:] if sign is not None else text
    if found := re.fullmatch(r"(?:(\d{1,4}):)?(\d{1,2}):(\d\d)", body, re.ASCII):
        hours, minutes, seconds = (float(part or 0) for part in found.groups())
        there = hours * 3_600 + minutes * 60 + seconds
    else:
        there = parse_duration(body)
    return there if sign is None else position + sign * there
