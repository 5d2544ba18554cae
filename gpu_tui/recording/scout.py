"""Reads a recording ahead of the eye: where findings come, and stores kept on the way, to go back to.

A store can only be told what happened. So that going back an hour does not mean being told an hour again,
the scout packs its store now and then, with the place in the file where the next record is.
"""

from __future__ import annotations

import io
import pickle
import zlib
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpu_tui.core import units
from gpu_tui.core.clock import Clock
from gpu_tui.core.events import Noted
from gpu_tui.core.playhead import TapeMark
from gpu_tui.core.profile import Profile
from gpu_tui.recording.codec import CodecError
from gpu_tui.recording.reel import Place
from gpu_tui.recording.tape import Record, Records, TapeError, TapeReader
from gpu_tui.state.store import Store

SLICE = 0.008  # seconds of work before others get their turn
EVERY = 1_000  # records between two kept stores: a tenth of a second to tell again
BUDGET = 100_663_296  # bytes of all that is kept; beyond it every second one is let go
LOOKS = 1_200  # looks for findings in a whole recording, at most one a second


@dataclass(frozen=True, slots=True)
class Stop:
    """A store as it was, and where the records go on."""

    t: float
    ahead: Record  # the next one
    place: Place  # behind that
    packed: bytes

    @property
    def weight(self) -> int:
        """Bytes, with the state of the unpacker, which is 40 KB or so."""
        return len(self.packed) + len(self.place.rest) + 65_536


class Scout:
    """Walks a recording once, a slice at a time."""

    def __init__(
        self, tape: TapeReader, profiles: Mapping[str, Profile], clock: Clock, length: float
    ) -> None:
        self._tape = tape
        self._profiles = profiles
        self._clock = clock
        self._look = max(1.0, length / LOOKS)
        self._store = Store(tape.fleet, profiles)
        self._records: Records | None = None
        self._next: Record | None = None
        self._known: frozenset[str] = frozenset()
        self._looked = 0.0
        self._every = EVERY
        self._since = 0  # records since the last stop
        self._stops: list[Stop] = []
        self._held = 0
        self.marks: list[TapeMark] = []
        self.reached = 0.0  # every finding up to here is known
        self.done = False
        self.damage: str | None = None

    def go(self) -> None:
        """One slice of work."""
        ends = self._clock.boot() + SLICE
        try:
            if self._records is None:
                self._records = self._tape.records()
                self._next = next(self._records, None)
            for _ in range(EVERY):
                if self.done or self._clock.boot() >= ends:
                    return
                self._step(self._records)
        except TapeError as error:
            self.damage, self.done = str(error), True

    def before(self, t: float) -> Stop | None:
        """The last store that was kept at or before `t`."""
        at = bisect_right(self._stops, t, key=lambda stop: stop.t)
        return self._stops[at - 1] if at else None

    def unpacked(self, stop: Stop) -> Store:
        """A store of its own, as it was there."""
        store = _Unpickler(zlib.decompress(stop.packed), self._profiles).load()
        assert isinstance(store, Store)
        return store

    def _step(self, records: Records) -> None:
        """One record, or a look at what they did where one is due."""
        due = self._looked + self._look
        if self._next is None:
            self._see(max(self._looked, records.t))
            self.damage, self.done = records.damage, True
        elif self._next.t > due:
            self._see(due)
        else:
            t = self._next.t
            tell(self._store, self._tape, self._next)
            self._next = next(records, None)
            self._since += 1
            if self._next is not None and self._since >= self._every:
                self._keep(t, self._next, records.place())

    def _see(self, t: float) -> None:
        found = {one.id: one for one in self._store.view(self._tape.began + t).findings}
        fresh = [one for name, one in found.items() if name not in self._known]
        if fresh:
            worst = min((one.severity for one in fresh), key=lambda one: one.rank)
            self.marks.append(TapeMark(t, worst, frozenset(one.id for one in fresh)))
        self._known = frozenset(found)
        self._looked = self.reached = t

    def _keep(self, t: float, ahead: Record, place: Place) -> None:
        made = io.BytesIO()
        _Pickler(made, self._profiles).dump(self._store)
        stop = Stop(t, ahead, place, zlib.compress(made.getbuffer(), 1))
        self._stops.append(stop)
        self._since, self._held = 0, self._held + stop.weight
        if self._held > BUDGET:
            self._stops = self._stops[::2]
            self._held = sum(one.weight for one in self._stops)
            self._every *= 2


def tell(store: Store, tape: TapeReader, record: Record) -> None:
    """Tell a store what one record says; one that is not understood becomes a note."""
    try:
        if (event := record.event) is not None:
            store.apply(event)
        elif (fleet := record.fleet) is not None:
            store.replace_fleet(fleet)
        elif lost := record.body.get("lost"):
            text = f"{lost} records are missing here: the disk was slower than the fleet"
            store.apply(Noted(None, tape.began + record.t, text))
    except CodecError as error:
        text = f"a record at {units.position(record.t)} is not understood: {error}"
        store.apply(Noted(None, tape.began + record.t, text))


# Only stores of this very process are packed and unpacked: pickle never sees a byte of a file. A profile
# is the same in all of them, and is packed as its name.


def _profile_named(name: str) -> Profile:
    raise KeyError(name)  # the unpickler below stands in for it


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, profiles: Mapping[str, Profile]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)

        def reduced(one: Profile) -> tuple[Any, ...] | str:
            if one.id in profiles and profiles[one.id] is one:
                return _profile_named, (one.id,)
            return one.__reduce_ex__(pickle.HIGHEST_PROTOCOL)

        self.dispatch_table = {Profile: reduced}


class _Unpickler(pickle.Unpickler):
    def __init__(self, packed: bytes, profiles: Mapping[str, Profile]) -> None:
        super().__init__(io.BytesIO(packed))
        self._profiles = profiles

    def find_class(self, module: str, name: str) -> Any:
        if name == _profile_named.__name__:
            return self._profiles.__getitem__
        return super().find_class(module, name)
