"""The news desk of a running cockpit, and that of one tick of `check`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from gpu_tui import settings
from gpu_tui.alerts.channel import Channel, Undelivered
from gpu_tui.alerts.desk import Desk
from gpu_tui.alerts.ledger import Ledger
from gpu_tui.alerts.message import compose, trial
from gpu_tui.alerts.ways import ways_out
from gpu_tui.alerts.webhook import WebhookRefused
from gpu_tui.core.events import Noted
from gpu_tui.core.fleet import Fleet
from gpu_tui.parse.config_file import Alerts
from gpu_tui.state.views import FleetView
from gpu_tui.wiring.clock import SystemClock
from gpu_tui.wiring.fleet import Room, Tap
from gpu_tui.wiring.secret import secrets_of

FILE_NAME = "history.sqlite"
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

    try:
        channels: list[Channel] = ways_out(alerts, os.environ, room.clock.now)
    except WebhookRefused as error:
        channels = ways_out(_without_webhook(alerts), os.environ, room.clock.now)
        note(f"alerts: {error}. {error.next}")
    desk = Desk(
        alerts, ledger, room.clock, channels,
        note=note, secrets=lambda: secrets_of(room.store.fleet, alerts),
    )  # fmt: skip
    running = room.tasks.create_task(desk.run(look), name="news desk")
    try:
        yield desk
    finally:
        running.cancel()
        await asyncio.wait({running})
        ledger.close()


async def tell(
    fleet: Fleet, view: FleetView, alerts: Alerts, *, limit: float, state: Path | None = None
) -> list[str]:
    """Tell what is new in one view, and what earlier ticks could not; the answer is what went wrong.

    Raises WebhookRefused where the webhook's URL cannot be had.
    """
    clock = SystemClock()
    channels = ways_out(alerts, os.environ, clock.now)
    ledger = await asyncio.to_thread(_ledger, state)
    wrong: list[str] = []
    desk = Desk(
        alerts, ledger, clock, channels, note=wrong.append,
        secrets=lambda: secrets_of(fleet, alerts), first_wait=0.0,
    )  # fmt: skip
    try:
        await desk.look(view)
        await desk.deliver(limit)
    finally:
        ledger.close()
    return wrong


async def try_ways(alerts: Alerts) -> dict[str, str | None]:
    """One test message by every way out: what went wrong, None where it arrived."""
    clock = SystemClock()
    now = clock.now()
    came: dict[str, str | None] = {}
    for channel in ways_out(alerts, os.environ, clock.now):
        try:
            await channel.send(compose(f"test-{now:.0f}", [trial(now)], at=now, held=False))
            came[channel.name] = None
        except Undelivered as error:
            came[channel.name] = str(error)
    return came


def _ledger(state: Path | None) -> Ledger:
    return Ledger((state or settings.state_dir(os.environ)) / FILE_NAME)


def _without_webhook(alerts: Alerts) -> Alerts:
    return replace(alerts, webhook=None)
