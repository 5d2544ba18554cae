"""Help: the key table, whole."""

from __future__ import annotations

from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.screens.card import Card
from gpu_tui.ui.text.help import help_lines


class HelpScreen(Card):
    """All keys and all signs."""

    TITLE_WORDS = "Help"

    def __init__(self, moment: Moment, *, read_only: bool, replay: bool = False) -> None:
        super().__init__(moment)
        self._read_only = read_only
        self._replay = replay

    def paint(self, moment: Moment) -> None:
        """Made from the one table."""
        width = self.rows.size.width
        self.rows.put(help_lines(width, read_only=self._read_only, replay=self._replay))
