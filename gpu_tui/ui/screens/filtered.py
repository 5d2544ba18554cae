"""A card with a list that can be filtered."""

from __future__ import annotations

from collections.abc import Iterable

from textual import on
from textual.widget import Widget
from textual.widgets import Input

from gpu_tui.core.speech import say
from gpu_tui.ui.panes.pane import FilterBar, Moment
from gpu_tui.ui.screens.card import Card
from gpu_tui.ui.text.filters import Filter, FilterError
from gpu_tui.ui.text.marks import wrap
from gpu_tui.ui.widgets.paint import Block


class FilteredCard(Card):
    """Subclasses show `listed()`, and paint what `fits` keeps."""

    def __init__(self, moment: Moment) -> None:
        super().__init__(moment)
        self.fits = Filter()
        self._bar = FilterBar(
            say("words, !without, /regex/"), kept=self._keep_filter, left=self._close_filter
        )
        self._wrong = Block(classes="wrong")
        self._wrong.display = False
        self._unread = ""

    def listed(self) -> Widget:
        """The list, which has the focus unless a filter is typed."""
        raise NotImplementedError

    def filter_widgets(self) -> Iterable[Widget]:
        """The last of the content: the bar, and what is wrong with what was typed."""
        yield self._bar
        yield self._wrong

    @property
    def filtering(self) -> bool:
        """The filter bar is open."""
        return self._bar.has_class("-open")

    def action_filter(self) -> None:
        """Open the filter."""
        self._bar.add_class("-open")
        self.set_focus(self._bar)

    def action_close(self) -> None:
        """Leave the filter, then the card."""
        if self.filtering:
            self._close_filter()
        else:
            self.leave()

    def leave(self) -> None:
        """Back to the cockpit."""
        self.dismiss(None)

    def show(self, moment: Moment) -> None:
        """The list, and what is wrong with the filter of it."""
        super().show(moment)
        wrong = self._unread or (say("too slow: every row is shown") if self.fits.slow else "")
        self._wrong.put(wrap(wrong, self.size.width - 4, "level-watch") if wrong else [])

    def _close_filter(self) -> None:
        self._bar.value = ""
        self._bar.remove_class("-open")
        self._filter("")
        self._to_list()

    def _filter(self, wanted: str) -> None:
        self.fits, self._unread = Filter(), ""
        try:
            self.fits = Filter(wanted)
        except FilterError as error:
            self._unread = str(error)
        self.show(self.moment)

    @on(Input.Changed)
    def _filter_typed(self, event: Input.Changed) -> None:
        event.stop()
        self._filter(event.value)

    def _keep_filter(self) -> None:
        if not self._bar.value:
            self._close_filter()
            return
        self._filter(self._bar.value)  # its last letters may be on their way
        self._to_list()

    def _to_list(self) -> None:
        """The keys are for the list; while something covers that, for the card."""
        listed = self.listed()
        self.set_focus(listed if listed.display else None)
