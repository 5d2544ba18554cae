"""One line to type a place of the log into."""

from __future__ import annotations

from textual import on
from textual.message import Message
from textual.widgets import Input

from gpu_tui.ui.widgets.field import Field


class PlaceBar(Field):
    """Hidden until it is opened. What is typed leaves as `Typed`."""

    DEFAULT_CSS = """
    PlaceBar, PlaceBar:focus {
        height: 1; border: none; padding: 0; background: $panel; display: none;
    }
    PlaceBar.-open { display: block; }
    """

    class Typed(Message):
        """A person pressed enter."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self) -> None:
        super().__init__(select_on_focus=False, max_length=40)
        self.cursor_blink = False

    def open(self, hint: str) -> None:
        """Empty and in front."""
        self.value, self.placeholder = "", hint
        self.add_class("-open")
        self.screen.set_focus(self)

    def close(self) -> bool:
        """Gone again; False where it was not open."""
        was = self.has_class("-open")
        self.remove_class("-open")
        return was

    def complain(self) -> None:
        """This is no place: empty, so that the hint is seen again."""
        self.value = ""

    @on(Input.Changed)
    def _keep_changes(self, event: Input.Changed) -> None:
        event.stop()

    @on(Input.Submitted)
    def _tell(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Typed(event.value))
