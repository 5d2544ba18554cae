"""Climbs the ladder: does what the gate's state asks, and tells the gate what came of it.

The gate decides, this only acts. The one call of a provider's `stop` in the whole program is here;
once it may have left, nothing cancels the read-back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gpu_tui.core.clock import Clock
from gpu_tui.core.evidence import (
    Abandoned,
    Accepted,
    Acknowledged,
    Event,
    IntentWritten,
    Inventory,
    Listed,
    Loaded,
    Matched,
    Overridden,
    Plan,
    Pulled,
    Quiet,
    ReadBack,
    Relocked,
    Tick,
    Typed,
)
from gpu_tui.core.fleet import Instance
from gpu_tui.core.gate import Gate, GateShut, State, StopPermit
from gpu_tui.core.ladder import GateView
from gpu_tui.core.manifest import Manifest
from gpu_tui.core.plain import plain
from gpu_tui.core.profile import Profile, Verb
from gpu_tui.providers.base import Answer, AnswerKind, Provider
from gpu_tui.providers.manual import Manual
from gpu_tui.state.views import InstanceView
from gpu_tui.teardown.box import BoxError
from gpu_tui.teardown.gather import Gather
from gpu_tui.teardown.journal import Journal, JournalDamaged
from gpu_tui.teardown.words import paint
from gpu_tui.transport.base import Connection, LinkError, RemoteFileError

# What may go wrong while evidence is gathered; everything else is a bug and surfaces as one.
TROUBLE = (LinkError, RemoteFileError, BoxError, OSError, JournalDamaged)


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds between looks: at the clock while armed, at the provider after the call."""

    pulse: float = 1.0
    poll: float = 3.0
    poll_most: float = 10.0
    give_up: float = 300.0


class Runner:
    """Where teardowns start. One ladder per instance at a time; there is no batch."""

    def __init__(
        self,
        *,
        view: Callable[[str], InstanceView],
        connection: Callable[[str], Connection | None],
        providers: Mapping[str, Provider] | Callable[[Instance], Provider],
        profiles: Mapping[str, Profile],
        journal_dir: Path,
        clock: Clock,
        read_only: bool = False,
        pace: Pace | None = None,
    ) -> None:
        self.read_only = read_only
        self.clock = clock
        self.pace = pace or Pace()
        self.journal = Journal(journal_dir, clock)
        self._view = view
        self._connection = connection
        self._providers = providers
        self._profiles = profiles
        self._open: dict[str, Climb] = {}

    def verbs(self, instance: str) -> Sequence[Verb]:
        """The verbs that this instance's profile and variant offer."""
        described = self._view(instance).instance
        profile = self._profiles.get(described.platform)
        variant = described.provider.variant
        return tuple(
            verb
            for verb in (profile.teardown if profile else ())
            if not verb.applies_to or variant is None or variant in verb.applies_to
        )

    def open(self, instance: str, verb: str) -> Climb:
        """Start climbing; raises nothing: a refusal is a closed view with its reason."""
        refusal = None
        row: Verb | None = None
        try:
            row = next((row for row in self.verbs(instance) if verb in (row.key, row.verb)), None)
        except KeyError:
            refusal = "no such instance"
        before = self._open.get(instance)
        if before is not None and not before.over:
            refusal = "another ladder is open for it"
        elif refusal is None and row is None:
            refusal = f"its platform has no “{verb}”"
        unknown = Verb(verb, verb, (), "unknown", reversible=False, via="console", effect="destroy")
        climb = Climb(self, instance, Gate(instance, row or unknown), self._gather, refusal)
        if refusal is None:
            self._open[instance] = climb
        return climb

    async def pull_only(self, instance: str) -> AsyncGenerator[GateView]:
        """Rungs 3 to 6 alone; the last view's outcome is `verified`, or it says what is not."""
        climb = Climb(self, instance, Gate(instance), self._gather, None)
        async for view in climb.views():
            yield view

    def is_read_only(self, instance: str) -> bool:
        """Read-only by the command line or by the fleet file; the stricter wins."""
        return self.read_only or self._view(instance).instance.read_only

    def _gather(self, instance: str, share: Callable[[float], None]) -> Gather:
        described = self._view(instance).instance
        providers = self._providers
        return Gather(
            name=instance,
            view=self._view,
            connection=self._connection,
            provider=providers(described) if callable(providers) else providers[instance],
            profile=self._profiles.get(described.platform),
            clock=self.clock,
            read_only=lambda: self.is_read_only(instance),
            share=share,
        )


class Climb:
    """One open ladder. Closing it, for any reason, shuts its gate."""

    def __init__(
        self,
        runner: Runner,
        instance: str,
        gate: Gate,
        gather: Callable[[str, Callable[[float], None]], Gather],
        refusal: str | None,
    ) -> None:
        self._runner = runner
        self._clock = runner.clock
        self._pace = runner.pace
        self._journal = runner.journal
        self._instance = instance
        self._gate = gate
        self._make = gather
        self._typed: asyncio.Queue[Event] = asyncio.Queue()
        self._changed = asyncio.Event()
        self._share: float | None = None
        self._acted: tuple[str, ...] = ()
        self._task: asyncio.Task[None] | None = None
        self._act_task: asyncio.Task[None] | None = None
        self._closed = False
        if refusal:
            self._apply(Relocked(refusal))
        self._latest = paint(gate, self._clock.boot())
        self._shown = self._latest

    @property
    def over(self) -> bool:
        """Nothing of it goes on, not even a read-back."""
        acting = self._act_task is not None and not self._act_task.done()
        return not acting and (self._closed or self._gate.ended)

    async def views(self) -> AsyncGenerator[GateView]:
        """The ladder each time it changes, until it ends."""
        if self._task is None:
            self._task = asyncio.create_task(self._climb(), name=f"teardown:{self._instance}")
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
        if not self._gate.called and not self._gate.ended:
            self._apply(Relocked(reason))
            self._publish()

    async def close(self) -> None:
        """Cancel: shut the gate and stop all work, but never a read-back of a call that left."""
        if self._closed:
            return
        self._closed = True
        gate = self._gate
        if not gate.called and not gate.ended:
            self._apply(Relocked("cancelled"))
            gate.outcome = "cancelled"
            self._publish()
            with suppress(OSError, JournalDamaged):
                await self._write("cancelled")
        if self._task is not None and self._act_task is None:
            self._task.cancel()
            await asyncio.wait({self._task})  # until its child and its channels are gone

    # --- the climb ---

    async def _climb(self) -> None:
        gate = self._gate
        if gate.ended:
            return
        try:
            gather = self._make(self._instance, self._shared)
            await self._write("open", verb=gate.verb.verb if gate.verb else "pull")
            while not gate.ended and not (gate.kind == "pull" and gate.state is State.BLOCKED):
                event = await self._next(gather)
                await self._take(event)
                if gate.state is State.PERMITTED:
                    self._act_task = asyncio.create_task(self._act(gather))
                    await asyncio.shield(self._act_task)
        except TROUBLE as error:
            self._apply(Relocked(_sentence(error)))
        self._publish()
        if gate.state is State.CLOSED:
            with suppress(OSError, JournalDamaged):
                await self._write("relock", reason=gate.because)

    async def _next(self, gather: Gather) -> Event:
        """Do what the gate's state asks; the evidence that came of it."""
        gate = self._gate
        match gate.state:
            case State.PLANNING if gate.verb is not None:
                return await gather.plan(gate.verb, await self._unresolved(gather, gate.verb))
            case State.QUIESCING:
                return await gather.quiet()
            case State.LISTING:
                return await gather.inventory()
            case State.PULLING:
                return await gather.pulled(gate.manifest)
            case State.MATCHING:
                return await gather.matched(gate.manifest)
            case State.LOADING:
                return await gather.loaded(gate.manifest)
            case State.BLOCKED if gate.kind == "stop" and gate.of(Listed) is None:
                return await gather.listed()
            case State.RECHECKING:
                return await self._recheck(gather)
            case _:
                return await self._wait(gather)

    async def _take(self, event: Event) -> None:
        """Apply evidence, show it, and keep it in the journal."""
        gate = self._gate
        before = gate.state
        self._share = None
        self._apply(event)
        self._publish()
        if gate.state in (before, State.CLOSED):
            return
        detail: dict[str, object] = {"refused": gate.because} if gate.state is State.BLOCKED else {}
        match event:
            case Quiet():
                plan = gate.of(Plan)
                verb = plan.verb if plan else None
                deletes = list(verb.deletes) if verb else []
                await self._write("plan", running=_list(event.running), deletes=deletes, **detail)
            case Inventory():
                files, size = len(event.manifest.files), event.manifest.total_bytes
                await self._write("manifest", files=files, bytes=size, **detail)
            case Pulled():
                await self._write("pulled", files=event.files, bytes=event.bytes, **detail)
            case Matched():
                await self._write("matched", digest=event.remote.digest, **detail)
            case Loaded():
                bad = [v.path for v in event.verdicts if v.load in ("failed", "refused")]
                await self._write("loaded", files=len(event.verdicts), bad=bad[:50], **detail)
            case Typed() if gate.state is State.RECHECKING:
                await self._write("confirmed", typed=event.text)
            case Abandoned() if gate.state is State.RECHECKING and gate.loss is not None:
                await self._write(
                    "abandon",
                    typed=event.text,
                    paths=list(gate.loss.paths),
                    cells=list(gate.loss.cells),
                    running=list(gate.loss.running),
                )

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
        wanted: Manifest | None = gate.loss.proven if gate.loss else gate.manifest
        look = asyncio.ensure_future(gather.recheck(None if gate.park else wanted))
        try:
            while True:
                await asyncio.wait({look}, timeout=self._pace.pulse)
                if look.done():
                    return look.result()
                if self._apply(Tick()) is State.CLOSED:
                    return Tick()
        finally:
            look.cancel()

    async def _unresolved(self, gather: Gather, verb: Verb) -> str | None:
        """Settle an earlier call whose end nobody saw, or say that it cannot be settled."""
        intent = await asyncio.to_thread(self._journal.unresolved, self._instance)
        damage = (await asyncio.to_thread(self._journal.read)).damage
        if damage:
            raise JournalDamaged(f"the journal is damaged ({damage}): nothing may be stopped")
        if intent is None:
            return None
        id, place = intent.detail.get("provider_id"), _place(gather.instance)
        if intent.detail.get("place", place) != place:
            return (
                f"the call of {intent.at} was never seen to end, and its id was of another account or "
                "cluster: put the fleet file back as it was, then look again"
            )
        if not isinstance(id, str) or not gather.provider.reads:
            return f"the call of {intent.at} was never seen to end"
        gather.provider.remember(id)
        state = await gather.provider.read(id)
        if state.state == "unknown":
            return f"the call of {intent.at} was never seen to end, and the API does not say"
        ended = state.state in _wanted(str(intent.detail.get("effect")))
        event = "confirmed-gone" if ended else "still-there"
        await self._write(event, provider=state.state, settles=intent.seq)
        return None

    # --- the act: from here on nothing is called off ---

    async def _act(self, gather: Gather) -> None:
        """Write the intent, make the one call, read back until it is proven or given up."""
        gate, permit = self._gate, self._gate.permit
        if permit is None:
            return
        about = {
            "verb": permit.verb,
            "effect": permit.effect,
            "provider_id": permit.provider_id,
            "place": _place(gather.instance),
            "console": not gather.provider.offers(gate.verb) if gate.verb else True,
        }
        try:
            if await asyncio.to_thread(self._journal.unresolved, self._instance):
                self._apply(Relocked("another gpu-tui has a call under way for it"))
                return
            await self._write("permit", **about)
            await self._write("intent", **about)
        except (OSError, JournalDamaged) as error:
            self._apply(Relocked(f"the journal cannot be written: {_sentence(error)}"))
            return
        if (reason := gather.changed()) is not None:
            self._apply(Relocked(reason))
            await self._note("still-there", reason=reason)  # the intent is settled: no call left
            return
        if self._apply(IntentWritten(permit.evidence)) is not State.CALLED:
            return
        self._say("calling the provider now" if not about["console"] else "for you to do")
        answer = await self._call(gather, permit)
        self._say(f"the provider: {plain(answer.text)}")
        await self._note("answer", kind=answer.kind.value, text=answer.text, status=answer.status)
        outcome = await self._read_back(gather, answer, permit)
        ends = {"gone": "confirmed-gone", "stopped": "confirmed-gone", "still-there": "still-there"}
        await self._note(ends.get(outcome, "unknown"), outcome=outcome)
        self._apply(ReadBack(outcome, answer.lines or self._acted))
        self._publish()

    def _actor(self, gather: Gather) -> Provider:
        """Who carries the verb out: the API where it offers it, else a person by the console's steps."""
        verb = self._gate.verb
        if verb is not None and gather.provider.offers(verb):
            return gather.provider
        return Manual(gather.instance, gather.profile, self._clock)

    async def _call(self, gather: Gather, permit: StopPermit) -> Answer:
        """The one call; also refused at the last moment, after the journal took its time."""
        await self._note("call", verb=permit.verb, provider_id=permit.provider_id)
        if (reason := gather.changed()) is not None:
            return Answer(AnswerKind.REFUSED, f"not called: {reason}")
        try:
            provider = self._actor(gather)
            return await provider.stop(permit)
        except GateShut as error:
            return Answer(AnswerKind.REFUSED, str(error))
        except Exception as error:  # whatever went wrong, the call may have had its effect
            return Answer(AnswerKind.UNKNOWN, f"the call broke off ({type(error).__name__})")

    async def _read_back(self, gather: Gather, answer: Answer, permit: StopPermit) -> str:
        """gone, stopped, still-there, unknown, or steps where only a person can look."""
        if answer.kind is AnswerKind.STEPS:
            return "steps"
        wanted, pace = _wanted(permit.effect), self._pace
        waited, delay, known = 0.0, pace.poll, "unknown"
        while True:
            state = await gather.provider.read(permit.provider_id or "")
            known = state.state
            self._say(f"the provider now says: {plain(state.error or state.state)}")
            await self._note("read-back", state=state.state, error=state.error)
            if known in wanted:
                return known
            if answer.kind is AnswerKind.REFUSED and known != "unknown":
                return "still-there"
            if waited >= pace.give_up:
                return "unknown" if known == "unknown" else "still-there"
            await asyncio.sleep(delay)
            waited, delay = waited + delay, min(delay * 1.5, pace.poll_most)

    # --- parts ---

    def _apply(self, event: Event) -> State:
        return self._gate.apply(event, self._clock.boot(), self._clock.now())

    def _publish(self) -> None:
        view = paint(self._gate, self._clock.boot(), share=self._share, acted=self._acted)
        if view != self._latest:
            self._latest = view
            self._changed.set()

    def _shared(self, share: float) -> None:
        if self._share is None or share >= 1.0 or share - self._share >= 0.01 or share == 0.0:
            self._share = share
            self._publish()

    def _say(self, line: str) -> None:
        self._acted = (*self._acted[:1], line) if self._acted else (line,)
        self._publish()

    async def _write(self, event: str, **detail: object) -> None:
        """One durable record. For a pull, which stops nothing, a broken journal is no obstacle."""
        try:
            await asyncio.to_thread(
                self._journal.write, self._instance, event, self._gate.digest, **detail
            )
        except (OSError, JournalDamaged):
            if self._gate.kind != "pull":
                raise

    async def _note(self, event: str, **detail: object) -> None:
        """A record after the intent: nothing can be called off any more, so trouble is only shown."""
        try:
            await self._write(event, **detail)
        except (OSError, JournalDamaged) as error:
            self._say(f"the journal cannot be written: {_sentence(error)}")


def _wanted(effect: str) -> frozenset[str]:
    """The provider states that prove a verb done. A destroyed box must be gone, not merely off."""
    return frozenset({"stopped", "gone"}) if effect == "stop" else frozenset({"gone"})


def _place(instance: Instance) -> str:
    """Where an id means this instance: with another key or in another cluster it is something else."""
    access, scope = instance.provider, instance.scheduler_scope
    parts = [instance.platform, access.key_env, access.base_url]
    if instance.scheduler is not None:
        parts += [instance.ssh.host, scope.context, scope.namespace]
    return " ".join(plain(part or "-") for part in parts)


def _list(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else [plain(name) for name in names]


def _sentence(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "the box did not answer in time"
    if isinstance(error, OSError) and error.strerror:
        return plain(f"{error.strerror}: {error.filename or 'here'}")
    return plain(str(error) or type(error).__name__)
