"""Allowing what a safe load refused: every name and every file, and a sentence to type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text

from gpu_tui.core.clock import Clock
from gpu_tui.core.gate import GateView
from gpu_tui.core.speech import say
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.screens.losing import LosingScreen
from gpu_tui.ui.text.marks import line, wrap


class OverrideScreen(LosingScreen):
    """Dismissed with what was typed, or None."""

    KEEP: ClassVar[str] = "Go back"
    LOSE: ClassVar[str] = "Allow exactly this"

    def __init__(self, moment: Moment, gate: GateView, clock: Clock) -> None:
        super().__init__(moment, gate.override_phrase or "", clock)
        self._gate = gate

    def title_words(self) -> str:
        """What this is."""
        return say("Load all the same · {instance}", instance=self._gate.instance)

    def asks(self) -> str:
        """The words before the sentence."""
        return say("To allow exactly this, once, type")

    def lines(self, width: int) -> Sequence[Text]:
        """What it allows, line by line as the gate says it."""
        rows = [line((say("This loads what the safe load refused:"), "danger"))]
        for text in self._gate.override_lines:
            rows += wrap(text, width, "strong", indent=2)
        return rows
