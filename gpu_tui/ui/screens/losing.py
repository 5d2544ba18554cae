"""A list of what somebody is about to take upon themselves, and a sentence to type under it.

Never bound to a key, and never the button that has the focus. The sentence counts only once the end of
the list was in sight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.containers import Horizontal
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Button

from gpu_tui.core.clock import Clock
from gpu_tui.core.speech import say
from gpu_tui.ui.keys import Key
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.screens.card import Card
from gpu_tui.ui.text.marks import line, wrap
from gpu_tui.ui.widgets.careful import CarefulButton
from gpu_tui.ui.widgets.paint import Block
from gpu_tui.ui.widgets.phrase import PhraseField
from gpu_tui.ui.widgets.rows import Rows

LEAST = (50, 18)  # cells: below it the nine rungs and the question, or a list and its, do not fit


def small(size: Size) -> bool:
    """Too small to decide anything in; before the first layout nothing is known."""
    return size.width > 0 and (size.width < LEAST[0] or size.height < LEAST[1])


class LosingScreen(Card):
    """Dismissed with what was typed, or None."""

    AUTO_FOCUS = "#keep"
    QUIET = True
    CONTEXTS = ("list", "overlay")
    KEEP: ClassVar[str] = "Go back"
    LOSE: ClassVar[str] = "Do it"

    def __init__(self, moment: Moment, sentence: str, clock: Clock) -> None:
        super().__init__(moment)
        self._sentence = sentence
        self._seen = False
        self._made = 0  # the width that the lines were made for
        self._list = Rows(id="lost")
        self._question = Block(id="question")
        self._phrase = PhraseField(clock, id="phrase")
        self._confirm = CarefulButton(say(self.LOSE), clock, id="confirm", disabled=True)

    def lines(self, width: int) -> Sequence[Text]:
        """Every line of the list, none left out."""
        raise NotImplementedError

    def asks(self) -> str:
        """The words before the sentence."""
        raise NotImplementedError

    def content(self) -> Iterable[Widget]:
        """The list, the sentence, the way back."""
        self._list.can_focus = False  # it scrolls wherever the focus is
        yield self._list
        yield self._question
        yield self._phrase
        with Horizontal(id="buttons"):
            yield Button(say(self.KEEP), id="keep", compact=True)
            yield self._confirm

    def on_mount(self) -> None:
        """The sentence to type."""
        self._phrase.expect(self._sentence)

    def paint(self, moment: Moment) -> None:
        """The list as far as it is scrolled, and what is still below."""
        rows = self._list
        width = rows.size.width
        if self._made != width:  # what would be lost stands still, and may be very many lines
            self._made = width
            rows.put(self.lines(width))
        self._ask()

    def _ask(self) -> None:
        width, (_, below) = self._list.size.width, self._list.hidden
        shown = bool(self._list.lines and self._list.size.height)
        self._seen = self._seen or (shown and not below)
        said = [*wrap(self.asks(), width, "text"), *wrap(self._sentence, width, "danger")]
        if below:
            words = say("▼ {below} more line{s}", below=below, s="s" if below != 1 else "")
            said.insert(0, line((words, "level-watch"), (say("  ↓ and page down scroll"), "muted")))
        self._question.put(said)
        self._confirm.disabled = not (self._phrase.complete and self._seen)

    def footer_keys(self) -> list[Key]:
        """Nothing is opened here."""
        return [key for key in super().footer_keys() if key.action != "choose"]

    def on_resize(self) -> None:
        """Lines are made for one width; nothing is given up in a window too small to read in."""
        if not self._left_if_small():
            super().on_resize()

    @on(events.ScreenResume)
    def _left_if_small(self) -> bool:
        if not self.on_top or not small(self.size):
            return False
        self.dismiss(None)
        return True

    def on_key(self, event: events.Key) -> None:
        """The list scrolls wherever the focus is, also while the sentence is typed."""
        if self._list.take(event.key):
            self._ask()

    @on(PhraseField.Changed)
    def _changed(self) -> None:
        self._ask()

    @on(PhraseField.Submitted)
    @on(Button.Pressed, "#confirm")
    def _lose(self) -> None:
        if self._phrase.complete and self._seen:
            self.dismiss(self._phrase.typed)
        elif self._phrase.complete:
            self._phrase.clear(say("read the list to its end first"))

    @on(Button.Pressed, "#keep")
    def _keep(self) -> None:
        self.dismiss(None)
