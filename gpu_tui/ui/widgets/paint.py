"""From a rich `Text`, whose styles are meanings, to one strip of cells."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.style import Style
from rich.text import Text
from textual.strip import Strip
from textual.widget import Widget


def paint(text: Text, width: int, console: Console, base: Style) -> Strip:
    """`text` in exactly `width` cells; meanings resolve by the theme that `console` carries."""
    return Strip(text.render(console, end="")).adjust_cell_length(width).apply_style(base)


class Block(Widget):
    """A few lines of text, as high as there are lines, and gone where there are none."""

    DEFAULT_CSS = "Block { height: 1; }"

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.lines: list[Text] = []

    def put(self, lines: Sequence[Text]) -> None:
        """Show `lines`; equal ones are not drawn again."""
        if list(lines) == self.lines and self.display is bool(lines):
            return
        if len(lines) != len(self.lines):
            self.styles.height = max(1, len(lines))
        self.lines = list(lines)
        self.display = bool(lines)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One of the lines."""
        text = self.lines[y] if y < len(self.lines) else Text(end="")
        return paint(text, self.size.width, self.app.console, self.rich_style)


class OneLine(Widget):
    """One line of text: header, footer, remedy."""

    DEFAULT_CSS = "OneLine { height: 1; }"

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.line = Text(end="")

    def put(self, text: Text) -> None:
        """Show `text`; an equal one is not drawn again."""
        if text != self.line:
            self.line = text
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The line."""
        text = self.line if y == 0 else Text(end="")
        return paint(text, self.size.width, self.app.console, self.rich_style)
