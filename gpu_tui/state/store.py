"""The store: events in, views out. Nothing else in the program holds mutable fleet state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpu_tui.core.account import Account
from gpu_tui.core.alert_channel import AlertChannel
from gpu_tui.core.ending import OpenEnd, OwnEnd
from gpu_tui.core.events import (
    AccountRead,
    ChannelsSeen,
    Event,
    LinkChanged,
    LogArrived,
    LogCame,
    LogFailed,
    LogOpened,
    Noted,
    ProviderRead,
    Sampled,
    TeardownEnd,
)
from gpu_tui.core.fleet import Fleet, Instance
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.logs import LogSource
from gpu_tui.core.profile import Profile, placed
from gpu_tui.core.thresholds import THRESHOLDS, Threshold
from gpu_tui.state.acquaintance import Acquaintance
from gpu_tui.state.bookmarks import Bookmark, keep_bookmarks, kept_bookmarks
from gpu_tui.state.fleet_outlook import FleetBooks, fleet_view
from gpu_tui.state.history import History, NoHistory
from gpu_tui.state.instance import InstanceState
from gpu_tui.state.logbuffer import POOL, LogBuffer, LogPool
from gpu_tui.state.outlook import view_of
from gpu_tui.state.runs_before import RunsBefore
from gpu_tui.state.session import Session
from gpu_tui.state.timeline import note_balance
from gpu_tui.state.views import FleetView

NOTES_KEPT = 20

# What concerns one instance, and who takes it: asked of every line and every reading.
_TAKES: dict[type[Event], Callable[[InstanceState, Any], None]] = {
    LinkChanged: InstanceState.link_changed,
    Sampled: InstanceState.sampled,
    LogOpened: InstanceState.log_opened,
    LogCame: InstanceState.log_came,
    LogArrived: InstanceState.log_arrived,
    LogFailed: InstanceState.log_failed,
    ProviderRead: InstanceState.provider_read,
}


class Store:
    """Applies events and answers with frozen views. Never blocks, never raises on bad input."""

    def __init__(
        self,
        fleet: Fleet,
        profiles: Mapping[str, Profile],
        history: History | None = None,
        thresholds: tuple[Threshold, ...] = THRESHOLDS,
        log_bytes: int = POOL,
    ) -> None:
        """`log_bytes`: what all kept lines of all logs may take in memory."""
        self._pool = LogPool(log_bytes)
        self._thresholds = thresholds
        self._profiles = profiles
        self._history = history or NoHistory()
        self._dirty: set[str] = set()
        self._notes: list[str] = []
        self._acknowledged: dict[str, float] = {}  # id -> when
        self._session = Session()
        self._looked = 0.0
        self._accounts: dict[str, Account] = {}
        self._acquaintance = Acquaintance(history)
        self._books = FleetBooks(self._history)
        self._ends: dict[str, OpenEnd] = {}
        self._own_ends: dict[str, OwnEnd] = {}
        self._channels: tuple[AlertChannel, ...] = ()
        self.fleet = fleet
        self._states = {instance.name: self._new(instance.name) for instance in fleet.instances}

    def _new(self, name: str) -> InstanceState:
        instance = self.fleet[name]
        profile = self._profiles.get(instance.platform)
        if profile is not None:
            profile = replace(profile, storage=placed(profile.storage, instance.mounts))
        made = InstanceState(instance, profile, self._history, self._pool)
        made.end, made.own_end = self._ends.get(name), self._own_ends.get(name)
        return made

    def runs_before(self, instance: Instance) -> Mapping[str, JobTable]:
        """Who ran there when it was last watched, by metric: their logs may hold an end that nobody saw."""
        return RunsBefore(self._history, instance).lists()

    def replace_fleet(self, fleet: Fleet) -> None:
        """Take an edited fleet file: an instance that is watched as before keeps all that is known of it."""
        old, self.fleet = self.fleet, fleet
        kept = self._states
        self._states = {}
        for instance in fleet.instances:
            name = instance.name
            if name in old.names and instance.watched_like(old[name]):
                kept[name].instance = instance
                self._states[name] = kept[name]
            else:
                self._states[name] = self._new(name)
        for name, state in kept.items():
            if self._states.get(name) is not state:
                state.logs.leave()
        self._dirty.update(fleet.names)
        self._dirty.add("")

    def apply(self, event: Event) -> None:
        """Take one event; one of an instance that is no longer in the fleet is dropped."""
        if (take := _TAKES.get(type(event))) is not None:
            of_one: Any = event
            state = self._states.get(of_one.instance)
            if state is not None:
                self._note(state, event)
                take(state, event)
                self._dirty.add(of_one.instance)
            return
        if isinstance(event, Noted):
            self._notes = [*self._notes[-NOTES_KEPT + 1 :], event.text]
            self._dirty.add("")
            return
        if isinstance(event, ChannelsSeen):
            self._channels = event.channels
            self._dirty.add("")
            return
        if isinstance(event, AccountRead):
            self._take_account(event)
            self._dirty.add("")
            return
        if isinstance(event, TeardownEnd):
            self._take_end(event)
            if event.instance in self._states:
                self._dirty.add(event.instance)

    def _note(self, state: InstanceState, event: Event) -> None:
        """Pass an event to the time line's session."""
        if isinstance(event, LinkChanged):
            self._session.link_changed(event)
        elif isinstance(event, LogOpened) and not event.resumed:
            source, buffer = event.source, state.logs.buffers.get(event.source)
            if buffer is not None and buffer.end:
                self._session.log_replaced(event.instance, source.path, source.cell, event.at)

    __call__ = apply  # a store is a Sink

    @property
    def connecting(self) -> bool:
        """Whether the first attempt to connect to some box has not ended."""
        return any(state.link.state == "connecting" for state in self._states.values())

    def drain(self) -> frozenset[str]:
        """Names of what changed since the last drain; "" stands for the fleet as a whole."""
        dirty, self._dirty = frozenset(self._dirty), set()
        return dirty

    def view(self, now: float) -> FleetView:
        """Everything, at `now`."""
        self._looked = now
        views = tuple(
            view_of(state, now, self._account_of(name), self._thresholds)
            for name, state in self._states.items()
        )
        view = fleet_view(
            self.fleet.sweep,
            views,
            tuple(self._accounts.values()),
            self._books,
            self._acknowledged,
            tuple(self._notes),
            now,
            self._acquaintance.unmet(views),
            self._thresholds,
            self._ends.values(),
            self._channels,
            self._session,
        )
        for past in view.past:
            if past.ended:  # if it comes back, it is a new finding without this acknowledgement
                self._acknowledged.pop(past.finding.id, None)
        return view

    def meet(self, platform: str) -> None:
        """What is good to know on this platform was read: never show it unasked again."""
        self._acquaintance.meet(platform)
        self._dirty.add("")

    def _take_account(self, event: AccountRead) -> None:
        """The newest listing of one account, and what it says of each instance; an error keeps the last good one."""
        account = event.account
        for name in account.serves:
            if (state := self._states.get(name)) is not None:
                state.account_read(account, event.at)
                self._dirty.add(name)
        old = self._accounts.get(account.key)
        if account.error and old is not None:
            account = replace(old, error=account.error, serves=account.serves)
        if account.read_at is None and not account.error:  # nobody asks it any more
            self._accounts.pop(account.key, None)
            return
        self._accounts[account.key] = account
        note_balance(account, self._history)

    def _take_end(self, event: TeardownEnd) -> None:
        """An unproven end outlives an edit of the fleet file."""
        if event.end is None:
            self._ends.pop(event.instance, None)
        else:
            self._ends[event.instance] = event.end
        if event.own is None:
            self._own_ends.pop(event.instance, None)
        else:
            self._own_ends[event.instance] = event.own
        if (state := self._states.get(event.instance)) is not None:
            state.end, state.own_end = event.end, event.own

    def _account_of(self, instance: str) -> Account | None:
        """The account whose key answers for this instance."""
        return next((one for one in self._accounts.values() if instance in one.serves), None)

    def log(self, instance: str, source: LogSource) -> LogBuffer | None:
        """The kept lines of one followed log."""
        state = self._states.get(instance)
        return state.logs.buffers.get(source) if state else None

    def bookmarks(self, instance: str, source: LogSource) -> Sequence[Bookmark]:
        """The bookmarks of one log, also of earlier starts."""
        return kept_bookmarks(self._history, instance, source)

    def keep_bookmarks(self, instance: str, source: LogSource, marks: Sequence[Bookmark]) -> None:
        """Keep these bookmarks of one log."""
        keep_bookmarks(self._history, instance, source, marks, 0.0)

    def acknowledge(self, finding_id: str) -> None:
        """Hide a finding from the fleet's list until it has ended; the time line still shows it."""
        self._acknowledged.setdefault(finding_id, self._looked)
        self._dirty.add("")

    def keep(self, now: float) -> None:
        """Write when each finding was first seen to the history, before the program ends."""
        for state in self._states.values():
            state.seen_before.keep(now)
        self._books.seen_before.keep(now)
