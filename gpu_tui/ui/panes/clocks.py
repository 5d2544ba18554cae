"""Danger clocks: every deadline and running bill of the fleet, and what to know of this platform."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from gpu_tui.core.speech import counted, say
from gpu_tui.ui.keys import bindings
from gpu_tui.ui.panes.pane import Moment, Pane, nothing_matches
from gpu_tui.ui.ports import FleetStore
from gpu_tui.ui.text.deadlines import clock_lines, clocks, rows_of, words_of
from gpu_tui.ui.text.filters import Filter
from gpu_tui.ui.text.marks import more_below, wrap
from gpu_tui.ui.widgets.rows import Rows

CALENDAR = "gpu-deadlines.ics"


class ClocksPane(Pane):
    """The clocks that no platform shows in one place."""

    NUMBER, NAME, TITLE, CONTEXT, FILTERS = 2, "clocks", "Danger clocks", "clocks", True
    SHOWS = "Here stand the deadlines and the bills that go on, of all boxes."
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("clocks")]

    def __init__(self, store: FleetStore) -> None:
        super().__init__()
        self.rows = Rows(id="clock-rows")
        self._store = store
        self._fits = Filter()
        self._asked = False  # for what is good to know, by key

    def content(self) -> Iterable[Widget]:
        """Lines."""
        yield self.rows

    def paint(self, moment: Moment) -> None:
        """All clocks, soonest first; with a filter the ticking ones that it keeps."""
        rows, width = self.rows, self.rows.size.width
        ticking = rows_of(clock for clock in moment.fleet.clocks if clock.ticks)
        count = str(len(ticking))
        if not moment.fleet.instances:
            rows.put(wrap(self.nobody(moment.fleet), width, "muted"))
        elif self._fits:
            kept = self._fits.select(ticking, words_of)
            lines = [
                text for row in kept for text in clock_lines(row, moment.fleet.taken_at, width)
            ]
            rows.put(lines or nothing_matches(self._fits.wanted, width))
            count = say("{kept} of {views}", kept=len(kept), views=count)
        else:
            rows.put(clocks(moment.fleet, moment.selected, width, first=self._asked))
        self.entitle(
            say("{ticking} ticking", ticking=count) if ticking else "", more_below(rows.hidden)
        )

    def keep_only(self, fits: Filter) -> None:
        """By its boxes, and by what it says."""
        self._fits = fits
        if self.moment is not None:
            self.show(self.moment)

    def action_know(self) -> None:
        """What is good to know on this platform: on top, and away again. That it was read is remembered."""
        moment = self.moment
        if moment is None:
            return
        self.close_filter()  # it would hide what was asked for
        self._asked = not self._asked
        if moment.selected is not None and moment.selected.instance.platform in moment.fleet.unmet:
            self._store.meet(moment.selected.instance.platform)
        self.rows.action_top()
        self.show(moment)

    async def action_calendar(self) -> None:
        """All deadlines as a calendar file in the working directory."""
        if self.moment is None:
            return
        from gpu_tui.state.calendar import save  # not before the first frame

        path = Path.cwd() / CALENDAR
        try:
            count = await asyncio.to_thread(save, path, self.moment.fleet)
        except OSError as wrong:
            self.app.notify(
                say("not saved: {strerror} ({path})", strerror=wrong.strerror, path=path),
                severity="error",
                markup=False,
            )
            return
        text = say(
            "{count} saved to {path}: open it on your phone",
            count=counted(count, "deadline"),
            path=path,
        )
        self.app.notify(text, markup=False)
