"""The cockpit: the board of panes, and every card that its keys open. Read-only: what acts is in `acting`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.command import CommandPalette

from gpu_tui.core.findings import Finding, log_line
from gpu_tui.core.plain import plain
from gpu_tui.core.ports import FleetControl
from gpu_tui.core.profile import Profile
from gpu_tui.core.speech import say
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.keys import bindings, refusals
from gpu_tui.ui.ports import FleetStore
from gpu_tui.ui.screens.board import Board
from gpu_tui.ui.screens.card import Card
from gpu_tui.ui.text.places import Place
from gpu_tui.ui.text.timeline import entries


class Cockpit(Board):
    """Opens cards and goes where they lead; changes nothing outside."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("cockpit", dangerous=False),
        *refusals("cockpit"),
    ]

    def __init__(
        self,
        store: FleetStore,
        control: FleetControl | None,
        profiles: Mapping[str, Profile],
        *,
        badges: Sequence[str] = (),
        keymap: Mapping[str, str] | None = None,
        tour: bool = False,
    ) -> None:
        super().__init__(store, control, badges=badges, keymap=keymap, tour=tour)
        self._profiles = profiles

    def action_help(self) -> None:
        """All keys."""
        from gpu_tui.ui.screens.help import HelpScreen

        if self.moment is not None:
            replay = "replay" in self.CONTEXTS
            self.app.push_screen(HelpScreen(self.moment, read_only=self.READ_ONLY, replay=replay))

    def action_findings(self) -> None:
        """All findings."""
        from gpu_tui.ui.screens.findings import FindingsScreen

        if self.moment is not None:
            self._open(FindingsScreen(self.moment), self._go_to)

    def action_timeline(self) -> None:
        """All findings by time."""
        if self.moment is not None:
            from gpu_tui.ui.screens.timeline import TimelineScreen  # not before the first frame

            self._open(TimelineScreen(self.moment), self._go_to)

    def action_evidence(self) -> None:
        """The log line behind the worst finding of the selected instance."""
        view = self.moment.selected if self.moment else None
        if view is None:
            return
        found = sorted(view.findings, key=lambda one: one.severity.rank)
        logged = next((one for one in found if one.source.startswith("log:")), None)
        if logged is not None:
            self._go_to(logged.id)
        elif found:
            where = say(
                "{kind} of {name} was read from {source}",
                kind=say(found[0].kind.replace("_", " ")),
                name=view.name,
                source=found[0].source,
            )
            self.app.notify(say("{where}, not from a log; f shows it", where=where), markup=False)
        else:
            self.app.notify(say("{name} has no findings", name=view.name), markup=False)

    def action_profile(self) -> None:
        """The selected instance's platform."""
        from gpu_tui.ui.screens.profile import ProfileScreen

        view = self.moment.selected if self.moment else None
        if self.moment is None or view is None:
            return
        profile = view.profile or self._profiles.get(view.instance.platform)
        if profile is None:
            self.app.notify(
                say("no profile is known for {platform}", platform=view.instance.platform),
                markup=False,
            )
            return
        self.app.push_screen(ProfileScreen(self.moment, profile, view.instance.provider.variant))

    def action_chart(self) -> None:
        """The selected instance's histories."""
        from gpu_tui.ui.screens.chart import ChartScreen

        if self.moment is not None:
            self.app.push_screen(ChartScreen(self.moment))

    def action_sweep(self) -> None:
        """The whole sweep."""
        from gpu_tui.ui.screens.sweep import SweepScreen

        if self.moment is not None:
            self._open(SweepScreen(self.moment), self._go_to_cell)

    def action_reconnect(self) -> None:
        """Try this box again now."""
        if self._control is None:
            self.app.notify(say("a recording has only what was recorded: nothing to ask the box"))
        elif self.selected is not None:
            self._control.reconnect(self.selected)
            self.app.notify(say("{selected}: trying again", selected=self.selected), markup=False)

    def action_refuse(self) -> None:
        """A key that acts, pressed where nothing may act."""
        self.app.notify(say("read-only: nothing can be stopped from here"), timeout=3)

    async def action_redraw(self) -> None:
        """Draw the whole screen again."""
        await self.app.run_action("app.repaint")

    def action_palette(self) -> None:
        """Every action by name."""
        if not CommandPalette.is_open(self.app):
            words = say("Search for commands…")
            self.app.push_screen(CommandPalette(placeholder=words, id="--command-palette"))

    async def action_theme(self) -> None:
        """Other colours."""
        await self.app.run_action("app.choose_theme")

    async def action_quit(self) -> None:
        """Leave."""
        self.app.exit()

    # --- where cards lead ----------------------------------------------------------------------

    def _open(self, card: Card, lead: Callable[[str | None], None]) -> None:
        """Push a card, and go where it leads by what it showed last: this screen stood still meanwhile."""

        def left(key: str | None) -> None:
            if key is not None:
                self.show(card.moment)
            lead(key)

        self.app.push_screen(card, left)

    def _go_to(self, finding_id: str | None) -> None:
        """Show the instance and the log of a finding."""
        fleet = self.moment.fleet if self.moment else None
        keyed = entries(fleet) if fleet else ()  # includes past events of the time line
        found = next((one for key, one, _ in keyed if key == finding_id), None)
        if found is None or fleet is None:
            return
        view = next((v for v in fleet.instances if v.name == found.instance), None)
        if view is None:  # an account, or what bills unlisted: no other box is shown instead
            where = found.instance
            said = say("{where} is no box of the fleet file: there is no row", where=where)
            self.app.notify(said)
            return
        if found.instance not in [view.name for view in self._list.kept(fleet)]:
            self._list.close_filter()
        self.select(found.instance)
        if found.source.startswith("log:"):
            self._show_line(view, found)

    def _show_line(self, view: InstanceView, found: Finding) -> None:
        """The line that a finding was read from; of one that a queue's log tells of a cell, its last word of it."""
        path, number = log_line(found.source)
        log = next((one for one in view.logs if one.source.path == path), None)
        self.bring("log")
        if log is None:
            said = say("{path} is not followed any more", path=plain(path, 80))
            self.app.notify(said, markup=False)
            if found.cell is not None:
                self._tail.choose(view, found.cell)
            return
        if number is None and found.cell is not None:
            number = self._tail.last_naming(view.name, log.source, found.cell)
        if number is not None:
            self._tail.open_at(view.name, log.source, Place(seen=number))
        else:
            self._tail.choose(view, log.source.cell)

    def _go_to_cell(self, key: str | None) -> None:
        """Show the instance and the log of a cell of the sweep."""
        fleet = self.moment.fleet if self.moment else None
        name, _, rest = (key or "").partition("\n")
        view = next((v for v in fleet.instances if v.name == name), None) if fleet else None
        if view is None or fleet is None:
            return
        if name not in [one.name for one in self._list.kept(fleet)]:
            self._list.close_filter()
        self.select(name)
        self._tail.choose(view, rest.partition("\n")[2])
        self.bring("log")
