"""Vitals: the selected box's cards, memory, CPU and disks."""

from __future__ import annotations

from collections.abc import Iterable

from textual.widget import Widget

from gpu_tui.ui.panes.pane import Moment, Pane, more_below
from gpu_tui.ui.text.marks import line
from gpu_tui.ui.text.vitals import vitals
from gpu_tui.ui.widgets.rows import Rows


class VitalsPane(Pane):
    """One instance in numbers."""

    NUMBER, NAME, TITLE = 3, "vitals", "Vitals"

    def __init__(self) -> None:
        super().__init__()
        self.rows = Rows(id="vital-rows")

    def content(self) -> Iterable[Widget]:
        """Lines."""
        yield self.rows

    def paint(self, moment: Moment) -> None:
        """The selected instance."""
        rows = self.rows
        view = moment.selected
        if view is None:
            rows.put([line(("no instance selected", "muted"))])
            return
        rows.put(vitals(view, rows.size.width, rows.size.height))
        self.entitle(view.name, more_below(rows.hidden))
