"""The whole of what the cursor of another list is on, under a rule that says how much is out of sight."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from gpu_tui.ui.text.marks import more_below
from gpu_tui.ui.widgets.rows import Rows


class Detail(Rows):
    """Each thing begins at its first line; tab leads here, and the keys of a list scroll."""

    DEFAULT_CSS = """
    Detail { border-top: solid $border; border-title-color: $muted; border-title-align: right; }
    Detail:focus { border-top: solid $border-focus; border-title-color: $border-focus; }
    """

    _whose: str | None = None

    def about(self, key: str | None, lines: Sequence[Text]) -> None:
        """Show the lines of `key`."""
        another, self._whose = key != self._whose, key
        self.put(lines)
        if another:
            self.action_top()

    def _keep_in_sight(self) -> None:
        super()._keep_in_sight()
        hidden = more_below(self.hidden) if self.size.height else ""
        words = f"{hidden} · tab" if hidden and not self.has_focus else hidden
        if words != (self.border_title or ""):
            self.border_title = Text(words) if words else None

    def on_focus(self) -> None:
        """Who is here need not be told the way."""
        super().on_focus()
        self._keep_in_sight()

    def on_blur(self) -> None:
        """The way back here."""
        super().on_blur()
        self._keep_in_sight()
