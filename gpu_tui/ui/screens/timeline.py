"""The time line: every finding of every box and cell, and the past events of this session, by time in one list; enter
opens the log at that place.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.widget import Widget

from gpu_tui.core.findings import BOUNDS
from gpu_tui.ui.keys import bindings
from gpu_tui.ui.panes.pane import Moment, nothing_matches
from gpu_tui.ui.screens.filtered import FilteredCard
from gpu_tui.ui.text.calm import no_findings
from gpu_tui.ui.text.marks import line, more_below
from gpu_tui.ui.text.timeline import dated, day_of, entries, event_row, lanes, summary, words_of
from gpu_tui.ui.widgets.near import NearCursor
from gpu_tui.ui.widgets.paint import Block
from gpu_tui.ui.widgets.rows import Rows

LANES_FROM = 18  # rows of the card from which on lanes have room


class TimelineScreen(FilteredCard):
    """Dismissed with the id of the finding to go to. Reads only."""

    TITLE_WORDS = "Time line · findings, link cuts, finished cells"
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
        found = entries(moment.fleet)
        rows = self.fits.select(found, lambda row: words_of(row[1]))
        keys = [key for key, _, _ in rows]
        kept = [one for _, one, _ in rows]
        now_so = [one for _, one, past in rows if past is None]
        here = self._list.heir(keys)
        chosen = next((one for key, one, _ in rows if key == here), None)
        high = self.size.height >= LANES_FROM
        self._lanes.put([*lanes(kept, now, width, zone, chosen), line("")] if high and kept else [])
        sums = summary(now_so, len(moment.fleet.findings), width, len(rows) - len(now_so))
        self._sums.put([sums if found else line("")])
        if kept:
            days, today = dated(kept, now, zone), day_of(now, zone)
            names = [view.name for view in moment.fleet.instances]
            bounds = any(one.basis in BOUNDS for one in kept)
            painted = self._near.lines(
                keys,
                here,
                lambda n: (rows[n], today, width, days, bounds),
                lambda n: event_row(
                    kept[n], now, width, zone, names,
                    with_days=days, with_bounds=bounds, past=rows[n][2],
                ),
            )  # fmt: skip
            self._list.put(painted, keys)
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
