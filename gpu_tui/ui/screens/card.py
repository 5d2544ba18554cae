"""What every card over the cockpit is: a covered screen with a title, lines, and a way out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widget import Widget

from gpu_tui.core.speech import say
from gpu_tui.ui.keymap import remapped
from gpu_tui.ui.keys import Key, bindings, footer_keys
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.safe import safe
from gpu_tui.ui.text.names import cut_name
from gpu_tui.ui.toasts import ToastingApp
from gpu_tui.ui.widgets.field import Field
from gpu_tui.ui.widgets.footer import Footer
from gpu_tui.ui.widgets.rows import Rows

TITLE_EDGES = 6  # cells around a title and its words


class Card(ModalScreen[str | None]):
    """Covers the cockpit whole, for what lies under it is not painted meanwhile."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("overlay")]
    CONTEXTS: ClassVar[Sequence[str]] = ("overlay",)
    TITLE_WORDS: ClassVar[str] = ""
    READ_ONLY: ClassVar[bool] = True
    READS_FINDINGS: ClassVar[bool] = False  # what a toast tells of a finding is read here
    QUIET: ClassVar[bool] = False  # no toast may stand over it: its words come from boxes

    def __init__(self, moment: Moment) -> None:
        super().__init__()
        self.moment = moment
        self.rows = Rows(id="card-rows")
        self._frame = Vertical(id="card")
        self._footer = Footer()

    def content(self) -> Iterable[Widget]:
        """The widgets of this card."""
        yield self.rows

    def paint(self, moment: Moment) -> None:
        """Bring the card to `moment`."""

    def compose(self) -> ComposeResult:
        """A frame around the content, keys below."""
        with self._frame:
            yield from self.content()
        yield self._footer

    def on_mount(self) -> None:
        """The frame's title; what was told in the cockpit makes room for the keys of this card."""
        if isinstance(self.app, ToastingApp):
            self.app.put_aside(reads_findings=self.READS_FINDINGS)
        self._frame.border_title = Text(safe(self.title_words()))

    def title_words(self) -> str:
        """What stands in the frame."""
        return say(self.TITLE_WORDS)

    def edge(self, words: str) -> None:
        """What stands on the lower edge; where there is none, behind the title."""
        narrow, title = self.has_class("-narrow"), self.title_words()
        if narrow and words:  # of a long title its end gives way
            title = f"{cut_name(title, self.size.width - cell_len(words) - TITLE_EDGES)} · {words}"
        self._frame.border_title = Text(safe(title))
        self._frame.border_subtitle = Text("" if narrow else safe(words))

    def show(self, moment: Moment) -> None:
        """One more moment."""
        self.moment = moment
        if self.is_mounted and self.size.width:
            self.paint(moment)
            self._foot()

    @on(events.DescendantFocus)
    def _foot(self) -> None:
        keys = self.footer_keys()
        if isinstance(self.focused, Field) and self.focused.CONTEXT:
            keys = footer_keys((self.focused.CONTEXT,), read_only=self.READ_ONLY)
        self._footer.show(keys, self.size.width, remapped(self.app))

    def footer_keys(self) -> list[Key]:
        """The keys that matter here."""
        return footer_keys(self.CONTEXTS, read_only=self.READ_ONLY)

    def on_resize(self) -> None:
        """Lines are made for one width."""
        self.call_after_refresh(lambda: self.show(self.moment))

    @on(Rows.Placed)
    def _placed(self) -> None:
        self.show(self.moment)

    @property
    def on_top(self) -> bool:
        """Nothing stands over it. textual calls a screen current, too, that lies right under another one,
        and to dismiss that would take the other one away.
        """
        return self.app.screen_stack[-1:] == [self]

    def dismiss(self, result: str | None = None) -> AwaitComplete:
        """Leave, once: of two keys that came together the second finds the card gone."""
        return super().dismiss(result) if self.on_top else AwaitComplete()

    def action_close(self) -> None:
        """Back to the cockpit."""
        self.dismiss(None)
