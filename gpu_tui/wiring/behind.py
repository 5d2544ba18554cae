"""What comes after the first paint: the boxes are asked, and the screen learns through whom it may act.

Loading the programs that ask takes longer than painting, and a person looks at the screen meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_tui.core.fleet import Fleet
from gpu_tui.core.log_range import LogAsk, LogHits, LogPart, LogUnread, Term
from gpu_tui.core.logs import LogSource
from gpu_tui.core.ports import FleetControl, Prompter, TeardownPort
from gpu_tui.state.news import Bulletin
from gpu_tui.state.views import FleetView
from gpu_tui.wiring.kept import Kept
from gpu_tui.wiring.process import end_loading

if TYPE_CHECKING:  # loaded after the first paint
    from gpu_tui.alerts.desk import Desk
    from gpu_tui.recording.tape import TapeWriter

ASKING = ("gpu_tui.wiring.fleet", "gpu_tui.wiring.alerts")
SCREENS = tuple(  # each is loaded with the key that leads to it, and no key should wait for that
    f"gpu_tui.ui.screens.{name}"
    for name in (
        "help", "findings", "chart", "profile", "sweep", "verbs", "teardown", "columns", "hits", "themes", "timeline",
        "prompt",
    )
)  # fmt: skip


class Later:
    """The collectors and the news desk, once they are there; until then nothing follows a log and nothing is new."""

    def __init__(self) -> None:
        self.control: FleetControl | None = None
        self.desk: Desk | None = None
        self.seen: FleetView | None = None  # the screen's last look

    def reconnect(self, instance: str) -> None:
        """Try this box again now; at the start every box is tried anyway."""
        if self.control is not None:
            self.control.reconnect(instance)

    def follow_cell(self, instance: str, cell: str | None) -> None:
        """Tail this cell's log."""
        if self.control is not None:
            self.control.follow_cell(instance, cell)

    async def read_log(self, instance: str, source: LogSource, ask: LogAsk) -> LogPart:
        """Read a stretch of one log. Raises LogUnread."""
        return await self._there().read_log(instance, source, ask)

    async def search_log(self, instance: str, source: LogSource, terms: Sequence[Term]) -> LogHits:
        """Search the whole of one log, on the box. Raises LogUnread."""
        return await self._there().search_log(instance, source, terms)

    def _there(self) -> FleetControl:
        if self.control is None:
            raise LogUnread("no box is connected yet")
        return self.control

    def take(self, view: FleetView) -> Sequence[Bulletin]:
        """What the desk has to say."""
        self.seen = view
        return self.desk.take(view) if self.desk is not None else ()


@asynccontextmanager
async def asking(
    fleet: Fleet,
    kept: Kept,
    later: Later,
    painted: asyncio.Event,
    learn: Callable[[TeardownPort], None],
    *,
    read_only: bool,
    reload_from: Path | None,
    tape: TapeWriter | None,
    prompter: Prompter,
    news: bool,
) -> AsyncIterator[None]:
    """Ask the boxes from the first paint on, for as long as the block lasts; `news` opens the desk too."""

    async def ask() -> None:
        await painted.wait()
        for name in ASKING:
            await asyncio.to_thread(import_module, name)
        from gpu_tui.wiring.alerts import open_desk
        from gpu_tui.wiring.fleet import open_fleet

        async with open_fleet(
            fleet, read_only=read_only, reload_from=reload_from, tape=tape, prompter=prompter, kept=kept
        ) as (room, tap):  # fmt: skip
            later.control = room.control
            learn(room.runner)
            for name in SCREENS:
                await asyncio.to_thread(import_module, name)
            end_loading()
            if not news:
                await asyncio.Event().wait()
            desk = open_desk(
                room, tap, kept.config.alerts, state=kept.directory, seen=lambda: later.seen
            )
            async with desk as later.desk:
                await asyncio.Event().wait()

    async with asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(ask(), name="asking")
        try:
            yield
        finally:
            asked.cancel()
