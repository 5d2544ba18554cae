"""Everything that is open while a fleet is watched."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_tui import settings, user_rules
from gpu_tui.collect.provider_watch import ProviderWatch
from gpu_tui.collect.supervisor import Supervisor
from gpu_tui.core.clock import Clock
from gpu_tui.core.events import Event, LogArrived, LogFailed, LogOpened, Noted
from gpu_tui.core.fleet import Fleet, Instance
from gpu_tui.core.logs import LogSource
from gpu_tui.core.profile import Profile
from gpu_tui.parse.log_reader import warm_up
from gpu_tui.providers.base import Means
from gpu_tui.providers.registry import account_readers, provider_for
from gpu_tui.state.store import Store
from gpu_tui.teardown.ends import EndWatch
from gpu_tui.teardown.runner import Runner
from gpu_tui.transport.base import Transport
from gpu_tui.transport.local import HereOrThere
from gpu_tui.transport.ssh import SshTransport
from gpu_tui.wiring.kept import Kept, open_kept
from gpu_tui.wiring.programs import here, on_box
from gpu_tui.wiring.secret import secrets_held

if TYPE_CHECKING:
    from gpu_tui.core.log_range import LogAsk, LogHits, LogPart, Term
    from gpu_tui.core.ports import FleetControl, Prompter
    from gpu_tui.providers.base import AccountReader, Provider
    from gpu_tui.recording.tape import TapeWriter
    from gpu_tui.state.views import InstanceView

RELOAD_SECONDS = 2.0
LOOK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Room:
    """Everything that is open while a fleet is watched."""

    fleet: Fleet
    profiles: Mapping[str, Profile]
    clock: Clock
    store: Store
    supervisor: Supervisor
    control: FleetControl
    runner: Runner
    watch: ProviderWatch
    ends: EndWatch
    tasks: asyncio.TaskGroup


class Control:
    """What the screen may ask of the collectors; a reconnect by hand may ask the person again."""

    def __init__(self, supervisor: Supervisor, transport: SshTransport) -> None:
        self._supervisor = supervisor
        self._transport = transport

    def reconnect(self, instance: str) -> None:
        """Try this box again now, and ask again for what was refused."""
        self._transport.ask_again(instance)
        self._supervisor.reconnect(instance)

    def follow_cell(self, instance: str, cell: str | None) -> None:
        """Tail this cell's log."""
        self._supervisor.follow_cell(instance, cell)

    async def read_log(self, instance: str, source: LogSource, ask: LogAsk) -> LogPart:
        """Read a stretch of one log."""
        return await self._supervisor.read_log(instance, source, ask)

    async def search_log(self, instance: str, source: LogSource, terms: Sequence[Term]) -> LogHits:
        """Search the whole of one log, on the box."""
        return await self._supervisor.search_log(instance, source, terms)


class Tap:
    """Passes events to the store, and to a recording; one reader may await the next one."""

    def __init__(self, store: Store, tape: TapeWriter | None = None) -> None:
        self._store = store
        self._tape = tape
        self._woken = asyncio.Event()
        self.backfill_at = 0.0

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, LogOpened | LogFailed) or (
            isinstance(event, LogArrived) and event.backfill
        ):
            self.backfill_at = event.at
        self._store.apply(event)
        if self._tape is not None:
            self._tape.event(event)
        self._woken.set()

    async def next(self, limit: float) -> None:
        """Return after the next event, or after `limit` seconds; never more often than it is worth a look."""
        await asyncio.sleep(min(limit, LOOK_SECONDS))
        try:
            async with asyncio.timeout(limit):
                await self._woken.wait()
        except TimeoutError:
            return
        self._woken.clear()


@asynccontextmanager
async def open_fleet(
    fleet: Fleet,
    *,
    read_only: bool = False,
    state: Path | None = None,
    reload_from: Path | None = None,
    tape: TapeWriter | None = None,
    prompter: Prompter | None = None,
    kept: Kept | None = None,
) -> AsyncIterator[tuple[Room, Tap]]:
    """Watch a fleet for as long as the block lasts; a tape takes every byte and event of it.

    `kept` is what was opened of it before, else it is opened here.
    """
    with ExitStack() as stack:
        kept = kept or stack.enter_context(open_kept(fleet, state))
        clock, shelf, directory = kept.clock, kept.shelf, kept.directory
        profiles, config, store = shelf.profiles, kept.config, kept.store
        tap = Tap(store, tape)
        transport = SshTransport(prompter)
        ways: Transport = HereOrThere(transport)
        if tape is not None:
            from gpu_tui.transport.record import RecordingTransport

            ways = RecordingTransport(ways, tape)
        # In a thread, and before the first log line: compiling many rules would block the event loop.
        own_rules = await asyncio.to_thread(user_rules.complaints)
        for complaint in (*shelf.complaints, *own_rules):
            tap(Noted(None, clock.now(), complaint))
        supervisor = Supervisor(fleet, ways, tap, clock, before=store.runs_before)

        def provider_of(instance: Instance) -> Provider:
            name = instance.name
            box = on_box(lambda: supervisor.connection(name), name)
            return provider_for(instance, profiles, Means(os.environ, clock, box, here))

        def readers_of(fleet: Fleet) -> tuple[AccountReader, ...]:
            return account_readers(fleet, Means(os.environ, clock), config.accounts)

        def view_of(name: str) -> InstanceView:
            return store.view(clock.now())[name]

        runner = Runner(
            view=view_of,
            connection=supervisor.connection,
            providers=provider_of,
            profiles=profiles,
            journal_dir=directory / "journal",
            clock=clock,
            read_only=read_only or settings.must_not_act(os.environ),
            sink=tap,
            fleet=lambda: store.fleet.instances,
        )
        ends = EndWatch(runner.journal, lambda: store.fleet.instances, provider_of, tap, clock)
        runner.ended = ends.tell
        async with asyncio.TaskGroup() as tasks:
            running = [
                tasks.create_task(_report_slow_patterns(tap, clock), name="triage-rules"),
                tasks.create_task(supervisor.run(), name="supervisor"),
                tasks.create_task(ends.run(), name="teardown-ends"),
            ]
            watch = ProviderWatch(tasks, provider_of, readers_of, tap, clock)
            watch.follow(fleet)
            if reload_from is not None:

                async def take(edited: Fleet) -> None:
                    store.replace_fleet(edited)
                    if tape is not None:
                        tape.fleet(edited, secrets_held(edited))
                    await supervisor.replace_fleet(edited)
                    watch.follow(edited)

                running.append(tasks.create_task(_reload(reload_from, profiles, take, tap, clock)))
            try:
                control = Control(supervisor, transport)
                yield (
                    Room(
                        fleet,
                        profiles,
                        clock,
                        store,
                        supervisor,
                        control,
                        runner,
                        watch,
                        ends,
                        tasks,
                    ),
                    tap,
                )
            finally:
                watch.close()
                for task in running:
                    task.cancel()
                await transport.close()


async def _report_slow_patterns(tap: Tap, clock: Clock) -> None:
    """Load the triage rules before the first line, then note each of the user's patterns that is disabled as slow."""
    await asyncio.to_thread(warm_up)
    slow_patterns = (await asyncio.to_thread(user_rules.load)).slow_patterns
    noted = 0
    while True:
        for sentence in slow_patterns[noted:]:
            tap(Noted(None, clock.now(), sentence))
            noted += 1
        await asyncio.sleep(RELOAD_SECONDS)


async def _reload(
    path: Path,
    profiles: Mapping[str, Profile],
    take: Callable[[Fleet], Awaitable[None]],
    tap: Tap,
    clock: Clock,
) -> None:
    """Pick up edits of the fleet file; a broken edit keeps the last good fleet and says so.

    The file may lie in a home on a mount that dies: nobody but this task waits for it.
    """
    seen = _stamp(path)
    while True:
        await asyncio.sleep(RELOAD_SECONDS)
        stamp = await asyncio.to_thread(_stamp, path)
        if stamp == seen or stamp is None:
            continue
        seen = stamp
        try:
            fleet = await asyncio.to_thread(settings.load_fleet, path, profiles)
        except settings.FleetError as error:
            text = f"{path.name} has an error, the last good fleet stays: {error}"
            tap(Noted(None, clock.now(), text))
            continue
        await take(fleet)
        tap(Noted(None, clock.now(), f"{path.name} was read again"))


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size
