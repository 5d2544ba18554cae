"""Asks the control APIs on a slow beat and reports what they say. Trouble is an answer too.

One listing per account serves all its instances; an instance that no account speaks for is asked by
itself (a job of a scheduler, for one).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from gpu_tui.core.account import Account
from gpu_tui.core.clock import Clock
from gpu_tui.core.events import AccountRead, ProviderRead
from gpu_tui.core.fleet import Fleet, Instance, ProviderState
from gpu_tui.core.ports import Sink
from gpu_tui.providers.base import AccountReader, Provider

PERIOD = 60.0  # seconds; no platform's API is asked more often than this


class ProviderWatch:
    """Keeps one watcher per account and per instance without one; follows the edits of a fleet."""

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        provider_of: Callable[[Instance], Provider],
        readers_of: Callable[[Fleet], Iterable[AccountReader]],
        sink: Sink,
        clock: Clock,
    ) -> None:
        self._tasks = tasks
        self._provider_of = provider_of
        self._readers_of = readers_of
        self._sink = sink
        self._clock = clock
        self._instances: dict[Instance, asyncio.Task[None]] = {}
        self._accounts: dict[tuple[str, tuple[str, ...]], asyncio.Task[None]] = {}

    @property
    def accounts(self) -> frozenset[str]:
        """The keys of the accounts that are asked."""
        return frozenset(key for key, _ in self._accounts)

    def follow(self, fleet: Fleet) -> None:
        """Watch this fleet from now on; what is asked as before goes on."""
        readers = {(reader.key, reader.serves): reader for reader in self._readers_of(fleet)}
        served = {name for _, names in readers for name in names}
        before = self.accounts
        for old in [old for old in self._accounts if old not in readers]:
            self._accounts.pop(old).cancel()
        for key, reader in readers.items():
            if key not in self._accounts:
                watch = watch_account(reader, self._sink, self._clock)
                self._accounts[key] = self._tasks.create_task(watch)
        for name in before - self.accounts:  # what it said is not true for ever
            self._sink(AccountRead(self._clock.now(), Account(name, name.partition(":")[0])))
        alone = [one for one in fleet.instances if one.provider.id and one.name not in served]
        for gone in [one for one in self._instances if one not in alone]:
            self._instances.pop(gone).cancel()
        for instance in alone:
            # What a cluster runs is told by its table; a finished job is no box that is off.
            if instance.scheduler != "kubernetes" and instance not in self._instances:
                asked = watch_provider(
                    instance, self._provider_of(instance), self._sink, self._clock
                )
                self._instances[instance] = self._tasks.create_task(asked)

    def close(self) -> None:
        """Ask nobody any more."""
        for task in (*self._instances.values(), *self._accounts.values()):
            task.cancel()


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
    reader: AccountReader,
    sink: Sink,
    clock: Clock,
    period: float = PERIOD,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Emit one AccountRead per period until cancelled; later where the API asks to slow down."""
    while True:
        account = await reader.read()
        sink(AccountRead(clock.now(), account))
        await sleep(max(period, account.wait or 0.0))
