"""The time line: every finding of every box and cell by time, in one list; enter opens its log there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Input

from gpu_tui.core.speech import say
from gpu_tui.ui.keys import bindings
from gpu_tui.ui.panes.pane import FilterBar, Moment
from gpu_tui.ui.screens.card import Card
from gpu_tui.ui.text.filters import Filter, FilterError
from gpu_tui.ui.text.marks import line, wrap
from gpu_tui.ui.text.timeline import by_time, event_row, lanes, summary, words_of
from gpu_tui.ui.widgets.near import NearCursor
from gpu_tui.ui.widgets.paint import Block
from gpu_tui.ui.widgets.rows import Rows

LANES_FROM = 18  # rows of the card from which on lanes have room


class TimelineScreen(Card):
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
        self._fits = Filter()
        self._bar = FilterBar(placeholder=say("words, !without, /regex/"), select_on_focus=False)
        self._bar.cursor_blink = False
        self._wrong = Block(classes="wrong")
        self._wrong.display = False

    def content(self) -> Iterable[Widget]:
        """Lanes, sums, the list, the filter."""
        yield self._lanes
        yield self._sums
        yield self._list
        yield self._bar
        yield self._wrong

    def on_mount(self) -> None:
        """The keys are for the list."""
        super().on_mount()
        self.set_focus(self._list)

    def paint(self, moment: Moment) -> None:
        """Newest first."""
        now, width, zone = moment.fleet.taken_at, self._list.size.width, moment.zone
        found = by_time(moment.fleet.findings)
        kept = [one for one in found if self._fits.keeps(words_of(one))]
        keys = [one.id for one in kept]
        chosen = next((one for one in kept if one.id == self._list.key), kept[0] if kept else None)
        high = self.size.height >= LANES_FROM
        self._lanes.put([*lanes(kept, now, width, zone, chosen), line("")] if high and kept else [])
        self._sums.put([summary(kept, len(found)) if found else line("")])
        if kept:
            rows = self._near.lines(
                keys,
                self._list.key,
                lambda n: (kept[n], int(now), width),
                lambda n: event_row(kept[n], now, width, zone),
            )
            self._list.put(rows, keys)
        else:
            words = say("no finding fits") if found else say("✓ nothing to see: no findings")
            self._list.put([line((words, "muted" if found else "level-ok"))])

    @on(Rows.Moved, "#timeline-rows")
    def _moved(self) -> None:
        self.paint(self.moment)

    @on(Rows.Chosen, "#timeline-rows")
    def _chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        self.dismiss(event.key)

    # --- filter -------------------------------------------------------------------------------

    def action_filter(self) -> None:
        """Open the filter."""
        self._bar.add_class("-open")
        self.set_focus(self._bar)

    def action_close(self) -> None:
        """Leave the filter, then the card."""
        if not self._bar.has_class("-open"):
            self.dismiss(None)
            return
        self._bar.value = ""
        self._bar.remove_class("-open")
        self._filter("")
        self.set_focus(self._list)

    def _filter(self, wanted: str) -> None:
        fits, wrong = Filter(), ""
        try:
            fits = Filter(wanted)
        except FilterError as error:
            wrong = str(error)
        self._wrong.put(wrap(wrong, self.size.width - 4, "level-watch") if wrong else [])
        self._fits = fits
        self.show(self.moment)

    @on(Input.Changed)
    def _filter_typed(self, event: Input.Changed) -> None:
        event.stop()
        self._filter(event.value)

    @on(Input.Submitted)
    def _filter_kept(self, event: Input.Submitted) -> None:
        event.stop()
        if not event.value:
            self._bar.remove_class("-open")
        self.set_focus(self._list)
