"""An app of one word on a terminal, for tests of the terminal alone."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from gpu_tui.ui.terminal.app import TerminalApp
from gpu_tui.ui.terminal.textual_private import WholeFirstFrame


class Small(TerminalApp[None]):
    """One word; q ends it."""

    BINDINGS = [("q", "quit")]  # noqa: RUF012 - as textual declares it

    def get_default_screen(self) -> Patient:
        return Patient()

    def compose(self) -> ComposeResult:
        yield Static("painted", id="word")


class Patient(WholeFirstFrame[None]):
    """Lets its first frame pass."""

    frames = 0

    def begin_frame(self) -> bool:
        self.frames += 1
        if self.frames == 1:
            self.call_later(self.refresh)
        return self.frames > 1
