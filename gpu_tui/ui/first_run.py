"""The first start, with no fleet file: the hosts that ssh knows, two of them looked at, and one key to go.

It writes nothing: it says what was picked, and whether that is to be written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.filter import LineFilter
from textual.message import Message

from gpu_tui.core.speech import say
from gpu_tui.state.views import FleetView
from gpu_tui.ui.keys import bindings, footer_keys
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.safe import LastFilter, safe
from gpu_tui.ui.screens.help import HelpScreen
from gpu_tui.ui.terminal.app import TerminalApp
from gpu_tui.ui.text.marks import fit, line, wrap
from gpu_tui.ui.theme import CockpitTheme
from gpu_tui.ui.widgets.footer import Footer
from gpu_tui.ui.widgets.paint import Block
from gpu_tui.ui.widgets.rows import Rows

AT_ONCE = 2  # boxes that are looked at at the same time; as many are looked at unasked
SPIN = "…"
WATCH = "gpu-tui watch ssh://root@203.0.113.5:2222 --platform autodl"
ANSWER = 40  # cells that stay for what a host says, and for signs and gaps, where its name is long


@dataclass(frozen=True, slots=True)
class Candidate:
    """One host that ssh knows: how it is dialled, what is behind it, and the platform that gives away.

    `likely` is false for what is hardly a GPU box: a code host, or an address that was met once.
    """

    host: str
    address: str | None
    platform: str
    source: str
    likely: bool = True


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look brought: a level of the theme, a few words, and a sentence with the next step.

    `platform`: what the box itself shows to be, where nobody named one.
    """

    level: str
    words: str
    sentence: str = ""
    platform: str | None = None


@dataclass(frozen=True, slots=True)
class Picked:
    """What a person wants: hosts with their platforms, or the demo. `write`: also as a fleet file."""

    hosts: tuple[tuple[str, str], ...] = ()
    write: bool = False
    demo: bool = False


Look = Callable[[str, str], Awaitable[Seen]]  # host, platform


class Hosts(Rows):
    """The list; it says when it has another width, for lines are made for one."""

    class Fitted(Message):
        """It was laid out anew."""

    def on_resize(self) -> None:
        """Only now its own width is known; that of the terminal was known before."""
        self.post_message(self.Fitted())


class FirstRun(TerminalApp[Picked]):
    """Returns a Picked, or None where the person left."""

    TITLE = "gpu-tui"
    CSS_PATH = "cockpit.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-roomy")]  # noqa: RUF012 - as textual declares it
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("first")]

    def __init__(
        self,
        candidates: Sequence[Candidate],
        platforms: Sequence[str],
        look: Look,
        *,
        file: str,
        themes: Sequence[CockpitTheme],
        theme: str,
        filters: Sequence[LineFilter] = (),
    ) -> None:
        self._themes = {one.name: one for one in themes}
        self._drawn_by = (*filters, LastFilter())
        super().__init__()
        self.animation_level = "none"
        self._candidates = tuple(sorted(candidates, key=lambda one: not one.likely))
        self._platforms = tuple(platforms)
        self._look = look
        self._file = file
        self._platform = {one.host: one.platform for one in self._candidates}
        self._named: set[str] = set()  # whose platform a person chose
        self._ticked: set[str] = set()
        self._seen: dict[str, Seen | None] = {}  # None: it is being looked at
        self._gate = asyncio.Semaphore(AT_ONCE)
        for one in themes:
            self.register_theme(one.textual)
        self.theme = theme
        self.console.push_theme(self._themes[theme].rich)
        self._head = Block(id="first-head")
        self._rows = Hosts(id="first-rows")
        self._said = Block(id="first-said")
        self._footer = Footer()

    # --- life ---------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """What this is, the hosts, what the look at one brought, the keys."""
        with Vertical(id="card") as frame:
            frame.border_title = Text(say("gpu-tui · first start"))
            yield self._head
            yield self._rows
            yield self._said
        yield self._footer

    def on_mount(self) -> None:
        """The two most likely boxes are looked at at once."""
        self._rows.focus()
        for one in [one for one in self._candidates if one.likely][:AT_ONCE]:
            self._start(one.host)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Whatever a host is called, only printable text leaves."""
        return [*super().get_line_filters(), *self._drawn_by]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Every meaning has a colour."""
        return dict(next(iter(self._themes.values())).textual.variables)

    # --- looking ------------------------------------------------------------------------------

    def _start(self, host: str) -> None:
        if host not in self._seen:
            self._seen[host] = None
            self.run_worker(self._look_at(host), group="look", exclusive=False)

    async def _look_at(self, host: str) -> None:
        async with self._gate:
            seen = await self._look(host, self._platform[host])
        self._seen[host] = seen
        if seen.platform in self._platforms and host not in self._named:
            self._platform[host] = seen.platform
        if seen.level == "level-ok":
            self._ticked.add(host)  # it answers and has cards: most likely what is wanted
        self._paint()

    # --- what it shows ------------------------------------------------------------------------

    @on(Hosts.Fitted)
    def _paint(self) -> None:
        if not self.is_running or not self.size.width:
            return
        width = self._rows.size.width or self.size.width
        self._head.put(list(self._heading(width)))
        rows = [self._row(one, width) for one in self._candidates]
        keys = [one.host for one in self._candidates]
        self._rows.put(rows, keys, self._columns(width)) if rows else self._rows.put(
            self._empty(width)
        )
        self._tell()

    def _heading(self, width: int) -> Iterable[Text]:
        if not self._candidates:
            yield line(
                (say("Welcome. There is no fleet file yet, and ssh knows no hosts."), "strong")
            )
            return
        yield from wrap(
            say("Welcome. There is no fleet file yet; these hosts ssh knows."), width, "strong"
        )
        words = say(
            "Tick the boxes that you rent: enter watches them at once. Nothing is written unless you press w."
        )
        yield from wrap(words, width, "muted")
        yield line()

    def _empty(self, width: int) -> list[Text]:
        texts = (
            say("Watch a box right away:"),
            f"    {WATCH}",
            "",
            say("Or name your boxes in ~/.ssh/config, and start again:"),
            "    Host my-box",
            "        HostName 203.0.113.5",
            "        Port 2222",
            "        User root",
            "",
            say("Or see it on simulated boxes: press d. Nothing there is real, any key is safe."),
        )
        return [line(), *(fit(line((text, "text")), width) for text in texts)]

    def _widths(self, width: int) -> tuple[int, int, int, int]:
        platform = max(len(name) for name in self._platforms)
        address = min(max(7, *(len(one.address or "") for one in self._candidates)), width // 4)
        if width < 90:
            address = 0
        host = max(4, *(len(safe(one.host)) for one in self._candidates), 4)
        host = min(host, max(width // 4, width - platform - address - ANSWER))
        rest = width - host - platform - address - (12 if address else 10)
        return host, address, platform, max(8, rest)

    def _columns(self, width: int) -> Text:
        host, address, platform, _ = self._widths(width)
        pieces: list[Any] = [" " * 4, fit(line((say("host"), "muted")), host), "  "]
        if address:
            pieces += [fit(line((say("address"), "muted")), address), "  "]
        return line(
            *pieces,
            fit(line((say("platform"), "muted")), platform + 2),
            (say("  what it says"), "muted"),
        )

    def _row(self, one: Candidate, width: int) -> Text:
        host, address, platform, rest = self._widths(width)
        tick = ("☑ ", "level-ok") if one.host in self._ticked else ("☐ ", "muted")
        guess = self._platform[one.host]
        said: tuple[str, str] = ("", "muted")
        if one.host in self._seen:
            seen = self._seen[one.host]
            said = (say("looking ") + SPIN, "muted") if seen is None else (seen.words, seen.level)
        pieces: list[Any] = ["  ", tick, fit(line((one.host, "strong")), host), "  "]
        if address:
            pieces += [fit(line((one.address or "", "muted")), address), "  "]
        pieces += [("‹", "faint"), fit(line((guess, "accent")), platform), ("›", "faint"), "  "]
        return line(*pieces, fit(line(said), rest))

    @on(Rows.Moved, "#first-rows")
    def _tell(self) -> None:
        width = self._rows.size.width or self.size.width
        host = self._rows.key
        seen = self._seen.get(host) if host is not None else None
        rows = wrap(seen.sentence, width, "text") if seen is not None and seen.sentence else []
        if seen is not None and seen.level != "level-ok":
            rows.append(line((say("r looks again"), "muted")))
        number = len(self._ticked)
        if self._candidates:
            words = (
                say("{number} ticked", number=number)
                if number
                else say("nothing ticked: enter takes the one under the cursor")
            )
            rows.append(
                line((words, "accent"), (say("   w writes {file}", file=self._file), "muted"))
            )
        self._said.put(rows)
        keys = footer_keys(("first",), read_only=False)
        if not self._candidates:
            keys = [key for key in keys if key.action in ("demo", "leave", "help")]
        self._footer.show(keys, self.size.width, {})

    # --- what a person does -------------------------------------------------------------------

    def action_tick(self) -> None:
        """Take it, or leave it; what is taken is looked at."""
        host = self._rows.key
        if host is None:
            return
        self._ticked ^= {host}
        self._start(host)
        self._paint()

    def action_platform(self, way: str) -> None:
        """Another platform for this box: what was guessed may be wrong."""
        host = self._rows.key
        if host is not None:
            self._named.add(host)
            at = self._platforms.index(self._platform[host])
            self._platform[host] = self._platforms[(at + int(way)) % len(self._platforms)]
            self._paint()

    def action_look(self) -> None:
        """Look at this one again."""
        host = self._rows.key
        if host is not None and self._seen.get(host, True) is not None:
            self._seen.pop(host, None)
            self._start(host)
            self._paint()

    @on(Rows.Chosen, "#first-rows")
    def action_choose(self) -> None:
        """Watch what is ticked."""
        self._leave_with(write=False)

    def action_write(self) -> None:
        """Write the fleet file of what is ticked, then watch it."""
        self._leave_with(write=True)

    def _leave_with(self, *, write: bool) -> None:
        here = {self._rows.key} if not self._ticked and self._rows.key is not None else set()
        chosen = self._ticked | {host for host in here if host is not None}
        if chosen:
            hosts = [one.host for one in self._candidates if one.host in chosen]
            self.exit(Picked(tuple((host, self._platform[host]) for host in hosts), write))

    def action_demo(self) -> None:
        """Simulated boxes instead."""
        self.exit(Picked(demo=True))

    def action_help(self) -> None:
        """What the keys do."""
        nothing = Moment(FleetView(None, 0.0, (), (), ()), None)
        self.push_screen(HelpScreen(nothing, read_only=True, contexts=("first", "list")))

    def action_leave(self) -> None:
        """Nothing was changed."""
        self.exit(None)


def platforms_first(profiles: Mapping[str, object]) -> list[str]:
    """All platforms, the bare box first."""
    return sorted(profiles, key=lambda name: (name != "generic-ssh", name))
