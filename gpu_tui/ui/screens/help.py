"""Help: the key table, whole."""

from __future__ import annotations

from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.screens.card import Card
from gpu_tui.ui.text.help import help_lines


class HelpScreen(Card):
    """All keys and all signs."""

    TITLE_WORDS = "Help"

    def __init__(self, moment: Moment, *, read_only: bool) -> None:
        super().__init__(moment)
        self._read_only = read_only

    def paint(self, moment: Moment) -> None:
        """Made from the one table."""
        self.rows.put(help_lines(self.rows.size.width, read_only=self._read_only))
