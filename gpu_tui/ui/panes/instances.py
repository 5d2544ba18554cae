"""Instances: one row per box, the one that needs a human most on top."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.message import Message
from textual.widget import Widget

from gpu_tui.core.cell_table import Order
from gpu_tui.core.speech import say
from gpu_tui.state.habits import Habits
from gpu_tui.state.views import FleetView, InstanceView
from gpu_tui.ui.keys import bindings
from gpu_tui.ui.panes.pane import Moment, Pane, nobody, nothing_matches
from gpu_tui.ui.text.filters import Filter
from gpu_tui.ui.text.findings import strangers
from gpu_tui.ui.text.fleet import COLUMNS, SETS, Column, columns, head, kept, known_columns, row
from gpu_tui.ui.text.fleet_order import (
    BY_NEED,
    in_order,
    next_order,
    read_order,
    written_order,
)
from gpu_tui.ui.text.marks import arrow, line, more_below, wrap
from gpu_tui.ui.text.why import why
from gpu_tui.ui.widgets.paint import Block
from gpu_tui.ui.widgets.rows import Rows

OWN = "own"  # the set of columns that the user chose


class InstancesPane(Pane):
    """The list that selects what the other panes show."""

    NUMBER, NAME, TITLE, CONTEXT, FILTERS = 1, "instances", "Instances", "instances", True
    DEFAULT_CSS = "InstancesPane.-why Rows { height: auto; }"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("instances")]

    class Selected(Message):
        """Another instance is selected."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    class Opened(Message):
        """Enter on an instance: show more of it."""

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__()
        self._changed = changed  # other rows are in sight: the selection may have to move
        self.rows = Rows(id="instance-rows")
        self._strangers = Block()
        self._strangers.display = False
        self._why = Block(id="instance-why")
        self._why.display = False
        self._fits = Filter()
        self._set = "overview"
        self._habits = Habits(None)
        self._own: tuple[str, ...] = ()  # the columns that were chosen one by one
        self._order = BY_NEED

    def remember(self, habits: Habits) -> None:
        """The columns and the order of last time."""
        self._habits = habits
        self._own = known_columns(habits.get("columns"))
        self._set = OWN if self._own else "overview"
        self._order = read_order(habits.get("sort"))

    def content(self) -> Iterable[Widget]:
        """Who bills and is in no list, the list, and what the selected one needs."""
        yield self._strangers
        yield self.rows
        yield self._why

    def paint(self, moment: Moment) -> None:
        """All rows that pass the filter."""
        rows = self.rows
        self._strangers.put(strangers(moment.fleet, rows.size.width))
        views, kept = moment.fleet.instances, self.kept(moment.fleet)
        if not views:
            rows.put(wrap(nobody(moment.fleet), rows.size.width, "muted"))
            self._explain(moment)
            self.entitle()
            return
        names = [view.name for view in views]
        fitted = self._fitted(names)
        if not kept:
            nothing = nothing_matches(self._fits.wanted, rows.size.width)
            rows.put(nothing, head=head(fitted, self._order))
        else:
            shown = [row(view, fitted, names) for view in kept]
            rows.put(shown, [view.name for view in kept], head(fitted, self._order))
            if moment.selected is not None:
                rows.point(moment.selected.name)
        self._explain(moment)
        count = (
            say("{kept} of {views}", kept=len(kept), views=len(views))
            if self._fits
            else str(len(views))
        )
        words = [count]
        if self._set != "overview":
            words.append(say(self._set))
        if column := COLUMNS.get(self._order.column):
            words.append(
                say(
                    "by {column}",
                    column=f"{say(column.title)} {arrow(falling=self._order.falling)}",
                )
            )
        self.entitle(" · ".join(words), more_below(rows.hidden))

    def _explain(self, moment: Moment) -> None:
        """Where lines would stay empty below the list: what the selected box needs."""
        rows = self.rows
        typed = sum(bar.display for bar in (self._bar, self._wrong))
        others = len(self._strangers.lines) + typed + 2  # the head, and a blank line
        spare = self.content_size.height - len(rows.lines) - others
        chosen = moment.selected if rows.here is not None else None
        said = why(moment.fleet, chosen, rows.size.width, spare) if chosen else []
        self._why.put([line(), *said] if said else [])
        self.set_class(bool(said), "-why")

    def _fitted(self, names: Sequence[str]) -> list[tuple[Column, int]]:
        chosen = self._own if self._set == OWN else SETS[self._set]
        return columns(self.rows.size.width, chosen, names)

    def kept(self, fleet: FleetView) -> list[InstanceView]:
        """The boxes that pass the filter, in the order of the rows."""
        return in_order(kept(fleet.instances, self._fits), self._order)

    def keep_only(self, fits: Filter) -> None:
        """By name, platform, verdict and tags."""
        self._fits = fits
        self._changed()

    def action_columns(self) -> None:
        """The next set of columns."""
        names = [*SETS, OWN] if self._own else list(SETS)
        self._set = names[(names.index(self._set) + 1) % len(names)]
        if self.moment is not None:
            self.show(self.moment)

    def action_sort(self, way: str) -> None:
        """By the next column that is in sight; before the first one, by who needs a human most."""
        if self.moment is not None:
            names = [view.name for view in self.moment.fleet.instances]
            shown = [column.key for column, _ in self._fitted(names)]
            self._sort(next_order(self._order, shown, int(way)))

    def action_flip(self) -> None:
        """The other way round; who needs a human most is not put last."""
        if self._order.column:
            self._sort(Order(self._order.column, not self._order.falling))
        else:
            self.app.notify(say("sorted by need: → sorts by a column"), timeout=3)

    def _sort(self, order: Order) -> None:
        self._order = order
        self._habits.keep("sort", written_order(order))
        if self.moment is not None:
            self.show(self.moment)

    def action_choose_columns(self) -> None:
        """Which columns stand here, one by one."""
        if self.moment is not None:
            from gpu_tui.ui.screens.columns import ColumnScreen  # not before the first frame

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

    @on(Rows.Placed)
    def _placed(self) -> None:
        """Another height shows other lines."""
        if self.moment is not None:
            self.show(self.moment)

    @on(Rows.Moved)
    def _moved(self, event: Rows.Moved) -> None:
        event.stop()
        self.post_message(self.Selected(event.key))


def lines_of(fleet: FleetView) -> int:
    """How many lines the list would fill below its head."""
    return (len(fleet.instances) or 2) + len(strangers(fleet, 80))
