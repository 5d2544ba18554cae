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

    def content(self) -> Iterable[Widget]:
        """Lines."""
        yield Rows(id="vital-rows")

    def paint(self, moment: Moment) -> None:
        """The selected instance."""
        rows = self.query_one(Rows)
        view = moment.selected
        if view is None:
            rows.put([line(("no instance selected", "muted"))])
            return
        rows.put(vitals(view, rows.size.width, rows.size.height))
        self.entitle(view.name, more_below(rows.hidden))
