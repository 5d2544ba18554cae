"""Giving data up: every path that will be lost, and a sentence to type. Never bound to a key."""

from __future__ import annotations

from collections.abc import Iterable

from textual import on
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Button

from gpu_tui.core.clock import Clock
from gpu_tui.core.gate import GateView
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.screens.card import Card
from gpu_tui.ui.text.marks import line, wrap
from gpu_tui.ui.widgets.paint import OneLine
from gpu_tui.ui.widgets.phrase import PhraseField
from gpu_tui.ui.widgets.rows import Rows


class AbandonScreen(Card):
    """Dismissed with what was typed, or None."""

    AUTO_FOCUS = "#keep"
    QUIET = True

    def __init__(self, moment: Moment, gate: GateView, clock: Clock) -> None:
        super().__init__(moment)
        self._gate = gate
        self._lost = Rows(id="lost")
        self._question = OneLine(id="question")
        self._phrase = PhraseField(clock, id="phrase")
        self._confirm = Button("Abandon", id="confirm", compact=True, disabled=True)

    def title_words(self) -> str:
        """What this is."""
        return f"Abandon data on {self._gate.instance}"

    def content(self) -> Iterable[Widget]:
        """The list, the sentence, the way back."""
        yield self._lost
        yield self._question
        yield self._phrase
        with Horizontal(id="buttons"):
            yield Button("Keep the data", id="keep", compact=True)
            yield self._confirm

    def on_mount(self) -> None:
        """The sentence to type."""
        self._phrase.expect(self._gate.abandon_phrase or "")

    def paint(self, moment: Moment) -> None:
        """Every path, none left out."""
        rows = self._lost
        number = len(self._gate.lost_paths)
        lines = [
            line((f"{number} path{'s' if number != 1 else ''} will be lost for good:", "danger"))
        ]
        for path in self._gate.lost_paths:
            lines += wrap(path, rows.size.width, "strong", indent=2)
        rows.put(lines)
        question = line(
            ("To lose them, type ", "text"), (self._gate.abandon_phrase or "", "danger")
        )
        self._question.put(question)

    @on(PhraseField.Changed)
    def _changed(self) -> None:
        self._confirm.disabled = not self._phrase.complete

    @on(PhraseField.Submitted)
    @on(Button.Pressed, "#confirm")
    def _abandon(self) -> None:
        field = self._phrase
        if field.complete:
            self.dismiss(field.typed)

    @on(Button.Pressed, "#keep")
    def _keep(self) -> None:
        self.dismiss(None)
