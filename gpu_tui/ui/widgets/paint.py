"""From a rich `Text`, whose styles are meanings, to one strip of cells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Self

from rich.console import Console
from rich.style import Style
from rich.text import Text
from textual.color import Color
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from gpu_tui.ui.text.marks import fit


def paint(text: Text, width: int, console: Console, base: Style) -> Strip:
    """`text` in exactly `width` cells, with an ellipsis where it has no room: half of a number would be
    another number. Meanings resolve by the theme that `console` carries.
    """
    if text.cell_len > width > 0:
        text = fit(text, width)
    return Strip(text.render(console, end="")).adjust_cell_length(width).apply_style(base)


class Still(Widget):
    """Holds others, and is itself only ground and edge: those stand until they are drawn anew.

    textual asks for all of its lines again in every frame, wherever in it something changed.
    """

    _lines: list[Strip]
    _lines_of: tuple[object, ...] = ()  # the place and the way they were made for

    def render_lines(self, crop: Region) -> list[Strip]:
        """What stands in `crop`."""
        of = (crop, self.outer_size, *self.get_line_filters())
        if self._lines_of != of:
            self._lines, self._lines_of = super().render_lines(crop), of
        return self._lines

    def refresh(
        self,
        *regions: Region,
        repaint: bool = True,
        layout: bool = False,
        recompose: bool = False,
    ) -> Self:
        """It is drawn anew."""
        self._lines_of = ()
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)


class Painted(Widget):
    """Lines in one style: `render_line` makes one, and it stands until it is drawn anew.

    textual asks every widget that a frame touches for all of its lines, and looks up styles, edges and
    filters for each, of which a widget without a border and a padding has none.
    """

    _made: dict[int, Strip]
    _of: tuple[object, ...] = ()  # the size and the place that the lines were made for

    @cached_property
    def base(self) -> Style:
        """The style under all lines."""
        return self.rich_style

    @cached_property
    def ground(self) -> Color:
        """The colour behind them; finding it walks up the whole tree."""
        return self.background_colors[1]

    def render_lines(self, crop: Region) -> list[Strip]:
        """What stands in `crop`."""
        size = self.size
        if self.outer_size != size:
            return super().render_lines(crop)
        width, filters = size.width, self.get_line_filters()
        of = (size, *filters)
        if self._of != of:
            self._made, self._of = {}, of
        strips = []
        for y in crop.line_range:
            strip = self._made.get(y)
            if strip is None:
                strip = self.render_line(y).adjust_cell_length(width, self.base)
                for one in filters:
                    strip = strip.apply_filter(one, self.ground)
                self._made[y] = strip
            strips.append(strip)
        if crop.column_span != (0, width):
            return [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def restyled(self) -> None:
        """Everything is made anew."""
        self.__dict__.pop("base", None)
        self.__dict__.pop("ground", None)
        self._of = ()

    def notify_style_update(self) -> None:
        """Other colours."""
        self.restyled()
        super().notify_style_update()

    def refresh(
        self,
        *regions: Region,
        repaint: bool = True,
        layout: bool = False,
        recompose: bool = False,
    ) -> Self:
        """Whatever is drawn anew is made anew."""
        if not regions:
            self.restyled()
        elif self._of:
            for region in regions:
                for y in region.line_range:
                    self._made.pop(y, None)
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)


class Block(Painted):
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
        return paint(text, self.size.width, self.app.console, self.base)


class OneLine(Painted):
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
        return paint(text, self.size.width, self.app.console, self.base)
