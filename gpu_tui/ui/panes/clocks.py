"""Danger clocks: every deadline and running bill of the fleet, and what to know of this platform."""

from __future__ import annotations

from collections.abc import Iterable

from textual.widget import Widget

from gpu_tui.ui.panes.pane import Moment, Pane, more_below
from gpu_tui.ui.text.deadlines import clocks
from gpu_tui.ui.widgets.rows import Rows


class ClocksPane(Pane):
    """The clocks that no platform shows in one place."""

    NUMBER, NAME, TITLE = 2, "clocks", "Danger clocks"

    def __init__(self) -> None:
        super().__init__()
        self.rows = Rows(id="clock-rows")

    def content(self) -> Iterable[Widget]:
        """Lines."""
        yield self.rows

    def paint(self, moment: Moment) -> None:
        """All clocks, soonest first."""
        rows = self.rows
        rows.put(clocks(moment.fleet, moment.selected, rows.size.width))
        ticking = sum(clock.state != "armed" for clock in moment.fleet.clocks)
        self.entitle(f"{ticking} ticking" if ticking else "", more_below(rows.hidden))
