"""The tail of one log: at the end unless paused, redrawn only where lines changed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from gpu_tui.core.logs import LogLine
from gpu_tui.state.logbuffer import LogBuffer
from gpu_tui.ui.keys import bindings
from gpu_tui.ui.text.filters import Filter
from gpu_tui.ui.text.logs import log_row
from gpu_tui.ui.widgets.paint import paint

BLANK = Text(end="")
WHEEL = 3
SHIFT = 16


class LogView(Widget, can_focus=True):
    """Looks at a `LogBuffer` without copying it. Line numbers are the buffer's own.

    `_kept` holds the numbers that pass the filter (None: all); `_top` is the number of the first
    line in sight while paused; `current` is the alarm that `n` jumped to.
    """

    DEFAULT_CSS = "LogView { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("list")]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._buffer = LogBuffer()
        self._version = -1
        self._filter = Filter()
        self._kept: list[int] | None = None
        self._judged = 0
        self._top = 0
        self._shift = 0
        self._height = 0
        self._drawn: list[tuple[int, LogLine, bool]] = []
        self.following = True
        self.current: int | None = None

    # --- content ------------------------------------------------------------------------------

    def look_at(self, buffer: LogBuffer) -> None:
        """Show `buffer` as it is now; another one starts at its tail."""
        if buffer is not self._buffer:
            self._buffer = buffer
            self._version = -1
            self.following, self.current, self._shift = True, None, 0
            self._refilter()
        if buffer.version != self._version:
            self._version = buffer.version
            self._judge_new()
            self.redraw()

    def keep_only(self, fits: Filter) -> None:
        """Show only the lines that the filter keeps; over the whole buffer, also while paused."""
        self._filter = fits
        self._refilter()
        self.redraw()

    def _refilter(self) -> None:
        self._kept = [] if self._filter else None
        self._judged = self._buffer.first
        self._judge_new()

    def _judge_new(self) -> None:
        """Judge lines not seen yet; the last one again, for it may have been open."""
        if self._kept is None:
            return
        first = self._buffer.first
        start = max(first, self._judged - 1)
        while self._kept and self._kept[-1] >= start:
            self._kept.pop()
        if self._kept and self._kept[0] < first:
            del self._kept[: bisect_left(self._kept, first)]
        for number in range(start, self._buffer.end):
            if self._filter.keeps(self._buffer.text(number)):
                self._kept.append(number)
        self._judged = self._buffer.end

    @property
    def _numbers(self) -> range | list[int]:
        return range(self._buffer.first, self._buffer.end) if self._kept is None else self._kept

    def _window(self) -> list[int]:
        """The numbers in sight, and `_top` brought back into what is kept."""
        numbers, height = self._numbers, self.size.height
        if height != self._height:
            self._height = height
            if any(number == self.current for number, *_ in self._drawn):
                self._centre(self.current or 0)  # another height must not lose the alarm
        if self.following:
            start = max(0, len(numbers) - height)
        else:
            start = min(bisect_left(numbers, self._top), max(0, len(numbers) - height))
        seen = list(numbers[start : start + height])
        self._top = seen[0] if seen else self._buffer.first
        return seen

    def redraw(self) -> None:
        """Draw the lines that are not what stood there before."""
        rows = [(n, self._buffer[n], n == self.current) for n in self._window()]
        before, self._drawn = self._drawn, rows
        for y in range(max(len(before), len(rows))):
            old = before[y] if y < len(before) else None
            new = rows[y] if y < len(rows) else None
            if old is None or new is None or old[0] != new[0] or old[1:] != new[1:]:
                self.refresh(Region(0, y, self.size.width, 1))

    def render_line(self, y: int) -> Strip:
        """One line of what is in sight."""
        text = BLANK
        if y < len(self._drawn):
            number, entry, current = self._drawn[y]
            text = log_row(number, entry, shift=self._shift, current=current)
        return paint(text, self.size.width, self.app.console, self.rich_style)

    @property
    def below(self) -> int:
        """Lines after the last one in sight."""
        if not self._drawn:
            return 0
        return len(self._numbers) - bisect_left(self._numbers, self._drawn[-1][0]) - 1

    @property
    def matched(self) -> int | None:
        """How many lines the filter kept; None without a filter."""
        return None if self._kept is None else len(self._kept)

    @property
    def texts(self) -> list[str]:
        """The texts in sight."""
        return [entry.text for _, entry, _ in self._drawn]

    def line_here(self) -> LogLine | None:
        """The alarm jumped to, else the last alarm in sight."""
        for number, entry, _ in reversed(self._drawn):
            if number == self.current:
                return entry
        return next((entry for _, entry, _ in reversed(self._drawn) if entry.mark.alarm), None)

    # --- moving -------------------------------------------------------------------------------

    def _scroll(self, by: int) -> None:
        numbers = self._numbers
        if not len(numbers):
            return
        last = max(0, len(numbers) - self.size.height)
        start = max(0, min(last, bisect_left(numbers, self._top) + by))
        self._top = numbers[start]
        self.following = start >= last
        self.redraw()

    def action_cursor_down(self) -> None:
        """One line down; at the end it follows again."""
        self._scroll(1)

    def action_cursor_up(self) -> None:
        """One line up; this pauses."""
        self._scroll(-1)

    def action_page_down(self) -> None:
        """One page down."""
        self._scroll(max(1, self.size.height - 1))

    def action_page_up(self) -> None:
        """One page up."""
        self._scroll(-max(1, self.size.height - 1))

    def action_half_down(self) -> None:
        """Half a page down."""
        self._scroll(max(1, self.size.height // 2))

    def action_half_up(self) -> None:
        """Half a page up."""
        self._scroll(-max(1, self.size.height // 2))

    def action_top(self) -> None:
        """To the oldest kept line."""
        self._scroll(-len(self._numbers))

    def action_bottom(self) -> None:
        """To the tail, and follow it."""
        self.follow()

    def action_choose(self) -> None:
        """Enter has nothing to open in a log."""

    def follow(self) -> None:
        """Show the tail from now on."""
        self.following, self.current = True, None
        self.redraw()

    def pause(self) -> None:
        """Pause, or follow again."""
        if self.following:
            self.following = False
            self.redraw()
        else:
            self.follow()

    def shift(self, way: int) -> None:
        """Scroll sideways; 1 is to the right."""
        self._shift = max(0, self._shift + way * SHIFT)
        self.refresh()

    def to_alarm(self, step: int) -> bool:
        """Jump to the next alarm (1) or the one before (-1); False where there is none."""
        here = self.current
        if here is None:
            here = self._top - 1 if step > 0 and not self.following else self._buffer.end
            if step > 0 and self.following:
                here = self._buffer.first - 1
        for number in self._from(here, step):
            if self._buffer.alarms(number):
                self.go_to(number)
                return True
        return False

    def _from(self, here: int, step: int) -> Iterator[int]:
        numbers = self._numbers
        if step > 0:
            at = bisect_left(numbers, here + 1)
            yield from numbers[at:]
        else:
            at = bisect_left(numbers, here)
            yield from reversed(numbers[:at])

    def go_to(self, number: int) -> None:
        """Pause with line `number` in the middle."""
        self.following, self.current = False, number
        self._centre(number)
        self.redraw()

    def _centre(self, number: int) -> None:
        numbers = self._numbers
        start = max(0, bisect_left(numbers, number) - self.size.height // 2)
        self._top = numbers[start] if len(numbers) else self._buffer.first

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel moves like the keys."""
        event.stop()
        self._scroll(WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel moves like the keys."""
        event.stop()
        self._scroll(-WHEEL)

    def on_resize(self) -> None:
        """Another size shows other lines."""
        self.redraw()
        self.refresh()
