"""Five panes, a line above and a line below: which of them stand where, which is in front, what is selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container

from gpu_tui.core.ports import FleetControl
from gpu_tui.core.speech import say
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.habits import Habits
from gpu_tui.state.views import FleetView, InstanceView
from gpu_tui.ui.keys import Key, footer_keys
from gpu_tui.ui.layout import (
    FRAMED,
    PANES,
    Layout,
    Preset,
    grid_rows,
    layout_for,
    panes_in,
    preset_named,
    too_small,
)
from gpu_tui.ui.panes.clocks import ClocksPane
from gpu_tui.ui.panes.instances import InstancesPane, lines_of
from gpu_tui.ui.panes.log import LogPane
from gpu_tui.ui.panes.pane import Moment, Pane
from gpu_tui.ui.panes.queue import QueuePane
from gpu_tui.ui.panes.vitals import VitalsPane
from gpu_tui.ui.ports import FleetStore
from gpu_tui.ui.terminal.textual_private import WholeFirstFrame
from gpu_tui.ui.text.header import header
from gpu_tui.ui.text.signs import need, outcries, tells
from gpu_tui.ui.text.tour import live
from gpu_tui.ui.widgets.field import Field
from gpu_tui.ui.widgets.footer import Footer
from gpu_tui.ui.widgets.paint import Block, OneLine, Still
from gpu_tui.ui.widgets.tour import Tour

SETTLE = 3.0  # seconds from the last first word of a box in which its logs tell what is in them


class Body(Still, Container):
    """Where the panes stand."""


class Board(Still, WholeFirstFrame[None]):
    """Paints moments into the panes that are in sight; changes nothing outside."""

    READ_ONLY: ClassVar[bool] = True
    CONTEXTS: ClassVar[tuple[str, ...]] = ("cockpit",)  # of the key table, beside the pane's own
    AUTO_FOCUS = "#instance-rows"

    def __init__(
        self,
        store: FleetStore,
        control: FleetControl | None,
        *,
        badges: Sequence[str] = (),
        keymap: Mapping[str, str] | None = None,
        tour: bool = False,
    ) -> None:
        super().__init__()
        self.store = store
        self.selected: str | None = None
        self._control = control
        self._badges = badges
        self._keymap = keymap or {}
        self._tour = tour
        self._front = "instances"
        self._preset = Preset.BALANCED
        self._second = self._preset.pane
        self._habits = Habits(None)
        self._zoomed = False
        # By key or mouse, as the app says: from then on no selection moves by itself.
        self.touched = False
        self._settled = False  # every box had its say: it moves for an alarm only
        self._heard: float | None = None  # when the last box had not said anything yet
        self.moment: Moment | None = None
        self.filled = False  # the panes were told of a moment since they have a place
        self._header = OneLine(id="header")
        self._small = Block(id="too-small")
        self._footer = Footer()
        self._footed: tuple[tuple[Key, ...], int] = (
            (),
            0,
        )  # keys that stand there, and in how many cells
        self._list = InstancesPane(self._again)
        self._tail = LogPane(store, control)
        self._panes: dict[str, Pane] = {
            pane.NAME: pane
            for pane in (self._list, ClocksPane(store), VitalsPane(), QueuePane(), self._tail)
        }

    def remember(self, habits: Habits, preset: str | None) -> None:
        """What was chosen before; `preset` is asked for by name this time."""
        self._habits = habits
        self._list.remember(habits)
        chosen = preset_named(preset) or preset_named(habits.get("layout"))
        self._preset = chosen or Preset.BALANCED
        self._second = self._preset.pane

    def compose(self) -> ComposeResult:
        """Header, panes, tour, footer, for the size that the terminal has now."""
        for cells, points in zip(
            self.app.size,
            (self.app.HORIZONTAL_BREAKPOINTS or (), self.app.VERTICAL_BREAKPOINTS or ()),
            strict=True,
        ):
            self.add_class(*[name for least, name in points if cells >= least][-1:])
        self.place_panes()
        yield self._header
        with Body(id="body"):
            yield self._small
            yield from self._panes.values()
        if self._tour:
            yield Tour(self._point_at, self._told)
        yield self._footer

    # --- moments ------------------------------------------------------------------------------

    def show(self, moment: Moment) -> None:
        """Paint the panes that are in sight."""
        before, self.moment = self.moment, moment
        if moment.selected is not None:
            self.selected = moment.selected.name
        if not self.is_mounted or not self.size.width:
            return
        self.filled = True
        moved = before is not None and lines_of(before.fleet) != lines_of(moment.fleet)
        if moved or _measured(before) is not _measured(moment):
            self.place_panes()
        width = self.size.width
        self._header.put(header(moment.fleet, width, self.badges(), moment.zone, moment.outlook))
        for pane in self._panes.values():
            if pane.display:
                pane.show(moment)
        self._foot()
        for tour in self.tours():
            tour.again()

    def begin_frame(self) -> bool:
        """Whether to paint. The first layout only gives the panes their sizes: a frame of it would show them empty."""
        if self.filled or self.moment is None:
            return True
        self.show(self.moment)
        return False

    def show_log(self) -> None:
        """Only the new lines of the log; the other panes wait for the next moment."""
        if self.moment is not None and self._tail.display:
            self._tail.show(self.moment)

    def badges(self) -> Sequence[str]:
        """The words in front of the header."""
        return self._badges

    def _foot(self) -> None:
        keys, width = tuple(self.footer_keys()), self.size.width
        if (keys, width) != self._footed:
            self._footed = keys, width
            self._footer.show(keys, width, self._keymap)

    def footer_keys(self) -> list[Key]:
        """The keys of the pane in front, then those of everywhere; where something is typed, what ends that."""
        if isinstance(self.focused, Field):
            return footer_keys((self.focused.CONTEXT,), read_only=self.READ_ONLY)
        pane = self.pane(self._front)
        keys = footer_keys((pane.CONTEXT, *self.CONTEXTS), read_only=self.READ_ONLY)
        if not pane.FILTERS:
            keys = [key for key in keys if key.action != "filter"]
        if self._tail.view.following:
            return keys
        return [
            replace(key, label=say("follow"))
            if (key.context, key.action) == ("log", "pause")
            else key
            for key in keys
        ]

    def pane(self, name: str) -> Pane:
        """The pane called `name`."""
        return self._panes[name]

    def _again(self) -> None:
        """Another selection: paint at once, from the same fleet view."""
        if self.moment is None:
            return
        fleet = self.moment.fleet
        self.show(Moment(fleet, self.choose(fleet), self.moment.zone))

    def choose(self, fleet: FleetView) -> InstanceView | None:
        """The selected instance; the first row where that one is gone or filtered away.

        Nothing can be selected, and so nothing done to it, that is not among the rows. Until every box had
        its say, it is the one that needs a human most and has something to show; after that, and until a
        person touches anything, another one takes its place only where that has a worse alarm.
        """
        kept = self._list.kept(fleet)
        mine = next((view for view in kept if view.name == self.selected), None)
        by_need = sorted(kept, key=need)
        neediest = next(filter(tells, by_need), mine or (by_need[0] if by_need else None))
        if mine is not None and neediest is not None and (self.touched or self._settled):
            return mine if self.touched or not outcries(neediest, mine) else neediest
        heard = all(tells(view) or view.verdict is Verdict.OFF for view in fleet.instances)
        if self._heard is None or not heard:
            self._heard = fleet.taken_at
        self._settled = fleet.taken_at - self._heard >= SETTLE
        return neediest

    # --- layout -------------------------------------------------------------------------------

    def on_resize(self, event: events.Resize) -> None:
        """Another size may mean another layout."""
        self.place_panes()

    def place_panes(self) -> None:
        """Show and hide panes for the present size, front and zoom."""
        wide, high = self.size or self.app.size
        layout = layout_for(wide, high)
        names = panes_in(
            layout, self._front, self._second, zoomed=self._zoomed, measured=_measured(self.moment)
        )
        self.set_class(layout is Layout.WIDE and not self._zoomed, "-grid")
        self.set_class("vitals" not in names, "-no-vitals")
        for preset in Preset:
            self.set_class(preset is self._preset, f"-{preset}")
        lines = too_small(wide, high) if layout is Layout.NONE else []
        self._small.put([Text(line, end="") for line in lines])
        for tour in self.tours():
            tour.display = layout is not Layout.NONE
        for name in PANES:
            self.pane(name).display = name in names
        instances = self.pane("instances")
        count = lines_of(self.moment.fleet) if self.moment else 4
        for body in self.query(Body):
            body.styles.grid_rows = grid_rows(high - 2, count, self._preset)
        if len(names) == 2:
            most = max(5, int((high - 2) * self._preset.share))
            instances.styles.height = min(count + (3 if wide >= FRAMED else 2), most)
        else:
            instances.styles.height = "1fr"
        if self.size:
            self.call_after_refresh(self._again)

    def bring(self, name: str) -> None:
        """Put the pane called `name` in front."""
        self._front = name
        if name != "instances":
            self._second = name
        self.place_panes()
        self.pane(name).focus_inside()

    @on(events.DescendantFocus)
    def _focus_moved(self, event: events.DescendantFocus) -> None:
        pane = next((node for node in event.widget.ancestors if isinstance(node, Pane)), None)
        if pane is not None and self._front != pane.NAME:
            self._front = pane.NAME
            if pane.NAME != "instances":
                self._second = pane.NAME
        if self.moment is not None:
            self._foot()

    def tours(self) -> list[Tour]:
        """The tour, while there is one."""
        return list(self.query(Tour)) if self._tour else []

    def _told(self, title: str) -> str:
        """What the tour says of this very fleet."""
        moment = self.moment
        return live(title, moment.fleet, moment.selected) if moment is not None else ""

    def _point_at(self, name: str) -> None:
        """The tour shows a pane."""
        if name in PANES:
            self.bring(name)

    def on_key(self, event: events.Key) -> None:
        """While the tour runs, its keys are its own."""
        tours = self.tours()
        if tours and tours[0].take(event.key):
            event.stop()
            event.prevent_default()

    # --- keys ---------------------------------------------------------------------------------

    def action_pane(self, name: str) -> None:
        """Go to one pane."""
        self.bring(name)

    def action_next_pane(self) -> None:
        """Go to the next pane."""
        self.bring(PANES[(PANES.index(self._front) + 1) % len(PANES)])

    def action_previous_pane(self) -> None:
        """Go to the pane before."""
        self.bring(PANES[(PANES.index(self._front) - 1) % len(PANES)])

    def action_zoom(self) -> None:
        """One pane alone, and back."""
        self._zoomed = not self._zoomed
        self.place_panes()

    def action_preset(self) -> None:
        """More room for another pane, from now on."""
        self._preset = self._preset.next
        self._habits.keep("layout", self._preset)
        self._zoomed = False
        if self._preset is Preset.BALANCED:
            self.place_panes()
        else:
            self.bring(self._preset.pane)
        self.app.notify(say("layout: {preset}", preset=say(self._preset)), timeout=2)

    def action_back(self) -> None:
        """Leave the filter, else the zoom."""
        if self.pane(self._front).close_filter():
            return
        if self._zoomed:
            self.action_zoom()

    def action_filter(self) -> None:
        """Filter the pane in front."""
        if not self.pane(self._front).open_filter():
            self.app.notify(
                say("nothing to filter in {title}", title=say(self.pane(self._front).TITLE)),
                markup=False,
            )

    def action_step(self, by: str) -> None:
        """Another instance, from any pane."""
        names = [view.name for view in self._list.kept(self.moment.fleet)] if self.moment else []
        if self.selected in names:
            here = names.index(self.selected) + int(by)
            self.select(names[max(0, min(len(names) - 1, here))])

    # --- what panes say -----------------------------------------------------------------------

    def select(self, name: str) -> None:
        """Show another instance in every pane."""
        self.selected = name
        self._again()

    @on(InstancesPane.Selected)
    def _selected(self, event: InstancesPane.Selected) -> None:
        event.stop()
        self.select(event.name)

    @on(InstancesPane.Opened)
    def _opened(self, event: InstancesPane.Opened) -> None:
        event.stop()
        self.bring("vitals")

    @on(LogPane.Turned)
    def _turned(self, event: LogPane.Turned) -> None:
        event.stop()
        self._foot()

    @on(QueuePane.CellChosen)
    def _cell_chosen(self, event: QueuePane.CellChosen) -> None:
        event.stop()
        if self.moment is not None and self.moment.selected is not None:
            self._tail.choose(self.moment.selected, event.cell)
            self.bring("log")


def _measured(moment: Moment | None) -> bool:
    """Whether the selected instance has vital signs: of a cluster that a local kubectl shows no box is read."""
    if moment is None or moment.selected is None:
        return True
    of = moment.selected.instance
    return not of.here or of.scheduler_scope.vitals is not None
