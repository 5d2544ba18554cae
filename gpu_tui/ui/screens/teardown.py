"""The ladder: evidence rung by rung, then a phrase that only a hand can type.

The screen covers everything below it. It shows what the gate says and decides nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text
from textual import events, on
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button

from gpu_tui.core.clock import Clock
from gpu_tui.core.gate import GateView, Rung, RungState
from gpu_tui.core.ports import Teardown
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.screens.abandon import AbandonScreen
from gpu_tui.ui.screens.card import Card
from gpu_tui.ui.text import units
from gpu_tui.ui.text.fleet import box_style
from gpu_tui.ui.text.ladder import ladder
from gpu_tui.ui.text.marks import line
from gpu_tui.ui.widgets.paint import OneLine
from gpu_tui.ui.widgets.phrase import PhraseField
from gpu_tui.ui.widgets.rows import Rows

BEAT = 0.25
SCROLL = {"up": -1, "down": 1, "pageup": -8, "pagedown": 8, "home": -1000, "end": 1000}


class TeardownScreen(Card):
    """One open ladder. Leaving the screen, in any way, closes it."""

    AUTO_FOCUS = "#cancel"
    QUIET = True

    class Climbed(Message):
        """The gate shows something else."""

        def __init__(self, gate: GateView) -> None:
            super().__init__()
            self.gate = gate

    def __init__(self, moment: Moment, view: InstanceView, port: Teardown, clock: Clock) -> None:
        super().__init__(moment)
        self._view = view
        self._port = port
        self._clock = clock
        self.gate: GateView | None = None
        self._identity = OneLine(id="identity")
        self._ladder = Rows(id="ladder")
        self._asking = OneLine(id="question")
        self._phrase = PhraseField(clock, id="phrase")
        self._leave = Button("Cancel", id="cancel", compact=True)
        self._take = Button("Accept the running work", id="accept", compact=True)
        self._go = Button("Confirm", id="confirm", compact=True, disabled=True)
        self._lose = Button("Abandon data…", id="abandon", compact=True)

    def title_words(self) -> str:
        """What this is."""
        return "Teardown: verify, then confirm"

    def content(self) -> Iterable[Widget]:
        """Whose box, the ladder, the question, the ways out."""
        yield self._identity
        self._ladder.can_focus = (
            False  # tab leads from Cancel to the phrase; scroll keys work anyway
        )
        yield self._ladder
        yield self._asking
        yield self._phrase
        with Horizontal(id="buttons"):
            yield from (self._leave, self._take, self._go, self._lose)

    def on_mount(self) -> None:
        """Start listening to the gate."""
        for widget in (self._take, self._lose, self._phrase):
            widget.display = False
        self.set_interval(BEAT, self._beat)
        self.run_worker(self._climb(), name="climb", group="gate", exclusive=False)

    async def _climb(self) -> None:
        async for gate in self._port.views():
            self.post_message(self.Climbed(gate))

    async def on_unmount(self) -> None:
        """However the screen went away: the gate shuts."""
        await self._port.close()

    @on(Climbed)
    def _climbed(self, event: Climbed) -> None:
        event.stop()
        self.gate = event.gate
        phrase = self._phrase
        phrase.expect(event.gate.phrase if event.gate.ready else "")
        phrase.display = event.gate.ready
        self._take.display = bool(event.gate.needs_acceptance)
        self._lose.display = bool(event.gate.lost_paths and event.gate.abandon_phrase)
        if not event.gate.ready and self.focused in (phrase, self._go):
            self._leave.focus()
        self.show(self.moment)

    def paint(self, moment: Moment) -> None:
        """The gate as it was last shown to us; nothing from the box but its evidence lines."""
        self._identify()
        rows = self._ladder
        if self.gate is None:
            rows.put([line(("opening the ladder …", "muted"))])
        else:
            rows.put(ladder(self.gate, rows.size.width))
        self._beat()

    def _identify(self) -> None:
        view, style = self._view, box_style(self._view.name)
        cost = view.cost
        price = (
            units.money(cost.per_hour, cost.currency) + "/h"
            if cost.per_hour is not None
            else "price ?"
        )
        spent = (
            f"   {units.money(cost.spent, cost.currency)} spent" if cost.spent is not None else ""
        )
        up = f"   up {units.span(view.uptime)}" if view.uptime is not None else ""
        verb = f"   {self.gate.label}" if self.gate else ""
        text = line(
            ("███ ", style), (view.name, "strong"), (f"  {view.instance.platform}", "muted"),
            (f"   {price}{spent}", "money"), (up, "muted"), (verb, "danger"),
        )  # fmt: skip
        self._identity.put(text)

    def _beat(self) -> None:
        """Time passes: the button comes alive, the evidence grows old."""
        confirm = self._go
        confirm.disabled = not self._may_confirm
        confirm.display = bool(self.gate and self.gate.ready)
        self._asking.put(self._question())
        cancel = self._leave
        label = (
            "Close" if self.gate and self.gate.outcome else "Leave" if self._acting else "Cancel"
        )
        if str(cancel.label) != label:
            cancel.label = label

    def _question(self) -> Text:
        gate = self.gate
        if gate is None or not gate.ready:
            if self._acting:
                return line(("The call is out. Leaving does not take it back.", "level-watch"))
            return line()
        text = line(("To go on, type ", "text"), (gate.phrase, "danger"))
        now = self._clock.boot()
        if gate.ready_at is not None and now < gate.ready_at:
            text.append_text(line((f"   live in {gate.ready_at - now:.0f} s", "muted")))
        if gate.expires_at is not None:
            left = gate.expires_at - now
            style = "level-watch" if left < 30 else "muted"
            text.append_text(
                line((f"   evidence void in {units.countdown(max(1.0, left))}", style))
            )
        return text

    @property
    def _acting(self) -> bool:
        rungs = self.gate.rungs if self.gate else ()
        acting = any(r.rung >= Rung.ACT and r.state is RungState.WORKING for r in rungs)
        return acting and not (self.gate and self.gate.outcome)

    @property
    def _may_confirm(self) -> bool:
        gate, now = self.gate, self._clock.boot()
        if gate is None or not gate.ready:
            return False
        if gate.ready_at is not None and now < gate.ready_at:
            return False
        if gate.expires_at is not None and now >= gate.expires_at:
            return False
        return self._phrase.complete

    # --- what a person does -------------------------------------------------------------------

    @on(PhraseField.Changed)
    def _phrase_changed(self) -> None:
        self._beat()

    @on(PhraseField.Submitted)
    @on(Button.Pressed, "#confirm")
    def _confirm(self) -> None:
        """Only with the whole phrase, typed, after the wait, before the evidence is void."""
        if self._may_confirm:
            typed = self._phrase.typed
            self.run_worker(
                self._port.confirm(typed), name="confirm", group="gate", exclusive=False
            )

    @on(Button.Pressed, "#accept")
    def _accept(self) -> None:
        self.run_worker(self._port.accept(), name="accept", group="gate", exclusive=False)

    @on(Button.Pressed, "#abandon")
    def _abandon(self) -> None:
        gate = self.gate
        if gate is not None and gate.lost_paths and gate.abandon_phrase:
            screen = AbandonScreen(self.moment, gate, self._clock)
            self.app.push_screen(screen, self._abandoned)

    def _abandoned(self, typed: str | None) -> None:
        if typed is not None:
            self.run_worker(
                self._port.abandon(typed), name="abandon", group="gate", exclusive=False
            )

    @on(Button.Pressed, "#cancel")
    def _cancel(self) -> None:
        self.dismiss(None)

    def on_key(self, event: events.Key) -> None:
        """The ladder scrolls wherever the focus is."""
        if event.key in SCROLL:
            self._ladder.scroll_lines(SCROLL[event.key])

    def action_close(self) -> None:
        """Escape cancels."""
        self.dismiss(None)
