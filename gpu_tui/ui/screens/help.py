"""Help: the key table, whole, and searchable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Input

from gpu_tui.core.speech import say
from gpu_tui.ui.keymap import remapped
from gpu_tui.ui.keys import Key, bindings
from gpu_tui.ui.panes.pane import FilterBar, Moment
from gpu_tui.ui.screens.card import Card
from gpu_tui.ui.text.help import help_lines
from gpu_tui.ui.text.marks import more_below


class HelpScreen(Card):
    """All keys and all signs; `/` leaves only what one looks for."""

    TITLE_WORDS = "Help"
    CONTEXTS = ("help", "list", "overlay")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("help")]
    AUTO_FOCUS = "#card-rows"

    def __init__(
        self,
        moment: Moment,
        *,
        read_only: bool,
        replay: bool = False,
        contexts: Sequence[str] = (),
    ) -> None:
        super().__init__(moment)
        self._contexts = contexts  # none: all of the cockpit
        self._read_only = read_only
        self._replay = replay
        self._bar = FilterBar(
            say("a key, or what it does"), kept=self._keep, left=self.action_close
        )

    def content(self) -> Iterable[Widget]:
        """The lines, and where a search is typed."""
        yield self.rows
        yield self._bar

    def paint(self, moment: Moment) -> None:
        """Made from the one table."""
        self.rows.put(
            help_lines(
                self.rows.size.width,
                read_only=self._read_only,
                replay=self._replay,
                keymap=remapped(self.app),
                wanted=self._bar.value,
                contexts=self._contexts,
            )
        )
        self.edge(more_below(self.rows.hidden))

    def footer_keys(self) -> list[Key]:
        """Nothing is opened here."""
        return [key for key in super().footer_keys() if key.action != "choose"]

    def action_filter(self) -> None:
        """Type what one looks for."""
        self._bar.add_class("-open")
        self.set_focus(self._bar)

    def action_close(self) -> None:
        """Out of the search first, then out of the help."""
        if not self._bar.has_class("-open"):
            super().action_close()
            return
        self._bar.value = ""
        self._bar.remove_class("-open")
        self.set_focus(self.rows)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.rows.take("home")
        self.paint(self.moment)

    def _keep(self) -> None:
        if not self._bar.value:
            self.action_close()
        self.set_focus(self.rows)
