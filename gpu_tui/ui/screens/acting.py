"""The cockpit from which something outside can be changed."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, ClassVar, cast

from textual.binding import BindingType

from gpu_tui.core.clock import Clock
from gpu_tui.core.ports import FleetControl, TeardownPort
from gpu_tui.core.profile import Profile
from gpu_tui.core.speech import say
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.keys import bindings
from gpu_tui.ui.panes.queue import QueuePane
from gpu_tui.ui.ports import FleetStore, Shells
from gpu_tui.ui.screens.cockpit import Cockpit
from gpu_tui.ui.terminal.app import TerminalApp
from gpu_tui.ui.visit import visit


class ActingCockpit(Cockpit):
    """The same with what acts outside: acknowledging and teardown. A read-only cockpit has no such methods."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("cockpit", dangerous=True)]
    READ_ONLY = False

    def __init__(
        self,
        store: FleetStore,
        control: FleetControl | None,
        profiles: Mapping[str, Profile],
        *,
        teardown: TeardownPort | None,
        clock: Clock,
        shells: Shells | None = None,
        badges: Sequence[str] = (),
        keymap: Mapping[str, str] | None = None,
        tour: bool = False,
    ) -> None:
        super().__init__(store, control, profiles, badges=badges, keymap=keymap, tour=tour)
        self._teardown = teardown
        self._clock = clock
        self._shells = shells

    def act_through(self, teardown: TeardownPort) -> None:
        """From now on a teardown is possible."""
        self._teardown = teardown

    def action_findings(self) -> None:
        """All findings, which may be acknowledged."""
        from gpu_tui.ui.screens.findings import ActingFindings

        if self.moment is not None:
            self._open(ActingFindings(self.moment, self.store.acknowledge), self._go_to)

    def action_shell(self) -> None:
        """The user's own ssh in front of everything, on the selected box; of a cluster, a shell in the selected pod."""
        view = self.choose(self.moment.fleet) if self.moment else None
        if view is None:
            self.app.notify(say("no instance is selected"), severity="warning")
            return
        selected = self.moment.selected if self.moment else None
        own = selected is not None and selected.name == view.name
        cell = self.query_one(QueuePane).cell_here if own else None
        words = self._shells.command(view.name, cell) if self._shells is not None else None
        if view.instance.read_only:
            self.app.notify(
                say("{name} is read-only in the fleet file", name=view.name), severity="warning"
            )
        elif words is None:
            self.app.notify(
                say("no shell leads to {name} from here", name=view.name), severity="warning"
            )
        else:
            self.run_worker(self._visit(view.name, words), group="shell", exclusive=True)

    async def _visit(self, name: str, words: Sequence[str]) -> None:
        self.app.notify(await visit(cast(TerminalApp[Any], self.app), name, words), timeout=6)

    def action_teardown(self) -> None:
        """Choose a verb, then climb its ladder."""
        view = self.choose(self.moment.fleet) if self.moment else None
        if self.moment is None or view is None:
            self.app.notify(say("no instance is selected"), severity="warning")
            return
        port = self._teardown
        if port is None or view.instance.read_only:
            why = (
                say("is read-only in the fleet file")
                if view.instance.read_only
                else say("cannot be torn down from here")
            )
            self.app.notify(f"{view.name} {why}", severity="warning", markup=False)
            return
        look = port.look(view.name)
        if look is None:
            self._choose_verb(view, port)
        else:
            self.run_worker(self._look_first(look, view, port), group="verbs", exclusive=True)

    async def _look_first(
        self, look: Coroutine[Any, Any, None], view: InstanceView, port: TeardownPort
    ) -> None:
        await look
        if self.app.screen is self:  # nothing else was opened meanwhile
            self._choose_verb(view, port)

    def _choose_verb(self, view: InstanceView, port: TeardownPort) -> None:
        from gpu_tui.ui.screens.teardown import TeardownScreen
        from gpu_tui.ui.screens.verbs import VerbScreen

        if self.moment is None:
            return
        verbs = tuple(port.verbs(view.name))
        if not verbs:
            text = say(
                "the profile {platform} names no way to stop {name}; see p",
                platform=view.instance.platform,
                name=view.name,
            )
            self.app.notify(text, severity="warning", markup=False)
            return

        def climb(verb: str | None) -> None:
            if verb is not None and self.moment is not None:
                ladder = port.open(view.name, verb)
                chosen = next((one for one in verbs if one.key == verb), None)
                screen = TeardownScreen(self.moment, view, ladder, self._clock, chosen)
                self.app.push_screen(screen)

        ways = {verb.key: port.way(view.name, verb) for verb in verbs}
        self.app.push_screen(VerbScreen(self.moment, view, verbs, ways), climb)
