"""One line to type a place of the log into."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.widgets import Input

from gpu_tui.ui.keys import bindings
from gpu_tui.ui.widgets.field import Field


class PlaceBar(Field):
    """Hidden until it is opened. Enter hands `typed` what stands there, escape calls `left`: both at once, so that
    the key after them is no letter of the place.
    """

    CONTEXT = "place"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("place")]

    DEFAULT_CSS = """
    PlaceBar, PlaceBar:focus {
        height: 1; border: none; padding: 0; background: $panel; display: none;
    }
    PlaceBar.-open { display: block; }
    """

    def __init__(self, *, typed: Callable[[str], object], left: Callable[[], object]) -> None:
        super().__init__(select_on_focus=False, max_length=40)
        self._typed, self._left = typed, left
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

    async def action_submit(self) -> None:
        """There."""
        self._typed(self.value)

    def action_leave(self) -> None:
        """Nothing is to be gone to."""
        self._left()

    def complain(self) -> None:
        """This is no place: empty, so that the hint is seen again."""
        self.value = ""

    @on(Input.Changed)
    def _keep_changes(self, event: Input.Changed) -> None:
        event.stop()
