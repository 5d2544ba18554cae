"""The news desk of a running cockpit, and that of one tick of `check`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from gpu_tui import settings
from gpu_tui.alerts.channel import Undelivered, Unusable
from gpu_tui.alerts.desk import Desk
from gpu_tui.alerts.ledger import Ledger
from gpu_tui.alerts.message import compose, trial
from gpu_tui.alerts.standing import channels_now
from gpu_tui.alerts.ways import ways_out
from gpu_tui.core.alert_channel import AlertChannel
from gpu_tui.core.clock import Clock
from gpu_tui.core.events import ChannelsSeen, Noted
from gpu_tui.core.fleet import Fleet
from gpu_tui.parse.config_file import Alerts
from gpu_tui.state.views import FleetView
from gpu_tui.wiring.clock import SystemClock
from gpu_tui.wiring.fleet import Room, Tap
from gpu_tui.wiring.secret import secrets_of

FILE_NAME = "history.sqlite"
SETTINGS_EVERY = 10.0  # seconds between two looks at the settings
CALM_SECONDS = 1.5  # no history line for this long: what is looked at is now
LONGEST_CALM = 20.0  # seconds after which a look is taken all the same
# A look of the screen that young is taken; less than CALM_SECONDS, so it is calm as well.
FRESH_SECONDS = 1.0


@asynccontextmanager
async def open_desk(
    room: Room,
    tap: Tap,
    alerts: Alerts,
    *,
    state: Path | None = None,
    seen: Callable[[], FleetView | None] = lambda: None,
) -> AsyncIterator[Desk]:
    """The desk looks and delivers for as long as the block lasts; what the screen has just `seen` it takes."""
    ledger = await asyncio.to_thread(_ledger, state)
    looked = room.clock.boot()

    def note(text: str) -> None:
        tap(Noted(None, room.clock.now(), text))

    def look() -> FleetView | None:
        nonlocal looked
        now = room.clock.boot()
        if room.clock.now() - tap.backfill_at < CALM_SECONDS and now - looked < LONGEST_CALM:
            return None
        looked = now
        last = seen()
        if last is not None and 0.0 <= room.clock.now() - last.taken_at < FRESH_SECONDS:
            return last
        return room.store.view(room.clock.now())

    def heed(channels: tuple[AlertChannel, ...]) -> None:
        # Not through the tap: recordings hold nothing about this machine.
        room.store.apply(ChannelsSeen(room.clock.now(), channels))

    desk = Desk(
        alerts, ledger, room.clock, ways_out(alerts, os.environ, room.clock.now),
        note=note, secrets=lambda: secrets_of(room.store.fleet, desk.alerts), heed=heed,
    )  # fmt: skip
    reading = room.tasks.create_task(_read_again(desk, room.clock, note), name="alert settings")
    running = room.tasks.create_task(desk.run(look), name="news desk")
    try:
        yield desk
    finally:
        for task in (reading, running):
            task.cancel()
        await asyncio.wait({reading, running})
        ledger.close()


async def _read_again(desk: Desk, clock: Clock, note: Callable[[str], None]) -> None:
    """Pick up edits of the alert settings; a broken edit keeps the last good ones and says so, once."""
    wrong = ""
    while True:
        await asyncio.sleep(SETTINGS_EVERY)
        try:
            alerts = (await asyncio.to_thread(settings.load_config, os.environ)).alerts
        except (settings.ConfigError, OSError) as error:
            if str(error) != wrong:
                note(f"the settings have an error, the last good alert settings stay: {error}")
            wrong = str(error)
            continue
        wrong = ""
        if alerts != desk.alerts:
            desk.follow(alerts, ways_out(alerts, os.environ, clock.now))
            note("the alert settings were read again")


async def tell(
    fleet: Fleet, view: FleetView, alerts: Alerts, *, limit: float, state: Path | None = None
) -> list[str]:
    """Send the news of one view, and what earlier ticks could not send; returns the errors."""
    clock = SystemClock()
    ledger = await asyncio.to_thread(_ledger, state)
    wrong: list[str] = []
    desk = Desk(
        alerts, ledger, clock, ways_out(alerts, os.environ, clock.now), note=wrong.append,
        secrets=lambda: secrets_of(fleet, alerts), first_wait=0.0, screen=False,
    )  # fmt: skip
    try:
        await desk.look_at_channels()
        await desk.look(view)
        await desk.deliver(limit)
        wrong += [f"alerts by {name}: {why}. {why.next}" for name, why in desk.unusable()]
    finally:
        ledger.close()
    return wrong


async def try_ways(alerts: Alerts, state: Path | None = None) -> dict[str, str | None]:
    """Send a test message by every channel. By name: the error, None if it arrived. The ledger records the results."""
    clock = SystemClock()
    now = clock.now()
    came: dict[str, str | None] = {}
    ledger = await asyncio.to_thread(_ledger, state)
    try:
        for channel in ways_out(alerts, os.environ, clock.now):
            try:
                channel.ready()
                await channel.send(compose(f"test-{now:.0f}", [trial(now)], at=now, held=False))
            except Undelivered as error:
                came[channel.name] = str(error)
            else:
                came[channel.name] = None
                await asyncio.to_thread(ledger.arrived, channel.name, now)
    finally:
        ledger.close()
    return came


def channels_seen(alerts: Alerts, now: float, state: Path | None = None) -> ChannelsSeen:
    """The state of the channels for a program that sends nothing itself. May look at files."""
    wrong: dict[str, Unusable | None] = {}
    for channel in ways_out(alerts, os.environ, lambda: now):
        try:
            channel.ready()
            wrong[channel.name] = None
        except Unusable as error:
            wrong[channel.name] = error
    if not wrong:
        return ChannelsSeen(now, ())
    ledger = _ledger(state)
    try:
        return ChannelsSeen(now, channels_now(wrong, ledger.states(list(wrong)), now))
    finally:
        ledger.close()


def _ledger(state: Path | None) -> Ledger:
    return Ledger((state or settings.state_dir(os.environ)) / FILE_NAME)
