"""A button for what matters: it takes no key and no click that came before a person could have meant it."""

from __future__ import annotations

from textual import events
from textual.widgets import Button

from gpu_tui.core.clock import Clock
from gpu_tui.ui.widgets.phrase import SETTLE, Tempo


class CarefulButton(Button):
    """Deaf for a moment after it appeared or got the focus, and to keys that no hand types so fast."""

    def __init__(self, label: str, clock: Clock, *, id: str, disabled: bool = False) -> None:
        super().__init__(label, id=id, disabled=disabled, compact=True)
        self._clock = clock
        self._appeared_at = self._focused_at = clock.boot()
        self._tempo = Tempo()

    def appear(self, there: bool) -> None:
        """Show it, or take it away."""
        if there and not self.display:
            self._appeared_at = self._clock.boot()
        if self.display is not there:
            self.display = there

    def label_once(self, label: str) -> None:
        """Another label; the same one is not drawn again."""
        if str(self.label) != label:
            self.label = label

    def on_focus(self) -> None:
        """Keys that follow at once were meant for elsewhere."""
        self._focused_at = self._clock.boot()

    def on_key(self, event: events.Key) -> None:
        """Drop what comes too early or too fast."""
        now = self._clock.boot()
        too_fast = self._tempo.too_fast(event, now)
        early = now - max(self._focused_at, self._appeared_at) < SETTLE
        if event.key in ("enter", "space") and (early or too_fast):
            event.stop()
            event.prevent_default()

    def on_click(self, event: events.Click) -> None:
        """Drop a click that was under way when the button appeared under it."""
        if self._clock.boot() - self._appeared_at < SETTLE:
            event.stop()
            event.prevent_default()
