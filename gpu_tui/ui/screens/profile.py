"""Profile card: everything known of one platform, with what survives the verb that is chosen."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import BindingType

from gpu_tui.core.profile import Profile
from gpu_tui.core.speech import say
from gpu_tui.ui.keys import bindings
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.screens.card import Card
from gpu_tui.ui.text.card import card
from gpu_tui.ui.text.marks import more_below
from gpu_tui.ui.text.survival import choices


class ProfileScreen(Card):
    """The facts, then the prose. Arrows and digits choose the verb of the survival matrix."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("profile")]
    CONTEXTS = ("profile", "overlay")

    def __init__(self, moment: Moment, profile: Profile, variant: str | None = None) -> None:
        super().__init__(moment)
        self._profile = profile
        self._variant = variant
        self._chosen = 0
        self._made: tuple[int, int, list[Text]] = (0, 0, [])

    def title_words(self) -> str:
        """The platform's name."""
        return say("Platform · {title}", title=self._profile.title)

    def paint(self, moment: Moment) -> None:
        """Made once per width and verb; the facts do not change while they are read."""
        rows = self.rows
        width = rows.size.width
        if self._made[:2] != (width, self._chosen):
            today = datetime.fromtimestamp(moment.fleet.taken_at, UTC).date()
            lines = card(self._profile, width, self._chosen, variant=self._variant, today=today)
            self._made = (width, self._chosen, lines)
        rows.put(self._made[2])
        self.edge(more_below(rows.hidden))

    def action_verb(self, step: str) -> None:
        """The next verb, or the one before; around the end."""
        self._choose(self._chosen + int(step))

    def on_key(self, event: events.Key) -> None:
        """A digit names a verb by its number."""
        if event.character and event.character.isdecimal() and event.character != "0":
            number = int(event.character)
            if number <= self._count:
                event.stop()
                self._choose(number - 1)

    @property
    def _count(self) -> int:
        return len(choices(self._profile, self._variant))

    def _choose(self, number: int) -> None:
        self._chosen = number % max(1, self._count)
        self.show(self.moment)
