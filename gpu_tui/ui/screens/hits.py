"""What a search of a whole log found on the box; enter opens the place."""

from __future__ import annotations

from collections.abc import Iterable

from textual import on
from textual.widget import Widget

from gpu_tui.core import units
from gpu_tui.core.log_range import LogHits
from gpu_tui.core.speech import counted, say
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.safe import safe
from gpu_tui.ui.screens.card import Card
from gpu_tui.ui.text.marks import fit, line, more_below
from gpu_tui.ui.widgets.paint import Block
from gpu_tui.ui.widgets.rows import Rows


class HitsScreen(Card):
    """Dismissed with the number of the hit to go to."""

    CONTEXTS = ("hits", "overlay")

    def __init__(self, moment: Moment, wanted: str, name: str, hits: LogHits) -> None:
        super().__init__(moment)
        self.hits = hits
        self._wanted = wanted
        self._found_in = name
        self._said = Block(id="hits-said")

    def title_words(self) -> str:
        """What was searched for, and where."""
        return f"{self._wanted} · {self._found_in}"

    def content(self) -> Iterable[Widget]:
        """How many, and each one."""
        yield self._said
        yield self.rows

    def paint(self, moment: Moment) -> None:
        """One row for each hit: its line, about where in the file, its text."""
        found, width = self.hits.hits, self.rows.size.width
        words = say(
            "{found} of {size}",
            found=counted(len(found), "line"),
            size=units.size(self.hits.size),
        )
        if self.hits.more:
            words = say("the first {words}: narrow it down for what comes later", words=words)
        if self.hits.cut:
            words += say(" · the box ran out of time: what comes later was not searched")
        style = "level-watch" if self.hits.more or self.hits.cut else "muted"
        self._said.put([line((words, style))])
        size = max(1, self.hits.size)
        rows = [
            fit(
                line(
                    (f"{hit.line + 1:>9} ", "faint"),
                    (f"{_where(hit.byte, size):>7} ", "muted"),
                    ("▏", "track"),
                    (safe(hit.text), "text"),
                ),
                width,
            )
            for hit in found
        ]
        if rows:
            head = line(
                fit(line((say("line"), "faint")), 9, right=True), " ",
                fit(line((say("where"), "faint")), 7, right=True),
            )  # fmt: skip
            self.rows.put(rows, [str(n) for n in range(len(rows))], head)
        else:
            none = say("no line of the whole file fits")
            part = say("no line of what was searched fits")
            self.rows.put([line((part if self.hits.cut else none, "muted"))])
        self._edge()

    @on(Rows.Moved, "#card-rows")
    def _edge(self) -> None:
        self.edge(more_below(self.rows.hidden))

    @on(Rows.Chosen, "#card-rows")
    def _chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        self.dismiss(event.key)


def _where(byte: int | None, size: int) -> str:
    return "" if byte is None else f"@{units.short_size(byte)}"
