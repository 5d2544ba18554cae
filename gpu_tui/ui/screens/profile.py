"""Profile card: everything known of one platform."""

from __future__ import annotations

from rich.text import Text

from gpu_tui.core.profile import Profile
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.screens.card import Card
from gpu_tui.ui.text.card import card


class ProfileScreen(Card):
    """The facts, then the prose."""

    def __init__(self, moment: Moment, profile: Profile) -> None:
        super().__init__(moment)
        self._profile = profile
        self._made: tuple[int, list[Text]] = (0, [])

    def title_words(self) -> str:
        """The platform's name."""
        return f"Platform · {self._profile.title}"

    def paint(self, moment: Moment) -> None:
        """Made once per width; the facts do not change while they are read."""
        rows = self.rows
        if self._made[0] != rows.size.width:
            self._made = (rows.size.width, card(self._profile, rows.size.width))
        rows.put(self._made[1])
