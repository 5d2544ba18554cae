"""The palette: every action of the key table that works from where it was opened, by name and key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from textual.app import App, SystemCommand
from textual.screen import Screen

from gpu_tui.core.speech import say
from gpu_tui.ui.keys import keys_of, shown
from gpu_tui.ui.layout import PANES
from gpu_tui.ui.panes.pane import Pane
from gpu_tui.ui.screens.board import Board


def commands(
    app: App[Any], board: Board, screen: Screen[Any], remapped: Mapping[str, str]
) -> Iterable[SystemCommand]:
    """What belongs to a pane is there from every pane, says which one, and brings it in front."""
    on_top = screen is board
    for key in keys_of(*getattr(screen, "CONTEXTS", ()), *(PANES if on_top else ())):
        if key.context in ("list", "overlay"):
            continue  # moving and closing
        if key.dangerous and on_top and board.READ_ONLY:
            continue
        if key.asks and "replay" in board.CONTEXTS:
            continue
        pane = board.pane(key.context) if key.context in PANES else None
        owner = next(
            (one for one in _owners(pane or screen) if hasattr(one, f"action_{key.action}")), None
        )
        if owner is None:
            continue
        title = say(key.label) if pane is None else f"{say(pane.TITLE)}: {say(key.label)}"
        what = f"{say(key.help)}  ({shown(key, remapped)})"
        yield SystemCommand(title, what, _runner(app, board, key.call, owner, pane))


def _runner(
    app: App[Any], board: Board, call: str, owner: Any, pane: Pane | None
) -> Callable[[], Any]:
    async def run() -> None:
        if pane is not None:
            board.bring(pane.NAME)
        await app.run_action(call, owner)

    return run


def _owners(screen: Screen[Any] | Pane) -> Iterable[Any]:
    """Who may own an action there: itself, and what is focused in it."""
    yield screen
    if isinstance(screen, Screen):
        if screen.focused is not None:
            yield screen.focused
    else:
        yield from screen.query("Rows, LogView")
