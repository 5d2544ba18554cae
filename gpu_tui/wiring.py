"""The composition root: the one place that names concrete classes of more than one room.

`open_fleet` opens clock, transport, store, collectors, providers and the teardown port in one
`async with`, and owns every task; the screen and the commands only read and ask.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gpu_tui import settings
from gpu_tui.collect.provider_watch import watch_provider
from gpu_tui.collect.supervisor import Supervisor
from gpu_tui.core.clock import Clock
from gpu_tui.core.events import Event, LogArrived, LogOpened, Noted
from gpu_tui.core.fleet import Fleet, Instance
from gpu_tui.core.metrics import (
    CPU,
    FILES,
    GPUS,
    HOST,
    MEMORY,
    MOUNTS,
    PROCESSES,
    ROSTER,
)
from gpu_tui.core.ports import FleetControl, Prompter
from gpu_tui.core.profile import Profile
from gpu_tui.parse.log_reader import warm_up
from gpu_tui.providers.base import Provider
from gpu_tui.providers.registry import provider_for
from gpu_tui.recording.player import Player
from gpu_tui.recording.tape import TapeWriter
from gpu_tui.resources import load_profiles, themes_dir
from gpu_tui.state.history import SqliteHistory
from gpu_tui.state.store import Store
from gpu_tui.state.views import FleetView, InstanceView
from gpu_tui.teardown.runner import Runner
from gpu_tui.transport.record import RecordingTransport
from gpu_tui.transport.ssh import SshTransport
from gpu_tui.transport.tty import TtyPrompter

R = TypeVar("R")

RELOAD_SECONDS = 2.0
CHECK_LIMIT = 30.0
LOOK_SECONDS = 0.1
QUIET_SECONDS = 0.6  # no history line for this long: the backfill of the logs is in


class NoTerminal(Exception):
    """There is no terminal to draw on."""

    next = "Run it in one, or read the fleet as text: gpu-tui check"


class SystemClock:
    """The machine's own clocks; the only ones that read real time."""

    def now(self) -> float:
        """Epoch seconds."""
        return time.clock_gettime(time.CLOCK_REALTIME)

    def boot(self) -> float:
        """Seconds since boot, suspend included where the kernel counts it."""
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


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


class Tap:
    """Passes events to the store, and to a recording; one reader may await the next one."""

    def __init__(self, store: Store, tape: TapeWriter | None = None) -> None:
        self._store = store
        self._tape = tape
        self._woken = asyncio.Event()
        self.backfill_at = 0.0

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, LogOpened) or (isinstance(event, LogArrived) and event.backfill):
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
) -> AsyncIterator[tuple[Room, Tap]]:
    """Watch a fleet for as long as the block lasts; a tape takes every byte and event of it."""
    clock = SystemClock()
    profiles = load_profiles()
    directory = state or settings.state_dir(os.environ)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with SqliteHistory(directory / "history.sqlite") as history:
        store = Store(fleet, profiles, history)
        tap = Tap(store, tape)
        transport = SshTransport(prompter)
        taped = RecordingTransport(transport, tape) if tape is not None else transport
        supervisor = Supervisor(fleet, taped, tap, clock)

        def provider_of(instance: Instance) -> Provider:
            return provider_for(instance, profiles, os.environ, clock)

        def view_of(name: str) -> InstanceView:
            return store.view(clock.now())[name]

        runner = Runner(
            view=view_of,
            connection=supervisor.connection,
            providers=provider_of,
            profiles=profiles,
            journal_dir=directory / "journal",
            clock=clock,
            read_only=read_only,
        )
        async with asyncio.TaskGroup() as tasks:
            running = [
                tasks.create_task(supervisor.run(), name="supervisor"),
                tasks.create_task(asyncio.to_thread(warm_up), name="warm-up"),
            ]
            watched: dict[Instance, asyncio.Task[None]] = {}

            def watch_providers(fleet: Fleet) -> None:
                """One watcher per instance that an API knows; an edited row gets a new one."""
                for old in [old for old in watched if old not in fleet.instances]:
                    watched.pop(old).cancel()
                for instance in fleet.instances:
                    if instance.provider.id and instance not in watched:
                        watch = watch_provider(instance, provider_of(instance), tap, clock)
                        watched[instance] = tasks.create_task(watch)

            watch_providers(fleet)
            if reload_from is not None:

                async def take(edited: Fleet) -> None:
                    store.replace_fleet(edited)
                    if tape is not None:
                        tape.fleet(edited)
                    await supervisor.replace_fleet(edited)
                    watch_providers(edited)

                running.append(tasks.create_task(_reload(reload_from, profiles, take, tap, clock)))
            try:
                control = Control(supervisor, transport)
                yield Room(fleet, profiles, clock, store, supervisor, control, runner, tasks), tap
            finally:
                for task in (*running, *watched.values()):
                    task.cancel()
                await transport.close()


async def _reload(
    path: Path,
    profiles: Mapping[str, Profile],
    take: Callable[[Fleet], Awaitable[None]],
    tap: Tap,
    clock: Clock,
) -> None:
    """Pick up edits of the fleet file; a broken edit keeps the last good fleet and says so."""
    seen = _stamp(path)
    while True:
        await asyncio.sleep(RELOAD_SECONDS)
        stamp = _stamp(path)
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


def settled(view: InstanceView) -> bool:
    """True once everything that can be known of an instance at first sight is in."""
    if view.provider.state in ("stopped", "gone"):
        return True
    if view.link.state == "connecting":
        return False
    if not view.link.live:
        asked = view.provider.read_at is not None or view.provider.error is not None
        return asked or not view.instance.provider.id
    wanted = [GPUS.name, MEMORY.name, CPU.name, MOUNTS.name, HOST.name, PROCESSES.name, FILES.name]
    queue = view.instance.queue
    if queue.file:
        wanted.append(ROSTER.name)
    answered = all(view.tracks.get(name) is not None for name in wanted)
    opened = {log.source.path for log in view.logs}
    return answered and not view.settling and (queue.log is None or queue.log in opened)


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
        deadline = Deadline(room.clock, limit, prompter)
        while (left := deadline.left()) > 0:
            view = room.store.view(room.clock.now())
            quiet = room.clock.now() - tap.backfill_at >= QUIET_SECONDS
            if quiet and all(settled(instance) for instance in view.instances):
                return view
            await tap.next(min(left, QUIET_SECONDS))
        return room.store.view(room.clock.now())


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


def calm_collector() -> None:
    """Let Python's garbage collector stop the loop less often and for less.

    What is there after the imports is never garbage; the events that come and go have no cycles.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def run(work: Coroutine[object, object, R]) -> R:
    """Run a whole command; what went wrong in one of its tasks is raised as itself."""
    calm_collector()
    try:
        return asyncio.run(work)
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from group


def run_cockpit(
    fleet: Fleet,
    *,
    read_only: bool = False,
    theme: str | None = None,
    badge: str | None = None,
    tour: bool = False,
    reload_from: Path | None = None,
    state: Path | None = None,
    record_to: Path | None = None,
) -> int:
    """Open the cockpit and return its exit code. Raises NoTerminal where there is none."""
    _need_terminal()
    config = settings.load_config(os.environ)
    # Imported here: `check` and `triage` must not pay for the screen.
    from gpu_tui.ui.app import CockpitApp
    from gpu_tui.ui.prompter import ScreenPrompter
    from gpu_tui.ui.theme import load_themes

    async def cockpit() -> int:
        with _tape(record_to, fleet) as tape:
            return await opened(tape)

    async def opened(tape: TapeWriter | None) -> int:
        prompter = ScreenPrompter()
        async with open_fleet(
            fleet,
            read_only=read_only,
            reload_from=reload_from,
            state=state,
            tape=tape,
            prompter=prompter,
        ) as (room, _):
            app = CockpitApp(
                room.store,
                room.clock,
                control=room.control,
                teardown=room.runner,
                profiles=room.profiles,
                themes=load_themes(themes_dir()),
                theme=theme or config.theme or "night",
                keymap=config.keys,
                read_only=read_only,
                badge=badge,
                tour=tour,
                prompter=prompter,
            )
            await app.run_async()
            return app.return_code or 0

    return run(cockpit())


def run_replay(path: Path, *, theme: str | None = None, start: float = 0.0) -> int:
    """Open the cockpit on a recording. Raises TapeError where it is none, NoTerminal without one."""
    _need_terminal()
    config = settings.load_config(os.environ)
    from gpu_tui.ui.app import CockpitApp
    from gpu_tui.ui.theme import load_themes

    async def cockpit() -> int:
        profiles = load_profiles()
        player = Player(path, profiles, SystemClock())
        player.skip(start)
        async with asyncio.TaskGroup() as tasks:
            playing = tasks.create_task(player.run(), name="replay")
            app = CockpitApp(
                player,
                player,
                control=None,
                teardown=None,
                profiles=profiles,
                themes=load_themes(themes_dir()),
                theme=theme or config.theme or "night",
                keymap=config.keys,
                read_only=True,
                playback=player,
            )
            await app.run_async()
            playing.cancel()
        return app.return_code or 0

    return run(cockpit())


def run_record(
    fleet: Fleet, path: Path, *, seconds: float | None = None, reload_from: Path | None = None
) -> None:
    """Record a fleet into a new file, without a screen, until told to stop or for `seconds`."""

    async def record() -> None:
        told = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, told.set)
        with _tape(path, fleet) as tape:
            async with open_fleet(fleet, read_only=True, reload_from=reload_from, tape=tape):
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await told.wait()

    run(record())


@contextmanager
def _tape(path: Path | None, fleet: Fleet) -> Iterator[TapeWriter | None]:
    """The tape for a recording; what is known to be secret never gets onto it."""
    if path is None:
        yield None
        return
    names = [instance.provider.key_env for instance in fleet.instances]
    secrets = [value for name in names if name and (value := os.environ.get(name))]
    with TapeWriter(path, fleet, SystemClock(), secrets=secrets) as tape:
        yield tape


def _need_terminal() -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb":
        raise NoTerminal("the cockpit needs a terminal, and this is none")
