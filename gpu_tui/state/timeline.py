"""The times of one box that its clocks count from, kept so that neither a restart of gpu-tui, nor a change
of zone or of daylight saving, nor a box whose clock is wrong can move a deadline.

Everything is kept as our own epoch seconds. What a box says of a time is brought to our clock with a
skew that is measured once and only given up when it is plainly another one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from math import inf

from gpu_tui.core import metrics
from gpu_tui.core.account import Account
from gpu_tui.core.fleet import LinkState, ProviderState
from gpu_tui.core.readings import Host, Process
from gpu_tui.core.sample import Reading
from gpu_tui.state.history import CONTACT_EVERY, History

SILENT = ("dns", "timeout", "unreachable", "refused", "off")  # nothing of the box itself was heard
SKEW_SLACK = 5.0  # seconds: two readings of one clock differ by less
SKEWS_KEPT = 3  # readings: of so many one hardly came late
BEGUN_SLACK = 120.0  # seconds: two readings of one start differ by less
TYPED_SLACK = 60.0  # a person who types a minute may mean any second of it
MARKED = 600.0  # a start that is this much younger than a typed one belongs to another session


class Timeline:
    """Remembers; `state/deadlines` asks."""

    def __init__(self, instance: str, history: History) -> None:
        self._instance = instance
        self._history = history
        self._running_written = 0.0
        self.skew: float | None = None  # box clock minus ours, seconds
        self._latest: deque[float] = deque(maxlen=SKEWS_KEPT)  # as single readings have it
        self._way = inf  # seconds that the first of them may have been under way
        self._live_since = -inf
        self.lost = False  # it did not answer, and has not answered since
        self.held: dict[str, str] = {}  # clock key -> the threshold it has crossed
        self.short: frozenset[str | None] = frozenset()  # jobs that do not end before their limit

    def link_changed(self, link: LinkState) -> None:
        """The connection went into another state; while it is tried again nothing new is known."""
        if link.live:
            self.lost, self._live_since = False, link.since
        elif link.state in SILENT:
            self.lost = True

    def provider_read(self, state: ProviderState, at: float) -> None:
        """The provider said that it runs: whatever stops it does so later."""
        if (
            state.state == "running"
            and not state.error
            and not 0 <= at - self._running_written <= CONTACT_EVERY
        ):
            self._running_written = at
            self._history.set_anchor(self._instance, "last_running", at, "api")

    def sampled(self, metric: str, reading: Reading[object]) -> None:
        """A probe gave a value."""
        value = reading.value
        if metric == metrics.HOST.name and isinstance(value, Host):
            # `date +%s` cuts the second off: on average half of one is lost.
            half = 0.5 if value.box_time % 1 == 0 else 0.0
            skew = value.box_time + half - reading.taken_at
            self._latest.append(skew)
            if self.skew is None or abs(skew - self.skew) > SKEW_SLACK:
                self.skew, self._way = skew, reading.taken_at - self._live_since
        elif metric == metrics.PROCESSES.name and isinstance(value, tuple):
            self._begun(value, reading.taken_at)

    def _begun(self, processes: tuple[Process, ...], at: float) -> None:
        """The first process began with the boot or the container; its age needs no clock of the box."""
        first = next((one for one in processes if one.pid == 1), None)
        if (
            first is None or not first.age_seconds
        ):  # an age of 0 comes of an uptime that was made up
            return
        begun = at - first.age_seconds
        known = self._history.anchor(self._instance, "begun_at")
        if known is None or abs(known[0] - begun) > BEGUN_SLACK:
            self._history.set_anchor(self._instance, "begun_at", begun, "reading")

    @property
    def shown_skew(self) -> float | None:
        """Box clock minus ours, for a person. A time that came late looks like a clock that is behind, and
        never like one that is ahead: the least late of the last readings is the best.

        None where it may be late and no more. It was read after the connection stood, so it can be late by
        no more than that; and two that came one after the other are hardly late by the same seconds.
        """
        if self.skew is None:
            return None
        best = max(self._latest)
        agreed = sum(best - one <= SKEW_SLACK for one in self._latest)
        known = best > -SKEW_SLACK or agreed > 1 or self.skew + self._way <= -SKEW_SLACK
        return best if known else None

    def ours(self, box_time: float) -> float:
        """A time by the box's clock, by ours."""
        return box_time - (self.skew or 0.0)


def last_alive(times: Mapping[str, float]) -> float | None:
    """The last time at which it is known to have run, of an instance's anchors; what ends it came later."""
    lived = ("last_contact", "last_running", "created_at")
    return max((times[kind] for kind in lived if kind in times), default=None)


def stop_mark(times: Mapping[str, float]) -> float | None:
    """When a person says that it was stopped; None where it is known to have run after that."""
    typed, alive = times.get("stopped_at"), last_alive(times)
    return typed if typed is None or alive is None or typed >= alive - TYPED_SLACK else None


def note_balance(account: Account, history: History) -> None:
    """Keep when an account was first seen empty; forget it once there is money again."""
    if account.error or account.balance is None or account.read_at is None:
        return
    if account.balance.amount > 0:
        if history.anchor(account.key, "balance_empty") is not None:
            history.forget_anchor(account.key, "balance_empty")
    elif history.anchor(account.key, "balance_empty") is None:
        history.set_anchor(account.key, "balance_empty", account.read_at, "first-seen")
