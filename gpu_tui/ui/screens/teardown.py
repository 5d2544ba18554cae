"""The ladder: evidence rung by rung, then a phrase that only a hand can type.

The screen covers everything below it. It shows what the gate says and decides nothing itself. Where it
can no longer show all nine rungs it shuts the gate: nobody confirms what nobody sees.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import ClassVar, cast

from rich.cells import cell_len
from rich.text import Text
from textual import events, on
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button

from gpu_tui.core.clock import Clock
from gpu_tui.core.gate import GateView, Rung, RungState
from gpu_tui.core.ladder import SecondView
from gpu_tui.core.ports import Teardown
from gpu_tui.core.profile import Verb
from gpu_tui.core.speech import say, told
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.clipboard import Copies
from gpu_tui.ui.keys import Key, bindings
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.screens.abandon import AbandonScreen
from gpu_tui.ui.screens.card import Card
from gpu_tui.ui.screens.losing import small
from gpu_tui.ui.screens.override import OverrideScreen
from gpu_tui.ui.text.ladder import (
    INDENT,
    asked_rows,
    asks,
    detail,
    here,
    identity,
    in_short,
    ladder,
    may_abandon,
    question,
    second_rows,
    strip,
    verdict,
)
from gpu_tui.ui.text.marks import line
from gpu_tui.ui.text.survival import survival
from gpu_tui.ui.widgets.careful import CarefulButton
from gpu_tui.ui.widgets.paint import Block, OneLine
from gpu_tui.ui.widgets.phrase import PhraseField
from gpu_tui.ui.widgets.rows import Rows

BEAT = 0.25
AIRY = 24  # from this height on there is a blank line to spare
LOOK = 3  # lines of evidence that are always in sight
RULE = "─"


class TeardownScreen(Card):
    """One open ladder. Leaving the screen, in any way, closes it."""

    AUTO_FOCUS = "#cancel"
    QUIET = True
    CONTEXTS = ("ladder", "overlay")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("ladder")]

    class Climbed(Message):
        """The gate shows something else."""

        def __init__(self, gate: GateView) -> None:
            super().__init__()
            self.gate = gate

    def __init__(
        self,
        moment: Moment,
        view: InstanceView,
        port: Teardown,
        clock: Clock,
        verb: Verb | None = None,
    ) -> None:
        super().__init__(moment)
        self._view = view
        self._port = port
        self._clock = clock
        self._verb = verb
        self._looked: Rung | None = None  # None: the rung that matters now
        self._shut = False  # the window was too small
        self.gate: GateView | None = None
        self._identity = OneLine(id="identity")
        self._strip = Block(id="strip")
        self._ladder = Rows(id="ladder")
        self._verdict = Block(id="verdict")
        self._asking = Block(id="question")
        self._phrase = PhraseField(clock, id="phrase")
        self._leave = Button(say("Cancel"), id="cancel", compact=True)
        self._take = CarefulButton(say("Accept the running work"), clock, id="accept")
        self._go = CarefulButton(say("Confirm"), clock, id="confirm", disabled=True)
        self._allow = CarefulButton(say("Load them all the same…"), clock, id="override")
        self._lose = CarefulButton(say("Abandon data…"), clock, id="abandon")

    def title_words(self) -> str:
        """What this is."""
        return say("Teardown: verify, then confirm")

    def content(self) -> Iterable[Widget]:
        """Whose box, the rungs, what came of it, the question, the ways out."""
        yield self._identity
        yield self._strip
        # Tab leads from Cancel to the phrase; the keys of the ladder work wherever the focus is.
        self._ladder.can_focus = False
        yield self._ladder
        yield self._verdict
        yield self._asking
        yield self._phrase
        with Horizontal(id="buttons"):
            yield from (self._leave, self._take, self._go, self._allow, self._lose)

    def on_mount(self) -> None:
        """Start listening to the gate."""
        self._phrase.display = False
        for button in (self._take, self._go, self._allow, self._lose):
            button.appear(False)
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
        before, self.gate = self.gate, event.gate
        if before is None or here(before) is not here(event.gate):
            self._looked = None  # the ladder follows the rung at work
        if before is None or before.outcome != event.gate.outcome:
            self._ladder.scroll_lines(-10_000)  # what came of it begins at the top
        self._phrase.expect(self._wanted)
        self._phrase.display = bool(self._wanted)
        self._take.appear(bool(event.gate.needs_acceptance))
        self._allow.appear(bool(event.gate.override_phrase))
        self._lose.appear(bool(event.gate.lost_paths and event.gate.abandon_phrase))
        if not self._wanted and self.focused in (self._phrase, self._go):
            self._leave.focus()
        self.show(self.moment)

    # --- what it shows ------------------------------------------------------------------------

    def paint(self, moment: Moment) -> None:
        """The gate as it was last shown to us; nothing from the box but its evidence lines."""
        gate, width = self.gate, self._width
        label = gate.label if gate else self._verb.label if self._verb else ""
        self._identity.styles.margin = (0, 0, self._air, 0)
        self._identity.put(identity(self._view, told(label), self._verb, width))
        if gate is None:
            self._ladder.put([line((say("opening the ladder …"), "muted"))])
        else:
            self._draw(gate, width)
        self._beat()

    def _draw(self, gate: GateView, width: int) -> None:
        """The whole ladder where it fits, else all rungs in one line each and one of them whole."""
        said, free = verdict(gate, width), self._free
        whole = ladder(gate, width, self._more(gate, width - INDENT))
        short = verdict(gate, width, advice=False)
        if self._looked is None and len(whole) + len(short) < free:
            said = short
            self._strip.put([])
            self._ladder.put(whole)
            self._verdict.put([line(), *said] if said else [])
        elif self._looked is None and gate.outcome:
            # It is over: what came of it comes first, and scrolls where it is long.
            rungs = strip(gate, None, width)
            fits = len(rungs) + len(said) < free
            self._strip.put([*rungs, line()] if fits else [in_short(gate, width)])
            self._ladder.put(said)
            self._verdict.put([])
        else:
            tight = len(gate.rungs) + 1 + LOOK + len(said) > free  # with the rule
            self._one(gate, self._looked or here(gate), width, tight=tight)
            self._verdict.put(_first(short, free - 2 - LOOK) if tight else said)

    def _one(self, gate: GateView, looked: Rung, width: int, *, tight: bool) -> None:
        """All rungs in one line each, and the evidence of one; where the question would be pushed out, all in one."""
        rung = next(one for one in gate.rungs if one.rung is looked)
        head = f"{RULE * 2} {rung.rung.value} {say(rung.title)} "
        rule = line((head + RULE * max(0, width - cell_len(head)), "faint"))
        self._strip.put([*([in_short(gate, width)] if tight else strip(gate, looked, width)), rule])
        rows = detail(rung, width, self._more(gate, width).get(looked, ()))
        second = self._second
        if second is not None and looked is Rung.CONFIRM:
            rows = [*asked_rows(second, width), *rows]
        elif second is not None and looked is here(gate):  # asked where the way up is shut
            rows = [*rows, line(), *asked_rows(second, width)]
        self._ladder.put(rows)

    def _more(self, gate: GateView, width: int) -> dict[Rung, list[Text]]:
        """What the screen knows by itself: what the verb leaves alive, and what must be typed one by one."""
        more: dict[Rung, list[Text]] = {}
        profile = self._view.profile
        if self._verb is not None and profile is not None and profile.storage:
            variant = self._view.instance.provider.variant
            lacks = self._view.provider.lacks
            more[Rung.PLAN] = [line(), *survival(profile, width, self._verb, variant, lacks)]
        if gate.seconds:
            more[Rung.CONFIRM] = second_rows(gate.seconds, width)
        return more

    @property
    def _width(self) -> int:
        return self._ladder.size.width or self.size.width

    @property
    def _free(self) -> int:
        """Lines for the ladder and the verdict together, when all else has its place."""
        taken = self._asking.size.height if self._asking.display else 0
        taken += 1 if self._phrase.display else 0
        frame = 1 if self.size.width < 110 else 2
        return (
            self.size.height - frame - taken - 4 - self._air
        )  # identity, buttons and theirs, footer

    @property
    def _air(self) -> int:
        return 1 if self.size.height >= AIRY else 0

    def _beat(self) -> None:
        """Time passes: the button comes alive, the evidence grows old."""
        self._go.disabled = not self._may_confirm
        self._go.appear(bool(self._wanted))
        second = self._second
        if second is None:
            self._go.label_once(say("Confirm"))
        else:
            self._go.label_once(say("Accept it") if second.exception else say("Seen"))
        self._asking.put(question(self.gate, self._second, self._clock.boot(), self._width))
        done = self.gate is not None and (self.gate.outcome or self.gate.state == "closed")
        label = say("Close") if done else say("Leave") if self._acting else say("Cancel")
        if str(self._leave.label) != label:
            self._leave.label = label

    def footer_keys(self) -> list[Key]:
        """Copying is for steps; choosing a rung is for a ladder that does not fit."""
        steps = self.gate is not None and self.gate.outcome == "steps"
        compact = bool(self._strip.lines) or self._looked is not None
        away = ({"copy"} if not steps else set()) | ({"rung"} if not compact else set())
        return [key for key in super().footer_keys() if key.action not in away]

    # --- what may be typed --------------------------------------------------------------------

    @property
    def _second(self) -> SecondView | None:
        """The second resource that must be typed next."""
        gate = self.gate
        if gate is None or gate.outcome or not (asks(gate) or may_abandon(gate)):
            return None
        return next((second for second in gate.seconds if not second.done), None)

    @property
    def _wanted(self) -> str:
        """What the field takes now; empty where it takes nothing."""
        second, gate = self._second, self.gate
        if second is not None:
            return second.phrase
        return gate.phrase if gate is not None and asks(gate) else ""

    @property
    def _acting(self) -> bool:
        rungs = self.gate.rungs if self.gate else ()
        acting = any(r.rung >= Rung.ACT and r.state is RungState.WORKING for r in rungs)
        return acting and not (self.gate and self.gate.outcome)

    @property
    def _may_confirm(self) -> bool:
        gate, now = self.gate, self._clock.boot()
        if gate is None or not self._wanted:
            return False
        if gate.ready_at is not None and now < gate.ready_at:
            return False
        if gate.expires_at is not None and now >= gate.expires_at:
            return False
        return self._phrase.complete

    # --- what a person does -------------------------------------------------------------------

    def _ask(self, request: Awaitable[None], name: str) -> None:
        self.run_worker(request, name=name, group="gate", exclusive=False)

    @on(PhraseField.Changed)
    def _phrase_changed(self) -> None:
        self._beat()

    @on(PhraseField.Submitted)
    @on(Button.Pressed, "#confirm")
    def _confirm(self) -> None:
        """Only with the whole phrase, typed, after the wait, before the evidence is void."""
        if not self._may_confirm:
            return
        typed, second = self._phrase.typed, self._second
        self._phrase.clear("")
        if second is not None:
            self._ask(self._port.acknowledge(second.id, typed), "acknowledge")
        else:
            self._ask(self._port.confirm(typed), "confirm")

    @on(Button.Pressed, "#accept")
    def _accept(self) -> None:
        self._ask(self._port.accept(), "accept")

    @on(Button.Pressed, "#override")
    def _override(self) -> None:
        gate = self.gate
        if gate is not None and gate.override_phrase:
            self.app.push_screen(OverrideScreen(self.moment, gate, self._clock), self._overridden)

    def _overridden(self, typed: str | None) -> None:
        if typed is not None:
            self._ask(self._port.override(typed), "override")

    @on(Button.Pressed, "#abandon")
    def _abandon(self) -> None:
        gate = self.gate
        if gate is not None and gate.lost_paths and gate.abandon_phrase:
            self.app.push_screen(AbandonScreen(self.moment, gate, self._clock), self._abandoned)

    def _abandoned(self, typed: str | None) -> None:
        if typed is not None:
            self._ask(self._port.abandon(typed), "abandon")

    @on(Button.Pressed, "#cancel")
    def _cancel(self) -> None:
        self.dismiss(None)

    def on_resize(self) -> None:
        """Lines are made for one width; a screen too small for the evidence shuts the gate."""
        if not self._shut_if_small():
            super().on_resize()

    @on(events.ScreenResume)
    def _back(self) -> None:
        self._shut_if_small()

    def _shut_if_small(self) -> bool:
        """A call that left, and its end, are shown whatever the size."""
        over = self._acting or bool(self.gate and self.gate.outcome)
        if (over and not self._shut) or not small(self.size):
            return False
        if not self._shut:
            self._shut = True
            self._tell_small()
        if self.on_top:
            self.dismiss(None)
        return True

    def _tell_small(self) -> None:
        reason = "the window is too small to show all of the evidence"
        said = say("{reason}: the gate was shut, nothing was changed", reason=told(reason))
        self.app.notify(said, severity="warning")
        self._ask(self._port.relock(f"{reason} ({self.size.width}x{self.size.height})"), "relock")

    def on_key(self, event: events.Key) -> None:
        """The keys that scroll work wherever the focus is, also while a phrase is typed."""
        self._ladder.take(event.key)

    def action_rung(self, way: str) -> None:
        """The evidence of another rung."""
        if self.gate is None:
            return
        now = self._looked or here(self.gate)
        self._looked = Rung(max(1, min(len(Rung), now + int(way))))
        self.show(self.moment)
        self._ladder.scroll_lines(-10_000)

    def action_copy(self) -> None:
        """The steps, to the clipboard: one reads them while one clicks."""
        gate = self.gate
        if gate is None or gate.outcome != "steps":
            return
        steps = "\n".join(f"{n}. {told(step)}" for n, step in enumerate(gate.outcome_lines, 1))
        said = say("{outcome_lines} steps copied", outcome_lines=len(gate.outcome_lines))
        cast("Copies", self.app).copy(steps, said)

    def action_close(self) -> None:
        """Escape cancels."""
        self.dismiss(None)


def _first(rows: list[Text], most: int) -> list[Text]:
    """As many as there is room for; the rest stands at the rung itself."""
    kept = max(1, most - 1)
    return (
        rows if len(rows) <= kept + 1 else [*rows[:kept], line((f"▼ {len(rows) - kept}", "faint"))]
    )
