"""One toast at a time, over the keys at the bottom, in as many words as the terminal has room for now."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import App
from textual.notifications import SeverityLevel
from textual.widgets._toast import Toast

from gpu_tui.ui.text.bulletin import in_lines

EDGES = 2  # cells beside the text
LINES = 3  # as the style sheet says
STANDS = 0.2  # seconds after which a toast is mounted for sure

Words = Callable[[int], str]  # what is said in so many cells


class ToastingApp(App[None]):
    """What an app says by the way. No text is markup."""

    _words: Words = staticmethod(lambda room: "")

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
        self.tell(lambda room: in_lines(message, room, LINES), severity=severity, timeout=timeout)

    def told_to(self) -> None:
        """A person was told something."""

    def tell(
        self,
        words: Words,
        *,
        severity: SeverityLevel = "information",
        timeout: float | None = None,
    ) -> None:
        """In a terminal of another width `words` are asked anew."""
        self.clear_notifications()
        self._words = words
        message = words(self.size.width - EDGES)
        super().notify(message, severity=severity, timeout=timeout, markup=False)
        self.set_timer(STANDS, self._only_the_last)

    def tell_again(self) -> None:
        """The toast that stands, in the room that there is now."""
        for toast in self.screen.query(Toast) if self.screen_stack else ():
            toast._notification.message = self._words(self.size.width - EDGES)
            toast.refresh(layout=True)

    def _only_the_last(self) -> None:
        """A toast that was still being mounted when its successor came is overlooked by the stock rack."""
        if self.screen_stack:
            for older in list(self.screen.query("ToastHolder"))[:-1]:
                older.remove()
