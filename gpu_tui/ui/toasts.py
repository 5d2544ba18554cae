"""One toast at a time, over the keys at the bottom, in as many words as the terminal has room for now."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from textual.app import App
from textual.notifications import SeverityLevel
from textual.widgets._toast import Toast

from gpu_tui.ui.text.bulletin import in_lines

EDGES = 2  # cells beside the text
LINES = 3  # as the style sheet says
STANDS = 0.2  # seconds after which a toast is mounted for sure
GLANCE = 2.0  # seconds in which one reads what a key was answered
MOST_ASIDE = 8  # toasts that wait until no card is open; of more the oldest are given up

Words = Callable[[int], str]  # what is said in so many cells


@dataclass(frozen=True, slots=True)
class Said:
    """A toast. `listed`: it also stands among the findings. `answer`: a key was pressed for it."""

    words: Words
    severity: SeverityLevel
    timeout: float | None
    listed: bool
    answer: bool


class ToastingApp(App[None]):
    """What an app says by the way. No text is markup."""

    _standing: Said | None = None
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
        """A person was told something."""

    def tell(
        self,
        words: Words,
        *,
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        listed: bool = False,
        answer: bool = False,
    ) -> None:
        """In a terminal of another width `words` are asked anew."""
        self.clear_notifications()
        self._standing = Said(words, severity, timeout, listed, answer)
        message = words(self.size.width - EDGES)
        super().notify(message, severity=severity, timeout=timeout, markup=False)
        self.set_timer(STANDS, self._only_the_last)

    def put_aside(self, *, reads_findings: bool) -> None:
        """A card opens: what stands would cover its keys, and for the rest of its time waits until it closes.
        An answer that was read is of before, and findings that the card itself shows need not be told again.
        """
        toast = next(iter(self._notifications), None)
        said, self._standing = self._standing, None
        self.clear_notifications()
        if said is None or toast is None or (said.listed and reads_findings):
            return
        if said.answer and toast.timeout - toast.time_left >= GLANCE:
            return
        self._aside = self._aside or deque(maxlen=MOST_ASIDE)
        self._aside.append(replace(said, timeout=max(toast.time_left, GLANCE)))

    def take_up(self) -> bool:
        """Tell what was put aside first; False where nothing was."""
        if not self._aside:
            return False
        said = self._aside.popleft()
        self.tell(
            said.words, severity=said.severity, timeout=said.timeout,
            listed=said.listed, answer=said.answer,
        )  # fmt: skip
        return True

    def tell_again(self) -> None:
        """The toast that stands, in the room that there is now."""
        said = self._standing
        if said is None:
            return
        for toast in self.screen.query(Toast) if self.screen_stack else ():
            toast._notification.message = said.words(self.size.width - EDGES)
            toast.refresh(layout=True)

    def _only_the_last(self) -> None:
        """A toast that was still being mounted when its successor came is overlooked by the stock rack."""
        if self.screen_stack:
            for older in list(self.screen.query("ToastHolder"))[:-1]:
                older.remove()
