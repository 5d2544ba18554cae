"""Instances: one row per box, the one that needs a human most on top."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.message import Message
from textual.widget import Widget

from gpu_tui.core.speech import say
from gpu_tui.state.habits import Habits
from gpu_tui.state.views import FleetView, InstanceView
from gpu_tui.ui.keys import bindings
from gpu_tui.ui.panes.pane import Moment, Pane, nobody, nothing_matches
from gpu_tui.ui.screens.columns import ColumnScreen
from gpu_tui.ui.text.filters import Filter
from gpu_tui.ui.text.findings import strangers
from gpu_tui.ui.text.fleet import SETS, columns, head, keeps, known_columns, need, row
from gpu_tui.ui.text.marks import more_below, wrap
from gpu_tui.ui.widgets.paint import Block
from gpu_tui.ui.widgets.rows import Rows

OWN = "own"  # the set of columns that the user chose


class InstancesPane(Pane):
    """The list that selects what the other panes show."""

    NUMBER, NAME, TITLE, CONTEXT, FILTERS = 1, "instances", "Instances", "instances", True
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("instances")]

    class Selected(Message):
        """Another instance is selected."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    class Filtered(Message):
        """Other rows are in sight."""

    class Opened(Message):
        """Enter on an instance: show more of it."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = Rows(id="instance-rows")
        self._strangers = Block()
        self._strangers.display = False
        self._fits = Filter()
        self._set = "overview"
        self._habits = Habits(None)
        self._own: tuple[str, ...] = ()  # the columns that were chosen one by one

    def remember(self, habits: Habits) -> None:
        """The columns of last time."""
        self._habits = habits
        self._own = known_columns(habits.get("columns"))
        self._set = OWN if self._own else "overview"

    def content(self) -> Iterable[Widget]:
        """Who bills and is in no list, and the list."""
        yield self._strangers
        yield self.rows

    def paint(self, moment: Moment) -> None:
        """All rows that pass the filter."""
        rows = self.rows
        self._strangers.put(strangers(moment.fleet, rows.size.width))
        views, kept = moment.fleet.instances, self.kept(moment.fleet)
        if not views:
            rows.put(wrap(nobody(moment.fleet), rows.size.width, "muted"))
            self.entitle()
            return
        names = [view.name for view in views]
        chosen = self._own if self._set == OWN else SETS[self._set]
        fitted = columns(rows.size.width, chosen, names)
        if not kept:
            rows.put(nothing_matches(self._fits.wanted, rows.size.width), head=head(fitted))
        else:
            shown = [row(view, fitted, names) for view in kept]
            rows.put(shown, [view.name for view in kept], head(fitted))
            if moment.selected is not None:
                rows.point(moment.selected.name)
        count = (
            say("{kept} of {views}", kept=len(kept), views=len(views))
            if self._fits
            else str(len(views))
        )
        self.entitle(
            count if self._set == "overview" else f"{count} · {say(self._set)}",
            more_below(rows.hidden),
        )

    def kept(self, fleet: FleetView) -> list[InstanceView]:
        """The boxes that pass the filter, in the order of the rows."""
        return [view for view in sorted(fleet.instances, key=need) if keeps(view, self._fits)]

    def keep_only(self, fits: Filter) -> None:
        """By name, platform, verdict and tags; the selection may have to move."""
        self._fits = fits
        if self.moment is not None:
            self.show(self.moment)
        self.post_message(self.Filtered())

    def action_columns(self) -> None:
        """The next set of columns."""
        names = [*SETS, OWN] if self._own else list(SETS)
        self._set = names[(names.index(self._set) + 1) % len(names)]
        if self.moment is not None:
            self.show(self.moment)

    def action_choose_columns(self) -> None:
        """Which columns stand here, one by one."""
        if self.moment is not None:
            now = self._own if self._set == OWN else SETS[self._set]
            self.app.push_screen(ColumnScreen(self.moment, now), self._take_columns)

    def _take_columns(self, chosen: str | None) -> None:
        if chosen is None:
            return
        self._habits.keep("columns", chosen)
        self._own = known_columns(chosen)
        self._set = OWN if self._own else "overview"
        if self.moment is not None:
            self.show(self.moment)

    @on(Rows.Chosen)
    def _chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        self.post_message(self.Opened())

    @on(Rows.Moved)
    def _moved(self, event: Rows.Moved) -> None:
        event.stop()
        self.post_message(self.Selected(event.key))


def lines_of(fleet: FleetView) -> int:
    """How many lines the list would fill below its head."""
    return (len(fleet.instances) or 2) + len(strangers(fleet, 80))
