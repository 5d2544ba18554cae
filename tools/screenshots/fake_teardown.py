"""A teardown that shows given views, for pictures and for tests of its screen. It calls no provider."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence

from gpu_tui.core.gate import GateView
from gpu_tui.core.ladder import Way
from gpu_tui.core.profile import Verb


class ScriptedLadder:
    """Shows its views in order, then waits; remembers what the screen asked of it."""

    def __init__(self, views: Iterable[GateView]) -> None:
        self._queue: asyncio.Queue[GateView] = asyncio.Queue()
        for view in views:
            self._queue.put_nowait(view)
        self.asked: list[tuple[str, str]] = []

    def show(self, view: GateView) -> None:
        """One more view."""
        self._queue.put_nowait(view)

    async def views(self) -> AsyncIterator[GateView]:
        """The ladder each time it changes."""
        while True:
            yield await self._queue.get()

    async def accept(self) -> None:
        """Remembered."""
        self.asked.append(("accept", ""))

    async def confirm(self, typed: str) -> None:
        """Remembered."""
        self.asked.append(("confirm", typed))

    async def abandon(self, typed: str) -> None:
        """Remembered."""
        self.asked.append(("abandon", typed))

    async def override(self, typed: str) -> None:
        """Remembered."""
        self.asked.append(("override", typed))

    async def acknowledge(self, resource_id: str, typed: str) -> None:
        """Remembered."""
        self.asked.append((f"acknowledge {resource_id}", typed))

    async def relock(self, reason: str) -> None:
        """Remembered."""
        self.asked.append(("relock", reason))

    async def close(self) -> None:
        """Remembered."""
        self.asked.append(("close", ""))


class ScriptedTeardown:
    """Opens one scripted ladder, whatever is asked."""

    def __init__(self, verbs: Sequence[Verb], ladder: ScriptedLadder) -> None:
        self._verbs = verbs
        self.ways: dict[str, Way] = {}
        self.ladder = ladder
        self.opened: list[tuple[str, str]] = []

    def verbs(self, instance: str) -> Sequence[Verb]:
        """The given verbs."""
        return self._verbs

    def look(self, instance: str) -> None:
        """Nothing is to be asked."""

    def way(self, instance: str, verb: Verb) -> Way:
        """As a test has it, else as its row says."""
        return self.ways.get(verb.key, Way(by_hand=verb.via == "console"))

    def open(self, instance: str, verb: str) -> ScriptedLadder:
        """The given ladder."""
        self.opened.append((instance, verb))
        return self.ladder
