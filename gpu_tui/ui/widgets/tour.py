"""The tour: ten sentences over the living cockpit, each with the pane it speaks of in front.

Under each stands what is true of this fleet right now, so that one knows where to look.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Vertical

from gpu_tui.core.speech import say
from gpu_tui.ui.text.marks import line, wrap
from gpu_tui.ui.widgets.rows import Rows

STEPS: tuple[tuple[str, str, str], ...] = (
    ("", "Welcome", "This is a fleet of rented GPU boxes. Nothing here can break anything: press any key you like."),
    ("instances", "Instances", "One row per box; the one that needs a human most is on top. Up and down select it."),
    ("instances", "Four kinds of numbers", "Plain is fresh, ~ is old, – is absent, ? is unknown. None of them is drawn as 0."),
    ("clocks", "Danger clocks", "Deadlines and bills that the platform does not remind you of, with what they destroy."),
    ("vitals", "Vitals", "Cards, the memory limit that really binds, and every disk by bytes and by inodes."),
    ("queue", "Queue", "The sweep as planned against what the box shows: a log that says done is only a claim."),
    ("log", "Log", "Always at the tail. n jumps to the next alarm; the line below says what to do about it."),
    ("log", "Findings", "f lists everything worth seeing, worst first, with evidence and remedy."),
    ("instances", "Teardown", "t opens a ladder: pull, compare, load, and only then a phrase to type: enter alone destroys nothing."),
    ("instances", "That is all", "? shows all keys, ctrl+p every action by name, q leaves."),
)  # fmt: skip
WAYS: dict[str, int | None] = {"space": 1, "enter": 1, "backspace": -1, "escape": None}


class Tour(Vertical, can_focus=False):
    """Docked above the footer. The screen hands it its keys."""

    def __init__(self, point: Callable[[str], None], live: Callable[[str], str]) -> None:
        super().__init__(id="tour")
        self._point = point
        self._live = live
        self._step = 0
        self._rows = Rows(id="tour-rows")

    def compose(self) -> ComposeResult:
        """The words."""
        self._rows.can_focus = False
        yield self._rows

    def on_mount(self) -> None:
        """The first sentence."""
        self.border_title = say("Tour")

    def on_resize(self) -> None:
        """Words are broken for one width."""
        self._say()

    def again(self) -> None:
        """The cockpit shows another moment: what is said of it may be another thing."""
        self._say()

    def on_click(self) -> None:
        """Go on."""
        self.take("space")

    def take(self, key: str) -> bool:
        """Go on, back or away; False where the key is not the tour's."""
        if key not in WAYS:
            return False
        way = WAYS[key]
        self._step = len(STEPS) if way is None else max(0, self._step + way)
        if self._step >= len(STEPS):
            self.remove()
        else:
            self._point(STEPS[self._step][0])
            self._say()
        return True

    def _say(self) -> None:
        _, title, text = STEPS[self._step]
        rows = self._rows
        place = line((f"{self._step + 1}/{len(STEPS)}  ", "faint"), (say(title), "strong"))
        width = max(20, rows.size.width)
        now = self._live(title)
        rows.put(
            [place, *wrap(say(text), width, "text"), *(wrap(now, width, "accent") if now else [])]
        )
        keys = say("enter: next · backspace: back · escape: end")
        self.border_subtitle = keys if cell_len(keys) <= width else say("enter: next · escape: end")
        self.styles.height = len(rows.lines) + 2
