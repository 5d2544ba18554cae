"""The time line: every finding of every box and cell by time, in one list; enter opens its log there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.widget import Widget

from gpu_tui.ui.keys import bindings
from gpu_tui.ui.panes.pane import Moment, nothing_matches
from gpu_tui.ui.screens.filtered import FilteredCard
from gpu_tui.ui.text.calm import no_findings
from gpu_tui.ui.text.marks import line, more_below
from gpu_tui.ui.text.timeline import by_time, dated, day_of, event_row, lanes, summary, words_of
from gpu_tui.ui.widgets.near import NearCursor
from gpu_tui.ui.widgets.paint import Block
from gpu_tui.ui.widgets.rows import Rows

LANES_FROM = 18  # rows of the card from which on lanes have room


class TimelineScreen(FilteredCard):
    """Dismissed with the id of the finding to go to. Reads only."""

    TITLE_WORDS = "Time line · all findings of the fleet"
    CONTEXTS = ("timeline", "overlay")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("timeline")]

    def __init__(self, moment: Moment) -> None:
        super().__init__(moment)
        self._lanes = Block(id="timeline-lanes")
        self._sums = Block(id="timeline-sums")
        self._list = Rows(id="timeline-rows")
        self._near = NearCursor()

    def content(self) -> Iterable[Widget]:
        """Lanes, sums, the list, the filter."""
        yield self._lanes
        yield self._sums
        yield self._list
        yield from self.filter_widgets()

    def listed(self) -> Widget:
        """The findings."""
        return self._list

    def on_mount(self) -> None:
        """The keys are for the list."""
        super().on_mount()
        self.set_focus(self._list)

    def paint(self, moment: Moment) -> None:
        """Newest first."""
        now, width, zone = moment.fleet.taken_at, self._list.size.width, moment.zone
        found = by_time(moment.fleet.findings)
        kept = [one for one in found if not self.fits or self.fits.keeps(words_of(one))]
        keys = [one.id for one in kept]
        here = self._list.heir(keys)
        chosen = next((one for one in kept if one.id == here), None)
        high = self.size.height >= LANES_FROM
        self._lanes.put([*lanes(kept, now, width, zone, chosen), line("")] if high and kept else [])
        self._sums.put([summary(kept, len(found), width) if found else line("")])
        if kept:
            days, today = dated(kept, now, zone), day_of(now, zone)
            names = [view.name for view in moment.fleet.instances]
            rows = self._near.lines(
                keys,
                here,
                lambda n: (kept[n], today, width, days),
                lambda n: event_row(kept[n], now, width, zone, names, with_days=days),
            )
            self._list.put(rows, keys)
        elif found:
            self._list.put(nothing_matches(self.fits.wanted, width))
        else:
            self._list.put(no_findings(moment.fleet, width))
        self.edge(more_below(self._list.hidden))

    @on(Rows.Moved, "#timeline-rows")
    def _moved(self) -> None:
        self.paint(self.moment)

    @on(Rows.Chosen, "#timeline-rows")
    def _chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        self.dismiss(event.key)
