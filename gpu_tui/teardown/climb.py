"""One ladder: does what the gate's state asks, and tells the gate what came of it.

The gate decides, this only asks and shows. Closing it, for any reason, shuts its gate; only a call
that left goes on to its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress

from gpu_tui.core.clock import Clock
from gpu_tui.core.evidence import (
    Abandoned,
    Accepted,
    Acknowledged,
    Event,
    Listed,
    Overridden,
    ReadBack,
    Relocked,
    Tick,
    Typed,
)
from gpu_tui.core.fleet import ProviderState
from gpu_tui.core.gate import Gate, State
from gpu_tui.core.ladder import GateView
from gpu_tui.core.manifest import Manifest
from gpu_tui.core.transfer import Transfer
from gpu_tui.teardown.act import Act, Pace
from gpu_tui.teardown.box import BoxError, NotConnected
from gpu_tui.teardown.chosen import UnknownCells
from gpu_tui.teardown.diary import Diary, sentence
from gpu_tui.teardown.gather import Gather
from gpu_tui.teardown.journal import Held, Hold, Journal, JournalDamaged
from gpu_tui.teardown.judging import Judging
from gpu_tui.teardown.settle import settle
from gpu_tui.teardown.unreached import Unreached, unreached
from gpu_tui.teardown.words import Kept, paint
from gpu_tui.transport.base import LinkError, RemoteFileError

HOLD_TRIES = 3
CUT_OFF = "the look at the provider was cut off: what became of the call is not known"
# What may go wrong while evidence is gathered; everything else is a bug and surfaces as one.
TROUBLE = (LinkError, RemoteFileError, BoxError, OSError, JournalDamaged, Held)


class Climb:
    """One open ladder. `told` hears what the provider says after the call."""

    def __init__(
        self,
        gate: Gate,
        gather: Callable[[str, Callable[[Transfer], None]], Gather],
        journal: Journal,
        clock: Clock,
        pace: Pace,
        *,
        refusal: str | None = None,
        told: Callable[[str, ProviderState], None] = lambda name, state: None,
        ended: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        self._clock = clock
        self._pace = pace
        self._journal = journal
        self._diary = Diary(journal, gate, self._complain)
        self._gate = gate
        self._make = gather
        self._told = told
        self._ended = ended
        self._typed: asyncio.Queue[Event] = asyncio.Queue()
        self._changed = asyncio.Event()
        self._transfer: Transfer | None = None
        self._moved_at = 0.0  # boot second of the last progress that was shown
        self._acted: tuple[str, ...] = ()  # what became of the call, then trouble with the journal
        self._read: tuple[str, ...] = ()  # what the last look at the provider showed
        self._task: asyncio.Task[None] | None = None
        self._act_task: asyncio.Task[None] | None = None
        self._hold: Hold | None = None
        self._closed = False
        self._unreached: Unreached | None = None
        self._kept = Kept()
        self._judging = Judging(gate, clock, lambda: paint(gate, clock.boot(), kept=self._kept))
        self._apply = self._judging.apply
        if refusal:
            self._apply(Relocked(refusal))
        self._latest = paint(gate, clock.boot())
        self._shown = self._latest

    @property
    def over(self) -> bool:
        """Nothing of it goes on, not even a read-back."""
        acting = self._act_task is not None and not self._act_task.done()
        return not acting and (self._closed or self._gate.ended)

    async def views(self) -> AsyncGenerator[GateView]:
        """The ladder each time it changes, until it ends."""
        if self._task is None:
            self._task = asyncio.create_task(self._climb(), name=f"teardown:{self._gate.instance}")
            self._task.add_done_callback(lambda _: self._changed.set())
        try:
            yield self._latest
            while True:
                await self._changed.wait()
                self._changed.clear()
                ended = self._task.done()
                if self._latest is not self._shown:
                    self._shown = self._latest
                    yield self._latest
                if ended:
                    break
            if not self._task.cancelled():
                self._task.result()
        finally:
            await self.close()

    async def accept(self) -> None:
        """Accept the running work that the shown view named (parks only)."""
        await self._typed.put(Accepted(self._shown.needs_acceptance))

    async def confirm(self, typed: str) -> None:
        """Offer the typed phrase for the evidence of the shown view."""
        await self._typed.put(Typed(typed, self._shown.evidence))

    async def abandon(self, typed: str) -> None:
        """Give up the paths of the shown view."""
        await self._typed.put(Abandoned(typed, self._shown.evidence))

    async def override(self, typed: str) -> None:
        """Allow what the shown view says that it allows."""
        await self._typed.put(Overridden(typed, self._shown.evidence))

    async def acknowledge(self, resource_id: str, typed: str) -> None:
        """What becomes of one second resource of the shown view is seen."""
        await self._typed.put(Acknowledged(resource_id, typed, self._shown.evidence))

    async def relock(self, reason: str) -> None:
        """Shut the gate, unless the call has left."""
        if await self._judging.shut(reason):
            self._publish()

    async def close(self) -> None:
        """Cancel: shut the gate and stop all work, but never a read-back of a call that left."""
        if self._closed:
            return
        self._closed = True
        if await self._judging.shut("cancelled"):
            self._gate.outcome = "cancelled"
            self._publish()
            with suppress(OSError, JournalDamaged):
                await self._diary.write("cancelled")
        if self._task is not None and self._act_task is None:
            self._task.cancel()
            await asyncio.wait({self._task})  # until its child and its channels are gone

    # --- the climb ---

    async def _climb(self) -> None:
        gate = self._gate
        if gate.ended:
            return
        gather: Gather | None = None
        try:
            if gate.verb is not None:
                self._hold = await self._take_hold()
            gather = self._make(gate.instance, self._moved)
            gather.only = gate.only
            await self._diary.write("open", verb=gate.verb.verb if gate.verb else "pull")
            while not gate.ended and not (gate.kind == "pull" and gate.state is State.BLOCKED):
                event = await self._next(gather)
                await self._take(event)
                if gate.state is State.PERMITTED:
                    self._act_task = asyncio.create_task(self._act(gather))
                    await asyncio.shield(self._act_task)
                    if not gate.ended:  # too late, nothing was sent: the person may confirm again
                        self._act_task, self._acted = None, ()
                        self._publish()
        except UnknownCells as error:
            self._apply(Relocked(sentence(error)))
            raise
        except TROUBLE as error:
            planning = gate.state is State.PLANNING
            self._apply(Relocked(sentence(error)))
            if planning and gather is not None and isinstance(error, NotConnected):
                await self._say_why(gather)
        except asyncio.CancelledError:
            self._apply(Relocked("cancelled"))
            raise
        except Exception as error:  # a bug: it surfaces, and the gate is shut all the same
            self._apply(Relocked(f"gpu-tui itself failed ({type(error).__name__})"))
            raise
        finally:
            self._publish()
            if self._act_task is None:
                self._release()
        self._publish()
        if gate.state is State.CLOSED and gate.because != "cancelled":  # close() writes of that
            with suppress(OSError, JournalDamaged):
                await self._diary.write("relock", reason=gate.because)

    async def _say_why(self, gather: Gather) -> None:
        """Nothing leads to the box: what is known of it all the same."""
        with suppress(OSError, BoxError):
            found = await asyncio.to_thread(self._journal.read)
            records = () if found.damage else found.records
            state = gather.view(gather.name).provider
            self._unreached = unreached(state, records, gather.name)

    async def _next(self, gather: Gather) -> Event:
        """Do what the gate's state asks; the evidence that came of it."""
        gate = self._gate
        match gate.state:
            case State.PLANNING if gate.verb is not None:
                unresolved = await settle(
                    self._journal, gather.instance, gather.provider, gate.digest
                )
                return await self._diary.with_past(await gather.plan(gate.verb, unresolved))
            case State.QUIESCING:
                return await gather.quiet()
            case State.LISTING:
                return await gather.inventory()
            case State.PULLING:
                return await gather.pulled(gate.manifest)
            case State.MATCHING:
                return await gather.matched(gate.manifest)
            case State.LOADING:
                return await gather.loaded(gate.manifest, gate.allowed, on_box=gate.on_box)
            case State.BLOCKED if gate.kind == "stop" and gate.of(Listed) is None:
                return await gather.listed()
            case State.RECHECKING:
                return await self._recheck(gather)
            case _:
                return await self._wait(gather)

    async def _take(self, event: Event) -> None:
        """Apply evidence, show it, and keep it in the journal."""
        gate = self._gate
        before, acknowledged = gate.state, gate.acknowledged
        self._transfer = None
        if isinstance(event, Tick | Relocked):
            self._apply(event)
        else:
            await self._judging.take(event)
        self._publish()
        if isinstance(event, Acknowledged) and gate.acknowledged != acknowledged:
            await self._diary.acknowledged(event)
        if gate.state in (before, State.CLOSED):
            return
        await self._diary.keep(event)

    async def _wait(self, gather: Gather) -> Event:
        """Something typed, or the next beat; what the fleet says meanwhile may shut the gate."""
        if (reason := gather.changed()) is not None:
            return Relocked(reason)
        try:
            async with asyncio.timeout(self._pace.pulse):
                return await self._typed.get()
        except TimeoutError:
            return Tick()

    async def _recheck(self, gather: Gather) -> Event:
        """Look again, with the gate's clock beating meanwhile: a machine that slept proves nothing."""
        gate = self._gate
        known: Manifest | None = gate.loss.proven if gate.loss else gate.manifest
        look = asyncio.ensure_future(gather.recheck(None if gate.park else known))
        try:
            while True:
                await asyncio.wait({look}, timeout=self._pace.pulse)
                if look.done():
                    return look.result()
                if self._apply(Tick()) is State.CLOSED:
                    return Tick()
        finally:
            look.cancel()

    async def _act(self, gather: Gather) -> None:
        """From here on nothing is called off; a call that did not leave in time leads back to the confirmation."""
        name = self._gate.instance

        def told(state: ProviderState) -> None:
            self._told(name, state)

        try:
            act = Act(
                self._gate,
                gather,
                self._diary,
                self._clock,
                self._pace,
                self._apply,
                self._say,
                self._saw,
                told,
            )
            await act.carry_out()
        finally:
            if self._gate.state is State.CALLED:  # cut off: the journal still holds the intent
                self._saw((CUT_OFF,))
                self._apply(ReadBack("unknown", (CUT_OFF,)))
            again = self._gate.state in (State.READY, State.BLOCKED)
            if again and (self._closed or self._task is None or self._task.done()):
                self._apply(Relocked("cancelled"))
                again = False
            self._publish()
            if not again:
                self._release()
                if self._ended is not None:
                    await self._ended()

    # --- parts ---

    async def _take_hold(self) -> Hold:
        """The instance for this ladder alone; a look at an old call gives it back within moments."""
        for _ in range(HOLD_TRIES):
            try:
                return await asyncio.to_thread(self._journal.hold, self._gate.instance)
            except Held:
                await asyncio.sleep(self._pace.pulse / 10)
        return await asyncio.to_thread(self._journal.hold, self._gate.instance)

    def _release(self) -> None:
        if self._hold is not None:
            self._hold.close()
            self._hold = None

    def _publish(self) -> None:
        if self._judging.busy:
            return  # it is done when the gate has judged
        view = paint(
            self._gate,
            self._clock.boot(),
            transfer=self._transfer,
            acted=self._acted,
            read=self._read,
            kept=self._kept,
            unreached=self._unreached,
        )
        if view != self._latest:
            self._latest = view
            self._changed.set()

    def _moved(self, transfer: Transfer) -> None:
        """Show progress, not each block of it."""
        shown, now = self._transfer, self._clock.boot()
        moved = shown is None or abs(transfer.share - shown.share) >= 0.01 or transfer.share >= 1.0
        if moved or transfer.done == 0 or now - self._moved_at >= 0.5:
            self._transfer, self._moved_at = transfer, now
            self._publish()

    def _say(self, line: str) -> None:
        self._acted = (line, *self._acted[1:])
        self._publish()

    def _saw(self, lines: tuple[str, ...]) -> None:
        self._read = lines
        self._publish()

    def _complain(self, line: str) -> None:
        """Stays beside what became of the call: each record that is missing is missing for good."""
        if line not in self._acted:
            self._acted = (*self._acted, line)
            self._publish()
