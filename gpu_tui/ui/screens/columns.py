"""Columns: which ones Instances shows, in what order they give way where it is narrow."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.binding import BindingType
from textual.widget import Widget

from gpu_tui.core.speech import say
from gpu_tui.ui.keys import bindings
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.screens.card import Card
from gpu_tui.ui.text.fleet import COLUMNS, ORDER, columns, head, row
from gpu_tui.ui.text.marks import fit, line, more_below
from gpu_tui.ui.text.signs import need
from gpu_tui.ui.widgets.rows import Rows

ALWAYS = ("name", "verdict")
# A wide form stands for its narrow one where there is room: both are one choice.
CHOICES = tuple(key for key in ORDER if key not in ALWAYS and not key.endswith("+"))
WHAT = {
    "platform": "whose box it is",
    "gpu": "GPU utilisation, with a bar where there is room",
    "vram": "memory of the fullest card",
    "mem": "memory of the container",
    "disk": "bytes of the fullest mount",
    "ino": "inodes of the fullest mount",
    "tags": "tags of the fleet file",
    "cell": "what runs, and how far it is",
    "price": "what an hour costs",
    "spent": "what it cost so far",
    "up": "since when the box runs",
    "clock": "the next danger clock",
    "age": "how old the newest reading is",
}


class ColumnScreen(Card):
    """Dismissed with the chosen columns, or with "" for what it is without a choice."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("columns")]
    CONTEXTS = ("columns", "overlay")
    TITLE_WORDS = "Columns of Instances"

    def __init__(self, moment: Moment, chosen: Sequence[str]) -> None:
        super().__init__(moment)
        self._chosen = [key for key in chosen if key in CHOICES]
        self._before = tuple(self._chosen)
        self._list = Rows(id="column-rows")
        self._preview = Rows(id="column-preview")
        self._preview.can_focus = False

    def content(self) -> Iterable[Widget]:
        """The choices, and the rows as they become."""
        yield self._list
        yield self._preview

    def paint(self, moment: Moment) -> None:
        """A box to tick for each."""
        fitted = columns(self._preview.size.width, written(self._chosen).split())
        shown = {column.key.rstrip("+") for column, _ in fitted}
        self._list.put([self._row(key, shown) for key in CHOICES], CHOICES)
        views = sorted(moment.fleet.instances, key=need)[:3]
        self._edge()
        self._preview.put([line(), head(fitted), *(row(view, fitted) for view in views)])

    @on(Rows.Moved, "#column-rows")
    def _edge(self) -> None:
        self.edge(more_below(self._list.hidden))

    def _row(self, key: str, shown: Collection[str]) -> Text:
        on = key in self._chosen
        if on and key not in shown:
            words = (say("no room for it at this width"), "faint")
        else:
            words = (say(WHAT[key]), "muted")
        mark = line(("[x] " if on else "[ ] ", "accent" if on else "faint"))
        title = fit(line((say(COLUMNS[key].title), "strong" if on else "muted")), 12)
        return line(mark, title, words)

    def action_tick(self) -> None:
        """Show or hide the column under the cursor; the one chosen last is the last to give way."""
        key = self._list.key
        if key in self._chosen:
            self._chosen.remove(key)
        elif key is not None:
            self._chosen.insert(0, key)
        self.show(self.moment)

    def action_choose(self) -> None:
        """Enter does what space does."""
        self.action_tick()

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """As above, from the list."""
        event.stop()
        self.action_tick()

    def action_defaults(self) -> None:
        """As it was before anybody chose."""
        self.dismiss("")

    def action_close(self) -> None:
        """Take what is ticked."""
        changed = tuple(self._chosen) != self._before
        self.dismiss(written(self._chosen) if changed else None)


def written(chosen: Sequence[str]) -> str:
    """The choice as it is kept: always with the name and the verdict, the wide forms last."""
    wide = [f"{key}+" for key in chosen if f"{key}+" in COLUMNS]
    return " ".join((*ALWAYS, *chosen, *wide))
