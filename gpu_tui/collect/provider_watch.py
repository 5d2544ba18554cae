"""Asks an instance's control API on a slow beat and reports what it says. Trouble is an answer too."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from gpu_tui.core.clock import Clock
from gpu_tui.core.events import AccountRead, ProviderRead
from gpu_tui.core.fleet import Instance, ProviderState
from gpu_tui.core.ports import Sink
from gpu_tui.providers.base import AccountReader, Provider

PERIOD = 60.0  # seconds; no platform's API is asked more often than this


async def watch_provider(
    instance: Instance, provider: Provider, sink: Sink, clock: Clock, period: float = PERIOD
) -> None:
    """Emit one ProviderRead per period until cancelled; return at once where there is no API."""
    id = instance.provider.id
    if not provider.reads or id is None:
        return
    known = ProviderState()
    while True:
        seen = await provider.read(id)
        known = replace(known, error=seen.error) if seen.error else seen
        sink(ProviderRead(instance.name, clock.now(), known))
        await asyncio.sleep(period)


async def watch_account(
    reader: AccountReader, sink: Sink, clock: Clock, period: float = PERIOD
) -> None:
    """Emit one AccountRead per period until cancelled."""
    while True:
        account = await reader.read()
        sink(AccountRead(clock.now(), account))
        await asyncio.sleep(period)
