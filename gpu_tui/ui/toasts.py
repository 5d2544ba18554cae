"""One toast at a time, over the keys at the bottom, in as many words as the terminal has room for now."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic

from textual import events
from textual.notifications import SeverityLevel

from gpu_tui.ui.terminal.app import TerminalApp
from gpu_tui.ui.text.bulletin import in_lines

EDGES = 2  # cells around the text
LINES = 3  # as in the style sheet
STANDS = 0.2  # seconds after which a toast is mounted for sure
GLANCE = 2.0  # seconds in which one reads what a key was answered
MOST_ASIDE = 8  # toasts that wait until no card is open; of more the oldest are given up

Words = Callable[[int], str]  # the text for a number of cells


@dataclass(frozen=True, slots=True)
class Said:
    """A toast. `listed`: it is also among the findings. `answer`: a key was pressed for it."""

    words: Words
    severity: SeverityLevel
    timeout: float  # seconds
    listed: bool
    answer: bool


class ToastingApp(TerminalApp[None]):
    """An app that shows one toast at a time. No text is markup."""

    _standing: tuple[Said, float, str] | None = None  # since when, and in which words
    _aside: deque[Said] | None = None

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """To the person who pressed a key. What has no room in its lines ends in an ellipsis."""
        self.told_to()
        self.tell(
            lambda room: in_lines(message, room, LINES),
            severity=severity, timeout=timeout, answer=True,
        )  # fmt: skip

    def told_to(self) -> None:
        """Called when a key was answered."""

    def tell(
        self,
        words: Words,
        *,
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        listed: bool = False,
        answer: bool = False,
    ) -> None:
        """In a terminal of another width `words` is called again."""
        seconds = self.NOTIFICATION_TIMEOUT if timeout is None else timeout
        self._stand(Said(words, severity, seconds, listed, answer))

    def _stand(self, said: Said) -> None:
        self.clear_notifications()
        message = said.words(self.size.width - EDGES)
        self._standing = said, monotonic(), message
        super().notify(message, severity=said.severity, timeout=said.timeout, markup=False)
        self.set_timer(STANDS, self._only_the_last)

    def clear_notifications(self) -> None:
        """Take the toast away."""
        self._standing = None
        super().clear_notifications()

    def on_click(self, event: events.Click) -> None:
        """A click on a toast takes it away."""
        if event.widget is not None and event.widget in self.screen.query("Toast"):
            self._standing = None

    def put_aside(self, *, reads_findings: bool) -> None:
        """A card opens: the toast would cover its keys, so it waits until the card closes, for the rest of its time.
        An answer that was read is dropped, and so are findings that the card itself shows.
        """
        standing = self._standing
        self.clear_notifications()
        if standing is None:
            return
        said, since, _ = standing
        stood = monotonic() - since
        if stood >= said.timeout or (said.answer and stood >= GLANCE):
            return
        if not (said.listed and reads_findings):
            self._aside = self._aside or deque(maxlen=MOST_ASIDE)
            self._aside.append(replace(said, timeout=max(said.timeout - stood, GLANCE)))

    def take_up(self) -> bool:
        """Show the toast that was put aside first; False where none was."""
        if not self._aside:
            return False
        self._stand(self._aside.popleft())
        return True

    def tell_again(self) -> None:
        """Show the toast again, in the room that there is now."""
        if self._standing is None:
            return
        said, since, message = self._standing
        left = said.timeout - (monotonic() - since)
        if left > 0 and said.words(self.size.width - EDGES) != message:
            self._stand(replace(said, timeout=left))

    def _only_the_last(self) -> None:
        """A toast that was still being mounted when its successor came is overlooked by the stock rack."""
        if self.screen_stack:
            for older in list(self.screen.query("ToastHolder"))[:-1]:
                older.remove()
