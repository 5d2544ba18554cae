"""Rungs 8 and 9: the intent on disk, the one call, and looking until its end is proven or given up.

The one call of a provider's `stop` in the whole program is here. Once it may have left, nothing
cancels the read-back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from gpu_tui.core import units
from gpu_tui.core.clock import Clock, rfc3339
from gpu_tui.core.ending import proofs
from gpu_tui.core.evidence import Event, IntentWritten, ReadBack, Relocked, Unsent
from gpu_tui.core.fleet import ProviderState
from gpu_tui.core.gate import Gate, GateShut, PermitExpired, State, StopPermit
from gpu_tui.core.plain import plain
from gpu_tui.providers.base import NOT_KNOWN, Answer, AnswerKind, Provider, state_of
from gpu_tui.providers.manual import Manual
from gpu_tui.teardown.diary import Diary, sentence
from gpu_tui.teardown.gather import Gather
from gpu_tui.teardown.journal import Held, JournalDamaged
from gpu_tui.teardown.settle import ENDS, account_of, place_of

STEPS_GIVEN = "the steps were given: from here nothing was sent"
METER = {"stops": "; the meter stopped by then", "partly": "; a part of the meter stopped by then"}


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds between looks: at the clock while armed, at the provider after the call."""

    pulse: float = 1.0
    poll: float = 3.0
    poll_most: float = 10.0
    give_up: float = 300.0


@dataclass(frozen=True, slots=True)
class Act:
    """One act. `apply` tells the gate, `told` whoever watches the fleet; `say` tells the person what became
    of the call, `saw` what the last look at the provider showed.
    """

    gate: Gate
    gather: Gather
    diary: Diary
    clock: Clock
    pace: Pace
    apply: Callable[[Event], State]
    say: Callable[[str], None]
    saw: Callable[[tuple[str, ...]], None]
    told: Callable[[ProviderState], None]

    async def carry_out(self) -> None:
        """Write the intent, make the one call, read back until it is proven or given up."""
        gate, permit = self.gate, self.gate.permit
        if permit is None:
            return
        about = {
            "verb": permit.verb,
            "effect": permit.effect,
            "provider_id": permit.provider_id,
            "place": place_of(self.gather.instance),
            "account": account_of(self.gather.provider),
            "console": not self._offers(),
            "watched": self._watched(),
        }
        journal = self.diary.journal
        try:
            if await asyncio.to_thread(journal.unresolved, gate.instance):
                self.apply(Relocked("another gpu-tui has a call under way for it"))
                return
            await self.diary.write("permit", **about)
            await self.diary.write("intent", **about)
        except Held as error:
            self.apply(Relocked(str(error)))
            return
        except (OSError, JournalDamaged) as error:
            self.apply(Relocked(f"the journal cannot be written: {sentence(error)}"))
            return
        if (reason := self.gather.changed()) is not None:
            self.apply(Relocked(reason))
        elif self.apply(IntentWritten(permit.evidence)) is not State.CALLED:
            reason = gate.because or gate.note or "the gate was shut"
        if reason is not None:
            await self.diary.note("still-there", reason=reason)  # settled: no call left
            return
        self.say("calling the provider now" if not about["console"] else "for you to do")
        try:
            answer, called = await self._call(permit), self.clock.boot()
        except PermitExpired:
            if self.apply(Unsent()) is not State.CALLED:
                await self.diary.note("still-there", reason=gate.note)  # settled: nothing was sent
                return
            answer, called = Answer(AnswerKind.REFUSED, "the permit expired"), self.clock.boot()
        except asyncio.CancelledError:
            self.say("the call was cut off: its answer was not seen")
            raise
        self.say(STEPS_GIVEN if answer.kind is AnswerKind.STEPS else _answered(answer))
        await self.diary.note(
            "answer", kind=answer.kind.value, text=answer.text, status=answer.status
        )
        outcome, seen = await self._read_back(answer, permit, called)
        await self.diary.note(ENDS.get(outcome, "unknown"), outcome=outcome)
        self.apply(ReadBack(outcome, (*seen, *answer.lines, *self._left_to_do(outcome))))

    def _proven(self, state: str, called: float) -> str:
        """When the end was proven, and what that says of the meter: it may have stopped sooner."""
        verb, when = self.gate.verb, rfc3339(self.clock.now()) or "now"
        meter = METER.get(verb.meter, "") if verb is not None else ""
        after = units.words(max(0.0, self.clock.boot() - called))
        return f"proven {state} {when}, {after} after the call{meter}"

    def _left_to_do(self, outcome: str) -> tuple[str, ...]:
        """What a person must still do where nothing proved the end."""
        if outcome not in ("steps", "unknown"):
            return ()
        until = "the API says that it is over, or you do" if self._api() else "you say how it ended"
        return (f"It stays red until {until}: gpu-tui journal {self.gate.instance} --settle",)

    def _api(self) -> bool:
        return self._watched() and self.gather.provider.reads

    def _offers(self) -> bool:
        verb = self.gate.verb
        return verb is not None and self.gather.provider.offers(verb)

    def _watched(self) -> bool:
        """The state of the instance tells whether the verb is done: it is about nothing beside it."""
        verb, profile = self.gate.verb, self.gather.profile
        rows = profile.teardown if profile else ()
        same = [row for row in rows if verb is not None and row.verb == verb.verb]
        return any(self.gather.provider.offers(row) for row in (*same, *([verb] if verb else [])))

    def _actor(self) -> Provider:
        """Who carries the verb out: the API where it offers it, else a person by the console's steps."""
        if self._offers():
            return self.gather.provider
        return Manual(self.gather.instance, self.gather.profile, self.clock)

    async def _call(self, permit: StopPermit) -> Answer:
        """The one call; also refused at the last moment, after the journal took its time."""
        await self.diary.note("call", verb=permit.verb, provider_id=permit.provider_id)
        if (reason := self.gather.changed()) is not None:
            return Answer(AnswerKind.REFUSED, f"not called: {reason}")
        try:
            provider = self._actor()
            return await provider.stop(permit)
        except PermitExpired:
            raise  # before a byte was written: the person may confirm again
        except GateShut as error:
            return Answer(AnswerKind.REFUSED, str(error))
        except Exception as error:  # whatever went wrong, the call may have had its effect
            return Answer(AnswerKind.UNKNOWN, f"the call broke off ({type(error).__name__})")

    async def _look(self, id: str | None) -> ProviderState:
        """What the provider says now; whatever goes wrong means only that nobody knows."""
        try:
            return await state_of(self.gather.provider, id)
        except Exception as error:
            return ProviderState(error=f"it could not be asked ({type(error).__name__})")

    async def _read_back(
        self, answer: Answer, permit: StopPermit, called: float
    ) -> tuple[str, tuple[str, ...]]:
        """gone, stopped, still-there, unknown, or steps where only a person can look; and what was seen.

        `called`: the boot second at which the answer to the call was there.
        """
        if answer.kind is AnswerKind.STEPS:
            return "steps", ()
        proof, pace = proofs(permit.effect), self.pace
        waited, delay = 0.0, pace.poll
        while True:
            state = await self._look(permit.provider_id)
            known = state.state
            line = f"the provider now says: {plain(state.error or known)}"
            self.saw((line,))
            self.told(state)
            await self.diary.note("read-back", state=known, error=state.error)
            seen = (_answered(answer), line)
            if known in proof:
                proven = self._proven(known, called)
                self.saw((line, proven))
                return known, (*seen, proven)
            if answer.kind is AnswerKind.REFUSED and known != "unknown":
                return "still-there", seen
            if waited >= pace.give_up:
                return ("unknown" if known == "unknown" else "still-there"), seen
            await asyncio.sleep(delay)
            waited, delay = waited + delay, min(delay * 1.5, pace.poll_most)


def _answered(answer: Answer) -> str:
    left = f"; {NOT_KNOWN}" if answer.kind is AnswerKind.UNKNOWN else ""
    return f"the provider: {plain(answer.text)}{left}"
