"""The line at the bottom: the keys that matter here, each of which can also be clicked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from textual import events
from textual.binding import ActiveBinding
from textual.screen import Screen

from gpu_tui.ui.keys import Key
from gpu_tui.ui.text.help import PlacedKey, footer, placed_keys
from gpu_tui.ui.widgets.paint import OneLine


class Footer(OneLine):
    """What a click does is what the key does, for whom it does it now."""

    def __init__(self) -> None:
        super().__init__(id="footer")
        self._keys: list[PlacedKey] = []

    def show(self, keys: Sequence[Key], width: int, keymap: Mapping[str, str]) -> None:
        """As many of `keys` as fit."""
        self._keys = placed_keys(keys, width, keymap)
        self.put(footer(self._keys))

    def on_click(self, event: events.Click) -> None:
        """Press what stands there."""
        event.stop()
        key = next((one.key for one in self._keys if event.x in one.cells), None)
        bound = bound_to(self.screen, key) if key is not None else None
        if bound is not None and bound.enabled:
            self.app.call_later(self.app.run_action, bound.binding.action, bound.node)


def bound_to(screen: Screen[Any], key: Key) -> ActiveBinding | None:
    """What the row of the key table does there; a row without a binding of its own names what a list does."""
    active = screen.active_bindings
    named = next((one for one in active.values() if one.binding.id == key.id), None)
    return named or active.get(key.key.partition(",")[0])
