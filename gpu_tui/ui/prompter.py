"""Brings the questions of logins to the screen: the Prompter that the cockpit is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.app import App

from gpu_tui.core.clock import Clock
from gpu_tui.core.prompts import Prompts
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.screens.card import Card

LOOK = 0.1  # seconds between two looks whether the screen is free


class ScreenPrompter:
    """Asks in the cockpit, once it runs and no ladder stands on it."""

    def __init__(self) -> None:
        self._app: App[None] | None = None
        self._clock: Clock | None = None
        self._moment: Callable[[], Moment] | None = None

    def attach(self, app: App[None], clock: Clock, moment: Callable[[], Moment]) -> None:
        """From now on questions come up on this app."""
        self._app, self._clock, self._moment = app, clock, moment

    async def ask(self, prompts: Prompts) -> tuple[str, ...] | None:
        """One question; cancelling takes it from the screen."""
        while not self._free():  # noqa: ASYNC110 - the screen stack sends no event
            await asyncio.sleep(LOOK)
        assert self._app is not None
        assert self._clock is not None
        assert self._moment is not None
        from gpu_tui.ui.screens.prompt import PromptScreen  # not before the first frame

        app, screen = self._app, PromptScreen(self._moment(), prompts, self._clock)
        closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def done(_: object) -> None:
            if not closed.done():
                closed.set_result(None)

        # On the app's own pump: this task knows nothing of the screen.
        app.call_later(app.push_screen, screen, done)
        try:
            await closed
        except asyncio.CancelledError:
            app.call_later(screen.take_away)
            raise
        return screen.answers

    def _free(self) -> bool:
        app = self._app
        if app is None or not app.is_running or not app.screen_stack:
            return False
        return not any(isinstance(one, Card) and one.QUIET for one in app.screen_stack)
