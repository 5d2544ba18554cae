"""A list of lines that redraws only the lines that changed; with a cursor where the lines have keys."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from gpu_tui.ui.keys import bindings
from gpu_tui.ui.widgets.paint import Painted, paint

BLANK = Text(end="")
WHEEL = 3


class Rows(Painted, can_focus=True):
    """Lines under an optional head that stays in place.

    With keys, one key per line, the cursor sits on a key and stays with it when lines move.
    """

    DEFAULT_CSS = "Rows { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("list")]

    class Moved(Message):
        """The cursor is on another key."""

        def __init__(self, rows: Rows, key: str) -> None:
            super().__init__()
            self.rows = rows
            self.key = key

        @property
        def control(self) -> Rows:
            """The list it happened in."""
            return self.rows

    class Chosen(Moved):
        """Enter, or two clicks on one line."""

    class Placed(Message):
        """It has another height now, by what it holds: how much is out of sight is another number."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: list[Text] = []
        self._keys: list[str] | None = None
        self._head: Text | None = None
        self._top = 0
        self.key: str | None = None

    # --- content ------------------------------------------------------------------------------

    def put(
        self, lines: Sequence[Text], keys: Sequence[str] | None = None, head: Text | None = None
    ) -> None:
        """Show `lines`; what is equal to what stands there is not drawn again."""
        before, count = self._shown(), len(self._lines)
        if keys is not None:
            self.key = self.heir(keys)
        self._lines, self._head = list(lines), head
        self._keys = list(keys) if keys is not None else None
        self._keep_in_sight()
        self._redraw(before)
        if count != len(self._lines) and self.styles.is_auto_height:
            self.refresh(layout=True)

    def heir(self, keys: Sequence[str]) -> str | None:
        """Where the cursor is once these are the keys: of a line that goes its neighbour takes it, the one
        below or else the one above.
        """
        new = set(keys)
        if self.key in new or not keys:
            return self.key if keys else None
        old, at = self._keys or [], self._index
        near = () if at is None else (*old[at + 1 :], *reversed(old[:at]))
        return next((key for key in near if key in new), keys[0])

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Where the height is `auto`: as many lines as there are."""
        return len(self._lines) + (1 if self._head is not None else 0)

    def point(self, key: str) -> None:
        """Put the cursor on `key` without a message."""
        if self._keys and key in self._keys and key != self.key:
            before = self._shown()
            self.key = key
            self._keep_in_sight()
            self._redraw(before)

    @property
    def lines(self) -> list[Text]:
        """All lines, also those out of sight."""
        return list(self._lines)

    @property
    def hidden(self) -> tuple[int, int]:
        """How many lines are above and below what is in sight."""
        return self._top, max(0, len(self._lines) - self._top - self._room)

    @property
    def here(self) -> str | None:
        """The key that the cursor is seen on; None where lines without keys stand there for a while."""
        return self.key if self._index is not None else None

    @property
    def _room(self) -> int:
        return max(0, self.size.height - (1 if self._head is not None else 0))

    @property
    def _index(self) -> int | None:
        if not self._keys or self.key not in self._keys:
            return None
        return self._keys.index(self.key)

    def _keep_in_sight(self) -> None:
        room = self._room
        if self._index is not None and room:
            self._top = min(self._top, self._index)
            self._top = max(self._top, self._index - room + 1)
        self._top = max(0, min(self._top, len(self._lines) - room))

    def _shown(self) -> list[tuple[Text, bool]]:
        index = self._index
        rows = [(self._head, False)] if self._head is not None else []
        stop = self._top + self._room
        rows += [
            (self._lines[n], n == index) for n in range(self._top, min(stop, len(self._lines)))
        ]
        return rows

    def _redraw(self, before: list[tuple[Text, bool]]) -> None:
        width = self.size.width
        changed = [
            Region(0, y, width, 1)
            for y, (old, new) in enumerate(zip_longest(before, self._shown()))
            if old != new
        ]
        if changed:
            self.refresh(*changed)

    def render_line(self, y: int) -> Strip:
        """One line of what is in sight."""
        shown = self._shown()
        text, here = shown[y] if y < len(shown) else (BLANK, False)
        width, base = self.size.width, self.base
        if here:
            cursor = self.app.console.get_style("cursor" if self.has_focus else "cursor-away")
            base += cursor
            if (
                cursor.color is not None
            ):  # one ink for the whole line: no other is sure to be read on it
                text = Text(text.plain, end="")
        return paint(text, width, self.app.console, base)

    # --- moving -------------------------------------------------------------------------------

    def scroll_lines(self, by: int) -> None:
        """Move from outside, as the keys do."""
        self._move(by)

    def take(self, key: str) -> bool:
        """Scroll as `key` does in a list that has the focus; False where it does not scroll."""
        most, page = len(self._lines), max(1, self._room - 1)
        by = {
            "down": 1, "j": 1, "up": -1, "k": -1, "pagedown": page, "pageup": -page,
            "ctrl+d": page // 2 or 1, "ctrl+u": -(page // 2 or 1),
            "home": -most, "g": -most, "end": most, "G": most,
        }  # fmt: skip
        if key in by:
            self._move(by[key])
        return key in by

    def _move(self, by: int) -> None:
        before = self._shown()
        if self._keys:
            index = self._index or 0
            target = self._keys[max(0, min(len(self._keys) - 1, index + by))]
            if target != self.key:
                self.key = target
                self.post_message(self.Moved(self, target))
            self._keep_in_sight()
        else:
            self._top += by
            self._keep_in_sight()
        self._redraw(before)

    def action_cursor_down(self) -> None:
        """One line down."""
        self._move(1)

    def action_cursor_up(self) -> None:
        """One line up."""
        self._move(-1)

    def action_page_down(self) -> None:
        """One page down."""
        self._move(max(1, self._room - 1))

    def action_page_up(self) -> None:
        """One page up."""
        self._move(-max(1, self._room - 1))

    def action_half_down(self) -> None:
        """Half a page down."""
        self._move(max(1, self._room // 2))

    def action_half_up(self) -> None:
        """Half a page up."""
        self._move(-max(1, self._room // 2))

    def action_top(self) -> None:
        """To the first line."""
        self._move(-len(self._lines))

    def action_bottom(self) -> None:
        """To the last line."""
        self._move(len(self._lines))

    def action_choose(self) -> None:
        """Say which key was chosen."""
        if self.here is not None:
            self.post_message(self.Chosen(self, self.here))

    def on_click(self, event: events.Click) -> None:
        """A click puts the cursor there, a second one on the same line is enter."""
        index = self._top + event.y - (1 if self._head is not None else 0)
        if self._keys and 0 <= index < len(self._keys):
            again = event.chain > 1 and index == self._index
            self._move(index - (self._index or 0))
            if again:
                self.action_choose()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel moves like the keys."""
        event.stop()
        self._move(WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel moves like the keys."""
        event.stop()
        self._move(-WHEEL)

    def on_resize(self) -> None:
        """Another height shows other lines."""
        self._keep_in_sight()
        self.refresh()
        if self.styles.is_auto_height:
            self.post_message(self.Placed())

    def on_focus(self) -> None:
        """The cursor looks different with the focus."""
        self.refresh()

    def on_blur(self) -> None:
        """The cursor looks different without the focus."""
        self.refresh()
