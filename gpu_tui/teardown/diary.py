"""The pen of one climb: every record it writes carries what was on screen at that moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from gpu_tui.core.evidence import (
    Abandoned,
    Acknowledged,
    Event,
    Identity,
    Inventory,
    Loaded,
    Matched,
    Overridden,
    Plan,
    Pulled,
    Quiet,
    Typed,
)
from gpu_tui.core.gate import Gate, State
from gpu_tui.core.plain import plain
from gpu_tui.core.waiver import Waiver, required
from gpu_tui.teardown.journal import Journal, JournalDamaged, Reading
from gpu_tui.teardown.past import box_of, seen_before

LEFT_KEPT = 50  # names of what is not pulled, in one record
BAD_KEPT = 50  # names of what does not load


class Diary:
    """Writes for one gate. `say` shows a line to the person."""

    def __init__(self, journal: Journal, gate: Gate, say: Callable[[str], None]) -> None:
        self.journal = journal
        self.gate = gate
        self.say = say
        self._known: frozenset[str] | None = None  # names that the journal has of this box

    async def write(self, event: str, **detail: object) -> None:
        """One durable record. For a pull, which stops nothing, a broken journal is no obstacle."""
        try:
            await asyncio.to_thread(
                self.journal.write, self.gate.instance, event, self.gate.digest, **detail
            )
        except (OSError, JournalDamaged):
            if self.gate.kind != "pull":
                raise

    async def note(self, event: str, **detail: object) -> None:
        """A record after the intent: nothing can be called off any more, so trouble is only shown."""
        try:
            await self.write(event, **detail)
        except (OSError, JournalDamaged) as error:
            self.say(f"the journal cannot be written: {sentence(error)}")

    async def keep(self, event: Event) -> None:
        """A record of evidence that moved the gate on, or shut it."""
        gate, write = self.gate, self.write
        detail: dict[str, object] = {"refused": gate.because} if gate.state is State.BLOCKED else {}
        match event:
            case Inventory() | Pulled() | Matched() | Loaded() if gate.only:
                # Never as `loaded`: that record means everything that the box has.
                if gate.state in (State.BLOCKED, State.DONE):
                    files = len(gate.manifest.files)
                    await write("cells", cells=names(gate.only), files=files, **detail)
            case Quiet():
                plan = gate.of(Plan)
                verb = plan.verb if plan else None
                deletes = list(verb.deletes) if verb else []
                if plan and plan.cells:
                    detail |= await self._news(plan.identity, plan.cells.names)
                await write("plan", running=names(event.at_work), deletes=deletes, **detail)
            case Inventory():
                files, size = len(event.manifest.files), event.manifest.total_bytes
                detail |= await self._news(event.identity, required(event))
                if left := event.left.paths:
                    detail |= {"not_pulled": len(left), "names": names(left[:LEFT_KEPT])}
                await write("manifest", files=files, bytes=size, **detail)
            case Pulled():
                if event.into:
                    detail |= {"into": plain(event.into, 1_024)}
                await write("pulled", files=event.files, bytes=event.bytes, **detail)
            case Matched():
                digest = await asyncio.to_thread(lambda: event.remote.digest)
                await write("matched", digest=digest, **detail)
            case Loaded():
                bad = [
                    v.path for v in event.verdicts if v.load in ("failed", "incomplete", "refused")
                ]
                if (matched := gate.of(Matched)) and matched.kept:
                    detail |= {"manifest_sha256": matched.kept}
                await write("loaded", files=len(event.verdicts), bad=bad[:BAD_KEPT], **detail)
            case Overridden():
                allowed = sorted(gate.allowed)
                await write("override", typed=event.text, names=allowed, on_box=gate.on_box)
            case Typed() if gate.state is State.RECHECKING:
                await write("confirmed", typed=event.text)
            case Abandoned() if gate.state is State.RECHECKING and gate.loss is not None:
                await write(
                    "abandon",
                    typed=event.text,
                    paths=list(gate.loss.paths),
                    cells=list(gate.loss.cells),
                    running=list(gate.loss.running),
                )

    async def acknowledged(self, event: Acknowledged) -> None:
        """What a person said of one second resource or exception, with what stood there."""
        seen = next(one for one in self.gate.asked if one.key == event.resource_id)
        if isinstance(seen, Waiver):
            about = [plain(f"{name}: {why}" if why else name) for name, why in seen.about]
            await self.write("exception", typed=event.typed, kind=seen.kind, names=about)
            return
        await self.write(
            "acknowledged", typed=event.typed, resource=plain(seen.key), fate=seen.fate
        )

    async def with_past(self, plan: Event) -> Event:
        """The plan, and what earlier climbs saw of this box. What is no plan is the gate's to refuse."""
        if not isinstance(plan, Plan):
            return plan
        return replace(plan, before=tuple(sorted(await self._before(plan.identity))))

    async def _before(self, identity: Identity) -> frozenset[str]:
        """What the journal names of this box, read once."""
        if self._known is None:
            try:
                found = await asyncio.to_thread(self.journal.read)
            except OSError:
                if self.gate.kind != "pull":
                    raise
                found = Reading()
            self._known = seen_before(found.records, self.gate.instance, identity)
        return self._known

    async def _news(self, identity: Identity, found: Collection[str]) -> dict[str, object]:
        """For a record: which box, and what no record names of it yet."""
        known = await self._before(identity)
        new = sorted({name for name in found if name.isprintable()} - known)
        self._known = known | set(new)
        return {"box": box_of(identity), "seen": new} if new else {}


def names(found: Sequence[str] | None) -> list[str] | None:
    """Foreign names as a record keeps them."""
    return None if found is None else [plain(name) for name in found]


def sentence(error: Exception) -> str:
    """What went wrong, for a person."""
    if isinstance(error, TimeoutError):
        return "the box did not answer in time"
    if isinstance(error, OSError) and error.strerror:
        return plain(f"{error.strerror}: {error.filename or 'here'}")
    return plain(str(error) or type(error).__name__)
