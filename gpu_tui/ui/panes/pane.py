"""What every pane is: a titled box that is shown one moment at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import tzinfo
from functools import cached_property
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Input

from gpu_tui.core.campaign import Outlook
from gpu_tui.core.speech import say
from gpu_tui.state.sweep_outlook import sweep_outlook
from gpu_tui.state.views import FleetView, InstanceView
from gpu_tui.ui.keys import bindings
from gpu_tui.ui.recall import Walk, recall_of
from gpu_tui.ui.safe import safe
from gpu_tui.ui.text.calm import no_boxes
from gpu_tui.ui.text.filters import Filter, FilterError
from gpu_tui.ui.text.marks import wrap
from gpu_tui.ui.text.names import cut_name
from gpu_tui.ui.widgets.field import Field
from gpu_tui.ui.widgets.paint import Block, Still

QUOTED = 24  # cells of a filter that stands in a sentence


@dataclass(frozen=True)
class Moment:
    """What all panes are painted from: the fleet, the selected instance, and the zone of wall times."""

    fleet: FleetView
    selected: InstanceView | None
    zone: tzinfo | None = None

    @cached_property
    def outlook(self) -> Outlook:
        """The whole sweep as of this moment, reckoned when it is first asked for."""
        return sweep_outlook(self.fleet)


class FilterBar(Field):
    """One line to type a filter into. Both ways out are taken at once, so that the key after them is the list's."""

    DEFAULT_CSS = """
    FilterBar, FilterBar:focus {
        height: 1; border: none; padding: 0; background: $panel; display: none;
    }
    FilterBar.-open { display: block; }
    """
    CONTEXT = "filter"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("filter")]

    def __init__(
        self, hint: str, *, kept: Callable[[], object], left: Callable[[], object]
    ) -> None:
        super().__init__(placeholder=hint, select_on_focus=False)
        self.cursor_blink = False
        self._kept, self._left = kept, left
        self._walk: Walk | None = None
        self._walked = ""  # what the last step put here

    def action_recall(self, way: str) -> None:
        """Through what was typed earlier; what is typed now begins a new walk."""
        if self._walk is None or self.value != self._walked:
            self._walk = Walk(recall_of(self.app), self.value)
        self.value = self._walked = self._walk.step(int(way))
        self.cursor_position = len(self.value)

    async def action_submit(self) -> None:
        """What stands here was meant: it can be recalled from now on."""
        self._walk = None
        recall = recall_of(self.app)
        if recall.add(self.value):
            self.run_worker(
                recall.save, thread=True, group="recall", exclusive=False, exit_on_error=False
            )
        self._kept()

    def action_leave(self) -> None:
        """Out of it; what it kept away is there again."""
        self._left()


class Pane(Still, Vertical):
    """Subclasses say what they hold in `content` and paint a `Moment` in `paint`."""

    NUMBER: ClassVar[int] = 0
    NAME: ClassVar[str] = ""
    TITLE: ClassVar[str] = ""
    CONTEXT: ClassVar[str] = "list"
    FILTERS: ClassVar[bool] = False
    SHOWS: ClassVar[str] = ""  # of a box

    def __init__(self) -> None:
        super().__init__(id=self.NAME)
        self.moment: Moment | None = None
        self._bar = FilterBar(
            say("words, !without, tag:x, /regex/"),
            kept=self._keep_filter,
            left=lambda: self.close_filter(),
        )
        self._wrong = Block(classes="wrong")
        self._wrong.display = False
        self._typed, self._unread = Filter(), ""
        self._title = ""
        self._subtitle = ""

    def content(self) -> Iterable[Widget]:
        """The widgets of this pane."""
        raise NotImplementedError

    def paint(self, moment: Moment) -> None:
        """Bring the widgets to `moment`."""
        raise NotImplementedError

    def keep_only(self, fits: Filter) -> None:
        """Take another filter."""

    def compose(self) -> ComposeResult:
        """Content, and the filter where there is one."""
        yield from self.content()
        if self.FILTERS:
            yield self._bar
            yield self._wrong

    def show(self, moment: Moment) -> None:
        """Paint `moment`, and remember it for the next change of size."""
        self.moment = moment
        if self.is_mounted and self.display and self.size.width:
            self.paint(moment)
            self._complain()

    def on_mount(self) -> None:
        """The number in the title is the key that leads here."""
        self.entitle()

    def on_resize(self, event: events.Resize) -> None:
        """Lines are made for one width: make them again."""
        if self.moment is not None:
            self.call_after_refresh(self.show, self.moment)

    def entitle(self, more: str = "", below: str = "") -> None:
        """Set the title behind the pane's own name, and the words on the lower edge."""
        title = f"{self.NUMBER} {say(self.TITLE)}{f' · {more}' if more else ''}"
        if below and self.screen.has_class("-narrow"):
            title, below = f"{title} · {below}", ""  # there is no lower edge to write on
        if title != self._title:
            self._title = title
            self.border_title = Text(safe(title))
        if below != self._subtitle:
            self._subtitle = below
            self.border_subtitle = Text(safe(below))

    def on_click(self) -> None:
        """A click anywhere on it puts it in front."""
        if not self.has_focus_within:
            self.focus_inside()

    def focus_inside(self) -> None:
        """Put the focus on what the keys are for."""
        self.screen.set_focus(next(iter(self.query("Rows, LogView"))))

    def nobody(self, fleet: FleetView) -> str:
        """The same for this pane: without boxes what it is for, and what to do where Instances does not say it."""
        if fleet.instances or not self.SHOWS:
            return nobody(fleet)
        told = any(pane.display for pane in self.screen.query("#instances"))
        return say(self.SHOWS) if told else f"{say(self.SHOWS)} {no_boxes()}"

    # --- filter -------------------------------------------------------------------------------

    def open_filter(self) -> bool:
        """Show the filter bar, which has the focus from now on; False where this pane has none."""
        if not self.FILTERS:
            return False
        self._bar.add_class("-open")
        self.screen.set_focus(self._bar)  # `focus()` would come later than the next key
        return True

    def close_filter(self) -> bool:
        """Empty and hide the filter bar; False where it was not open."""
        if not self.FILTERS:
            return False
        if not self._bar.has_class("-open"):
            return False
        self._bar.value = ""
        self._bar.remove_class("-open")
        self._filter("")
        self.focus_inside()
        return True

    @on(Input.Changed)
    def _filter_typed(self, event: Input.Changed) -> None:
        event.stop()
        self._filter(event.value)

    def _filter(self, wanted: str) -> None:
        """Take what was typed; what cannot be read keeps everything and says what is wrong."""
        self._typed, self._unread = Filter(), ""
        try:
            self._typed = Filter(wanted)
        except FilterError as error:
            self._unread = str(error)
        self._complain()
        self.keep_only(self._typed)

    def _complain(self) -> None:
        wrong = self._unread or self.too_slow()
        self._wrong.put(wrap(wrong, self.size.width - 4, "level-watch") if wrong else [])

    def too_slow(self) -> str:
        """The effect of a filter that was given up because it took too long; empty where none was."""
        return say("too slow: every row is shown") if self._typed.slow else ""

    def _keep_filter(self) -> None:
        if not self._bar.value:
            self.close_filter()
            return
        self._filter(self._bar.value)  # its last letters may be on their way
        self.focus_inside()


def nobody(fleet: FleetView) -> str:
    """Why no instance is selected, and what to do."""
    if fleet.instances:
        return say("no instance passes the filter: esc in Instances empties it")
    return no_boxes()


def nothing_matches(wanted: str, width: int) -> list[Text]:
    """What stands in a list of which the filter keeps nothing, and the way back."""
    hint = say("nothing matches {wanted}: esc empties the filter", wanted=shortly(wanted))
    return wrap(hint, width, "muted")


def shortly(wanted: str) -> str:
    """What was typed, no longer than that words after it are still seen."""
    return cut_name(wanted, QUOTED)
