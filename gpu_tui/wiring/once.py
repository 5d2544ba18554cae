"""One look at a fleet, or at one box of it, for commands that end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from gpu_tui import settings
from gpu_tui.collect.log_end import HANGS
from gpu_tui.core.clock import Clock
from gpu_tui.core.fleet import Fleet
from gpu_tui.state.settled import settled
from gpu_tui.state.views import FleetView
from gpu_tui.transport.tty import TtyPrompter
from gpu_tui.wiring.fleet import Room, open_fleet

CHECK_LIMIT = 30.0
LOOK_SECONDS = 0.1
# Between two views while something is known to be missing: a view costs 2 ms of CPU time a box.
VIEW_SECONDS = 3.0
# No line of history for this long, where nothing else tells that all of it is in.
QUIET_SECONDS = 0.6
SLOW_SECONDS = HANGS + 1.0  # the same while a log is still being read


class Deadline:
    """Seconds for a command, without those in which it waits for a person to type."""

    def __init__(self, clock: Clock, seconds: float, prompter: TtyPrompter | None) -> None:
        self._clock, self._prompter = clock, prompter
        self._ends = clock.boot() + seconds
        self._looked = clock.boot()

    def left(self) -> float:
        """What is left; asked often."""
        now = self._clock.boot()
        if self._prompter is not None and self._prompter.asking:
            self._ends += now - self._looked
        self._looked = now
        return self._ends - now


async def collect_once(
    fleet: Fleet, limit: float = CHECK_LIMIT, *, state: Path | None = None
) -> FleetView:
    """Look at every instance once and return what was seen; never longer than `limit` seconds."""
    prompter = TtyPrompter.here()
    async with open_fleet(fleet, read_only=True, state=state, prompter=prompter) as (room, tap):
        alerts = settings.load_config(os.environ).alerts
        if alerts.command or alerts.webhook is not None:
            from gpu_tui.wiring.alerts import channels_seen

            seen = await asyncio.to_thread(channels_seen, alerts, room.clock.now(), state)
            room.store.apply(seen)
        deadline = Deadline(room.clock, limit, prompter)
        answered: float | None = None  # since when every reading but the logs has arrived
        viewed = room.clock.boot()
        while (left := deadline.left()) > 0:
            if _lacks(room) and room.clock.boot() - viewed < VIEW_SECONDS:
                await tap.next(min(left, LOOK_SECONDS))
                continue
            now, viewed = room.clock.now(), room.clock.boot()
            view = room.store.view(now)
            if not all(settled(instance) for instance in view.instances):
                answered = None
            elif answered is None:
                answered = now
            quiet = _is_quiet(room, view, tap.backfill_at, answered, now)
            told = room.watch.accounts <= {account.key for account in view.accounts}
            told = told and room.ends.looked.is_set()
            if quiet and told and answered is not None:
                return view
            await tap.next(min(left, LOOK_SECONDS))
        return room.store.view(room.clock.now())


def _lacks(room: Room) -> bool:
    """Whether a box is still connecting, or the journal or a log is unread. Cheaper than a view."""
    if room.store.connecting or not room.ends.looked.is_set():
        return True
    boxes = room.supervisor
    return any(
        boxes.read_up(name) is False
        for name in room.fleet.names
        if boxes.connection(name) is not None
    )


def _is_quiet(room: Room, view: FleetView, came: float, answered: float | None, now: float) -> bool:
    """Whether all logs were read, or none of the missing ones has sent anything for a while. `came`: our time of the
    last event.
    """
    live = [instance.name for instance in view.instances if instance.link.live]
    read = [room.supervisor.read_up(name) for name in live]
    if all(read):
        return True
    if False in read:
        return now - max(came, now if answered is None else answered) >= SLOW_SECONDS
    return now - came >= QUIET_SECONDS


async def with_connection(
    fleet: Fleet, name: str, limit: float, act: Callable[[Room], Awaitable[int]]
) -> int:
    """Open a fleet of one, wait until its box answers (or `limit` passes), and run `act`."""
    alone = Fleet(fleet.sweep, (fleet[name],), fleet.source)
    prompter = TtyPrompter.here()
    async with open_fleet(alone, prompter=prompter) as (room, tap):
        deadline = Deadline(room.clock, limit, prompter)
        while (left := deadline.left()) > 0:
            if settled(room.store.view(room.clock.now())[name]):
                break
            await tap.next(min(left, QUIET_SECONDS))
        return await act(room)
