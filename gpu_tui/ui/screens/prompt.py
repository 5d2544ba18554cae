"""A login asks a person: who asks, in whose words, and fields that show nothing of a secret.

What is typed leaves with the answer and is kept nowhere. The first half second counts for nothing: it
may have been meant for another place.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text
from textual import events, on
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Button, Input

from gpu_tui.core.clock import Clock
from gpu_tui.core.prompts import Prompts
from gpu_tui.core.speech import say
from gpu_tui.ui.keys import Key
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.screens.card import Card
from gpu_tui.ui.text.marks import line, wrap
from gpu_tui.ui.widgets.field import Field
from gpu_tui.ui.widgets.paint import Block

SETTLE = 0.5  # seconds
LONGEST = 1024  # characters of one answer


class Answer(Field):
    """One answer. It takes no key at first, and never offers its text to be copied."""

    HANDS_ON = False  # the rest of a secret is a key of nothing else

    DEFAULT_CSS = """
    Answer { height: 1; border: none; padding: 0 1; background: $panel; }
    Answer:focus { border: none; }
    """

    def __init__(self, clock: Clock, *, echo: bool, id: str) -> None:
        super().__init__(password=not echo, max_length=LONGEST, id=id, select_on_focus=False)
        self._clock = clock
        self._shown_at = clock.boot()

    async def on_key(self, event: events.Key) -> None:
        """Keys that were under way when the question came up are dropped."""
        if self._clock.boot() - self._shown_at < SETTLE and event.key != "escape":
            event.stop()
            event.prevent_default()

    @property
    def selected_text(self) -> str:
        """What copying and cutting take: nothing of a secret, for a clipboard is read by others."""
        return "" if self.password else super().selected_text


def _wrapped(text: str, width: int, style: str) -> list[Text]:
    """Each of its lines, in as many as it takes."""
    return [row for part in text.split("\n") for row in wrap(part, width, style)]


class PromptScreen(Card):
    """Dismissed with None: `answers` says what was typed, or None where the person cancelled."""

    DEFAULT_CSS = "PromptScreen #card { overflow-y: auto; }"
    AUTO_FOCUS = "#answer-0"
    QUIET = True

    def __init__(self, moment: Moment, prompts: Prompts, clock: Clock) -> None:
        super().__init__(moment)
        self._prompts = prompts
        self._gone = False
        self.answers: tuple[str, ...] | None = None
        self._said = Block(id="said")
        self._fields = [
            Answer(clock, echo=field.echo, id=f"answer-{number}")
            for number, field in enumerate(prompts.fields)
        ]
        self._labels = [Block(classes="label") for _ in prompts.fields]

    def title_words(self) -> str:
        """Whose login this is."""
        return say("Login to {instance}", instance=self._prompts.instance)

    def content(self) -> Iterable[Widget]:
        """Who asks, the fields, two buttons."""
        yield self._said
        for label, field in zip(self._labels, self._fields, strict=True):
            yield label
            yield field
        with Horizontal(id="buttons"):
            yield Button(say("Send"), id="send", compact=True)
            yield Button(say("Cancel"), id="cancel", compact=True)

    def paint(self, moment: Moment) -> None:
        """Our words and theirs, told apart."""
        asked, width = self._prompts, max(20, self.size.width - 6)
        who = say("{who} asks for {title}.", who=asked.who, title=asked.title)
        if asked.hop:
            who = say(
                "The jump host {hop} ({who}) asks for {title}.",
                hop=asked.hop,
                who=asked.who,
                title=asked.title,
            )
        lines = wrap(who, width, "strong")
        if asked.note:
            lines += _wrapped(say("It says: {note}", note=asked.note), width, "text")
        lines += wrap(
            say("The answer is kept nowhere. After a Cancel, r asks again."), width, "muted"
        )
        self._said.put([*lines, line("")])
        for label, field in zip(self._labels, asked.fields, strict=True):
            label.put(_wrapped(field.text, width, "accent"))

    def footer_keys(self) -> list[Key]:
        """No letter is a key here."""
        return [key for key in super().footer_keys() if len(key.key) > 1]

    def take_away(self) -> None:
        """Nobody waits for the answer any more."""
        self._gone = True
        if self.on_top:
            self.dismiss(None)

    @on(events.ScreenResume)
    def _back(self) -> None:
        if self._gone:
            self.dismiss(None)

    @on(Input.Submitted)
    def _next(self, event: Input.Submitted) -> None:
        """Enter goes to the next field, and sends from the last."""
        at = next(n for n, field in enumerate(self._fields) if field is event.input)
        if at + 1 < len(self._fields):
            self._fields[at + 1].focus()
        else:
            self._send()

    @on(Button.Pressed, "#send")
    def _send(self) -> None:
        self.answers = tuple(field.value for field in self._fields)
        self.dismiss(None)

    @on(Button.Pressed, "#cancel")
    def _cancel(self) -> None:
        self.dismiss(None)
