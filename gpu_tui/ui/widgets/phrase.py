"""The field in which a confirmation is typed by a person: no paste, no bursts, no clipboard."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from gpu_tui.core.clock import Clock
from gpu_tui.core.speech import say
from gpu_tui.ui.text.marks import line
from gpu_tui.ui.widgets.paint import paint

# Seconds after the focus came in which no key counts: it may have been meant for elsewhere.
SETTLE = 0.5
TOO_FAST = 0.005  # seconds between two keys that no hand can type: a paste, or a terminal answering
PASSED = ("tab", "shift+tab", "escape", "up", "down", "pageup", "pagedown", "home", "end")


class Tempo:
    """Tells a hand from a terminal: by our clock, and by when the keys arrived, however late they are read."""

    def __init__(self) -> None:
        self._handled = self._arrived = float("-inf")

    def too_fast(self, event: events.Key, now: float) -> bool:
        """True where this key followed the one before faster than anybody types."""
        handled, arrived = now - self._handled, event.time - self._arrived
        self._handled, self._arrived = now, event.time
        return min(handled, arrived) < TOO_FAST


class PhraseField(Widget, can_focus=True):
    """Takes one phrase, key by key. Anything faster than a hand empties it again."""

    DEFAULT_CSS = "PhraseField { height: 1; }"

    class Changed(Message):
        """Another text stands in the field."""

    class Submitted(Message):
        """Enter was pressed in the field."""

    def __init__(self, clock: Clock, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock
        self._focused_at = 0.0
        self._tempo = Tempo()
        self.expected = ""
        self.typed = ""
        self.hint = ""

    @property
    def complete(self) -> bool:
        """The phrase stands there, whole and exact."""
        return bool(self.expected) and self.typed == self.expected

    def expect(self, phrase: str) -> None:
        """Ask for `phrase`; another one empties the field."""
        if phrase != self.expected:
            self.expected = phrase
            self.clear("")

    def clear(self, hint: str) -> None:
        """Empty the field and say why."""
        self.typed, self.hint = "", hint
        self._changed()

    def _remark(self, hint: str) -> None:
        """Say what became of a key; what was typed stays."""
        self.hint = hint
        self.refresh()

    def _changed(self) -> None:
        self.post_message(self.Changed())
        self.refresh()

    def on_focus(self) -> None:
        """Keys count only a moment after the focus came."""
        self._focused_at = self._clock.boot()
        self.refresh()

    def on_blur(self) -> None:
        """The caret goes."""
        self.refresh()

    def on_key(self, event: events.Key) -> None:
        """One key of the phrase."""
        if event.key in PASSED:
            return
        event.stop()
        event.prevent_default()
        now = self._clock.boot()
        too_fast = self._tempo.too_fast(event, now)
        if now - self._focused_at < SETTLE:
            self._remark(say("too early: that key was not taken"))
            return
        if too_fast:
            self.clear(say("that came faster than a hand types; type it"))
        elif event.key == "enter":
            if self.typed and not self.complete:
                self._remark(say("that is not the whole phrase"))
            self.post_message(self.Submitted())
        elif event.key == "backspace":
            self.typed, self.hint = self.typed[:-1], ""
            self._changed()
        elif event.is_printable and event.character and len(self.typed) < len(self.expected):
            self.typed, self.hint = self.typed + event.character, ""
            self._changed()

    def on_paste(self, event: events.Paste) -> None:
        """A paste is refused."""
        event.stop()
        event.prevent_default()
        self.clear(say("pasting is refused here; type it"))

    def render_line(self, y: int) -> Strip:
        """What was typed, right and wrong characters apart, and the caret."""
        text: Text = line(("› ", "accent"))
        for position, char in enumerate(self.typed):
            right = position < len(self.expected) and self.expected[position] == char
            text.append(char, "strong" if right else "danger")
        if self.has_focus:
            text.append("▏", "accent")
        if self.hint:
            text.append(f"  {self.hint}", "level-watch")
        elif not self.typed and not self.has_focus:
            text.append(say("tab here to type the phrase"), "muted")
        return paint(text, self.size.width, self.app.console, self.rich_style)
