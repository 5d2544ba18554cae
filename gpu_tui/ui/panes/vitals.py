"""Vitals: the selected box's cards, memory, CPU and disks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.text import Text
from textual.widget import Widget

from gpu_tui.core.speech import say
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.panes.pane import Moment, Pane
from gpu_tui.ui.plot import Point, render_plot
from gpu_tui.ui.text.histories import SHARES, place, title, unit
from gpu_tui.ui.text.marks import fit, line, more_below, wrap
from gpu_tui.ui.text.vitals import vitals
from gpu_tui.ui.widgets.rows import Rows

CHART_SECONDS = 600.0
CHART_LINES = 10  # fewer spare lines than this stay empty
TALL_CHART, MOST_LINES = (
    12,
    20,
)  # lines of a chart with its title: from which there are two rows, and its height
TWO_CHARTS, GAP = 150, 2  # cells from which two stand side by side, and those between them
MOST_CHARTS = 4


Draw = Callable[[str, Sequence[Point], int, int], Sequence[Text]]  # name, points, width, height


class VitalsPane(Pane):
    """One instance in numbers."""

    NUMBER, NAME, TITLE = 3, "vitals", "Vitals"
    SHOWS = "Here stand the cards, memory, CPU and disks of one box."

    def __init__(self) -> None:
        super().__init__()
        self.rows = Rows(id="vital-rows")
        self._drawn: dict[str, tuple[object, Sequence[Text]]] = {}  # by their histories

    def content(self) -> Iterable[Widget]:
        """Lines."""
        yield self.rows

    def paint(self, moment: Moment) -> None:
        """The selected instance."""
        rows = self.rows
        view = moment.selected
        if view is None:
            rows.put(wrap(self.nobody(moment.fleet), rows.size.width, "muted"))
            self.entitle()
            return
        lines = vitals(view, rows.size.width, rows.size.height)
        spare = rows.size.height - len(lines)
        rows.put([*lines, *_charts(view, rows.size.width, spare, self._draw)])
        self.entitle(view.name, more_below(rows.hidden))

    def _draw(self, name: str, points: Sequence[Point], width: int, height: int) -> Sequence[Text]:
        """A chart takes up to 10 ms: one of the same points is not drawn again."""
        of, (was, chart) = (points, width, height), self._drawn.get(name, (None, ()))
        if was != of:
            chart = _chart(name, points, width, height)
            if name not in self._drawn and len(self._drawn) >= MOST_CHARTS:
                self._drawn.clear()
            self._drawn[name] = of, chart
        return chart


def _charts(view: InstanceView, width: int, spare: int, draw: Draw) -> list[Text]:
    """Where the pane has room to spare, as when it is zoomed: the last minutes of what matters most, with axes."""
    if spare < CHART_LINES:
        return []
    since = view.taken_at - CHART_SECONDS
    cell = view.queue.running
    now = f"loss:{cell.name}" if cell is not None else None  # of the others nothing is new
    past = {
        name: [point for point in view.series[name] if point[0] >= since]
        for name in sorted(view.series, key=lambda name: (place(name)[0], name != now, name))
    }
    names = [name for name, points in past.items() if len(points) > 1]
    if not names:
        return []
    across = min(len(names), 2 if width >= TWO_CHARTS else 1)
    down = max(1, min((len(names) + across - 1) // across, 2, spare // TALL_CHART))
    wide, tall = (width - GAP * (across - 1)) // across, min(spare // down - 2, MOST_LINES)
    rows: list[Text] = []
    for first in range(0, across * down, across):
        charts = [draw(name, past[name], wide, tall) for name in names[first : first + across]]
        rows.append(line())
        rows += [
            line(*(fit(part, wide + GAP) for part in parts[:-1]), parts[-1])
            for parts in zip(*charts, strict=True)
        ]
    hint = line((say("   c: all histories"), "faint"))
    return [rows[0], line(rows[1], hint) if across == 1 else rows[1], *rows[2:]]


def _chart(name: str, points: Sequence[Point], width: int, height: int) -> list[Text]:
    top = 1.0 if name in SHARES else None
    chart = render_plot(points, width, height, top=top, unit=unit(name))
    words = say("{history}, last 10 min", history=title(name))
    drawn = [line(row) for row in chart.split("\n")[:height]]
    return [line((words, "heading")), *drawn, *[line()] * (height - len(drawn))]
