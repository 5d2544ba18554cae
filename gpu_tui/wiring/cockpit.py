"""The cockpit, live or from a recording, and the recorder without a screen."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_tui import settings
from gpu_tui.core.fleet import Fleet
from gpu_tui.resources import load_profiles
from gpu_tui.wiring.behind import Later, asking
from gpu_tui.wiring.clock import SystemClock
from gpu_tui.wiring.hand import OwnPrograms, hand_of
from gpu_tui.wiring.kept import open_kept
from gpu_tui.wiring.looks import looks_of
from gpu_tui.wiring.process import begin_loading, end_loading, run

if TYPE_CHECKING:  # the cockpit loads them when it needs them
    from gpu_tui.recording.tape import TapeWriter


class NoTerminal(Exception):
    """There is no terminal to draw on; `next` is what there is instead."""

    def __init__(self, next: str) -> None:
        super().__init__("the cockpit needs a terminal, and this is none")
        self.next = next


def run_cockpit(
    fleet: Fleet,
    *,
    read_only: bool = False,
    theme: str | None = None,
    layout: str | None = None,
    badge: str | None = None,
    tour: bool = False,
    reload_from: Path | None = None,
    state: Path | None = None,
    record_to: Path | None = None,
) -> int:
    """Open the cockpit and return its exit code. Raises NoTerminal where there is none."""
    need_terminal("Run it in one, or read the fleet as text: gpu-tui check")
    begin_loading()
    config = settings.load_config(os.environ)
    read_only = read_only or settings.must_not_act(os.environ)
    # Imported here: `check` and `triage` must not pay for the screen.
    from gpu_tui.ui.app import CockpitApp
    from gpu_tui.ui.prompter import ScreenPrompter
    from gpu_tui.ui.terminal.desktop import desktop_forms

    looks = looks_of(config, os.environ, theme=theme, layout=layout, state=state)
    hand = hand_of(config, os.environ, state=state)
    news = badge != "demo"  # a simulated fleet wakes nobody

    async def cockpit() -> int:
        prompter, later = ScreenPrompter(), Later()
        with _tape(record_to, fleet) as tape, open_kept(fleet, state) as kept:
            app = CockpitApp(
                kept.store,
                kept.clock,
                control=later,
                teardown=None,
                profiles=kept.shelf.profiles,
                **looks,
                **hand,
                shells=OwnPrograms(lambda name: kept.store.view(kept.clock.now())[name]),
                read_only=read_only,
                badge=badge,
                tour=tour,
                prompter=prompter,
                news=later if news else None,
                bell=config.alerts.bell,
                desktop=desktop_forms(config.alerts.desktop, os.environ) if news else (),
            )
            async with asking(
                fleet,
                kept,
                later,
                app.painted,
                app.act_through,
                read_only=read_only,
                reload_from=reload_from,
                tape=tape,
                prompter=prompter,
                news=news,
            ):
                await app.run_async()
            return app.return_code or 0

    return run(cockpit())


def run_replay(
    path: Path,
    *,
    theme: str | None = None,
    layout: str | None = None,
    at: str = "start",
    speed: float = 1.0,
) -> int:
    """Open the cockpit on a recording. Raises TapeError where it is none, NoTerminal without one."""
    need_terminal("Run it in one: a recording is watched, and not printed")
    config = settings.load_config(os.environ)
    from gpu_tui.recording.player import Player
    from gpu_tui.ui.app import CockpitApp

    looks = looks_of(config, os.environ, theme=theme, layout=layout)
    hand = hand_of(config, os.environ)

    async def cockpit() -> int:
        profiles = load_profiles()
        player = Player(path, profiles, SystemClock())
        player.seek(at)
        player.speed = speed
        async with asyncio.TaskGroup() as tasks:
            playing = tasks.create_task(player.run(), name="replay")
            app = CockpitApp(
                player,
                player,
                control=None,
                teardown=None,
                profiles=profiles,
                **looks,
                **hand,
                read_only=True,
                playback=player,
            )
            end_loading()
            await app.run_async()
            playing.cancel()
        return app.return_code or 0

    return run(cockpit())


def run_record(
    fleet: Fleet, path: Path, *, seconds: float | None = None, reload_from: Path | None = None
) -> None:
    """Record a fleet into a new file, without a screen, until told to stop or for `seconds`."""
    from gpu_tui.wiring.fleet import open_fleet

    async def record() -> None:
        told = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, told.set)
        with _tape(path, fleet) as tape:
            async with open_fleet(fleet, read_only=True, reload_from=reload_from, tape=tape):
                end_loading()
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
    from gpu_tui.recording.tape import TapeWriter
    from gpu_tui.wiring.secret import secrets_held

    with TapeWriter(path, fleet, SystemClock(), secrets=secrets_held(fleet)) as tape:
        yield tape


def need_terminal(next: str) -> None:
    """Raise NoTerminal, which names what to do `next`, where nothing can be drawn."""
    if os.environ.get("TEXTUAL_DRIVER", "").endswith(":WebDriver"):
        return  # a page is the terminal (see browser)
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb":
        raise NoTerminal(next)
