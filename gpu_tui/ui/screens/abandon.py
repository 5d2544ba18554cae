"""Giving data up: every path that will be lost, and a sentence to type. Never bound to a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text

from gpu_tui.core.clock import Clock
from gpu_tui.core.gate import GateView
from gpu_tui.core.speech import say
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.screens.losing import LosingScreen
from gpu_tui.ui.text import units
from gpu_tui.ui.text.marks import line, wrap


class AbandonScreen(LosingScreen):
    """Dismissed with what was typed, or None."""

    KEEP: ClassVar[str] = "Keep the data"
    LOSE: ClassVar[str] = "Abandon"

    def __init__(self, moment: Moment, gate: GateView, clock: Clock) -> None:
        super().__init__(moment, gate.abandon_phrase or "", clock)
        self._gate = gate

    def title_words(self) -> str:
        """What this is."""
        return say("Abandon data on {instance}", instance=self._gate.instance)

    def asks(self) -> str:
        """The words before the sentence."""
        return say("To lose them, type")

    def lines(self, width: int) -> Sequence[Text]:
        """Every path, none left out."""
        paths = self._gate.lost_paths
        rows = [
            line(
                (
                    say("{paths} will be lost for good:", paths=units.counted(len(paths), "path")),
                    "danger",
                )
            )
        ]
        for path in paths:
            rows += wrap(path, width, "strong", indent=2)
        return rows
