"""Charts: the histories of one instance, with axes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import BindingType
from textual.widget import Widget

from gpu_tui.core import units
from gpu_tui.core.speech import say
from gpu_tui.ui.keys import bindings
from gpu_tui.ui.panes.pane import Moment, nobody
from gpu_tui.ui.plot import render_plot
from gpu_tui.ui.screens.card import Card
from gpu_tui.ui.text.histories import SHARES, place, title, unit
from gpu_tui.ui.text.marks import line, wrap

WHOLE = 0.9  # of the asked span is as good as all of it
SPANS: tuple[tuple[str, float | None], ...] = (
    ("last 10 min", 600.0),
    ("last hour", 3600.0),
    ("since start", None),
)


class ChartScreen(Card):
    """One history at a time; up and down for the others, left and right for the span."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("chart")]
    CONTEXTS = ("chart", "overlay")

    def __init__(self, moment: Moment) -> None:
        super().__init__(moment)
        self._span = 0
        self._series = ""  # by name: a new one, of the next cell say, must not take its place

    def content(self) -> Iterable[Widget]:
        """The chart is lines too; the keys move among charts, so it takes no focus."""
        self.rows.can_focus = False
        yield self.rows

    def title_words(self) -> str:
        """Whose histories."""
        view = self.moment.selected
        return say("Histories · {name}", name=view.name) if view else say("Histories")

    def _names(self) -> list[str]:
        """The histories that there are, what is looked at most first."""
        view = self.moment.selected
        return sorted(view.series, key=place) if view else []

    def paint(self, moment: Moment) -> None:
        """The chosen history over the chosen span."""
        rows = self.rows
        self.edge("")  # the box may be another one: it was taken out of the fleet file
        view = moment.selected
        names = self._names()
        if view is None or not names:
            nothing = say("nothing was recorded of this instance yet")
            words = nobody(moment.fleet) if view is None else nothing
            rows.put(wrap(words, rows.size.width, "muted"))
            return
        name = self._series = self._series if self._series in names else names[0]
        short, seconds = SPANS[self._span]
        word = short = say(short)
        points = view.series[name]
        if seconds is not None:
            points = tuple(p for p in points if p[0] >= moment.fleet.taken_at - seconds)
        chart = render_plot(
            points,
            rows.size.width,
            rows.size.height - 2,
            top=1.0 if name in SHARES else None,
            unit=unit(name),
        )
        span = moment.fleet.taken_at - points[0][0] if points else 0.0
        if seconds is not None and points and span < seconds * WHOLE:
            word = say("{word}, {span} of it recorded", word=word, span=units.spoken(span))
        which = say("   {series} of {names}", series=names.index(name) + 1, names=len(names))
        head, below = f"   {word}", [view.series_basis.get(name, "")]
        if cell_len(title(name) + head + which) > rows.size.width and word != short:
            head, below = "", [word, *below]
        first = line((title(name), "strong"), (head, "accent"), (which, "faint"))
        basis = line((" · ".join(filter(None, below)), "faint"))
        rows.put([first, basis, *(line(row) for row in chart.split("\n"))])

    def action_span(self, way: str) -> None:
        """A longer or shorter span."""
        self._span = max(0, min(len(SPANS) - 1, self._span + int(way)))
        self.show(self.moment)

    def action_series(self, way: str) -> None:
        """Another history."""
        names = self._names()
        if names:
            at = names.index(self._series) + int(way) if self._series in names else 0
            self._series = names[at % len(names)]
        self.show(self.moment)
