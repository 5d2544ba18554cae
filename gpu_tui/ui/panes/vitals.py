"""Vitals: the selected box's cards, memory, CPU and disks."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text
from textual.widget import Widget

from gpu_tui.core.speech import say
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.panes.pane import Moment, Pane, nobody
from gpu_tui.ui.plot import render_plot
from gpu_tui.ui.text.marks import line, more_below, wrap
from gpu_tui.ui.text.units import percent
from gpu_tui.ui.text.vitals import vitals
from gpu_tui.ui.widgets.rows import Rows

CHART_SECONDS = 600.0
CHART_LINES = 10  # fewer spare lines than this stay empty


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
            rows.put(wrap(nobody(moment.fleet), rows.size.width, "muted"))
            self.entitle()
            return
        lines = vitals(view, rows.size.width, rows.size.height)
        rows.put([*lines, *_chart(view, rows.size.width, rows.size.height - len(lines))])
        self.entitle(view.name, more_below(rows.hidden))


def _chart(view: InstanceView, width: int, spare: int) -> list[Text]:
    """Where the pane has room to spare, as when it is zoomed: the last minutes of the GPU, with axes."""
    points = [
        point for point in view.series.get("gpu", ()) if point[0] >= view.taken_at - CHART_SECONDS
    ]
    if spare < CHART_LINES or len(points) < 2:
        return []
    chart = render_plot(points, width, min(spare - 2, 16), top=1.0, unit=percent)
    title = line(
        (say("GPU utilisation, last 10 min"), "heading"), (say("   c: all histories"), "faint")
    )
    return [line(), title, *(line(row) for row in chart.split("\n"))]
