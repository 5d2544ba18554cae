"""Giving data up: every path that will be lost, and a sentence to type. Never bound to a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text

from gpu_tui.core import units
from gpu_tui.core.clock import Clock
from gpu_tui.core.gate import GateView
from gpu_tui.core.speech import counted, say
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.safe import safe
from gpu_tui.ui.screens.losing import LosingScreen
from gpu_tui.ui.text.marks import line, wrap

SIZE = 10  # cells of a size in front of its path


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
        """Every path, none left out, with its size where it is a file."""
        gate = self._gate
        sizes = gate.lost_sizes or (None,) * len(gate.lost_paths)
        known = [size for size in sizes if size is not None]
        number = len(sizes)
        words = counted(number, "file") if gate.lost_sizes else counted(number, "path")
        if known:
            least = "" if len(known) == len(sizes) else "≥"
            words = say("{files}, {size},", files=words, size=f"{least}{units.size(sum(known))}")
        rows = [line((say("{paths} will be lost for good:", paths=words), "danger"))]
        for at, path in enumerate(gate.lost_paths):
            size = sizes[at] if at < number else None
            lead = f"{units.size(size) if size is not None else '':>{SIZE}}  "
            if cell_len(shown := safe(path)) <= width - len(lead):
                rows.append(line((lead, "muted"), (shown, "strong")))
                continue
            first, *more = wrap(path, width, "strong", indent=len(lead)) or [line(" " * len(lead))]
            rows += [line((lead, "muted"), first[len(lead) :]), *more]
        return rows
