"""The cockpit's application: one look a second, four at the log in sight, and a terminal left as it was found."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import Any, cast

from textual import events, on
from textual.app import SystemCommand
from textual.filter import LineFilter
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.theme import Theme

from gpu_tui.core.clock import Clock
from gpu_tui.core.findings import Severity
from gpu_tui.core.ports import FleetControl, Playback, TeardownPort
from gpu_tui.core.profile import Profile
from gpu_tui.core.speech import say, told
from gpu_tui.state.habits import Habits
from gpu_tui.state.news import News, ScreenNews
from gpu_tui.state.views import FleetView
from gpu_tui.ui import clipboard, palette
from gpu_tui.ui.layout import FRAMED
from gpu_tui.ui.notices import Notices
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.ports import FleetStore, NewsPort, Shells
from gpu_tui.ui.prompter import ScreenPrompter
from gpu_tui.ui.recall import Recall
from gpu_tui.ui.safe import LastFilter
from gpu_tui.ui.screens.acting import ActingCockpit
from gpu_tui.ui.screens.card import Card
from gpu_tui.ui.screens.cockpit import Cockpit
from gpu_tui.ui.terminal.desktop import desktop_bytes
from gpu_tui.ui.text.bulletin import bulletin, in_lines, worst_of
from gpu_tui.ui.theme import CockpitTheme
from gpu_tui.ui.toasts import GLANCE, LINES, ToastingApp
from gpu_tui.ui.widgets.logview import LogView
from gpu_tui.ui.widgets.rows import Rows

FRAME = 0.25  # seconds between two looks at the log in sight
NOTE_STANDS = 8.0  # seconds: it may be an error in a file with the place and what to write there
TOUCH = (events.Key, events.MouseDown, events.MouseScrollUp, events.MouseScrollDown)
FRAMES = 4  # to a look at everything; keys paint at once, whatever the frame


class CockpitApp(ToastingApp):
    """Reads the store, paints, and asks ports. It owns no task that outlives it."""

    TITLE = "gpu-tui"
    CSS_PATH = "cockpit.tcss"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - textual declares it an instance variable
        (0, "-narrow"),
        (FRAMED, "-roomy"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (20, "-tall"), (30, "-mid"), (36, "-high")]  # noqa: RUF012 - as above

    def __init__(
        self,
        store: FleetStore,
        clock: Clock,
        *,
        control: FleetControl | None,
        teardown: TeardownPort | None,
        profiles: Mapping[str, Profile],
        themes: Sequence[CockpitTheme],
        theme: str,
        read_only: bool = False,
        badge: str | None = None,
        tour: bool = False,
        keymap: Mapping[str, str] | None = None,
        recall: Recall | None = None,
        shells: Shells | None = None,
        scratch: Path | None = None,
        zone: tzinfo | None = None,
        prompter: ScreenPrompter | None = None,
        playback: Playback | None = None,
        news: NewsPort | None = None,
        bell: bool = True,
        desktop: tuple[str, ...] = (),
        filters: Sequence[LineFilter] = (),
        habits: Habits | None = None,
        preset: str | None = None,
    ) -> None:
        self._themes = {one.name: one for one in themes}
        self._drawn_by, self._last_filter = tuple(filters), LastFilter()
        super().__init__()
        self.painted = asyncio.Event()  # the fleet is on screen
        self.animation_level = "none"
        self.remapped: Mapping[str, str] = dict(keymap or {})
        self.recall = recall or Recall()
        self._copied = ""
        self._scratch = scratch or Path.cwd()  # for what is too long for the clipboard
        self._store = store
        self._clock = clock
        self._zone = zone
        self._second = -1
        self._changed: set[str] = set()  # since the last look at everything
        self._frames = 0  # since then
        self._news = news or ScreenNews()
        self._bell, self._desktop = bell, desktop
        self._toasted = False
        self._notices = Notices()
        self._answered = -GLANCE  # when a person was told something
        self.prompter = prompter or ScreenPrompter()
        self.prompter.attach(self, clock, self._moment)
        self._habits = habits or Habits(None)
        badges = [word for word in (badge, "read-only" if read_only else None) if word]
        self._cockpit: Cockpit
        if playback is not None:
            from gpu_tui.ui.screens.replay import ReplayCockpit  # few watch a recording

            self._cockpit = ReplayCockpit(store, profiles, playback=playback, keymap=keymap)
        elif read_only:
            self._cockpit = Cockpit(
                store, control, profiles, badges=badges, keymap=keymap, tour=tour
            )
        else:
            self._cockpit = ActingCockpit(
                store, control, profiles, teardown=teardown, clock=clock,
                badges=badges, keymap=keymap, tour=tour, shells=shells,
            )  # fmt: skip
        self._cockpit.remember(self._habits, preset)
        for one in themes:
            self.register_theme(one.textual)
        self.theme = theme if theme in self._themes else next(iter(self._themes))
        self.console.push_theme(self._themes[self.theme].rich)
        self.set_keymap(keymap or {})

    # --- life ---------------------------------------------------------------------------------

    def get_default_screen(self) -> Screen[Any]:
        """The cockpit itself."""
        return self._cockpit

    def on_mount(self) -> None:
        """Start looking at the store; be ready to leave tidily."""
        self.theme_changed_signal.subscribe(self, self._theme_changed)
        self.app_resume_signal.subscribe(self, lambda _: self.action_repaint())
        self.set_interval(FRAME, self._frame)
        self._tick()

    # --- keys ---------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """In a list every key is a binding: it acts at once, not after a walk up the tree.

        So the keys of a fast typist act in order, and what follows `/` is text of the filter.
        """
        if isinstance(event, events.Resize):
            self.drop_shown()  # what a terminal makes of its old content is its own affair
            self.call_after_refresh(self.tell_again)
        self._cockpit.touched |= isinstance(event, TOUCH)
        if isinstance(event, events.Key):
            self._frames = FRAMES  # what a key does is seen with the next frame
        if isinstance(event, events.Key) and not event.is_forwarded:
            in_list = isinstance(self.focused, Rows | LogView) and not self._touring
            bound = self.screen.active_bindings.get(event.key) if in_list else None
            if bound is not None and bound.enabled:
                await self.run_action(bound.binding.action, bound.node)
                return
        await super().on_event(event)

    @on(events.DescendantFocus)
    def _field_focused(self, event: events.DescendantFocus) -> None:
        """No cursor blinks, in no field of ours nor of the palette: each blink is a frame over the line."""
        if hasattr(
            event.widget, "cursor_blink"
        ):  # whichever kind; one is loaded only to be named here
            event.widget.cursor_blink = False

    # --- frames -------------------------------------------------------------------------------

    def post_display_hook(self) -> None:
        """Set `painted` once the panes are filled. Called by textual after each frame."""
        if self._cockpit.filled:
            self.painted.set()

    def act_through(self, teardown: TeardownPort) -> None:
        """From now on a teardown is possible; a cockpit that only watches never has one."""
        if isinstance(self._cockpit, ActingCockpit):
            self._cockpit.act_through(teardown)

    def action_repaint(self) -> None:
        """Draw everything again: something else wrote on the terminal."""
        self.drop_shown()
        self.screen.refresh()

    def _frame(self) -> None:
        """Once a second everything, between that only the log in sight, and nothing where nothing changed."""
        if not self.screen_stack or self.choked:
            return  # it is closing, or the terminal does not read
        self._frames += 1
        if self._frames >= FRAMES or int(self._clock.now()) != self._second:
            self._tick()
        elif changed := self._store.drain():
            self._changed |= changed
            if self.screen is self._cockpit and self._cockpit.selected in changed:
                self._cockpit.show_log()

    def _tick(self) -> None:
        """One look at everything: paint where something changed, and once a second for clocks and ages."""
        if not self.screen_stack or self.choked:
            return
        now = self._clock.now()
        changed, self._changed, self._frames = self._changed | self._store.drain(), set(), 0
        if not changed and int(now) == self._second:
            return
        self._second = int(now)
        moment = self._moment()
        self._announce(moment.fleet)
        for screen in reversed(self.screen_stack):
            if isinstance(screen, Cockpit | Card):
                screen.show(moment)
                break

    @property
    def _touring(self) -> bool:
        return self.screen is self._cockpit and bool(self._cockpit.tours())

    def _moment(self) -> Moment:
        """All that is to be shown, as of now."""
        fleet = self._store.view(self._clock.now())
        return Moment(fleet, self._cockpit.choose(fleet), self._zone)

    def _announce(self, fleet: FleetView) -> None:
        """A toast for news and for new notes; what was there at the start is no news.

        Over a ladder no word of a box may stand, and over the tour nothing: there the news waits.
        """
        quiet = any(isinstance(one, Card) and one.QUIET for one in self.screen_stack)
        if quiet or self._touring:
            if self._toasted:
                self._toasted = False
                self.clear_notifications()
            return
        if self._clock.boot() - self._answered < GLANCE and self.screen.query("Toast"):
            return  # what a key was answered is read first; the news waits
        bulletins = self._news.take(fleet)
        self._notices.take(fleet.notes)
        alone = len(self.screen_stack) < 2 and not self.screen.query("Toast")
        if alone and not bulletins and self.take_up():
            return
        if alone and not bulletins and (note := self._notices.next()):
            # told when no other toast stands, and over no card: it has several lines
            self.tell(lambda room: in_lines(told(note), room, LINES), timeout=NOTE_STANDS)
        if bulletins:
            news = [one for bulletin in bulletins for one in bulletin.news]
            worst, others = worst_of(news)
            self._toast(worst, others)
            if any(bulletin.loud for bulletin in bulletins):
                self._call(worst, others)

    def told_to(self) -> None:
        """A person was told something."""
        self._answered = self._clock.boot()

    def _toast(self, news: News, others: int) -> None:
        """The worst of what is new, in one line."""
        bad = {Severity.FATAL: "error", Severity.SERIOUS: "warning", Severity.WARN: "warning"}
        self._toasted = True
        self.tell(
            lambda room: bulletin(news, others, room),
            severity=cast("SeverityLevel", bad.get(news.severity, "information")),
            listed=news.severity is not Severity.NONE,
        )

    def _call(self, news: News, others: int) -> None:
        """The bell and the desktop: for whoever looks elsewhere."""
        if self._bell:
            self.bell()
        more = say(" (and {others} more)", others=others) if others else ""
        text = f"{news.where}: {say(news.title)}: {told(news.text)}{more}"
        self.send(desktop_bytes(text, self._desktop, os.environ))

    # --- colours and the last filter ----------------------------------------------------------

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Ours is last: whatever the ones before made, only printable text leaves."""
        return [*super().get_line_filters(), *self._drawn_by, self._last_filter]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Every meaning has a colour, whatever the theme."""
        first = next(iter(self._themes.values()))
        return dict(first.textual.variables)

    def _theme_changed(self, theme: Theme) -> None:
        """Meanings resolve by the new theme from now on."""
        if theme.name in self._themes:
            self.console.pop_theme()
            self.console.push_theme(self._themes[theme.name].rich)
            self.screen.refresh(layout=True)
            for widget in self.screen.walk_children():
                widget.refresh()

    def action_choose_theme(self) -> None:
        """All of our themes, each worn as soon as the cursor is on it."""
        from gpu_tui.ui.screens.themes import ThemeScreen  # not before the first frame

        themes = tuple(self._themes.values())
        screen = ThemeScreen(self._moment(), themes, self.theme, self._wear)
        self.push_screen(screen, self._keep_theme)

    @property
    def worn(self) -> CockpitTheme:
        """The theme on screen; our own first one where it is none of ours."""
        return self._themes.get(self.theme) or next(iter(self._themes.values()))

    def _wear(self, name: str) -> None:
        self.theme = name

    def _keep_theme(self, name: str | None) -> None:
        if name is not None:
            self._habits.keep("theme", name)

    # --- the clipboard ------------------------------------------------------------------------

    @property
    def clipboard(self) -> str:
        """The text that was copied last, for pasting within the app."""
        return self._copied

    def copy_to_clipboard(self, text: str) -> None:
        """By the terminal (OSC 52), or into a file where that cannot be; then a toast says where and why."""
        self.copy(text, "")

    def copy(self, text: str, said: str) -> None:
        """The same; `said` is told where the terminal took it."""
        self._copied = clipboard.harmless(text)
        work = clipboard.copy(self, self._copied, said, self._scratch)
        self.run_worker(work, group="copy", exclusive=True, exit_on_error=True)

    # --- palette ------------------------------------------------------------------------------

    def action_command_palette(self) -> None:
        """By ctrl+p from any screen; the stock one speaks English only."""
        self._cockpit.action_palette()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Every action by name and key; see `palette`."""
        return palette.commands(self, self._cockpit, screen, self.remapped)
