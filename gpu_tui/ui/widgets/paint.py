"""From a rich `Text`, whose styles are meanings, to one strip of cells."""

from __future__ import annotations

from rich.console import Console
from rich.style import Style
from rich.text import Text
from textual.strip import Strip
from textual.widget import Widget


def paint(text: Text, width: int, console: Console, base: Style) -> Strip:
    """`text` in exactly `width` cells; meanings resolve by the theme that `console` carries."""
    return Strip(text.render(console, end="")).adjust_cell_length(width).apply_style(base)


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
