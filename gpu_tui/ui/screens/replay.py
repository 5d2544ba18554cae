"""The cockpit on a recording: the same panes, and the keys of a player."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from gpu_tui.core.ports import Playback
from gpu_tui.core.profile import Profile
from gpu_tui.core.speech import say
from gpu_tui.ui.keys import Key, bindings
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.ports import FleetStore
from gpu_tui.ui.screens.cockpit import Cockpit
from gpu_tui.ui.text.tape import tape_line
from gpu_tui.ui.widgets.paint import OneLine
from gpu_tui.ui.widgets.place_bar import PlaceBar

LINE_SECONDS = 0.5  # between two looks at where the tape is
UNFOUND_SECONDS = 3.0
HERE_SECONDS = 0.5  # a tape that was sent to a finding stands this near to it
HINT = "12:30 · 1:05:00 · 90s · 10m · +30s · -5m · 50% · start · end"


class ReplayCockpit(Cockpit):
    """Shows a recording. Nothing in it can act: there is no box behind it."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("replay")]
    CONTEXTS: ClassVar[tuple[str, ...]] = ("replay", "cockpit")

    def __init__(
        self,
        store: FleetStore,
        profiles: Mapping[str, Profile],
        *,
        playback: Playback,
        keymap: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(store, None, profiles, keymap=keymap)
        self._playback = playback
        self._line = OneLine(id="tape")
        self._place = PlaceBar(typed=self._typed, left=self.action_back)
        self._drawn = ""  # the badge in the header
        self._unfound = ""  # what is to be said if the finding that was asked for is not there
        self._sought = False  # a finding was asked for, and its box is not selected yet

    def compose(self) -> ComposeResult:
        """The cockpit, and under it the line of the tape, or where a place of it is typed."""
        yield from super().compose()
        yield self._line
        yield self._place

    def on_mount(self) -> None:
        """The line moves while no box says anything, and while the recording is read ahead."""
        self.set_interval(LINE_SECONDS, self._draw_line)

    def show(self, moment: Moment) -> None:
        """The panes, and where the tape is."""
        super().show(moment)
        self._drawn = self._playback.badge()
        self._draw_line()

    def _look_at_what_came(self, moment: Moment) -> None:
        """Select the box of the worst finding that came where the tape stands, once both are there."""
        head = self._playback.head()
        came = [mark for mark in head.marks if mark.t <= head.position + HERE_SECONDS]
        if head.seeking or head.without or not came:
            return
        found = [one for one in moment.fleet.findings if one.id in came[-1].ids]
        if not found:
            return
        self._sought = False
        boxes = {view.name for view in moment.fleet.instances}
        here = [one for one in found if one.instance in boxes]
        if here:
            self.select(min(here, key=lambda one: one.severity.rank).instance)

    def footer_keys(self) -> list[Key]:
        """What P does now stands there."""
        keys = super().footer_keys()
        if not self._playback.head().paused:
            return keys
        return [replace(key, label=say("go on")) if key.action == "play" else key for key in keys]

    def badges(self) -> Sequence[str]:
        """How the tape runs."""
        return (self._playback.badge(),)

    def _draw_line(self) -> None:
        head = self._playback.head()
        if self.size.width:
            self._line.put(tape_line(head, self.size.width))
        if self._unfound and not head.seeking:
            if head.without:
                self.app.notify(self._unfound, timeout=UNFOUND_SECONDS)
            self._unfound = ""
        if self._sought and self.moment is not None:
            self._look_at_what_came(self.moment)
        if self._drawn != self._playback.badge():
            self._again()  # nothing else changed: it ended, or what it looked for is not there

    def _moved(self, *, sought: bool = False) -> None:
        """A key is answered at once, also while nothing in the recording changes; what was said is of before."""
        self.app.clear_notifications()
        self._sought = sought
        self._again()
        self._draw_line()

    def action_play(self) -> None:
        """Pause, or go on."""
        self._playback.play()
        self._moved()

    def action_speed(self, by: str) -> None:
        """Another speed."""
        self._playback.faster(int(by))
        self._moved()

    def action_skip(self, seconds: str) -> None:
        """Forward or back."""
        self._playback.skip(float(seconds))
        self._moved()

    def action_seek_to(self, place: str) -> None:
        """Go to the start or the end."""
        self._playback.seek(place)
        self._moved()

    def action_next_finding(self) -> None:
        """On to a new finding."""
        self._playback.next_finding()
        self._unfound = say("no further finding: this is the end of the recording")
        self._moved(sought=True)

    def action_finding_before(self) -> None:
        """Back to the finding before."""
        self._playback.finding_before()
        self._unfound = say("no finding before this: this is the start of the recording")
        self._moved(sought=True)

    def action_seek(self) -> None:
        """Ask for a place, or leave the question."""
        self._place.open(HINT)

    def action_back(self) -> None:
        """Leave the question, else what the cockpit leaves."""
        if self._place.close():
            self.bring(self._front)
        else:
            super().action_back()

    def _typed(self, text: str) -> None:
        if self._playback.seek(text) is not None:
            self._place.complain()
            return
        self._place.close()
        self.bring(self._front)
        self._moved()
