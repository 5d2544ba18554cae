"""Danger clocks: every deadline and running bill of the fleet, and what to know of this platform."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from gpu_tui.state.calendar import save
from gpu_tui.ui.keys import bindings
from gpu_tui.ui.panes.pane import Moment, Pane, more_below
from gpu_tui.ui.ports import FleetStore
from gpu_tui.ui.text import units
from gpu_tui.ui.text.deadlines import clocks, rows_of
from gpu_tui.ui.widgets.rows import Rows

CALENDAR = "gpu-deadlines.ics"


class ClocksPane(Pane):
    """The clocks that no platform shows in one place."""

    NUMBER, NAME, TITLE, CONTEXT = 2, "clocks", "Danger clocks", "clocks"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("clocks")]

    def __init__(self, store: FleetStore) -> None:
        super().__init__()
        self.rows = Rows(id="clock-rows")
        self._store = store
        self._asked = False  # for what is good to know, by key

    def content(self) -> Iterable[Widget]:
        """Lines."""
        yield self.rows

    def paint(self, moment: Moment) -> None:
        """All clocks, soonest first."""
        rows = self.rows
        first = self._asked or self._new(moment)
        rows.put(clocks(moment.fleet, moment.selected, rows.size.width, first=first))
        ticking = len(rows_of(clock for clock in moment.fleet.clocks if clock.ticks))
        self.entitle(f"{ticking} ticking" if ticking else "", more_below(rows.hidden))

    def _new(self, moment: Moment) -> bool:
        return (
            moment.selected is not None and moment.selected.instance.platform in moment.fleet.unmet
        )

    def action_know(self) -> None:
        """What is good to know on this platform: on top, and away again. Once read it is remembered."""
        if self.moment is None:
            return
        if self._new(self.moment) and self.moment.selected is not None:
            self._store.meet(self.moment.selected.instance.platform)
            self._asked = False
            return
        self._asked = not self._asked
        self.rows.action_top()
        self.show(self.moment)

    def action_calendar(self) -> None:
        """All deadlines as a calendar file in the working directory."""
        if self.moment is None:
            return
        path = Path.cwd() / CALENDAR
        try:
            count = save(path, self.moment.fleet)
        except OSError as wrong:
            self.app.notify(f"not saved: {wrong.strerror} ({path})", severity="error", markup=False)
            return
        text = f"{units.counted(count, 'deadline')} saved to {path}: open it on your phone"
        self.app.notify(text, markup=False)
