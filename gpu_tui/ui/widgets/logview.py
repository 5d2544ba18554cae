"""One log on screen: at its live end unless paused, redrawn only where lines changed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from gpu_tui.core.logs import LogLine
from gpu_tui.state.log_document import BETWEEN, OLDER, LogDocument
from gpu_tui.state.logbuffer import LogBuffer
from gpu_tui.ui.foreign import inks_of
from gpu_tui.ui.keys import bindings
from gpu_tui.ui.text.filters import Filter
from gpu_tui.ui.text.logs import GUTTER, label_of, log_row, note_row, wrapped
from gpu_tui.ui.widgets.paint import Painted, paint
from gpu_tui.ui.widgets.sieve import Sieve

BLANK, BLANK_STRIP = Text(end=""), Strip([])
WHEEL = 3
SHIFT = 16
SIEVE_SECONDS = 0.02  # between two mouthfuls of lines to judge


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the screen: a line or a part of it (`part`), or what is said of lines not loaded."""

    key: int
    label: str | int = ""
    entry: LogLine | None = None
    note: Text | None = None
    current: bool = False
    marked: bool = False
    part: tuple[int, int] | None = None


class LogView(Painted, can_focus=True):
    """Looks at a `LogDocument` without copying it; lines have the document's keys.

    `_top` is the key of the first line in sight while paused and `_sub` the row of it that is first;
    `current` is the line that was jumped to.
    """

    DEFAULT_CSS = "LogView { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("list")]

    class Edge(Message):
        """Somebody scrolled to where lines are not loaded: `key` is OLDER or BETWEEN."""

        def __init__(self, key: int) -> None:
            super().__init__()
            self.key = key

    class Moved(Message):
        """Another place is in sight, or the live end no longer is."""

    class Start(Message):
        """Somebody wants the first line of the file."""

    def __init__(self, *, id: str | None = None) -> None:
        # Of rows in sight now or just before: what each was made of, and what came of it.
        self._strips: dict[tuple[object, ...], tuple[tuple[Row, int, int], Strip]] = {}
        super().__init__(id=id)
        self.document = LogDocument(LogBuffer())
        self._state: tuple[object, ...] = ()
        self._sieve: Sieve | None = None
        self._filter = Filter()
        self._top = self._sub = 0
        self._shift = 0
        self._height = 0
        self._drawn: list[Row] = []
        self._judging = False
        self._place: tuple[object, ...] = ()
        self.following = True
        self.wrap = False
        self.current: int | None = None

    # --- content ------------------------------------------------------------------------------

    def look_at(self, document: LogDocument) -> None:
        """Show `document` as it is now; another one starts at its live end."""
        if document is not self.document:
            self.document = document
            self._state = ()
            self.following, self.current, self._shift = True, None, 0
            self._refilter()
        if document.state != self._state:
            self._state = document.state
            self._judge()
            self.redraw()

    def keep_only(self, fits: Filter) -> None:
        """Show only the lines that the filter keeps; over all that is loaded, also while paused."""
        self._filter = fits
        self._refilter()
        self._judge()
        self.redraw()

    def _refilter(self) -> None:
        self._sieve = Sieve(self.document, self._filter) if self._filter else None

    def _judge(self) -> None:
        """Judge a mouthful; the rest in a moment, so that keys are never kept waiting."""
        if self._sieve is not None and self._sieve.work() and not self._judging:
            self._judging = True
            self.set_timer(SIEVE_SECONDS, self._judge_on)

    def _judge_on(self) -> None:
        self._judging = False
        self._judge()
        self.redraw()

    @property
    def sieve(self) -> Sieve | None:
        """The filter at work, and how far it is."""
        return self._sieve

    @property
    def _numbers(self) -> Sequence[int]:
        return self.document.numbers if self._sieve is None else self._sieve.numbers

    # --- what is in sight ----------------------------------------------------------------------

    def _parts(self, key: int) -> list[tuple[int, int]] | None:
        """The rows of one line; None where it takes one, whatever its length."""
        if not self.wrap or key in (OLDER, BETWEEN):
            return None
        entry = self.document.line(key)
        rows = wrapped(entry.text, self.size.width - GUTTER) if entry is not None else []
        return rows if len(rows) > 1 else None

    def _height_of(self, key: int) -> int:
        return len(self._parts(key) or (0,))

    def _rows(self, key: int) -> list[Row]:
        entry = self.document.line(key)
        if entry is None:
            return [Row(key, note=note_row(self.document, key))]
        label, current = label_of(self.document, key), key == self.current
        marked = key in self.document.bookmarks
        parts: Sequence[tuple[int, int] | None] = self._parts(key) or [None]
        return [Row(key, label, entry, None, current, marked, part) for part in parts]

    def _last_start(self, numbers: Sequence[int]) -> tuple[int, int]:
        """Where the last page begins: index of a line, and a row of it."""
        if not self.wrap:
            return max(0, len(numbers) - self.size.height), 0
        room, at = self.size.height, len(numbers)
        while at > 0 and room > 0:
            at -= 1
            room -= self._height_of(numbers[at])
        return at, max(0, -room)

    def _window(self) -> list[Row]:
        """The rows in sight, and the place brought back into what is kept."""
        numbers, height = self._numbers, self.size.height
        if height != self._height:
            self._height = height
            if any(row.key == self.current for row in self._drawn):
                self._centre(self.current or 0)  # another height must not lose the alarm
        at, sub = self._last_start(numbers)
        if not self.following:
            at, sub = min((bisect_left(numbers, self._top), self._sub), (at, sub))
        rows: list[Row] = []
        for key in numbers[at : at + height]:
            rows += self._rows(key)
            if len(rows) >= height + sub:
                break
        seen = rows[sub : sub + height]
        self._top, self._sub = (seen[0].key if seen else self.document.tail.first), sub
        return seen

    def redraw(self) -> None:
        """Draw the rows that are not what stood there before."""
        rows = self._window()
        before, self._drawn = self._drawn, rows
        place = (self.following, self.current, None if self.following else self._top)
        if place != self._place:
            self._place = place
            self.post_message(self.Moved())
        width = self.size.width
        changed = [
            Region(0, y, width, 1)
            for y, (old, new) in enumerate(zip_longest(before, rows))
            if old is None or new is None or old != new
        ]
        if changed:
            self.refresh(*changed)

    def render_line(self, y: int) -> Strip:
        """One row of what is in sight; one that only moved is not made again."""
        row = self._drawn[y] if y < len(self._drawn) else None
        if row is None or row.entry is None:
            text = row.note if row is not None and row.note is not None else BLANK
            return paint(text, self.size.width, self.app.console, self.base)
        width = self.size.width
        here = (row, self._shift, width)
        of, strip = self._strips.get((row.key, row.part), (None, BLANK_STRIP))
        if of != here:
            if len(self._strips) > 4 * self.size.height:
                self._strips.clear()
            text = log_row(
                row.label, row.entry, shift=0 if self.wrap else self._shift,
                current=row.current, marked=row.marked, part=row.part, inks=inks_of(self.app),
            )  # fmt: skip
            strip = paint(text, width, self.app.console, self.base)
            self._strips[row.key, row.part] = here, strip
        return strip

    def restyled(self) -> None:
        """Other colours."""
        super().restyled()
        self._strips.clear()

    @property
    def below(self) -> int:
        """Lines after the last one in sight."""
        if not self._drawn:
            return 0
        return len(self._numbers) - bisect_left(self._numbers, self._drawn[-1].key) - 1

    @property
    def matched(self) -> int | None:
        """How many lines the filter kept; None without a filter."""
        return None if self._sieve is None else self._sieve.count

    @property
    def nothing_fits(self) -> bool:
        """The filter is done with all that is loaded, and kept no line of it."""
        return self._sieve is not None and self._sieve.count == 0 and self._sieve.share == 1

    @property
    def texts(self) -> list[str]:
        """The texts of the lines in sight."""
        whole: dict[int, str] = {}
        for row in self._drawn:
            if row.entry is not None:
                whole[row.key] = row.entry.text
        return list(whole.values())

    def line_here(self) -> LogLine | None:
        """The line jumped to, else the last alarm in sight."""
        entries = [(row.key, row.entry) for row in self._drawn if row.entry is not None]
        for key, entry in reversed(entries):
            if key == self.current:
                return entry
        return next((entry for _, entry in reversed(entries) if entry.mark.alarm), None)

    @property
    def here(self) -> int | None:
        """The line that a person means: the one jumped to, else the first in sight, or at the live end
        the last.
        """
        keys = [row.key for row in self._drawn if row.entry is not None]
        if self.current in keys:
            return self.current
        return (keys[-1] if self.following else keys[0]) if keys else None

    # --- moving -------------------------------------------------------------------------------

    def _scroll(self, by: int) -> None:
        numbers = self._numbers
        if not len(numbers):
            return
        last = self._last_start(numbers)
        at, sub = bisect_left(numbers, self._top), self._sub
        if self.wrap:
            for _ in range(min(abs(by), len(numbers))):
                rows = self._height_of(numbers[at])
                if by > 0 and (at, sub) < last:
                    at, sub = (at, sub + 1) if sub + 1 < rows else (at + 1, 0)
                elif by < 0 and sub > 0:
                    sub -= 1
                elif by < 0 and at > 0:
                    at, sub = at - 1, self._height_of(numbers[at - 1]) - 1
        else:
            at = at + by
        at, sub = min(max((0, 0), (at, sub)), last)
        self._top, self._sub = numbers[at], sub
        self.following = (at, sub) >= last and (by > 0 or self.following)
        self.redraw()
        self._tell_edge(by)

    def _tell_edge(self, way: int) -> None:
        keys = [row.key for row in self._drawn]
        if way < 0 and keys and keys[0] == OLDER:
            self.post_message(self.Edge(OLDER))
        elif BETWEEN in keys:
            self.post_message(self.Edge(BETWEEN))

    def grew_above(self, page: int) -> None:
        """Lines came before the first one in sight: show the last `page` rows of them."""
        key = next((row.key for row in self._drawn if row.entry is not None), None)
        numbers = self._numbers
        if key is not None and not self.following:
            at = bisect_left(numbers, key)
            self._top, self._sub = numbers[max(0, min(at - page, len(numbers) - 1))], 0
        self.look_at(self.document)

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
        """To the first line of the file."""
        if self.document.reach and self.document.start:
            self.post_message(self.Start())
        else:
            self.to_first()

    def to_first(self) -> None:
        """To the first line that is loaded."""
        numbers = self._numbers
        if len(numbers):
            self._top, self._sub = numbers[0], 0
            self.following = self.following and self._last_start(numbers) <= (0, 0)
            self.redraw()

    def action_bottom(self) -> None:
        """To the live end, and follow it."""
        self.follow()

    def action_choose(self) -> None:
        """Enter has nothing to open in a log."""

    def follow(self) -> None:
        """Show the live end from now on."""
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
        """Scroll sideways; 1 is to the right, as far as the longest line in sight goes."""
        if self.wrap:
            return
        room = self.size.width - GUTTER
        ends = (len(text) - (room if text.isascii() else room // 2) for text in self.texts)
        if way < 0 or self._shift < max(ends, default=0):
            self._shift = max(0, self._shift + way * SHIFT)
            self.refresh()

    def turn_wrap(self) -> None:
        """Long lines over several rows, or cut at the edge."""
        self.wrap, self._sub = not self.wrap, 0
        self.redraw()
        self.refresh()

    def to_alarm(self, step: int) -> tuple[bool, int]:
        """Jump to the next alarm (1) or the one before (-1): whether there is one, and how many bytes on the
        way there are not loaded.
        """
        numbers = self._numbers
        here = self.current
        if here is None and len(numbers):
            last = numbers[-1] + 1
            first = numbers[0] - 1
            here = (last if step < 0 else first) if self.following else self._top - (step > 0)
        if here is None:
            return False, 0
        there = self.document.next_alarm(here, step)
        while there is not None and self._sieve is not None and not self._sieve.has(there):
            there = self.document.next_alarm(there, step)
        if there is not None:
            self.go_to(there)
        return there is not None, self.document.unread(here, there, step)

    def go_to(self, key: int) -> None:
        """Pause with line `key` in the middle."""
        self.following, self.current = False, key
        self._centre(key)
        self.redraw()

    def _centre(self, key: int) -> None:
        numbers = self._numbers
        at = bisect_left(numbers, key)
        if not self.wrap:
            at -= self.size.height // 2
        else:
            room = self.size.height // 2
            while at > 0 and room > 0:
                at -= 1
                room -= self._height_of(numbers[at])
        self._top = numbers[max(0, at)] if len(numbers) else self.document.tail.first
        self._sub = 0

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
