"""Themes: all of them by name; the one under the cursor is worn at once, and taken with enter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.binding import BindingType
from textual.widget import Widget

from gpu_tui.core.levels import Level
from gpu_tui.core.sample import Freshness
from gpu_tui.core.speech import say, told
from gpu_tui.ui.keys import bindings
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.screens.card import Card
from gpu_tui.ui.text.bounds import flow
from gpu_tui.ui.text.marks import BLOCKS, fit, gauge, line, more_below
from gpu_tui.ui.text.signs import SEVERITY_GLYPH, VERDICTS
from gpu_tui.ui.theme import CockpitTheme
from gpu_tui.ui.widgets.rows import Rows

NAME = 14
MARKS = ("numeric", "memory", "storage", "peers", "hardware", "program", "outside", "warning")


class ThemeScreen(Card):
    """Dismissed with the name of the theme that was taken, or with None."""

    TITLE_WORDS = "Colours"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("themes")]
    CONTEXTS = ("themes", "overlay")

    def __init__(
        self, moment: Moment, themes: Sequence[CockpitTheme], now: str, wear: Callable[[str], None]
    ) -> None:
        super().__init__(moment)
        self._themes, self._now, self._wear = themes, now, wear
        self._list = Rows(id="theme-rows")
        self._sample = Rows(id="theme-sample")
        self._sample.can_focus = False

    def content(self) -> Iterable[Widget]:
        """The names above, what the meanings look like below."""
        yield self._list
        yield self._sample

    def paint(self, moment: Moment) -> None:
        """Every theme in a line."""
        width = self._list.size.width
        lines = [
            fit(line((f"{theme.name:{NAME}}", "strong"), (told(theme.about), "muted")), width)
            for theme in self._themes
        ]
        first = self._list.key is None
        self._list.put(lines, [theme.name for theme in self._themes])
        if first:
            self._list.point(self._now)
        self._edge()
        self._sample.put(sample(width))

    def _edge(self) -> None:
        self.edge(more_below(self._list.hidden))

    @on(Rows.Moved, "#theme-rows")
    def _moved(self, event: Rows.Moved) -> None:
        event.stop()
        self._edge()
        self._wear(event.key)

    @on(Rows.Chosen, "#theme-rows")
    def _chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        self.dismiss(event.key)

    def action_next_theme(self) -> None:
        """The key that opened the card goes on through it."""
        names = [theme.name for theme in self._themes]
        here = names.index(self._list.key) if self._list.key in names else -1
        key = names[(here + 1) % len(names)]
        self._list.point(key)
        self._edge()
        self._wear(key)

    def action_close(self) -> None:
        """As it was before."""
        self._wear(self._now)
        self.dismiss(None)


def sample(width: int) -> list[Text]:
    """What the meanings look like, in their own words; each on as many lines as it needs."""
    fresh = Freshness.FRESH
    known = ((0.42, fresh), (0.42, Freshness.STALE), (None, Freshness.ABSENT), (None, Freshness.UNKNOWN))  # fmt: skip

    def row(head: str, *pieces: Text, gap: int = 2) -> list[Text]:
        return flow(list(pieces), width, lead=line((head, "heading")), gap=gap)

    return [
        line(),
        *row(say("numbers    "), gauge(0.42, Level.OK, fresh, 8), gauge(0.91, Level.WATCH, fresh, 8), gauge(0.99, Level.ACT, fresh, 8)),
        *row(say("believed   "), *(gauge(share, Level.OK, how) + line((f" {say(how)}", "muted")) for share, how in known)),
        *row(say("verdicts   "), *(line((f"{glyph} {say(word)}", style)) for glyph, word, style, _ in VERDICTS.values())),
        *row(say("findings   "), *(line((f"{glyph} {say(severity)}", f"severity-{severity}")) for severity, glyph in SEVERITY_GLYPH.items() if glyph.strip())),
        *row(say("log lines  "), *(line((say(mark), f"mark-{mark}")) for mark in MARKS), gap=1),
        *row(say("boxes      "), *(line((f"▌box-{n}", f"box-{n}")) for n in range(1, 7))),
        *row(say("money      "), line(("¥2.08", "money")), line((BLOCKS, "history")), line((say(" badge "), "badge")), line((say(" STOP "), "danger-badge"))),
        *row(say("words      "), line((say("strong"), "strong")), line((say("text"), "text")), line((say("muted"), "muted")), line((say("faint"), "faint")), line((say("link"), "accent"))),
    ]  # fmt: skip
