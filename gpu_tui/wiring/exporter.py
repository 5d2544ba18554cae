"""Watching a fleet without a screen, for Prometheus."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gpu_tui import __version__, settings
from gpu_tui.core.fleet import Fleet
from gpu_tui.exporter import serving
from gpu_tui.state.prometheus import exposition
from gpu_tui.wiring.alerts import channels_seen
from gpu_tui.wiring.fleet import Room, open_fleet
from gpu_tui.wiring.process import end_loading, run
from gpu_tui.wiring.secret import hiding

CHANNELS_EVERY = 60.0  # seconds


def run_exporter(
    fleet: Fleet,
    host: str,
    port: int,
    *,
    told: Callable[[str], None],
    reload_from: Path | None = None,
) -> None:
    """Serve the fleet's metrics until told to stop; `told` gets the address. Raises PortTaken."""

    async def serve() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, stop.set)
        async with open_fleet(fleet, read_only=True, reload_from=reload_from) as (room, _):
            hide = hiding(fleet)
            looking = room.tasks.create_task(_channels(room), name="alert channels")

            def render() -> str:
                return exposition(room.store.view(room.clock.now()), __version__, hide)

            try:
                async with serving(render, host, port) as address:
                    told(address)
                    end_loading()
                    await stop.wait()
            finally:
                looking.cancel()

    run(serve())


async def _channels(room: Room) -> None:
    """Check the alert channels every CHANNELS_EVERY seconds; the exporter itself sends no alerts."""
    while True:
        with suppress(settings.ConfigError, OSError):  # a broken edit: the earlier settings stay
            config = await asyncio.to_thread(settings.load_config, os.environ)
            now = room.clock.now()
            room.store.apply(await asyncio.to_thread(channels_seen, config.alerts, now))
        await asyncio.sleep(CHANNELS_EVERY)
